/** Changes of the user's settings. `import()` this where something is written: it brings conf. */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import Conf from 'conf';
import { errnoReason, Failure } from '../core/errors.ts';
import { makePrivateDirectory } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { takeLock } from '../core/lock.ts';
import { fileIo, replaceWhole } from '../core/write-file.ts';
import {
  type Credential,
  credentialsFrom,
  isStoredObject,
  openUserSettings,
  profilesFrom,
  readStoredFile,
  resolved,
  type SettingsFiles,
  type StoredFile,
  type StoredObject,
  storedVersion,
} from './read-settings.ts';

/**
 * Replaces the content of a JSON file. What conf says on success is not enough: it takes a write that was cut short
 * for a whole one (reliability, fact 1), so whoever calls this looks at what is there afterwards.
 *
 * @param file in a directory that is there; what it holds now must be JSON
 * @param text the JSON text of `content`, exactly as it is to be written
 */
function writeConfFile(file: string, content: Readonly<Record<string, unknown>>, text: string): void {
  const extension = extname(file);
  const conf = new Conf<Record<string, unknown>>({
    cwd: dirname(file),
    configName: basename(file, extension),
    fileExtension: extension.slice(1),
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false,
    clearInvalidConfig: false,
    serialize: () => text,
  });
  conf.store = { ...content };
}

/** How a settings file is kept. */
export interface KeepOptions {
  /** Whether the version before stays beside it, as `.bak`; of secrets there is one copy. */
  readonly keepsBackup: boolean;
}

/**
 * Makes the directory of the settings, closed to others; one that is there stays as it is, since it may be shared.
 *
 * @throws {Failure} local-file
 */
function makeSettingsDirectory(directory: string): void {
  tryToWrite(directory, () => makePrivateDirectory(directory));
}

/**
 * Replaces a settings file, mode 0600; a link to it stays one. The caller holds the lock and has seen that what is
 * there now is good.
 *
 * @throws {Failure} local-file, when it could not be written, and the file is then byte for byte what it was; or when
 *   it was, and the copy of the version before cannot be removed
 */
function replaceKeptFile(file: string, content: StoredObject, { keepsBackup }: KeepOptions): void {
  const target = resolved(file);
  const backup = `${target}.bak`;
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  tryToWrite(file, () => {
    removeStrays(target);
    const hadBefore = copyWhole(target, backup);
    try {
      writeConfFile(target, content, text);
      if (readFileSync(target, 'utf8') !== text) throw shortWrite();
      fileIo.syncDirectory(dirname(target));
    } catch (error) {
      putBack(target, backup, hadBefore);
      tidy(target);
      if (!keepsBackup) quietly(() => rmSync(backup, { force: true }));
      throw error;
    }
  });
  tidy(target);
  if (!keepsBackup) removeCopy(file, backup);
}

/** What is left lying is no reason to call a file unwritten that is written: the next writer takes it away. */
function tidy(target: string): void {
  quietly(() => removeStrays(target));
}

/** The file is the new one by now, and says so, whatever becomes of the copy; but nobody keeps one unknowingly. */
function removeCopy(file: string, backup: string): void {
  try {
    rmSync(backup, { force: true });
  } catch (error) {
    throw new Failure('local-file', `${file} was written, but the version before it stays: ${errnoReason(error)}`, {
      hint: `remove it, since it holds secrets: ${backup}`,
      cause: error,
    });
  }
}

/** Copies a file so that the copy is whole and on the disk, or is not there; false where there is nothing to copy. */
function copyWhole(file: string, copy: string): boolean {
  const bytes = readIfThere(file);
  if (bytes === undefined) {
    // A copy without its file is from before somebody removed that.
    rmSync(copy, { force: true });
    return false;
  }
  replaceWhole(copy, [bytes]);
  return true;
}

/** Undoes what conf did, if it did anything: a rename needs no room on a full disk. */
function putBack(target: string, backup: string, hadBefore: boolean): void {
  const isUntouched = hadBefore && readIfThere(target)?.equals(readFileSync(backup)) === true;
  if (isUntouched) return;
  if (hadBefore) renameSync(backup, target);
  else rmSync(target, { force: true });
  fileIo.syncDirectory(dirname(target));
}

