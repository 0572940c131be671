/** Changes of the user's settings. `import()` this where something is written: it brings conf. */
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import { takeLock } from '../lock.ts';
import { type Credential, credentialsFrom } from './credentials.ts';
import { makeSettingsFolder, replaceKeptFile } from './kept-file.ts';
import { profilesFrom } from './profile.ts';
import { isStoredObject, readStoredFile, type StoredFile, storedVersion } from './stored-file.ts';
import { openUserSettings, type SettingsFiles } from './user-settings.ts';

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
 * @throws {Failure} local-file, when a file is damaged or can't be written: it is then as it was; locked, when others
 *   keep writing
 */
export async function changeSettings<T>(
  host: Host,
  change: (draft: SettingsDraft) => T,
): Promise<{ readonly result: T; readonly files: SettingsFiles }> {
  const { files } = openUserSettings(host);
  if (files === undefined) {
    throw new Failure('local-file', 'there is no home folder to keep settings in', {
      hint: 'set LISTCTL_CONFIG_DIR to a folder for them',
    });
  }
  makeSettingsFolder(files.folder);
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
