/** The replacement of a file as a whole: a reader, also one after a crash, finds the old one or the new one. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  statSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoCode, errnoReason, Failure } from './errors.ts';
import { absolutePath, resolveLinks } from './files.ts';
import { type Host, type Output, untilStopped } from './host.ts';

/**
 * The system calls of a replacement, so that a disk that is full, fails or loses its power can stand in. Each fails as
 * the system's own: with an error that has a `code`.
 */
export interface FileIo {
  /**
   * `wx` makes a file, mode 0600, and fails where there is anything, a link included; `r+` writes to one that is there;
   * `r` reads. What is not a regular file is refused, and a link is not followed for writing.
   */
  open(path: string, flags: 'r' | 'r+' | 'wx'): number;
  /** Writes `bytes` from `offset` on to a place of the file; gives how many the system took, which may be a part. */
  write(descriptor: number, bytes: Uint8Array, offset: number, position: number): number;
  /** fsync. */
  sync(descriptor: number): void;
  close(descriptor: number): void;
  /** fsync of a directory, for the names in it. */
  syncDirectory(path: string): void;
  /** The names in a directory; none where there is no directory. */
  list(path: string): readonly string[];
  rename(from: string, to: string): void;
  remove(path: string): void;
}

/**
 * Writes all of it to a place of the file: a disk that is nearly full takes a part, without an error.
 *
 * @throws the system's error, when it takes no more
 */
