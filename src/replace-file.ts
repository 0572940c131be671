/** The replacement of a file as a whole: a reader, also one after a crash, finds the old one or the new one. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoCode, errnoReason } from './errno.ts';
import { Failure } from './errors.ts';
import { resolveLinks } from './files.ts';

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
  syncFolder(path: string): void;
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
  syncFolder,
  list: listFolder,
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
export function cannotWrite(path: string, error: unknown): Failure {
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
  io.syncFolder(dirname(target));
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

function syncFolder(path: string): void {
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

function listFolder(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}
