/** The user's settings: profiles in `config.json`, and tokens in `credentials.json`. */
import { closeSync, existsSync, fstatSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { errnoCode, errnoReason, Failure } from '../core/errors.ts';
import { attempt, readDescriptor } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { nearestName } from '../core/text.ts';
import { findDirectory } from './directories.ts';

export type StoredObject = Readonly<Record<string, unknown>>;

/** The newest layout that this listctl knows. */
export const storedVersion = 1;

/**
 * Reads a settings file; undefined if it is missing. On a system without modes it counts as the user's alone.
 *
 * @param owner the user, undefined on a system without numbers for users; a file that is not secret may be root's
 * @throws {Failure} local-file, if it is unreadable, damaged, another user's or of a newer listctl
 */
export function readStoredFile(file: string, owner: { readonly uid: number | undefined; readonly isSecret: boolean }) {
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
    const text = readDescriptor(opened, bytesMax).toString();
    const isOpenTo = (bits: number) => owner.uid !== undefined && (mode & bits) !== 0;
    return {
      content: parseContent(text, file),
      isLoose: isOpenTo(0o077),
      isWritableByOthers: isOpenTo(0o022),
      // Not counting its group: with a umask of 002, users have their own groups.
      isWritableByAll: isOpenTo(0o002),
    };
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(file, error);
  } finally {
    closeSync(opened);
  }
}

/** Whether `readStoredFile` failed for lack of permission. */
export function isDenied(error: unknown): error is Failure {
  const code = error instanceof Failure ? errnoCode(error.cause) : undefined;
  return code === 'EACCES' || code === 'EPERM';
}

/** The failure for a file that others can write; `unused` says what is not used for that reason. */
export function writableByOthers(file: string, unused: string): Failure {
  return new Failure('local-file', `${file} is writable by others: ${unused}`, {
    hint: `check its content, then run chmod go-w ${file}`,
  });
}

function damaged(file: string, reason: string): Failure {
  const backup = `${resolved(file)}.bak`;
  const hint = existsSync(backup)
    ? `fix the file or restore ${backup}; it was not changed`
    : 'fix or delete the file; it was not changed';
  return new Failure('local-file', `${file} is damaged: ${reason}`, { hint });
}

/** Resolves a link, so that writing keeps it. */
export function resolved(file: string): string {
  return attempt(() => realpathSync(file)) ?? file;
}

/** Shortens a name from a file for messages. */
export function nameShown(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}

export function isStoredObject(value: unknown): value is StoredObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unreadable(file, error);
  }
}

/** Far more than a thousand profiles take. */
const bytesMax = 16 * 1024 * 1024;

function unreadable(file: string, error: unknown): Failure {
  const isPermission = ['EACCES', 'EPERM'].includes(errnoCode(error) ?? '');
  return new Failure('local-file', `cannot read ${file}: ${errnoReason(error)}`, {
    hint: isPermission ? 'run chmod 600 on this settings file' : 'fix or delete the file; it was not changed',
    cause: error,
  });
}

function parseContent(text: string, file: string): StoredObject {
  if (text === '') throw damaged(file, 'it is empty');
  let content: unknown;
  try {
    content = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // Not passed on: the error of Node.js quotes the text, which may be a token.
    throw damaged(file, 'it is not JSON');
  }
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

/** The settings of a profile: `baseUrl`, `site`. */
export type ProfileValues = Readonly<Record<string, string | boolean>>;

/** All profiles, in the order of their creation. */
export interface Profiles {
  readonly current: string | undefined;
  readonly byName: ReadonlyMap<string, ProfileValues>;
}

/** The settings of profiles: strings and switches. Other members of the file are kept. */
export const profileKeys = {
  texts: [
    'baseUrl',
    'service',
    'company',
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

// A text: for a literal, V8 would read Unicode's tables at every start, used or not, which takes 1 ms.
const profileName = '^[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}._@-]{0,63}$';

/** @throws {Failure} usage */
export function checkProfileName(name: string): string {
  if (/^[A-Za-z0-9][\w.@-]{0,63}$/.test(name)) return name;
  if (new RegExp(profileName, 'u').test(name)) return name;
  throw new Failure(
    'usage',
    'invalid profile name: use up to 64 letters, digits, ".", "_", "-" or "@", starting with a letter or digit',
    { hint: 'such as prod, or staging.eu' },
  );
}

export function noSuchProfile(name: string, { byName }: Profiles, source?: string): Failure {
  const meant = nearestName(name, byName.keys());
  const names = [...byName.keys()].slice(0, 10).join(', ');
  const known = names === '' ? 'run listctl profile set NAME --base-url URL to create one' : `use one of: ${names}`;
  return new Failure('usage', `no profile "${name}"${source === undefined ? '' : ` (${source})`}`, {
    hint: meant === undefined ? known : `did you mean ${meant}?`,
  });
}

/** @throws {Failure} local-file, if the content of `config.json` is damaged */
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

/** A number is accepted as well, for times in seconds. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function switchOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** A stored token, and the only origin that it is sent to. */
export interface Credential {
  readonly origin: string;
  readonly token: string;
}

/** The tokens of `credentials.json` by profile; a damaged file is a local-file failure without them. */
export function credentialsFrom(content: StoredObject, file: string): ReadonlyMap<string, Credential> {
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

/** Finds the settings of the user who runs listctl; undefined without a home directory. */
export function findSettingsFiles(host: Pick<Host, 'env' | 'platform' | 'passwdHome'>) {
  const directory = findDirectory('config', host);
  if (directory === undefined) return undefined;
  return { directory, config: join(directory, 'config.json'), credentials: join(directory, 'credentials.json') };
}

/** The settings of the user who runs listctl; files are read when they are needed. */
export class UserSettings {
  readonly files: ReturnType<typeof findSettingsFiles>;
  /** Whether others can read the tokens, once they were read. */
  areCredentialsLoose = false;
  /** Whether others can write the profiles, once they were read. */
  areProfilesOpen = false;
  readonly #uid: number | undefined;
  #profiles: Profiles | undefined;
  #credentials: ReadonlyMap<string, Credential> | undefined;

  constructor(host: Pick<Host, 'env' | 'platform' | 'passwdHome' | 'uid'>) {
    this.files = findSettingsFiles(host);
    this.#uid = host.uid;
  }

  /** @throws {Failure} local-file */
  profiles(): Profiles {
    this.#profiles ??= this.#readProfiles() ?? { current: undefined, byName: new Map() };
    return this.#profiles;
  }

  /** @throws {Failure} local-file */
  credentials(): ReadonlyMap<string, Credential> {
    this.#credentials ??= this.#readCredentials() ?? new Map();
    return this.#credentials;
  }

  #readProfiles(): Profiles | undefined {
    const stored = this.files && readStoredFile(this.files.config, { uid: this.#uid, isSecret: false });
    if (!this.files || !stored) return undefined;
    this.areProfilesOpen = stored.isWritableByOthers;
    return profilesFrom(stored.content, this.files.config);
  }

  #readCredentials(): ReadonlyMap<string, Credential> | undefined {
    const stored = this.files && readStoredFile(this.files.credentials, { uid: this.#uid, isSecret: true });
    if (!this.files || !stored) return undefined;
    const credentials = credentialsFrom(stored.content, this.files.credentials);
    this.areCredentialsLoose = stored.isLoose;
    return credentials;
  }
}
