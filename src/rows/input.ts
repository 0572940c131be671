/** The input of --from, open until its run has ended. */
import { createHash, hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, read } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { errnoCode, Failure, fileFailure } from '../core/errors.ts';
import { absolutePath, unreadable } from '../core/files.ts';
import { type Host, untilStopped } from '../core/host.ts';
import { spoolBytes } from '../core/spool.ts';

/** Bytes that can be read repeatedly, even if another file takes the name. */
export interface Input {
  /** As typed. */
  readonly name: string;
  /** It was copied first: stdin, and all but regular files. */
  readonly isSpooled: boolean;
  readonly isRegular: boolean;
  readonly descriptor: number;
  /** When it was opened. */
  readonly sizeBytes: number;
  /**
   * True if the file has not changed since it was opened, and a block, by its number from 0, is the same as the last time.
   * Undefined if nothing else can write to it.
   */
  readonly isUnchanged?: ((block: number, bytes: Uint8Array) => boolean) | undefined;
  /** Removes a copy. */
  close(): void;
}

interface InputOptions {
  readonly host: Pick<Host, 'stdin' | 'signal' | 'platform' | 'cwd'>;
  /** As `place.directory` of `spoolBytes`. */
  readonly spoolDirectory: string | undefined;
  /** Called with the number of bytes that are copied so far. */
  readonly onCopied?: ((bytes: number) => void) | undefined;
}

/**
 * Opens a file, a FIFO or, as `-`, stdin.
 *
 * @throws {Failure} usage, if it does not exist or is a directory, or stdin is a terminal or closed; local-file
 * @throws {Stopped} while a stream is copied
 */
export async function openInput(file: string, options: InputOptions): Promise<Input> {
  const input = await openBytes(file, options);
  try {
    await refuseArchive(input);
    return input;
  } catch (error) {
    input.close();
    throw error;
  }
}

/** Excel and LibreOffice write ZIP archives, old versions of Excel compound files. */
async function refuseArchive(input: Input): Promise<void> {
  const start = (await readBlock(input, 0, Math.min(input.sizeBytes, 100))).toString('latin1');
  const isOld = start.startsWith('\u00d0\u00cf\u0011\u00e0');
  if (!isOld && !start.startsWith('PK\u0003\u0004')) return;
  const isOther = /\.ods$/i.test(input.name) || start.includes('opendocument');
  const isExcel = isOld || /\.xls.?$/i.test(input.name) || start.includes('[Content_Types]');
  const what = isOther ? 'a LibreOffice workbook' : isExcel ? 'an Excel workbook' : 'a ZIP archive';
  throw new Failure('usage', `cannot read ${nameOf(input.name)}: it is ${what}`, {
    hint:
      isOther || isExcel
        ? 'save the sheet as CSV UTF-8, and pass that file'
        : 'pass a file that is in it (only gzip is read directly)',
  });
}

async function openBytes(file: string, options: InputOptions): Promise<Input> {
  const { host } = options;
  if (file === '-') {
    if (host.stdin.isTTY) {
      throw new Failure('usage', 'standard input is a terminal', { hint: 'pipe the rows in, or pass a file' });
    }
    const { kind, stream } = host.stdin;
    if (kind === 'directory') throw isDirectory(nameOf(file));
    if (kind === 'closed') throw closedStdin();
    return spooled(file, stream, { isRegular: kind === 'file', isDevice: kind === 'device' }, options);
  }
  const path = absolutePath(file, host);
  const status = await tryTo(file, () => stat(path));
  if (status.isDirectory()) throw isDirectory(file);
  const isRegular = status.isFile();
  // Files without a size, such as those of /proc, are copied too.
  if (isRegular && status.size > 0) return tryTo(file, async () => openRegular(path, file));
  // Opening a FIFO blocks until it has a writer, so not on this thread.
  const handle = await tryTo(file, () => untilStopped(open(path), host.signal));
  const isDevice = status.isCharacterDevice() || status.isBlockDevice();
  return spooled(file, handle.createReadStream(), { isRegular, isDevice }, options);
}

/** Opens ids that were typed as a separate input, one per line. */
export function openIds(ids: readonly string[], options: InputOptions): Promise<Input> {
  const stream = Readable.from([Buffer.from(`${ids.join('\n')}\n`)]);
  return spooled('the typed ids', stream, { isRegular: false, isDevice: false }, options);
}

function openRegular(path: string, name: string): Input {
  const descriptor = openSync(path, 'r');
  const close = () => closeSync(descriptor);
  const { size: sizeBytes } = fstatSync(descriptor);
  return { name, isSpooled: false, isRegular: true, descriptor, sizeBytes, isUnchanged: watchOf(descriptor), close };
}

