/** The bytes of an input, from its first one on, each time that they are asked for. */
import { read } from 'node:fs';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { Failure } from '../errors.ts';
import { type Input, nameOf } from './input.ts';

const readAt = promisify(read);

export interface ByteOptions {
  /** How much is read at once, in bytes. */
  readonly blockBytes?: number | undefined;
  /** Sees every byte as it is on disk, in order. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined;
}

/**
 * The content in blocks: what is packed by gzip is unpacked, whatever its name says.
 *
 * @throws {Failure} local-file, when it can't be read, got shorter since it was opened, or is damaged gzip data
 */
export async function* contentBytes(input: Input, options: ByteOptions = {}): AsyncGenerator<Uint8Array> {
  const bytes = fileBytes(input, options);
  if (await isGzip(input)) yield* unpacked(bytes, input);
  else yield* bytes;
}

async function* fileBytes(input: Input, { blockBytes = 65_536, onBytes }: ByteOptions): AsyncGenerator<Buffer> {
  for (let position = 0; position < input.sizeBytes; ) {
    const block = await readBlock(input, position, Math.min(blockBytes, input.sizeBytes - position));
    if (block.length === 0) {
      throw new Failure('local-file', `${nameOf(input.name)} got shorter while it was read`, {
        hint: `it had ${input.sizeBytes} bytes when it was opened, and ends after ${position} now`,
      });
    }
    position += block.length;
    onBytes?.(block);
    yield block;
  }
}

async function readBlock(input: Input, position: number, length: number): Promise<Buffer> {
  try {
    const { bytesRead, buffer } = await readAt(input.descriptor, Buffer.allocUnsafe(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw new Failure('local-file', `cannot read ${nameOf(input.name)}: ${(error as Error).message}`, { cause: error });
  }
}

/** Whether the content is packed, by its first bytes. */
export async function isGzip(input: Input): Promise<boolean> {
  const start = input.sizeBytes < 2 ? undefined : await readBlock(input, 0, 2);
  if (start?.[0] === 0x1f && start[1] === 0x8b) return true;
  if (!input.name.toLowerCase().endsWith('.gz')) return false;
  throw damaged(input, 'it does not begin as such data does');
}

async function* unpacked(bytes: AsyncIterable<Buffer>, input: Input): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const source = Readable.from(bytes);
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    // What the file itself failed with comes through here as well.
    if (error instanceof Failure) throw error;
    throw damaged(input, (error as Error).message);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

function damaged(input: Input, reason: string): Failure {
  return new Failure('local-file', `${nameOf(input.name)} is damaged gzip data: ${reason}`, {
    hint: 'nothing was sent; pack it again',
  });
}
