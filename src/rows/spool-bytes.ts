import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { makePrivateFolder } from '../private-folder.ts';

/** A copy that can be read again. */
export interface SpooledBytes {
  readonly descriptor: number;
  readonly sizeBytes: number;
  close(): void;
}

export interface SpoolPlace {
  readonly folder: string;
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
  { folder, platform }: SpoolPlace,
  write: Write = writeSync,
): Promise<SpooledBytes> {
  const path = join(folder, `spool-${randomUUID()}`);
  const descriptor = tryTo(folder, () => openOwn(folder, path));
  let hasName = true;
  const unname = () => {
    if (hasName) unlinkSync(path);
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

function openOwn(folder: string, path: string): number {
  makePrivateFolder(folder);
  return openSync(path, 'wx+', 0o600);
}

function writeAll(write: Write, descriptor: number, bytes: Uint8Array): void {
  // A disk that is nearly full takes a part, without an error.
  for (let at = 0; at < bytes.length; ) at += write(descriptor, bytes, at);
}

function tryTo<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOSPC' ? 'no space left on the device' : message;
    throw new Failure('local-file', `cannot copy the rows into ${folder}: ${reason}`, {
      hint: 'nothing was sent; rows in a regular file need no copy',
      cause: error,
    });
  }
}
