/** The door to zlib: to be loaded when an answer came compressed, though nobody asked for that. */
import { gunzip } from 'node:zlib';

/**
 * Takes one gzip coding off, whole.
 *
 * @param bytesMax no more than this is decoded; a small body may stand for a huge one
 */
export function gunzipWithin(body: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    gunzip(body, { maxOutputLength: bytesMax }, (error, decoded) => (error ? reject(error) : resolve(decoded)));
  });
}
