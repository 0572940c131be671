import { resolve } from 'node:path';

/**
 * The path of a file or a folder as it was typed, seen from the folder that listctl was started in. As it is where that
 * is gone (an empty `cwd`), and where nothing was typed: it would be the folder itself.
 */
export function absolutePath(typed: string, { cwd }: { readonly cwd: string }): string {
  return cwd === '' || typed === '' ? typed : resolve(cwd, typed);
}
