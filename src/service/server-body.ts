import type { IncomingMessage } from 'node:http';
import { maxBodyBytes } from './fields.ts';
import { Refusal } from './message.ts';

/** Thrown where a client went away before its request was whole: there is nobody left to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** So much of a body that nobody wants is read before the connection is cut. */
const discardedBytesMax = 2 * maxBodyBytes;

/** Whether a request brings a body, by its head (RFC 9112, section 6). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads the body of a request.
 *
 * @param begin called when it is wanted, by what the head says of it
 * @throws {Refusal} 413, as soon as it is known to be over 8 MiB
 * @throws {ClientGone}
 */
export function readBody(request: IncomingMessage, begin: () => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    refuseOversize(Number(request.headers['content-length'] ?? 0));
    begin();
    const chunks: Uint8Array[] = [];
    let sizeBytes = 0;
    request.on('data', (chunk: Uint8Array) => {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBodyBytes) chunks.length = 0;
      else chunks.push(chunk);
      try {
        refuseOversize(sizeBytes);
      } catch (error) {
        reject(error);
      }
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', (error) => reject(new ClientGone('the connection was lost', { cause: error })));
  });
}

/**
 * Reads on where a body was refused: a connection that is closed on bytes that were not read is reset, and the client
 * may lose the answer (RFC 9112, section 9.6). Resolves at the body's end, or when it was enough.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let sizeBytes = 0;
    request.on('data', (chunk: Uint8Array) => {
      sizeBytes += chunk.length;
      if (sizeBytes > discardedBytesMax) resolve();
    });
    request.on('close', () => resolve());
    request.on('error', () => resolve());
    request.resume();
  });
}

function refuseOversize(sizeBytes: number): void {
  if (sizeBytes > maxBodyBytes) throw new Refusal(413, 'the body is over 8 MiB');
}
