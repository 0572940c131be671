/** Changes the user's settings. Wraps conf; to be loaded for writing alone. */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import Conf from 'conf';
import { errnoCode, errnoReason, Failure } from '../core/errors.ts';
import { attempt, makePrivateDirectory } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { takeLock } from '../core/lock.ts';
import { fileIo, replaceWhole } from '../core/write-file.ts';
import {
  type Credential,
  credentialsFrom,
  findSettingsFiles,
  isStoredObject,
  profilesFrom,
  readStoredFile,
  resolved,
  type StoredObject,
  storedVersion,
} from './read-settings.ts';

/** Replaces the content of a JSON file. The caller checks the result, since conf does not notice a short write. */
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

/**
 * Replaces a settings file, with mode 0600. The caller holds the lock and has checked the current content.
 *
 * @param keepBackup whether the previous version is kept; of secrets there is one copy
 */
function replaceSettingsFile(file: string, content: StoredObject, keepBackup: boolean): void {
  const target = resolved(file);
  const backup = `${target}.bak`;
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  tryToWrite(file, () => {
    removeTemporaryFiles(target);
    let hadBefore: boolean | undefined;
    try {
      hadBefore = copyWhole(target, backup);
      writeConfFile(target, content, text);
      if (readFileSync(target, 'utf8') !== text) {
        throw Object.assign(new Error('short write'), { code: 'ENOSPC' });
      }
      fileIo.syncDirectory(dirname(target));
    } catch (error) {
      if (hadBefore !== undefined) restore(target, backup, hadBefore);
      // The error above is what is reported.
      attempt(() => removeTemporaryFiles(target));
      // The copy may be whole although its directory could not be synced.
      if (!keepBackup) attempt(() => rmSync(backup, { force: true }));
      throw error;
    }
  });
  // The next writer removes what is left.
  attempt(() => removeTemporaryFiles(target));
  if (keepBackup) return;
  try {
    rmSync(backup, { force: true });
  } catch (error) {
    throw new Failure('local-file', `${file} was written, but the version before it stays: ${errnoReason(error)}`, {
      hint: `remove it, since it holds secrets: ${backup}`,
      cause: error,
    });
  }
}

/** Copies a file as a whole; false if it is missing. */
function copyWhole(file: string, copy: string): boolean {
  const bytes = readIfThere(file);
  if (bytes === undefined) {
    // The file was removed since the copy was made.
    rmSync(copy, { force: true });
    return false;
  }
  replaceWhole(copy, [bytes]);
  return true;
}

/** Restores the previous file with a rename, which needs no space on a full disk. */
function restore(target: string, backup: string, hadBefore: boolean): void {
  const isUntouched = hadBefore && readIfThere(target)?.equals(readFileSync(backup)) === true;
  if (isUntouched) return;
  if (hadBefore) renameSync(backup, target);
  else rmSync(target, { force: true });
  fileIo.syncDirectory(dirname(target));
}

/** Removes the temporary files of a writer that was killed, conf's and our own (docs/faults.md, P06). */
function removeTemporaryFiles(target: string): void {
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
    if (errnoCode(error) === 'ENOENT') return undefined;
    throw error;
  }
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

/** The settings, to be edited in place. Unknown members are kept. */
export interface SettingsDraft {
  current: string | undefined;
  readonly profiles: Map<string, Record<string, unknown>>;
  readonly tokens: Map<string, Credential>;
}

/**
 * Changes the settings under their lock, and returns the result of `change` and their paths. If it throws (local-file,
 * locked, or as `change`), nothing is written.
 */
export async function changeSettings<T>(host: Host, change: (draft: SettingsDraft) => T) {
  const { uid } = host;
  const files = findSettingsFiles(host);
  if (files === undefined) {
    throw new Failure('local-file', 'cannot find the home directory', {
      hint: 'set LISTCTL_CONFIG_DIR to a directory for the settings',
    });
  }
  // An existing directory keeps its mode, since it may be shared.
  tryToWrite(files.directory, () => makePrivateDirectory(files.directory));
  const lock = await takeLock(`${files.config}.lock`, { waitMs: 10_000 }, host);
  try {
    const config = readStoredFile(files.config, { uid, isSecret: false })?.content;
    const credentials = readStoredFile(files.credentials, { uid, isSecret: true })?.content;
    const draft: SettingsDraft = {
      // Parsed as well to refuse a damaged file.
      current: profilesFrom(config ?? {}, files.config).current,
      profiles: new Map(membersOf(config?.['profiles'])),
      tokens: new Map(credentialsFrom(credentials ?? {}, files.credentials)),
    };
    const result = change(draft);
    const { current, profiles, tokens } = draft;
    write(files.config, config, { current, profiles: Object.fromEntries(profiles) }, true);
    write(files.credentials, credentials, { tokens: Object.fromEntries(tokens) }, false);
    return { result, files };
  } finally {
    lock.release();
  }
}

function write(
  file: string,
  before: StoredObject | undefined,
  members: Record<string, unknown>,
  keepBackup: boolean,
): void {
  const isNothing = before === undefined && Object.values(members).every(isEmpty);
  const content = { version: storedVersion, ...before, ...members };
  if (isNothing || JSON.stringify(content) === JSON.stringify(before)) return;
  replaceSettingsFile(file, content, keepBackup);
}

function isEmpty(member: unknown): boolean {
  return member === undefined || (isStoredObject(member) && Object.keys(member).length === 0);
}

function membersOf(members: unknown): [string, Record<string, unknown>][] {
  if (!isStoredObject(members)) return [];
  return Object.entries(members).map(([key, value]) => [key, isStoredObject(value) ? { ...value } : {}]);
}
