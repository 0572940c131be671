/** Profiles: named addresses and defaults, as `config.json` keeps them. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { errnoReason, Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { nearestName } from '../core/text.ts';
import { findConfigDirectory } from './directories.ts';

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
 * @throws {Failure} local-file, naming the file, when it cannot be read, is damaged, belongs to somebody else or was
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
        hint: 'remove it, or take ownership with chown',
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
  return new Failure('local-file', `${file} is writable by others: ${unused}`, {
    hint: `check its content, then run chmod go-w ${file}`,
  });
}

/** The failure for a file that is there and makes no sense. `reason` continues «FILE is damaged: …». */
function damaged(file: string, reason: string): Failure {
  const backup = `${resolved(file)}.bak`;
  const hint = existsSync(backup)
    ? `fix the file or restore ${backup}; it was not changed`
    : 'fix or delete the file; it was not changed';
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
    hint: 'run chmod 600 on this settings file',
    cause: error,
  });
}

function contentOf(text: string, file: string): StoredObject {
  if (text === '') throw damaged(file, 'it is empty');
  const content = parsed(text, file);
  if (!isStoredObject(content)) throw damaged(file, 'expected a JSON object');
  const { version = storedVersion } = content;
  if (typeof version !== 'number') throw damaged(file, 'version must be a number');
  if (version > storedVersion) {
    throw new Failure('local-file', `${file} was written by a newer listctl (its version is ${version})`, {
      hint: 'update listctl, or set LISTCTL_CONFIG_DIR to another directory; the file was not changed',
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

/** What a profile sets, by the name of the setting: `baseUrl`, `site`. */
export type ProfileValues = Readonly<Record<string, string | boolean>>;

/** A profile and its name. */
export interface Profile {
  readonly name: string;
  readonly values: ProfileValues;
}

/** Every profile, in the order in which they were first set. */
export interface Profiles {
  /** The one that is used where none is named; undefined before the first is set. */
  readonly current: string | undefined;
  readonly byName: ReadonlyMap<string, ProfileValues>;
}

/** What a profile may set to a text, and what it may switch on. Other members of the file are kept, and not used. */
export const profileKeys = {
  texts: [
    'baseUrl',
    'site',
    'list',
    'output',
    'timeout',
    'retries',
    'maxWait',
    'idempotency',
    'tokenCommand',
    'caFile',
  ],
  switches: ['allowHttp', 'protected'],
} as const;

/**
 * Checks that a name can be one of a profile: a letter or a digit, then up to 63 more of them and `.`, `_`, `-`, `@`.
 *
 * @throws {Failure} usage
 */
export function checkProfileName(name: string): string {
  if (/^[\p{L}\p{N}][\p{L}\p{N}\p{M}._@-]{0,63}$/u.test(name)) return name;
  throw new Failure(
    'usage',
    'invalid profile name: use up to 64 letters, digits, ".", "_", "-" or "@", starting with a letter or digit',
    {
      hint: 'such as prod, or staging.eu',
    },
  );
}

/** The failure for a profile that is not there, with the name that was probably meant. */
export function noSuchProfile(name: string, { byName }: Profiles, source?: string): Failure {
  const meant = nearestName(name, byName.keys());
  const names = [...byName.keys()].slice(0, 10).join(', ');
  const known = names === '' ? 'run listctl profile set NAME --base-url URL to create one' : `use one of: ${names}`;
  return new Failure('usage', `no profile "${name}"${source === undefined ? '' : ` (${source})`}`, {
    hint: meant === undefined ? known : `did you mean ${meant}?`,
  });
}

/**
 * Reads the profiles out of `config.json`.
 *
 * @param file its name, for messages
 * @throws {Failure} local-file, when a member is not what it should be
 */
export function profilesFrom(content: StoredObject, file: string): Profiles {
  const { current, profiles = {} } = content;
  if (current !== undefined && typeof current !== 'string') throw damaged(file, 'current must be a string');
  if (!isStoredObject(profiles)) throw damaged(file, 'profiles must be an object');
  const byName = new Map(
    Object.entries(profiles).map(([name, values]) => [name, valuesOf(values, `profiles.${nameShown(name)}`, file)]),
  );
  return { current, byName };
}

function valuesOf(values: unknown, path: string, file: string): ProfileValues {
  if (!isStoredObject(values)) throw damaged(file, `${path} must be an object`);
  const members = (keys: readonly string[], read: (value: unknown) => string | boolean | undefined, what: string) =>
    keys
      .filter((key) => Object.hasOwn(values, key))
      .map((key): [string, string | boolean] => {
        const value = read(values[key]);
        if (value === undefined) throw damaged(file, `${path}.${key} must be ${what}`);
        return [key, value];
      });
  return Object.fromEntries([
    ...members(profileKeys.texts, textOf, 'a string'),
    ...members(profileKeys.switches, switchOf, 'true or false'),
  ]);
}

/** Whoever edits the file may well write a number of seconds as a number. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function switchOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** A token that `auth login` stored, and the only place that it may be sent to. */
export interface Credential {
  /** Scheme, host and port: `https://lists.example`. */
  readonly origin: string;
  readonly token: string;
}

/** Tokens by the name of their profile. */
export type Credentials = ReadonlyMap<string, Credential>;

/**
 * Reads the tokens out of `credentials.json`.
 *
 * @throws {Failure} local-file, when a member is not what it should be; no message repeats what may be a token
 */
export function credentialsFrom(content: StoredObject, file: string): Credentials {
  const { tokens = {} } = content;
  if (!isStoredObject(tokens)) throw damaged(file, 'tokens must be an object');
  return new Map(
    Object.entries(tokens).map(([name, entry]) => {
      const { origin, token } = isStoredObject(entry) ? entry : {};
      if (typeof origin === 'string' && typeof token === 'string') return [name, { origin, token }];
      throw damaged(file, `tokens.${nameShown(name)} must have origin and token`);
    }),
  );
}

/** Where the settings are. */
export interface SettingsFiles {
  readonly directory: string;
  readonly config: string;
  readonly credentials: string;
}

/** The kept settings of one user. */
export interface UserSettings {
  /** Undefined where there is no home to keep them in. */
  readonly files: SettingsFiles | undefined;
  /** @throws {Failure} local-file, when the file cannot be read or makes no sense */
  profiles(): Profiles;
  /** @throws {Failure} local-file, as `profiles`, and when the file is another user's */
  credentials(): Credentials;
  /** Whether others may read the tokens; asks only the file that was read already. */
  areCredentialsLoose(): boolean;
  /** Whether others may write the profiles; asks only the file that was read already. */
  areProfilesOpen(): boolean;
}

/** Makes the settings of the user who runs listctl; reads nothing yet. */
export function openUserSettings(host: Pick<Host, 'env' | 'platform' | 'passwdHome' | 'uid'>): UserSettings {
  const { uid } = host;
  const directory = findConfigDirectory(host);
  const files = directory === undefined ? undefined : settingsFilesIn(directory);
  let profiles: Profiles | undefined;
  let areProfilesOpen = false;
  let credentials: { readonly tokens: Credentials; readonly isLoose: boolean } | undefined;
  const readCredentials = () => {
    const stored = files && readStoredFile(files.credentials, { uid, isSecret: true });
    if (!files || !stored) return { tokens: new Map<string, never>(), isLoose: false };
    return { tokens: credentialsFrom(stored.content, files.credentials), isLoose: stored.isLoose };
  };
  return {
    files,
    profiles: () => {
      if (profiles !== undefined) return profiles;
      const stored = files && readStoredFile(files.config, { uid, isSecret: false });
      areProfilesOpen = stored?.isWritableByOthers ?? false;
      profiles =
        files && stored ? profilesFrom(stored.content, files.config) : { current: undefined, byName: new Map() };
      return profiles;
    },
    credentials: () => {
      credentials ??= readCredentials();
      return credentials.tokens;
    },
    areCredentialsLoose: () => credentials?.isLoose ?? false,
    areProfilesOpen: () => areProfilesOpen,
  };
}

function settingsFilesIn(directory: string): SettingsFiles {
  return { directory, config: join(directory, 'config.json'), credentials: join(directory, 'credentials.json') };
}
