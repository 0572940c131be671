/** The file that is edited, in a folder of its own that nobody else may look into. */
import { isUtf8 } from 'node:buffer';
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoReason } from '../../errno.ts';
import { Failure } from '../../errors.ts';
import { UnreadableEdit } from './edit-text.ts';

/** A text that is being edited. */
export interface Draft {
  /** Its absolute path. */
  readonly file: string;
  /** Puts a text in its place, as a whole: where that fails, what was there stays. */
  write(text: string): void;
  /**
   * What is in it; nothing where it was removed.
   *
   * @throws {UnreadableEdit} where it is not UTF-8
   */
  read(): string;
  /** Leaves it where it is, its mode 0600: an editor may have made it anew with another one. */
  keep(): void;
  /** Removes the folder, and what an editor left in it. */
  remove(): void;
}

/**
 * Makes a folder for the text of an item; the file is made by the first `write`.
 *
 * @throws {Failure} local-file, as `write` and `read`, when the system does not let it
 */
export function openDraft(id: string): Draft {
  // Editors know by the name what is in it. An id may hold anything, and a shell may be what starts the editor.
  const name = `item-${id.replace(/[^A-Za-z0-9]+/g, '-').slice(0, 40)}.yaml`;
  const folder = tried(tmpdir(), () => mkdtempSync(join(tmpdir(), 'listctl-edit-')));
  const file = join(folder, name);
  return {
    file,
    write: (text) =>
      tried(file, () => {
        const whole = `${file}.new`;
        rmSync(whole, { force: true });
        writeFileSync(whole, text, { mode: 0o600, flag: 'wx' });
        renameSync(whole, file);
      }),
    read: () => {
      const bytes = tried(file, () => (existsSync(file) ? readFileSync(file) : Buffer.alloc(0)));
      if (!isUtf8(bytes)) throw new UnreadableEdit('it is not UTF-8 text');
      return bytes.toString();
    },
    keep: () => {
      try {
        chmodSync(file, 0o600);
      } catch {
        // Nobody else gets into its folder anyway.
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function tried<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Failure('local-file', `cannot keep the text in ${file}: ${errnoReason(error)}`, {
      hint: 'TMPDIR names another folder for it',
      cause: error,
    });
  }
}
