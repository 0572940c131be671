import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';
import { makePrivateFolder } from '../private-folder.ts';

/** A copy that can be read again. */
export interface SpooledBytes {
  readonly descriptor: number;
  readonly sizeBytes: number;
  close(): void;
}

export interface SpoolPlace {
  /** Undefined where the user has none; then, and where it takes no file, the system's temporary directory does. */
  readonly folder: string | undefined;
  readonly platform: NodeJS.Platform;
}

/**
 * Copies a stream into a file that its owner alone can read, and that has no name from before its first byte on;
 * Windows, which keeps the name of an open file, loses it when the file is closed.
 *
 * @param write the system call, for tests: it may take a part
 * @throws {Failure} local-file, when the copy can't be made; and whatever the stream throws
 */
export async function spoolBytes(
  bytes: AsyncIterable<Uint8Array>,
  { folder: wanted, platform }: SpoolPlace,
  write: Write = writeSync,
): Promise<SpooledBytes> {
  const { descriptor, folder, remove } = openPrivate(wanted);
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
    if (platform !== 'win32') tryTo(folder, unname);
    let sizeBytes = 0;
    for await (const chunk of bytes) {
      tryTo(folder, () => writeAll(write, descriptor, chunk));
      sizeBytes += chunk.length;
    }
    return { descriptor, sizeBytes, close };
  } catch (error) {
    close();
    throw error;
  }
}

type Write = (descriptor: number, bytes: Uint8Array, offset: number) => number;

interface PrivateFile {
  readonly descriptor: number;
  readonly folder: string;
  remove(): void;
}

function openPrivate(folder: string | undefined): PrivateFile {
  if (folder === undefined) return openTemporary();
  try {
    makePrivateFolder(folder);
    const path = join(folder, `spool-${randomUUID()}`);
    return { descriptor: openSync(path, 'wx+', 0o600), folder, remove: () => unlinkSync(path) };
  } catch {
    // A home that is read-only takes no copy, and a run with a journal of its own needs nothing else there.
    return openTemporary();
  }
}

/** Opens a file in a new directory, which mkdtemp makes with mode 0700. */
function openTemporary(): PrivateFile {
  return tryTo(tmpdir(), () => {
    const folder = mkdtempSync(join(tmpdir(), 'listctl-'));
    const path = join(folder, 'spool');
    try {
      const remove = () => rmSync(folder, { recursive: true, force: true });
      return { descriptor: openSync(path, 'wx+', 0o600), folder: tmpdir(), remove };
    } catch (error) {
      rmdirSync(folder);
      throw error;
    }
  });
}

function writeAll(write: Write, descriptor: number, bytes: Uint8Array): void {
  // A disk that is nearly full takes a part, without an error.
  for (let at = 0; at < bytes.length; ) at += write(descriptor, bytes, at);
}

function tryTo<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Failure('local-file', `cannot copy the rows into ${folder}: ${errnoReason(error)}`, {
      hint: 'nothing was sent; rows in a regular file need no copy',
      cause: error,
    });
  }
}
