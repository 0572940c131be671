import { fdatasync, fstatSync, ftruncateSync, readSync, statSync } from 'node:fs';
import { makePrivateFolder } from '../private-folder.ts';
import { type FileIo, fileIo as plainIo } from '../replace-file.ts';

/** The system calls that journals are made of, so that a disk that is full, fails or loses its power can stand in. */
export interface JournalIo extends FileIo {
  /** Gives how many bytes were read; 0 at the end. */
  read(descriptor: number, into: Uint8Array, position: number): number;
  lengthOf(descriptor: number): number;
  /** Whether the file that a descriptor was opened on is still the one with that name. */
  isAt(descriptor: number, path: string): boolean;
  truncate(descriptor: number, lengthBytes: number): void;
  /** fdatasync, beside the other work. */
  syncData(descriptor: number): Promise<void>;
  /** Makes a folder, and those above it, for its owner alone; gives those that it made, the outermost first. */
  makeFolder(path: string): readonly string[];
  /** When a file was last written, in milliseconds since the Unix epoch; NaN where that cannot be told. */
  modifiedMs(path: string): number;
}

/** The file system itself. */
export const fileIo: JournalIo = {
  ...plainIo,
  read: (descriptor, into, position) => readSync(descriptor, into, 0, into.length, position),
  lengthOf: (descriptor) => fstatSync(descriptor).size,
  isAt: (descriptor, path) => {
    const named = statSync(path, { bigint: true, throwIfNoEntry: false });
    const own = fstatSync(descriptor, { bigint: true });
    return named?.ino === own.ino && named.dev === own.dev;
  },
  truncate: ftruncateSync,
  syncData: (descriptor) =>
    new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
    }),
  makeFolder: makePrivateFolder,
  modifiedMs: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN,
};
