/** The bytes of an input, from its first one on, each time that they are asked for. */
import { createHash } from 'node:crypto';
import { read } from 'node:fs';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';
import { type Input, nameOf } from './input.ts';

const readAt = promisify(read);

export interface ByteOptions {
  /** How much is read at once, in bytes. */
  readonly blockBytes?: number | undefined;
  /** Sees every byte as it is on disk, in order. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined;
  /** Sees every byte of the content, unpacked, in order. */
  readonly onContent?: ((bytes: Uint8Array) => void) | undefined;
}

/**
 * The content in blocks: what is packed by gzip is unpacked, whatever its name says. No block is given that is not what
 * an earlier reading of the input was given.
 *
 * @throws {Failure} local-file, when it can't be read, has changed since it was opened, or is damaged gzip data
 */
export async function* contentBytes(input: Input, options: ByteOptions = {}): AsyncGenerator<Uint8Array> {
  const bytes = fileBytes(input, options);
  for await (const block of (await isGzip(input)) ? unpacked(bytes, input) : bytes) {
    options.onContent?.(block);
    yield block;
  }
}

async function* fileBytes(input: Input, { blockBytes = 65_536, onBytes }: ByteOptions): AsyncGenerator<Buffer> {
  const { sizeBytes } = input;
  for (let position = 0; position < sizeBytes; position += blockBytes) {
    const length = Math.min(blockBytes, sizeBytes - position);
    const block = await readBlock(input, position, length);
    if (block.length < length || input.isUnchanged?.(position / blockBytes, block) === false) {
      throw new Failure('local-file', `${nameOf(input.name)} changed while it was read`, {
        hint: 'stop what writes to it before it is read again',
      });
    }
    onBytes?.(block);
    yield block;
  }
}

/** So many bytes from there, or fewer at the end of the file. */
async function readBlock({ name, descriptor }: Input, position: number, length: number): Promise<Buffer> {
  const block = Buffer.allocUnsafe(length);
  try {
    for (let at = 0; at < length; ) {
      const { bytesRead } = await readAt(descriptor, block, at, length - at, position + at);
      if (bytesRead === 0) return block.subarray(0, at);
      at += bytesRead;
    }
    return block;
  } catch (error) {
    throw new Failure('local-file', `cannot read ${nameOf(name)}: ${errnoReason(error)}`, { cause: error });
  }
}

/**
 * The SHA-256 of the content, unpacked: 64 hex digits.
 *
 * @throws {Failure} local-file, as `contentBytes`
 */
export async function contentHash(input: Input, options: ByteOptions): Promise<string> {
  const hash = createHash('sha256');
  for await (const block of contentBytes(input, options)) hash.update(block);
  return hash.digest('hex');
}

/** Whether there is nothing in it, once it is unpacked. */
export async function isEmpty(input: Input, options: ByteOptions): Promise<boolean> {
  for await (const { length } of contentBytes(input, options)) if (length > 0) return false;
  return true;
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
