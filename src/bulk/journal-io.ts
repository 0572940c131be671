import {
  closeSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { makePrivateFolder } from '../private-folder.ts';

/**
 * The system calls that journals are made of, so that a disk that is full, fails or loses its power can stand in. Each
 * fails as the system's own: with an error that has a `code`.
 */
export interface JournalIo {
  /** `wx` makes a file, mode 0600, and fails where one is; `r+` writes to one that is there; `r` reads. */
  open(path: string, flags: 'r' | 'r+' | 'wx'): number;
  /** Writes `bytes` from `offset` on to a place of the file; gives how many the system took, which may be a part. */
  write(descriptor: number, bytes: Uint8Array, offset: number, position: number): number;
  /** Gives how many bytes were read; 0 at the end. */
  read(descriptor: number, into: Uint8Array, position: number): number;
  lengthOf(descriptor: number): number;
  /** Whether the file that a descriptor was opened on is still the one with that name. */
  isAt(descriptor: number, path: string): boolean;
  truncate(descriptor: number, lengthBytes: number): void;
  /** fsync. */
  sync(descriptor: number): void;
  /** fdatasync, beside the other work. */
  syncData(descriptor: number): Promise<void>;
  close(descriptor: number): void;
  /** Makes a folder, and those above it, for its owner alone; gives those that it made, the outermost first. */
  makeFolder(path: string): readonly string[];
  /** fsync of a folder, for the names in it. */
  syncFolder(path: string): void;
  /** When a file was last written, in milliseconds since the Unix epoch; NaN where that cannot be told. */
  modifiedMs(path: string): number;
  /** The names in a folder; none where there is no folder. */
  list(path: string): readonly string[];
  rename(from: string, to: string): void;
  remove(path: string): void;
}

/**
 * Writes all of it to a place of the file: a disk that is nearly full takes a part, without an error.
 *
 * @throws the system's error, when it takes no more
 */
export function writeWhole(descriptor: number, bytes: Uint8Array, position: number, io: JournalIo): void {
  for (let at = 0; at < bytes.length; ) {
    const taken = io.write(descriptor, bytes, at, position + at);
    if (taken <= 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' });
    at += taken;
  }
}

/** The file system itself. */
export const fileIo: JournalIo = {
  open: (path, flags) => openSync(path, flags, 0o600),
  write: (descriptor, bytes, offset, position) => {
    return writeSync(descriptor, bytes, offset, bytes.length - offset, position);
  },
  read: (descriptor, into, position) => readSync(descriptor, into, 0, into.length, position),
  lengthOf: (descriptor) => fstatSync(descriptor).size,
  isAt: (descriptor, path) => {
    const named = statSync(path, { bigint: true, throwIfNoEntry: false });
    const own = fstatSync(descriptor, { bigint: true });
    return named?.ino === own.ino && named.dev === own.dev;
  },
  truncate: ftruncateSync,
  sync: fsyncSync,
  syncData: (descriptor) =>
    new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
    }),
  close: closeSync,
  makeFolder: makePrivateFolder,
  syncFolder,
  modifiedMs: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN,
  list: listFolder,
  rename: renameSync,
  remove: unlinkSync,
};

function syncFolder(path: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    fsyncSync(descriptor);
  } catch (error) {
    // Windows opens no folder, and some file systems sync none: their names are safe by other means, or by none.
    if (!unsyncable.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const unsyncable: ReadonlySet<string> = new Set(['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP', 'EACCES']);

function listFolder(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
