/** Writes files: replaced as a whole, so that a reader, also after a crash, finds the old one or the new one; or streams. */
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
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoCode, Failure, fileFailure } from './errors.ts';
import { absolutePath, attempt, resolveLinks } from './files.ts';
import { type Host, type Output, untilStopped } from './host.ts';
import { writeOnce } from './streams.ts';

type OpenFlags = 'r' | 'r+' | 'wx' | 'a' | 'ax';

/** The system calls of a replacement; tests replace them to simulate full disks, errors and power cuts. */
export interface FileIo {
  /**
   * `wx` makes a file, mode 0600, and fails if the path exists; `r+` opens an existing one for writing, but not through a
   * link; `r` reads. `ax` and `a` are `wx` and `r+` for a file that every write extends. Only regular files.
   */
  open(path: string, flags: OpenFlags): number;
  /** Writes `bytes` from `offset` on; returns how many the system took. The position of `a` and `ax` is null. */
  write(descriptor: number, bytes: Uint8Array, offset: number, position: number | null): number;
  sync(descriptor: number): void;
  close(descriptor: number): void;
  /** fsync of a directory, for the names in it. */
  syncDirectory(path: string): void;
  /** The names in a directory; none if it does not exist. */
  list(path: string): readonly string[];
  rename(from: string, to: string): void;
  remove(path: string): void;
}

/** Writes all bytes: a disk that is nearly full takes a part, without an error. Throws the error of the system. */
export function writeWhole(
  descriptor: number,
  bytes: Uint8Array,
  position: number | null,
  io: Pick<FileIo, 'write'>,
): void {
  for (let at = 0; at < bytes.length; ) {
    const taken = io.write(descriptor, bytes, at, position === null ? null : position + at);
    if (taken <= 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' });
    at += taken;
  }
}

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

/** Replaces a file, mode 0600, also through links. If that fails (local-file), it is unchanged. */
export function replaceFile(path: string, pieces: Iterable<string | Uint8Array>, io: FileIo = fileIo): void {
  try {
    replaceWhole(resolveLinks(path), pieces, io);
  } catch (error) {
    throw fileFailure(`cannot write ${path}`, error);
  }
}

/** As `replaceFile`, for a path without links; throws the error of the system. */
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

/** Checks that a file can be replaced; throws as `replaceFile`. */
export function checkReplaceable(path: string): void {
  try {
    const temporary = newTemporary(resolveLinks(path), fileIo);
    fileIo.close(fileIo.open(temporary, 'wx'));
    fileIo.remove(temporary);
  } catch (error) {
    throw fileFailure(`cannot write ${path}`, error);
  }
}

/** Makes the name of a temporary file next to another one, and removes those that killed processes left. */
export function newTemporary(target: string, io: FileIo): string {
  const start = `${basename(target)}.tmp-listctl-`;
  for (const name of io.list(dirname(target))) {
    if (name.startsWith(start)) removeIfThere(join(dirname(target), name), io);
  }
  return join(dirname(target), `${start}${randomBytes(6).toString('hex')}`);
}

/** A file that stays does no harm. */
function removeIfThere(path: string, io: FileIo): void {
  attempt(() => io.remove(path));
}

const openFlags = {
  // Opening a pipe would wait for its other end.
  r: constants.O_RDONLY | (constants.O_NONBLOCK ?? 0),
  'r+': constants.O_RDWR | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0),
  wx: 'wx',
  a: constants.O_WRONLY | constants.O_APPEND | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0),
  ax: 'ax',
} as const;

function openRegular(path: string, flags: OpenFlags): number {
  const descriptor = openSync(path, openFlags[flags], 0o600);
  try {
    const status = fstatSync(descriptor);
    if (status.isDirectory()) throw Object.assign(new Error('EISDIR'), { code: 'EISDIR' });
    if (!status.isFile()) throw new Error('it is not a regular file');
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function syncDirectory(path: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    fsyncSync(descriptor);
  } catch (error) {
    // Windows cannot open directories, and some file systems cannot sync them.
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

/** A file or a stream for the output of a command. */
export interface OutputFile {
  /**
   * Replaces a file as a whole, or writes to a stream.
   *
   * @throws {Failure} local-file; a regular file is unchanged then
   */
  write(pieces: Iterable<string | Uint8Array>): Promise<void>;
  /** Removes a regular file, also that of an earlier run, which would be mistaken for this one's. */
  discard(): void;
  close(): Promise<void>;
}

/**
 * Opens a file for writing, or checks that it can be replaced; `-`, `/dev/stdout`, `/dev/stderr` and other descriptors
 * are written to. Waits until a named pipe has a reader.
 *
 * @param flag the flag of the path, for messages
 * @throws {Failure} usage; local-file
 * @throws {Stopped}
 */
export async function openOutput(typed: string, flag: string, host: Host): Promise<OutputFile> {
  if (typed === '') throw new Failure('usage', `invalid ${flag} "": expected a file`);
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

/** The descriptor that a path leads to, `-` to that of stdout; undefined for any other file. */
export function descriptorNamed(typed: string, host: Pick<Host, 'cwd'>): number | undefined {
  if (typed === '-') return 1;
  // Where that fails, opening it will fail with the reason.
  return attempt(() => descriptorBehind(absolutePath(typed, host)));
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

/** Whether a path is that of a regular file, or of none yet, which is replaced rather than written to. */
function isReplaced(path: string): boolean {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    // Opening a directory will fail with the reason.
    return status === undefined || status.isFile();
  } catch (error) {
    throw fileFailure(`cannot write ${path}`, error);
  }
}

async function openStream(typed: string, path: string, { signal }: Host): Promise<FileHandle> {
  try {
    // Opening a named pipe blocks until it has a reader, so not on this thread.
    return await untilStopped(open(path, 'w'), signal);
  } catch (error) {
    throw errnoCode(error) === undefined ? error : fileFailure(`cannot write ${typed}`, error);
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

function throughDescriptor(name: string, descriptor: number, host: Host): OutputFile {
  return {
    write: async (pieces) => {
      try {
        for (const piece of pieces) await writeAll(descriptor, Buffer.from(piece), host);
      } catch (error) {
        throw errnoCode(error) === undefined ? error : fileFailure(`cannot write ${name}`, error);
      }
    },
    discard: () => {},
    close: async () => {},
  };
}

/** The wait for the reader of a full, non-blocking pipe. */
const fullPipeMs = 20;

/** Does not block this thread, and ends at the second stop signal: the reader of a pipe may have stopped reading. */
async function writeAll(descriptor: number, bytes: Uint8Array, { clock, forceStop }: Host): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const taken = await untilStopped(writeOnce(descriptor, bytes, at), forceStop);
    if (taken === 0) await clock.sleep(fullPipeMs, forceStop);
    at += taken;
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT') throw fileFailure(`cannot write ${path}`, error);
  }
}
