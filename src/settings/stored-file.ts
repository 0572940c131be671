/** The user's settings files, as a plain command reads them: one read of a file, and none where there is no file. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';

/** A JSON object as it was read. */
export type StoredObject = Readonly<Record<string, unknown>>;

/** What a settings file holds. */
export interface StoredFile {
  readonly content: StoredObject;
  /** The exact text, to see whether it is still the same. */
  readonly text: string;
  /** Whether others than its owner may read or write it. */
  readonly isLoose: boolean;
  /** Whether others than its owner may write it; never where the system has no such modes. */
  readonly isWritableByOthers: boolean;
  /** Whether everybody may write it: its group is no matter, since a umask of 002 gives each user one of their own. */
  readonly isWritableByAll: boolean;
}

/** Who may own a settings file: with `isSecret` the user alone, else the system's administrator too. */
export interface OwnerRule {
  /** The user; undefined where the system does not number users. */
  readonly uid: number | undefined;
  readonly isSecret: boolean;
}

/** The newest layout that this listctl knows. */
export const storedVersion = 1;

/**
 * Reads a settings file; undefined where there is none.
 *
 * @throws {Failure} local-file, naming the file, when it can't be read, is damaged, belongs to somebody else or was
 *   written by a newer listctl. The file is left as it is.
 */
export function readStoredFile(file: string, owner: OwnerRule): StoredFile | undefined {
  const opened = openIfThere(file);
  if (opened === undefined) return undefined;
  try {
    const { uid, mode } = fstatSync(opened);
    const isForeign = owner.uid !== undefined && uid !== owner.uid && (owner.isSecret || uid !== 0);
    if (isForeign) {
      throw new Failure('local-file', `${file} belongs to another user (its uid is ${uid})`, {
        hint: 'what somebody else may have written is not used: remove it, or make it your own with chown',
      });
    }
    const text = readFileSync(opened, 'utf8');
    const isOpenTo = (bits: number) => owner.uid !== undefined && (mode & bits) !== 0;
    const open = { isLoose: isOpenTo(0o077), isWritableByOthers: isOpenTo(0o022), isWritableByAll: isOpenTo(0o002) };
    return { content: contentOf(text, file), text, ...open };
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(file, error);
  } finally {
    closeSync(opened);
  }
}

/** Whether a failure of `readStoredFile` only says that the system denies us the file. */
export function isDenied(error: unknown): error is Failure {
  const code = error instanceof Failure ? (error.cause as NodeJS.ErrnoException | undefined)?.code : undefined;
  return code === 'EACCES' || code === 'EPERM';
}

/** The failure for a file that others may write, and what in it is therefore not used. */
export function writableByOthers(file: string, unused: string): Failure {
  return new Failure('local-file', `${file} can be written by others: ${unused}`, {
    hint: `see that nobody else changed it, then close it: chmod go-w ${file}`,
  });
}

/** The failure for a file that is there and makes no sense. `reason` continues «FILE is damaged: …». */
export function damaged(file: string, reason: string): Failure {
  const backup = `${resolved(file)}.bak`;
  const hint = existsSync(backup)
    ? `mend it, or put ${backup}, the version before, in its place; it was left as it is`
    : 'mend it, or remove it and set it up again; it was left as it is';
  return new Failure('local-file', `${file} is damaged: ${reason}`, { hint });
}

/** The file itself where `file` is a link to it, so that a link stays one. */
export function resolved(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** A name out of a file, as a message has it: no longer than a profile's may be. */
export function nameShown(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}

/** Whether a value of JSON has members. */
export function isStoredObject(value: unknown): value is StoredObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): Failure {
  return new Failure('local-file', `cannot read ${file}: ${errnoReason(error)}`, {
    hint: 'it is a file of settings: mend its permissions',
    cause: error,
  });
}

function contentOf(text: string, file: string): StoredObject {
  if (text === '') throw damaged(file, 'it is empty');
  const content = parsed(text, file);
  if (!isStoredObject(content)) throw damaged(file, 'it holds no JSON object');
  const { version = storedVersion } = content;
  if (typeof version !== 'number') throw damaged(file, 'its version is no number');
  if (version > storedVersion) {
    throw new Failure('local-file', `${file} was written by a newer listctl (its version is ${version})`, {
      hint: 'update listctl, or name another folder in LISTCTL_CONFIG_DIR; the file was left as it is',
    });
  }
  return content;
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // Node's message quotes the text, which may be a token.
    throw damaged(file, 'it is not JSON');
  }
}
