/** Paths and files that the user names. */
import { closeSync, fstatSync, mkdirSync, openSync, readlinkSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoCode, errnoReason, Failure, isWrongPath } from './errors.ts';

/**
 * The failure for a file that cannot be read: usage if its path is wrong, else local-file.
 *
 * @param prefix the source of the path if it is not the command line, such as `LISTCTL_TOKEN_FILE: `
 */
export function unreadable(file: string, error: unknown, prefix = ''): Failure {
  const kind = isWrongPath(error) ? 'usage' : 'local-file';
  return new Failure(kind, `${prefix}cannot read ${file}: ${errnoReason(error)}`, {
    cause: error,
  });
}

/** Where a file is, from a status with `bigint`. */
export interface FilePlace {
  readonly ino: bigint;
  readonly dev: bigint;
}

/**
 * Whether two statuses are of one file. On Windows, the `dev` of Node 22.12 to 22.16 and 24.0 to 24.1 has 64 bits for a
 * path and 32, or none, for a descriptor (libuv#4698).
 */
export function isSameFile(one: FilePlace, other: FilePlace): boolean {
  const isSameDevice = one.dev === 0n || other.dev === 0n || BigInt.asUintN(32, one.dev ^ other.dev) === 0n;
  return one.ino === other.ino && isSameDevice;
}

/** Reads a file or a pipe to its end. Throws the error of the system, or `tooLarge`. */
export function readAtMost(path: string, bytesMax: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    return readDescriptor(descriptor, bytesMax);
  } finally {
    closeSync(descriptor);
  }
}

/** As `readAtMost`, from the position of an open file. */
export function readDescriptor(descriptor: number, bytesMax: number): Buffer {
  const { size } = fstatSync(descriptor);
  if (size > bytesMax) throw tooLarge(bytesMax);
  const chunks: Buffer[] = [];
  for (let length = 0; length <= bytesMax; ) {
    // One byte more than there are, to see the end.
    const chunk = Buffer.allocUnsafe(Math.max(65_536, size - length + 1));
    const taken = readSync(descriptor, chunk, 0, chunk.length, null);
    if (taken === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, taken));
    length += taken;
  }
  throw tooLarge(bytesMax);
}

export function tooLarge(bytesMax: number): Error {
  return new Error(`larger than ${bytesMax / 1_048_576} MiB`);
}

/** The most links that Linux follows (path_resolution(7)). */
const linksMax = 40;

/** The path of a file after all links, also if it does not exist yet; unchanged if links cannot be read. */
export function resolveLinks(path: string, left = linksMax): string {
  const real = attempt(() => realpathSync(path));
  const above = dirname(path);
  if (real !== undefined || left === 0 || above === path) return real ?? path;
  const link = attempt(() => readlinkSync(path));
  if (link !== undefined) return resolveLinks(resolve(above, link), left - 1);
  return join(resolveLinks(above, left), basename(path));
}

/** The result of work; undefined if it throws. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Resolves a path as typed. Unchanged if the working directory was removed, and if it is empty. */
export function absolutePath(typed: string, { cwd }: { readonly cwd: string }): string {
  return cwd === '' || typed === '' ? typed : resolve(cwd, typed);
}

/**
 * Makes a directory and its parents, mode 0700, and returns those that it made, the outermost first. Not mkdirSync's
 * `recursive`: below a directory that takes none, such as /proc, Node tries forever.
 */
export function makePrivateDirectory(path: string): readonly string[] {
  try {
    return makeOne(path);
  } catch (error) {
    const above = dirname(path);
    if (errnoCode(error) !== 'ENOENT' || above === path) throw error;
    return [...makePrivateDirectory(above), ...makeOne(path)];
  }
}

/** Makes a directory in an existing one; another process may do so first. */
function makeOne(path: string): readonly string[] {
  try {
    mkdirSync(path, { mode: 0o700 });
    return [path];
  } catch (error) {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there?.isDirectory() === true) return [];
    throw there === undefined ? error : Object.assign(new Error('ENOTDIR'), { code: 'ENOTDIR' });
  }
}

const replacementCharacter = Buffer.from('\uFFFD');

/** The offset of the first byte that is not UTF-8; the number of bytes if all are. */
export function firstBadByte(bytes: Buffer): number {
  const text = bytes.toString();
  let offset = 0;
  let from = 0;
  for (let at = text.indexOf('\uFFFD'); at !== -1; at = text.indexOf('\uFFFD', from)) {
    // The text before it is valid, so it has as many bytes as in the file.
    offset += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(offset, offset + 3).equals(replacementCharacter)) return offset;
    offset += replacementCharacter.length;
    from = at + 1;
  }
  return offset;
}
