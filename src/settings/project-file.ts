/** `.listctl.json`: what everybody who works in a folder and below it sets alike. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import { nameShown, readStoredFile, writableByOthers } from './stored-file.ts';

/** What a project file sets, and which one it is. */
export interface ProjectFile {
  readonly file: string;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * All that a project file may say. Who gives a user a folder must not choose where the user's token goes: an address
 * or a command there is refused.
 */
const allowed: ReadonlySet<string> = new Set(['site', 'list', 'output']);

/**
 * Finds the nearest project file, in the folder where listctl was started or above it.
 *
 * @throws {Failure} naming the file: local-file, when it is damaged or another user's, or everybody may write it; usage,
 *   when it sets something that it may not
 */
export function findProjectFile({ cwd, uid }: Pick<Host, 'cwd' | 'uid'>): ProjectFile | undefined {
  if (cwd === '') return undefined;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const file = join(folder, '.listctl.json');
    if (isThere(file)) return readProjectFile(file, uid);
    if (dirname(folder) === folder) return undefined;
  }
}

function isThere(file: string): boolean {
  try {
    // A pipe by that name would be waited for.
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A folder above that may not be looked into holds no file for this user.
    return false;
  }
}

function readProjectFile(file: string, uid: number | undefined): ProjectFile {
  const stored = readStoredFile(file, { uid, isSecret: true });
  if (stored?.isWritableByAll) throw writableByOthers(file, 'what it sets is not used');
  const { content = {} } = stored ?? {};
  const values: [string, string][] = [];
  for (const [name, value] of Object.entries(content)) {
    if (!allowed.has(name)) {
      throw new Failure('usage', `${file} sets "${nameShown(name)}", which a project file may not`, {
        hint: 'it may set site, list and output; the rest belongs in a profile: listctl profile set',
      });
    }
    if (typeof value !== 'string' || value === '') {
      throw new Failure('usage', `${file}: ${name} is no text`, { hint: 'write it in quotes, as in {"site": "home"}' });
    }
    values.push([name, value]);
  }
  return { file, values: Object.fromEntries(values) };
}
