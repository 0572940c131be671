/** Files of one command line that must not be the same one: a result would take the place of what it was made from. */
import { statSync } from 'node:fs';
import { absolutePath } from '../../absolute-path.ts';
import { Failure } from '../../errors.ts';

/** A file, and what named it. */
export interface NamedFile {
  readonly flag: string;
  readonly path: string;
}

/** The files that were named, by flag. */
export function namedFiles(paths: Readonly<Record<string, string | undefined>>, cwd: string): readonly NamedFile[] {
  return Object.entries(paths).flatMap(([flag, path]) =>
    path === undefined ? [] : [{ flag, path: absolutePath(path, { cwd }) }],
  );
}

/** @throws {Failure} usage, when two of them are the same file, whatever they are called */
export function refuseSameFile(files: readonly NamedFile[]): void {
  const seen = new Map<string, string>();
  for (const { flag, path } of files) {
    const identity = identityOf(path);
    const other = seen.get(identity);
    if (other !== undefined) {
      throw new Failure('usage', `${other} and ${flag} are the same file: ${path}`, {
        hint: 'nothing was sent; name another file for one of them',
      });
    }
    seen.set(identity, flag);
  }
}

/** A device may be named twice: nothing of it is replaced. */
function identityOf(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) return path;
  return status.isFile() ? `${status.dev}:${status.ino}` : Symbol(path).toString() + Math.random();
}
