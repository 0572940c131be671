import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, for their owner alone, mode 0700; one that is there stays as it is. Not
 * mkdirSync's `recursive`: where a folder is there and takes none, as /proc does, Node tries for ever.
 *
 * @returns those that it made, the outermost first
 * @throws the system's own error, with its `code`
 */
export function makePrivateFolder(path: string): readonly string[] {
  try {
    return makeOne(path);
  } catch (error) {
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    return [...makePrivateFolder(above), ...makeOne(path)];
  }
}

/** Makes a folder where its own is there; another process may have been quicker. */
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