export function writeWhole(descriptor: number, bytes: Uint8Array, position: number, io: FileIo): void {
  for (let at = 0; at < bytes.length; ) {
    const taken = io.write(descriptor, bytes, at, position + at);
    if (taken <= 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' });
    at += taken;
  }
}

/** The file system itself. */
export const fileIo: FileIo = {
  open: openRegular,
  write: (descriptor, bytes, offset, position) => writeSync(descriptor, bytes, offset, bytes.length - offset, position),
  sync: fsyncSync,
  close: closeSync,
  syncDirectory,
  list: listDirectory,
  rename: renameSync,
  remove: unlinkSync,
};

/**
 * Replaces a file by another one, mode 0600. A link to it stays one.
 *
 * @throws {Failure} local-file; the file is then what it was
 */
export function replaceFile(path: string, pieces: Iterable<string | Uint8Array>, io: FileIo = fileIo): void {
  try {
    replaceWhole(resolveLinks(path), pieces, io);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** The failure for a file that cannot be written; a failure as it is. */
function cannotWrite(path: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure('local-file', `cannot write ${path}: ${errnoReason(error)}`, { cause: error });
}

/**
 * As `replaceFile`, for a path without links.
 *
 * @throws the system's own error; the file is then what it was
 */
export function replaceWhole(target: string, pieces: Iterable<string | Uint8Array>, io: FileIo = fileIo): void {
  const temporary = newTemporary(target, io);
  try {
    const descriptor = io.open(temporary, 'wx');
    try {
      let position = 0;
      for (const piece of pieces) {
        const bytes = Buffer.from(piece);
        writeWhole(descriptor, bytes, position, io);
        position += bytes.length;
      }
      io.sync(descriptor);
    } finally {
      io.close(descriptor);
    }
    io.rename(temporary, target);
  } catch (error) {
    removeIfThere(temporary, io);
    throw error;
  }
  io.syncDirectory(dirname(target));
}

/**
 * Checks that a file can be replaced, before the work that it is for.
 *
 * @throws {Failure} local-file
 */
export function checkReplaceable(path: string): void {
  try {
    const temporary = newTemporary(resolveLinks(path), fileIo);
    fileIo.close(fileIo.open(temporary, 'wx'));
    fileIo.remove(temporary);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** A name beside a file that nobody else knows before; what killed processes left under such names is removed. */
export function newTemporary(target: string, io: FileIo): string {
  const start = `${basename(target)}.tmp-listctl-`;
  for (const name of io.list(dirname(target))) {
    if (name.startsWith(start)) removeIfThere(join(dirname(target), name), io);
  }
  return join(dirname(target), `${start}${randomBytes(6).toString('hex')}`);
}

function removeIfThere(path: string, io: FileIo): void {
  try {
    io.remove(path);
  } catch {
    // It is not there, or it stays: that is no worse.
  }
}

const openFlags = {
  // Not waiting: opening a pipe waits for its other end.
  r: constants.O_RDONLY | (constants.O_NONBLOCK ?? 0),
  'r+': constants.O_RDWR | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0),
  wx: 'wx',
} as const;

function openRegular(path: string, flags: 'r' | 'r+' | 'wx'): number {
  const descriptor = openSync(path, openFlags[flags], 0o600);
  try {
    if (!fstatSync(descriptor).isFile()) throw notRegular(fstatSync(descriptor).isDirectory());
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function notRegular(isDirectory: boolean): Error {
  return isDirectory ? Object.assign(new Error('EISDIR'), { code: 'EISDIR' }) : new Error('it is not a regular file');
}

function syncDirectory(path: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    fsyncSync(descriptor);
  } catch (error) {
    // Windows opens no directory, and some file systems sync none: their names are safe by other means, or by none.
    if (!unsyncable.has(errnoCode(error) ?? '')) throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const unsyncable: ReadonlySet<string> = new Set(['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP', 'EACCES']);

function listDirectory(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** A file for the result of a command, or a stream in its place. */
export interface OutputFile {
  /**
   * Writes all of it: a regular file is replaced as a whole, and a stream is written to.
   *
   * @throws {Failure} local-file; a regular file is then what it was
   */
  write(pieces: Iterable<string | Uint8Array>): Promise<void>;
  /** Removes a regular file, also one of an earlier run: it would be taken for this one's. */
  discard(): void;
  /** Releases a stream that was opened; nothing is written after it. */
  close(): Promise<void>;
}

type StreamHost = Pick<Host, 'cwd' | 'clock' | 'signal' | 'forceStop' | 'stdout' | 'stderr'>;

/**
 * Opens a file for writing: `-`, `/dev/stdout`, `/dev/stderr` and other descriptors are written through, pipes and
 * devices are opened, and of a regular file is seen that it can be replaced. A named pipe is waited for until somebody
 * reads it.
 *
 * @param flag what named it
 * @throws {Failure} usage, when it was not named; local-file, when it cannot be written
 * @throws {Stopped} when the host's signal aborts while a named pipe has no reader
 */
export async function openOutput(typed: string, flag: string, host: StreamHost): Promise<OutputFile> {
  if (typed === '') throw new Failure('usage', `invalid ${flag} "": expected a file`, { hint: 'nothing was sent' });
  const descriptor = descriptorNamed(typed, host);
  if (descriptor === 1) return throughOutput(host.stdout);
  if (descriptor === 2) return throughOutput(host.stderr);
  if (descriptor !== undefined) return throughDescriptor(typed, descriptor, host);
  const path = absolutePath(typed, host);
  if (isReplaced(path)) {
    checkReplaceable(path);
    return {
      write: async (pieces) => replaceFile(path, pieces),
      discard: () => removeFile(path),
      close: async () => {},
    };
  }
  const handle = await openStream(typed, path, host);
  return { ...throughDescriptor(typed, handle.fd, host), close: () => handle.close() };
}

/** The number of the open descriptor that a path leads to; undefined for any other file. `-` is standard output. */
export function descriptorNamed(typed: string, host: Pick<Host, 'cwd'>): number | undefined {
  if (typed === '-') return 1;
  try {
    return descriptorBehind(absolutePath(typed, host));
  } catch {
    // Opening it tells what is wrong with it.
    return undefined;
  }
}

function descriptorBehind(start: string): number | undefined {
  let path = start;
  for (let left = 40; left > 0; left -= 1) {
    const [, name = '', number] =
      /^\/dev\/(?:(stdin|stdout|stderr)|fd\/(\d{1,6}))$/.exec(path) ??
      /^\/proc\/self\/(fd)\/(\d{1,6})$/.exec(path) ??
      [];
    if (number !== undefined) return Number(number);
    if (name !== '') return ['stdin', 'stdout', 'stderr'].indexOf(name);
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
    path = resolve(dirname(path), readlinkSync(path));
  }
  return undefined;
}

/** Whether a file is replaced, rather than written to: a regular one, or none yet. */
function isReplaced(path: string): boolean {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    // Opening a directory tells what it is.
    return status === undefined || status.isFile();
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

async function openStream(typed: string, path: string, { signal }: StreamHost): Promise<FileHandle> {
  try {
    // Opening a named pipe waits for its reader, so not on this thread.
    return await untilStopped(open(path, 'w'), signal);
  } catch (error) {
    throw errnoCode(error) === undefined ? error : cannotWrite(typed, error);
  }
}

function throughOutput(output: Output): OutputFile {
  return {
    write: async (pieces) => {
      for (const piece of pieces) await output.write(piece);
    },
    discard: () => {},
    close: async () => {},
  };
}

function throughDescriptor(name: string, descriptor: number, host: StreamHost): OutputFile {
  return {
    write: async (pieces) => {
      try {
        for (const piece of pieces) await writeAll(descriptor, Buffer.from(piece), host);
      } catch (error) {
        throw errnoCode(error) === undefined ? error : cannotWrite(name, error);
      }
    },
    discard: () => {},
    close: async () => {},
  };
}

/** How long a pipe that is full is left to its reader, where it does not block. */
const fullPipeMs = 20;

/** Not on this thread, and ended by a second signal: a pipe may have a reader that does not read. */
async function writeAll(descriptor: number, bytes: Uint8Array, { clock, forceStop }: StreamHost): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const taken = await untilStopped(writeOnce(descriptor, bytes, at), forceStop);
    if (taken === 0) await clock.sleep(fullPipeMs, forceStop);
    at += taken;
  }
}

function writeOnce(descriptor: number, bytes: Uint8Array, offset: number): Promise<number> {
  return new Promise((done, reject) => {
    write(descriptor, bytes, offset, bytes.length - offset, null, (error, taken) => {
      if (error === null) done(taken);
      else if (error.code === 'EAGAIN') done(0);
      else reject(error);
    });
  });
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT') throw cannotWrite(path, error);
  }
}
