/** A settings file is replaced as a whole or stays as it was: conf writes it, between three steps of ours (reliability, C7). */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';
import { makePrivateFolder } from '../private-folder.ts';
import { fileIo, replaceWhole } from '../replace-file.ts';
import { writeConfFile } from './conf-file.ts';
import { resolved, type StoredObject } from './stored-file.ts';

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
export function makeSettingsFolder(folder: string): void {
  tryToWrite(folder, () => makePrivateFolder(folder));
}

/**
 * Replaces a settings file, mode 0600; a link to it stays one. The caller holds the lock and has seen that what is
 * there now is good.
 *
 * @throws {Failure} local-file, when it could not be written, and the file is then byte for byte what it was; or when
 *   it was, and the copy of the version before can't be removed
 */
export function replaceKeptFile(file: string, content: StoredObject, { keepsBackup }: KeepOptions): void {
  const target = resolved(file);
  const backup = `${target}.bak`;
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  tryToWrite(file, () => {
    removeStrays(target);
    const hadBefore = copyWhole(target, backup);
    try {
      writeConfFile(target, content, text);
      if (readFileSync(target, 'utf8') !== text) throw shortWrite();
      fileIo.syncFolder(dirname(target));
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
      hint: `remove it, since it is a second copy of what is secret: ${backup}`,
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
  fileIo.syncFolder(dirname(target));
}

/** Removes what a writer that was killed left behind: conf's and our own half-written files (reliability, P06). */
function removeStrays(target: string): void {
  const folder = dirname(target);
  const names = [`${basename(target)}.tmp-`, `${basename(target)}.bak.tmp-`];
  for (const name of readdirSync(folder)) {
    if (names.some((start) => name.startsWith(start))) rmSync(join(folder, name), { force: true });
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
      hint: 'what was there is as it was; LISTCTL_CONFIG_DIR names another folder',
      cause: error,
    });
  }
}
