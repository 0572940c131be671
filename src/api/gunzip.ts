/** Loaded only for a response that came compressed, which no request asks for. */
import { gunzip as inflate } from 'node:zlib';

/** The body without its gzip coding; or why there is none: `too-large`, where it would be longer than the limit. */
export function gunzip(body: Uint8Array, maxOutputLength: number): Promise<Uint8Array | string> {
  return new Promise((resolve) => {
    inflate(body, { maxOutputLength }, (error: NodeJS.ErrnoException | null, decoded) => {
      if (error === null) resolve(decoded);
      else resolve(error.code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : 'its compression is cut short or damaged');
    });
  });
}
