/** stdout and stderr: what is written there is taken by the system, or somebody hears that it is not. */
import { fstatSync, statSync, write, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { errnoReason, Failure } from './errors.ts';

/** A regular file, or what gives no bytes at all. */
export type StdinKind = 'file' | 'directory' | 'closed';

/** A stream that takes text: stdout or stderr. */
export interface Output {
  readonly isTTY: boolean;
  /** The width of the terminal in columns; undefined where there is none. */
  readonly columns: number | undefined;
  /** Its height in lines. */
  readonly rows?: number | undefined;
  /** True once the reader has gone; what is written after that is dropped. */
  readonly isClosed: boolean;
  /** The stream itself, for prompts. */
  readonly stream: Writable;
  /**
   * Resolves when the system has taken the text, so that nothing is lost when the process ends.
   *
   * @throws {Failure} local-file, when it cannot be written (a full device). A reader that has gone is no failure.
   */
  write(text: string | Uint8Array): Promise<void>;
}

/** An Output of the process itself. */
export interface ProcessOutput extends Output {
  /** False while Node's stream holds what the system has not taken yet. */
  readonly isFlushed: boolean;
}

/**
 * A stream of the process as an Output.
 *
 * What is no terminal is written straight to its descriptor: Node's stream for it would cost every start 3 ms. The
 * stream takes over where the descriptor cannot take more at once (EAGAIN, where a pipe does not block).
 *
 * @param stream makes Node's stream, when it is needed
 */
export function outputTo(descriptor: 1 | 2, name: string, stream: () => NodeJS.WriteStream): ProcessOutput {
  let isClosed = false;
  let made: Writable | undefined;
  const mayBeTerminal = isCharacterDevice(descriptor);
  let writtenBytes = 0;
  // So much an empty pipe takes without its reader. Whoever writes more may have other work meanwhile, and signals to
  // hear; what is said on stderr is little, and must not change its order.
  const take = (bytes: Buffer) => {
    writtenBytes += bytes.length;
    return descriptor === 1 && writtenBytes > pipeBytes ? writeBeside(descriptor, bytes) : writeNow(descriptor, bytes);
  };
  const opened = lazily(() => {
    // Without a listener an error of the stream would end the process with a stack.
    const opened = stream().on('error', () => {});
    made = opened;
    return opened;
  });
  const isTTY = lazily(() => mayBeTerminal && opened().isTTY === true);
  const failed = (error: NodeJS.ErrnoException) => {
    if (!isReaderGone(error)) {
      throw new Failure('local-file', `cannot write to ${name}: ${errnoReason(error)}`, { cause: error });
    }
    isClosed = true;
  };
  return {
    get stream() {
      return opened();
    },
    get isTTY() {
      return isTTY();
    },
    get columns() {
      return isTTY() ? opened().columns : undefined;
    },
    get rows() {
      return isTTY() ? opened().rows : undefined;
    },
    get isClosed() {
      return isClosed;
    },
    get isFlushed() {
      return made === undefined || made.writableLength === 0;
    },
    write: async (text) => {
      try {
        const rest = isTTY() ? Buffer.from(text) : await take(Buffer.from(text));
        if (!isClosed && rest.length > 0) await writeThrough(opened(), rest);
      } catch (error) {
        failed(error as NodeJS.ErrnoException);
      }
    },
  };
}

/** One page: a pipe may take less than its size, since a page is mostly not shared between two writes (pipe(7)). */
const pipeBytes = 4096;

/** The kind of stdin. Node gives an empty stream for a directory and for a closed descriptor alike. */
export function stdinKind(): StdinKind | undefined {
  try {
    const status = fstatSync(0);
    if (status.isFile()) return 'file';
    if (status.isDirectory()) return 'directory';
    return status.isCharacterDevice() && isReplacedByNode(status.rdev) ? 'closed' : undefined;
  } catch {
    return 'closed';
  }
}

/** Node opens /dev/null for reading and writing where a descriptor is closed; `< /dev/null` is for reading alone. */
function isReplacedByNode(rdev: number): boolean {
  try {
    if (statSync('/dev/null').rdev !== rdev) return false;
    writeSync(0, '');
    return true;
  } catch {
    return false;
  }
}

function isCharacterDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    // Closed before the start: writing to it tells.
    return false;
  }
}

/** Writes what the descriptor takes without waiting; gives back the rest. */
function writeNow(descriptor: number, bytes: Buffer): Buffer {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(descriptor, bytes, written);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  return bytes.subarray(written);
}

/** The same beside the other work: a pipe whose reader is slow holds up nothing else. */
async function writeBeside(descriptor: number, bytes: Buffer): Promise<Buffer> {
  let rest = bytes;
  while (rest.length > 0) {
    const written = await writeOnce(descriptor, rest);
    if (written === undefined) break;
    rest = rest.subarray(written);
  }
  return rest;
}

/** How many bytes were taken; undefined where none can be now. */
function writeOnce(descriptor: number, bytes: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, 0, bytes.length, null, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') resolve(undefined);
      else reject(error);
    });
  });
}

function writeThrough(stream: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

/** Makes a value on first use. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function isReaderGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED' || error.code === 'EOF';
}
