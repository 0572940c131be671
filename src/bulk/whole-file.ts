import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';

/** The system calls of a replacement, for tests that let one of them fail. */
export interface WholeFileIo {
  open(path: string, flags: string, mode?: number): number;
  write(descriptor: number, bytes: Uint8Array, offset: number): number;
  sync(descriptor: number): void;
  close(descriptor: number): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
}

const realIo: WholeFileIo = {
  open: openSync,
  write: writeSync,
  sync: fsyncSync,
  close: closeSync,
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
};

/**
 * Replaces a file by another one, mode 0600: whoever reads it, also after a crash, finds the old one or the new one,
 * whole. A link to it stays one.
 *
 * @throws {Failure} local-file; the file is then what it was
 */
export function replaceFile(path: string, pieces: Iterable<string | Uint8Array>, io: WholeFileIo = realIo): void {
  const target = realPath(path);
  const temporary = `${target}.tmp-listctl`;
  if (isOtherThanFile(target)) {
    // A pipe or a device is written to: in its place nobody would find what was meant for it.
    tryToWrite(path, () => writeInto(target, 'w', pieces, io));
    return;
  }
  tryToWrite(path, () => {
    try {
      // What a killed process left there.
      io.remove(temporary);
      writeInto(temporary, 'wx', pieces, io);
      io.rename(temporary, target);
      syncFolder(dirname(target), io);
    } catch (error) {
      quietly(() => io.remove(temporary));
      throw error;
    }
  });
}

/**
 * Sees whether a file can be replaced, before the work that it is for.
 *
 * @throws {Failure} local-file
 */
export function checkReplaceable(path: string): void {
  const target = realPath(path);
  if (isOtherThanFile(target)) return;
  const temporary = `${target}.tmp-listctl`;
  tryToWrite(path, () => {
    realIo.close(realIo.open(temporary, 'w', 0o600));
    realIo.remove(temporary);
  });
}

/** Whether something stands there that is no regular file; a folder is no place to write to, and fails as one. */
function isOtherThanFile(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status !== undefined && !status.isFile() && !status.isDirectory();
}

function tryToWrite(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('local-file', `cannot write ${path}: ${errnoReason(error)}`, { cause: error });
  }
}

function writeInto(path: string, flags: 'w' | 'wx', pieces: Iterable<string | Uint8Array>, io: WholeFileIo): void {
  const descriptor = io.open(path, flags, 0o600);
  try {
    for (const piece of pieces) {
      const bytes = Buffer.from(piece);
      // A disk that is nearly full takes a part, without an error.
      for (let at = 0; at < bytes.length; ) at += io.write(descriptor, bytes, at);
    }
    if (flags === 'wx') io.sync(descriptor);
  } finally {
    io.close(descriptor);
  }
}

/** A rename is on disk when its folder is; where a folder can't be opened (Windows), the system sees to it. */
function syncFolder(folder: string, io: WholeFileIo): void {
  let descriptor: number | undefined;
  quietly(() => {
    descriptor = io.open(folder, 'r');
  });
  if (descriptor === undefined) return;
  try {
    io.sync(descriptor);
  } finally {
    io.close(descriptor);
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there yet.
    return path;
  }
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // There is nothing to undo.
  }
}
