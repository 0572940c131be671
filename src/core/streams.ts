/** stdout and stderr: a write that the system does not take is an error. */
import { fstatSync, statSync, write, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { errnoCode, fileFailure } from './errors.ts';
import { attempt } from './files.ts';

export interface Output {
  readonly isTTY: boolean;
  /** The size of the terminal; undefined without one. */
  readonly columns: number | undefined;
  readonly rows?: number | undefined;
  /** Whether the reader has closed it; later writes are dropped. */
  readonly isClosed: boolean;
  /** The stream itself, for prompts. */
  readonly stream: Writable;
  /**
   * Resolves when the system has taken the text, so that nothing is lost when the process ends.
   *
   * @throws {Failure} local-file, such as for a full device; not for a reader that has closed it
   */
  write(text: string | Uint8Array): Promise<void>;
}

/**
 * Makes an Output of a stream of the process. Except to a terminal, it writes to the descriptor, since Node's stream
 * takes 3 ms to make; the stream takes over when a non-blocking descriptor is full (EAGAIN).
 */
export function outputTo(descriptor: 1 | 2, name: string, stream: () => NodeJS.WriteStream) {
  let isClosed = false;
  let made: Writable | undefined;
  // Not if it is closed: then writing to it will fail.
  const mayBeTerminal = attempt(() => fstatSync(descriptor).isCharacterDevice()) === true;
  let writtenBytes = 0;
  // An empty pipe takes this much without its reader. A longer output must not block other work and signals; stderr
  // gets little, and must keep its order.
  const take = (bytes: Buffer) => {
    writtenBytes += bytes.length;
    return descriptor === 1 && writtenBytes > pipeBytes ? writeBeside(descriptor, bytes) : writeNow(descriptor, bytes);
  };
  const opened = lazily(() => {
    // Without a listener an error of the stream would be uncaught.
    const opened = stream().on('error', () => {});
    made = opened;
    return opened;
  });
  const isTTY = lazily(() => mayBeTerminal && opened().isTTY === true);
  const failed = (error: unknown) => {
    if (!isReaderGone(error)) throw fileFailure(`cannot write to ${name}`, error);
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
    /** False while Node's stream has a buffer that the system has not taken yet. */
    get isFlushed() {
      return made === undefined || made.writableLength === 0;
    },
    write: async (text: string | Uint8Array) => {
      try {
        const rest = isTTY() ? Buffer.from(text) : await take(Buffer.from(text));
        if (!isClosed && rest.length > 0) await writeThrough(opened(), rest);
      } catch (error) {
        failed(error);
      }
    },
  };
}

/** One page: a pipe may take less than its size, since two writes rarely share a page (pipe(7)). */
const pipeBytes = 4096;

/** The kind of stdin, which Node's stream does not show: it is empty for a directory and for a closed descriptor. */
export function stdinKind(): 'file' | 'directory' | 'device' | 'closed' | undefined {
  try {
    const status = fstatSync(0);
    if (status.isFile()) return 'file';
    if (status.isDirectory()) return 'directory';
    if (!status.isCharacterDevice() && !status.isBlockDevice()) return undefined;
    return isReplacedByNode(status.rdev) ? 'closed' : 'device';
  } catch {
    return 'closed';
  }
}

/** Node opens /dev/null for reading and writing in place of a closed descriptor; `< /dev/null` is read-only. */
function isReplacedByNode(rdev: number): boolean {
  try {
    if (statSync('/dev/null').rdev !== rdev) return false;
    writeSync(0, '');
    return true;
  } catch {
    return false;
  }
}

/** Writes what the descriptor takes without waiting; returns the rest. */
function writeNow(descriptor: number, bytes: Buffer): Buffer {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(descriptor, bytes, written);
  } catch (error) {
    if (errnoCode(error) !== 'EAGAIN') throw error;
  }
  return bytes.subarray(written);
}

/** The same without blocking other work, for a pipe with a slow reader. */
async function writeBeside(descriptor: number, bytes: Buffer): Promise<Buffer> {
  let rest = bytes;
  while (rest.length > 0) {
    const written = await writeOnce(descriptor, rest, 0);
    if (written === 0) break;
    rest = rest.subarray(written);
  }
  return rest;
}

/** Writes bytes from an offset on, and returns the number that were taken: 0 if the pipe is full. */
export function writeOnce(descriptor: number, bytes: Uint8Array, offset: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, offset, bytes.length - offset, null, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') resolve(0);
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

function isReaderGone(error: unknown): boolean {
  return ['EPIPE', 'ERR_STREAM_DESTROYED', 'EOF'].includes(errnoCode(error) ?? '');
}
