import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileFailure } from './errors.ts';
import { makePrivateDirectory } from './files.ts';
import { type FileIo, fileIo, writeWhole } from './write-file.ts';

/** The number of lines that need no file. */
export const linesInMemoryMax = 1_000;

/** Lines that are written at once after those: longer texts stay in memory until the next full collection. */
const linesAtOnce = 50;

const chunkBytes = 65_536;

/**
 * Makes a queue of lines: the first ones are in memory, many in a temporary file. The file has mode 0600 and is unlinked
 * before anything is written, so that nothing is left however the process ends; on Windows it is removed when the lines
 * are read. A line may contain newlines. `lines` gives every line once, and ends the spool.
 *
 * @param io the system call, for tests
 * @throws {Failure} local-file, from both methods
 */
export function openSpool(io: Pick<FileIo, 'write'> = fileIo) {
  let waiting: string[] = [];
  let file: ReturnType<typeof openFile> | undefined;
  const spill = () => {
    file ??= openFile(io);
    // JSON has no newlines, and keeps lone surrogates.
    file.append(waiting.map((line) => `${JSON.stringify(line)}\n`).join(''));
    waiting = [];
  };
  return {
    add: (line: string) => {
      waiting.push(line);
      if (waiting.length > (file === undefined ? linesInMemoryMax : linesAtOnce)) spill();
    },
    *lines(): Generator<string> {
      try {
        if (file !== undefined) yield* file.lines();
        yield* waiting;
      } finally {
        file?.close();
        file = undefined;
        waiting = [];
      }
    },
  };
}

function openFile(io: Pick<FileIo, 'write'>) {
  const { descriptor, remove } = tryTo('create', openTemporary);
  const isNameless = isRemoved(remove);
  let sizeBytes = 0;
  return {
    append: (text: string) => {
      const bytes = Buffer.from(text);
      tryTo('write', () => writeWhole(descriptor, bytes, sizeBytes, io));
      sizeBytes += bytes.length;
    },
    *lines() {
      for (const line of linesOf(descriptor)) yield JSON.parse(line) as string;
    },
    close: () => {
      closeSync(descriptor);
      if (!isNameless) isRemoved(remove);
    },
  };
}

function isRemoved(remove: () => void): boolean {
  try {
    remove();
    return true;
  } catch {
    // Windows may not remove an open file.
    return false;
  }
}

function* linesOf(descriptor: number): Generator<string> {
  const chunk = Buffer.alloc(chunkBytes);
  let position = 0;
  let begun: Buffer[] = [];
  for (;;) {
    const length = tryTo('read', () => readSync(descriptor, chunk, 0, chunkBytes, position));
    if (length === 0) return;
    position += length;
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1 && end < length; end = chunk.indexOf(0x0a, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString();
      begun = [];
      start = end + 1;
    }
    // A copy, since the chunk is reused.
    begun.push(Buffer.from(chunk.subarray(start, length)));
  }
}

function tryTo<T>(verb: string, work: () => T): T {
  const hint = 'set TMPDIR to a directory with free space, or pass --columns, which needs no file';
  return tryLocally(`cannot ${verb} a temporary file in ${tmpdir()}`, hint, work);
}

function tryLocally<T>(message: string, hint: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileFailure(message, error, hint);
  }
}

/**
 * Copies a stream to a temporary file, mode 0600, which is unlinked before its first byte; on Windows, when it is closed.
 *
 * @param place.directory without one, or if it is not writable, the system's temporary directory
 * @param io the system call, for tests
 * @throws {Failure} local-file; and whatever the stream throws
 */
export async function spoolBytes(
  bytes: AsyncIterable<Uint8Array>,
  { directory: wanted, platform }: { readonly directory: string | undefined; readonly platform: NodeJS.Platform },
  io: Pick<FileIo, 'write'> = fileIo,
) {
  const { descriptor, directory, remove } = openPrivate(wanted);
  let hasName = true;
  const unname = () => {
    if (hasName) remove();
    hasName = false;
  };
  const close = () => {
    closeSync(descriptor);
    unname();
  };
  try {
    if (platform !== 'win32') tryBytes(directory, unname);
    let sizeBytes = 0;
    for await (const chunk of bytes) {
      tryBytes(directory, () => writeWhole(descriptor, chunk, sizeBytes, io));
      sizeBytes += chunk.length;
    }
    return { descriptor, sizeBytes, close };
  } catch (error) {
    close();
    throw error;
  }
}

function openPrivate(directory: string | undefined): ReturnType<typeof openTemporary> {
  if (directory === undefined) return tryBytes(tmpdir(), openTemporary);
  try {
    makePrivateDirectory(directory);
    const path = join(directory, `spool-${randomUUID()}`);
    return { descriptor: openSync(path, 'wx+', 0o600), directory, remove: () => unlinkSync(path) };
  } catch {
    // A read-only home is not an error, since a run with --journal needs nothing else there.
    return tryBytes(tmpdir(), openTemporary);
  }
}

/** Opens a file in a new directory, which mkdtemp makes with mode 0700. */
function openTemporary() {
  const directory = mkdtempSync(join(tmpdir(), 'listctl-'));
  try {
    const remove = () => rmSync(directory, { recursive: true, force: true });
    return { descriptor: openSync(join(directory, 'spool'), 'wx+', 0o600), directory: tmpdir(), remove };
  } catch (error) {
    rmdirSync(directory);
    throw error;
  }
}

function tryBytes<T>(directory: string, work: () => T): T {
  const hint = 'pass a regular file, which needs no copy';
  return tryLocally(`cannot copy the rows into ${directory}`, hint, work);
}