/** Removes what a writer that was killed left behind: conf's and our own half-written files (reliability, P06). */
function removeStrays(target: string): void {
  const directory = dirname(target);
  const names = [`${basename(target)}.tmp-`, `${basename(target)}.bak.tmp-`];
  for (const name of readdirSync(directory)) {
    if (names.some((start) => name.startsWith(start))) rmSync(join(directory, name), { force: true });
  }
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // What matters has been done, or is told.
  }
}

function shortWrite(): NodeJS.ErrnoException {
  return Object.assign(new Error('it was not written whole'), { code: 'ENOSPC' });
}

function tryToWrite(file: string, work: () => unknown): void {
  try {
    work();
  } catch (error) {
    throw new Failure('local-file', `cannot write ${file}: ${errnoReason(error)}`, {
      hint: 'the previous file is unchanged; set LISTCTL_CONFIG_DIR to use another directory',
      cause: error,
    });
  }
}

/** The settings as they are to be: a change edits this in place. Members that listctl does not know stay in it. */
export interface SettingsDraft {
  current: string | undefined;
  readonly profiles: Map<string, Record<string, unknown>>;
  readonly tokens: Map<string, Credential>;
}

/** How long another listctl is waited for, in milliseconds: writing takes one a few of them. */
const lockWaitMs = 10_000;

/**
 * Reads the settings, lets `change` edit them, and writes what changed, so that of two who do this at once neither
 * loses anything. Where `change` throws nothing is written.
 *
 * @returns what `change` gave, and where the settings are
 * @throws {Failure} local-file, when a file is damaged or cannot be written: it is then as it was; locked, when others
 *   keep writing
 */
export async function changeSettings<T>(
  host: Host,
  change: (draft: SettingsDraft) => T,
): Promise<{ readonly result: T; readonly files: SettingsFiles }> {
  const { files } = openUserSettings(host);
  if (files === undefined) {
    throw new Failure('local-file', 'cannot find the home directory', {
      hint: 'set LISTCTL_CONFIG_DIR to a directory for the settings',
    });
  }
  makeSettingsDirectory(files.directory);
  const lock = await takeLock(`${files.config}.lock`, { waitMs: lockWaitMs }, host);
  try {
    return { result: changeLocked(files, host.uid, change), files };
  } finally {
    lock.release();
  }
}

function changeLocked<T>(files: SettingsFiles, uid: number | undefined, change: (draft: SettingsDraft) => T): T {
  const config = readStoredFile(files.config, { uid, isSecret: false });
  const credentials = readStoredFile(files.credentials, { uid, isSecret: true });
  const draft: SettingsDraft = {
    // What they give is not used here, but they refuse what is damaged.
    current: profilesFrom(config?.content ?? {}, files.config).current,
    profiles: new Map(membersOf(config, 'profiles')),
    tokens: new Map(credentialsFrom(credentials?.content ?? {}, files.credentials)),
  };
  const result = change(draft);
  const { current, profiles, tokens } = draft;
  write(files.config, config, { current, profiles: Object.fromEntries(profiles) }, true);
  write(files.credentials, credentials, { tokens: Object.fromEntries(tokens) }, false);
  return result;
}

function write(
  file: string,
  before: StoredFile | undefined,
  members: Record<string, unknown>,
  keepsBackup: boolean,
): void {
  const isNothing = before === undefined && Object.values(members).every(isEmpty);
  const content = { version: storedVersion, ...before?.content, ...members };
  if (isNothing || JSON.stringify(content) === JSON.stringify(before?.content)) return;
  replaceKeptFile(file, content, { keepsBackup });
}

function isEmpty(member: unknown): boolean {
  return member === undefined || (isStoredObject(member) && Object.keys(member).length === 0);
}

function membersOf(stored: StoredFile | undefined, name: string): [string, Record<string, unknown>][] {
  const members = stored?.content[name];
  if (!isStoredObject(members)) return [];
  return Object.entries(members).map(([key, value]) => [key, isStoredObject(value) ? { ...value } : {}]);
}
