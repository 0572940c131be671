/** Files that the user names. */
import { closeSync, fstatSync, mkdirSync, openSync, readlinkSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoReason, Failure, isWrongPath } from './errors.ts';

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
  return new Error(`larger than ${bytesMax / 1_048_576} MiB`);
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

/**
 * The path of a file or a directory as it was typed, seen from the directory that listctl was started in. As it is where that
 * is gone (an empty `cwd`), and where nothing was typed: it would be the directory itself.
 */
export function absolutePath(typed: string, { cwd }: { readonly cwd: string }): string {
  return cwd === '' || typed === '' ? typed : resolve(cwd, typed);
}

/**
 * Makes a directory and those above it, for their owner alone, mode 0700; one that is there stays as it is. Not
 * mkdirSync's `recursive`: where a directory is there and takes none, as /proc does, Node tries for ever.
 *
 * @returns those that it made, the outermost first
 * @throws the system's own error, with its `code`
 */
export function makePrivateDirectory(path: string): readonly string[] {
  try {
    return makeOne(path);
  } catch (error) {
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    return [...makePrivateDirectory(above), ...makeOne(path)];
  }
}

/** Makes a directory where its own is there; another process may have been quicker. */
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

/** The offset, from 0, of the first byte that is not UTF-8; of bytes that all are, how many there are. */
export function firstBadByte(bytes: Buffer): number {
  const text = bytes.toString();
  let offset = 0;
  let from = 0;
  for (let at = text.indexOf('\uFFFD'); at !== -1; at = text.indexOf('\uFFFD', from)) {
    // All before it was good, so its length in bytes is what it was in the file.
    offset += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(offset, offset + 3).equals(replacementCharacter)) return offset;
    offset += replacementCharacter.length;
    from = at + 1;
  }
  return offset;
}