/** Compares six bytes of the hash of each block. */
function watchOf(descriptor: number): Input['isUnchanged'] {
  const status = () => fstatSync(descriptor, { bigint: true });
  const opened = status();
  const marks: number[] = [];
  return (block, bytes) => {
    const { size, mtimeNs } = status();
    const mark = hash('sha256', bytes, 'buffer').readUIntBE(0, 6);
    marks[block] ??= mark;
    return size === opened.size && mtimeNs === opened.mtimeNs && marks[block] === mark;
  };
}

async function spooled(
  name: string,
  stream: AsyncIterable<unknown>,
  { isRegular, isDevice }: { readonly isRegular: boolean; readonly isDevice: boolean },
  options: InputOptions,
): Promise<Input> {
  const bytes = untilEnd(stream as AsyncIterable<Uint8Array>, name, isDevice, options);
  const place = { directory: options.spoolDirectory, platform: options.host.platform };
  const spool = await spoolBytes(bytes, place);
  return { name, isSpooled: true, isRegular, ...spool };
}

async function* untilEnd(
  stream: AsyncIterable<Uint8Array>,
  name: string,
  isDevice: boolean,
  { host, onCopied }: InputOptions,
): AsyncGenerator<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  try {
    for (let bytes = 0; ; ) {
      const { done, value } = await tryTo(nameOf(name), () => untilStopped(chunks.next(), host.signal));
      if (done === true) return;
      if (isDevice || (bytes === 0 && beginsWithNuls(value))) throw notRows(name, isDevice);
      bytes += value.length;
      onCopied?.(bytes);
      yield value;
    }
  } finally {
    // Not awaited, since it would wait for a read in progress.
    chunks.return?.().catch(() => {});
  }
}

/** No encoding of text has this many at its start; /dev/zero has nothing else, and no end. */
function beginsWithNuls(bytes: Uint8Array): boolean {
  return bytes.length >= 8 && bytes.subarray(0, 8).every((byte) => byte === 0);
}

function notRows(name: string, isDevice: boolean): Failure {
  const reason = isDevice ? 'it is a device, which may have no end' : 'it begins with NUL bytes, not with text';
  return new Failure('usage', `cannot read ${nameOf(name)}: ${reason}`, {
    hint: 'pass a file, or pipe the rows in',
  });
}

/** The name of an input in messages. */
export function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}

async function tryTo<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (errnoCode(error) === undefined || error instanceof Failure) throw error;
    throw unreadable(file, error);
  }
}

function isDirectory(name: string): Failure {
  return new Failure('usage', `cannot read ${name}: it is a directory`);
}

function closedStdin(): Failure {
  return new Failure('usage', 'cannot read standard input: it is closed', {
    hint: 'pipe the rows in (a container may need -i), or pass a file',
  });
}

const readAt = promisify(read);

export interface ByteOptions {
  readonly blockBytes?: number | undefined;
  /** Called with every byte as it is on disk. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined;
  /** Called with every byte of the decompressed content. */
  readonly onContent?: ((bytes: Uint8Array) => void) | undefined;
}

/**
 * Reads the content in blocks, decompressed if it is gzip, regardless of its name.
 *
 * @throws {Failure} local-file, if it cannot be read, has changed since it was opened, or is damaged gzip data
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
      throw new Failure('local-file', `${nameOf(input.name)} changed while it was being read`, {
        hint: 'stop the process that writes to it, then retry',
      });
    }
    onBytes?.(block);
    yield block;
  }
}

/** Reads a number of bytes, or fewer at the end of the file. */
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
    throw fileFailure(`cannot read ${nameOf(name)}`, error);
  }
}

/**
 * Hashes the decompressed content: SHA-256, 64 hex digits.
 *
 * @throws {Failure} as `contentBytes`
 */
export async function contentHash(input: Input, options: ByteOptions): Promise<string> {
  const hash = createHash('sha256');
  for await (const block of contentBytes(input, options)) hash.update(block);
  return hash.digest('hex');
}

export async function isEmpty(input: Input, options: ByteOptions): Promise<boolean> {
  for await (const { length } of contentBytes(input, options)) if (length > 0) return false;
  return true;
}

export async function isGzip(input: Input): Promise<boolean> {
  const start = input.sizeBytes < 2 ? undefined : await readBlock(input, 0, 2);
  if (start?.[0] === 0x1f && start[1] === 0x8b) return true;
  if (!input.name.toLowerCase().endsWith('.gz')) return false;
  throw damaged(input, 'no gzip header');
}

async function* unpacked(bytes: AsyncIterable<Buffer>, input: Input): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const source = Readable.from(bytes);
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    // Of the file itself.
    if (error instanceof Failure) throw error;
    throw damaged(input, (error as Error).message);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

function damaged(input: Input, reason: string): Failure {
  return new Failure('local-file', `${nameOf(input.name)} is damaged gzip data: ${reason}`, {
    hint: 'recompress the file',
  });
}
