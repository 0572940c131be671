/** The files that a command line names for what comes out of it: opened before anything is sent. */
import { lstatSync, readlinkSync, statSync, unlinkSync, write } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { absolutePath } from './absolute-path.ts';
import { errnoCode } from './errno.ts';
import { Failure } from './errors.ts';
import type { Host, Output } from './host.ts';
import { cannotWrite, checkReplaceable, replaceFile } from './replace-file.ts';
import { untilStopped } from './until-stopped.ts';

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

type StreamHost = Pick<Host, 'cwd' | 'clock' | 'signal' | 'hurry' | 'stdout' | 'stderr'>;

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
async function writeAll(descriptor: number, bytes: Uint8Array, { clock, hurry }: StreamHost): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const taken = await untilStopped(writeOnce(descriptor, bytes, at), hurry);
    if (taken === 0) await clock.sleep(fullPipeMs, hurry);
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
