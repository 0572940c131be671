/** Profiles: named addresses and defaults, as `config.json` keeps them. */
import { Failure } from '../errors.ts';
import { nearestName } from '../nearest-name.ts';
import { damaged, isStoredObject, nameShown, type StoredObject } from './stored-file.ts';

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
  throw new Failure('usage', 'a profile is named by up to 64 letters, digits and . _ - @, a letter or a digit first', {
    hint: 'such as prod, or staging.eu',
  });
}

/** The failure for a profile that is not there, with the name that was probably meant. */
export function noSuchProfile(name: string, { byName }: Profiles, source?: string): Failure {
  const meant = nearestName(name, byName.keys());
  const names = [...byName.keys()].slice(0, 10).join(', ');
  const known = names === '' ? 'there is none yet: listctl profile set NAME --base-url URL' : `there are: ${names}`;
  return new Failure('usage', `no profile is called "${name}"${source === undefined ? '' : ` (${source})`}`, {
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
  if (current !== undefined && typeof current !== 'string') throw damaged(file, 'current is no text');
  if (!isStoredObject(profiles)) throw damaged(file, 'profiles is no object');
  const byName = new Map(
    Object.entries(profiles).map(([name, values]) => [name, valuesOf(values, `profiles.${nameShown(name)}`, file)]),
  );
  return { current, byName };
}

function valuesOf(values: unknown, path: string, file: string): ProfileValues {
  if (!isStoredObject(values)) throw damaged(file, `${path} is no object`);
  const members = (keys: readonly string[], read: (value: unknown) => string | boolean | undefined, what: string) =>
    keys
      .filter((key) => Object.hasOwn(values, key))
      .map((key): [string, string | boolean] => {
        const value = read(values[key]);
        if (value === undefined) throw damaged(file, `${path}.${key} is ${what}`);
        return [key, value];
      });
  return Object.fromEntries([
    ...members(profileKeys.texts, textOf, 'no text'),
    ...members(profileKeys.switches, switchOf, 'neither true nor false'),
  ]);
}

/** Whoever edits the file may well write a number of seconds as a number. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function switchOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
