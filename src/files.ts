/** Files that the user names. */
import { closeSync, fstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoReason, isWrongPath } from './errno.ts';
import { Failure } from './errors.ts';

/**
 * The failure for a file that cannot be read: usage for a path that leads to no file, which is a mistake in the
 * command, else local-file.
 *
 * @param prefix what named the file, where that is not the command line itself, as `LISTCTL_TOKEN_FILE: `
 */
export function unreadable(file: string, error: unknown, prefix = ''): Failure {
  const kind = isWrongPath(error) ? 'usage' : 'local-file';
  return new Failure(kind, `${prefix}cannot read ${file}: ${errnoReason(error)}`, {
    hint: 'nothing was sent',
    cause: error,
  });
}

/**
 * Reads a file, or a pipe, to its end.
 *
 * @throws the system's own error; `tooLarge`, where it has more bytes
 */
export function readAtMost(path: string, bytesMax: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    return readDescriptor(descriptor, bytesMax);
  } finally {
    closeSync(descriptor);
  }
}

/** As `readAtMost`, from where an open file is. */
export function readDescriptor(descriptor: number, bytesMax: number): Buffer {
  const { size } = fstatSync(descriptor);
  if (size > bytesMax) throw tooLarge(bytesMax);
  const chunks: Buffer[] = [];
  for (let length = 0; length <= bytesMax; ) {
    // One more than is there: the end is seen by that.
    const chunk = Buffer.allocUnsafe(Math.max(65_536, size - length + 1));
    const taken = readSync(descriptor, chunk, 0, chunk.length, null);
    if (taken === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, taken));
    length += taken;
  }
  throw tooLarge(bytesMax);
}

/** The error for a file of more bytes than are read. */
export function tooLarge(bytesMax: number): Error {
  return new Error(`it is larger than ${bytesMax / 1_048_576} MiB`);
}

/** As many links as a system follows (Linux: path_resolution(7)). */
const linksMax = 40;

/**
 * The path of a file behind every link, so that one file has one name, whichever led to it; also of a file that is not
 * there yet. As it is where that cannot be found out: opening it will tell.
 */
export function resolveLinks(path: string, left = linksMax): string {
  const real = attempt(() => realpathSync(path));
  const above = dirname(path);
  if (real !== undefined || left === 0 || above === path) return real ?? path;
  const link = attempt(() => readlinkSync(path));
  if (link !== undefined) return resolveLinks(resolve(above, link), left - 1);
  return join(resolveLinks(above, left), basename(path));
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
