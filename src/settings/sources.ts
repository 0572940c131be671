/** The sources of the settings of one run. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import {
  isDenied,
  nameShown,
  noSuchProfile,
  type ProfileValues,
  readStoredFile,
  UserSettings,
  writableByOthers,
} from './read-settings.ts';
import { addressSetting, findValue, type Layer, originOf, type SettingSources } from './setting.ts';

/** The settings of a project file, `.listctl.json`: not an address, so that its author cannot choose where the token is sent. */
const allowed: ReadonlySet<string> = new Set(['site', 'list', 'output']);

/**
 * Finds the project file in the current directory or above it.
 *
 * @throws {Failure} local-file, if it is damaged, another user's or writable by all; usage, if a setting is not allowed
 */
export function findProjectFile({ cwd, uid }: Pick<Host, 'cwd' | 'uid'>) {
  if (cwd === '') return undefined;
  for (let directory = cwd; ; directory = dirname(directory)) {
    const file = join(directory, '.listctl.json');
    if (isThere(file)) return readProjectFile(file, uid);
    if (dirname(directory) === directory) return undefined;
  }
}

/** Not for a pipe, since reading would wait; without permission there is no file for this user. */
function isThere(file: string): boolean {
  return attempt(() => statSync(file, { throwIfNoEntry: false })?.isFile()) === true;
}

function readProjectFile(file: string, uid: number | undefined) {
  const stored = readStoredFile(file, { uid, isSecret: true });
  if (stored?.isWritableByAll) throw writableByOthers(file, 'it is ignored');
  const { content = {} } = stored ?? {};
  const values: [string, string][] = [];
  for (const [name, value] of Object.entries(content)) {
    if (!allowed.has(name)) {
      throw new Failure('usage', `"${nameShown(name)}" is not allowed in a project file (${file})`, {
        hint: 'set only site, list and output there; use listctl profile set for the rest',
      });
    }
    if (typeof value !== 'string' || value === '') {
      throw new Failure('usage', `${file}: ${name} must be a string`, { hint: 'put it in quotes: {"site": "home"}' });
    }
    values.push([name, value]);
  }
  return { file, values: Object.fromEntries(values) };
}

export interface ChosenProfile {
  readonly name: string;
  readonly values: ProfileValues;
  /** `--profile`, `LISTCTL_PROFILE` or `profile use`. */
  readonly chosenBy: string;
  /** Whether it is that of --profile, which overrides the environment. */
  readonly isNamed: boolean;
}

export interface Sources extends SettingSources {
  readonly user: UserSettings;
  /**
   * The profile of --profile, or the default one; undefined if it is missing, or cannot be read for lack of permission.
   *
   * @throws {Failure} usage, for an unknown profile; local-file
   */
  profile(): ChosenProfile | undefined;
  /** The error, if the default profile could not be read for lack of permission. */
  deniedBecause(): Error | undefined;
}

/** Settings of a profile that apply only to its own service. */
const serviceSettings: ReadonlySet<string> = new Set(['service', 'company', 'idempotency', 'allowHttp', 'caFile']);

/** Makes the sources; files are read when they are needed. The profile of --profile may be missing, if allowed. */
export function openSources(
  flags: Sources['flags'],
  host: Pick<Host, 'env' | 'platform' | 'passwdHome' | 'cwd' | 'uid'>,
  mayCreateProfile = false,
): Sources {
  const { env } = host;
  const user = new UserSettings(host);
  let chosen: { readonly profile: ChosenProfile | undefined; readonly denied?: Error } | undefined;
  let project: { readonly layer: Layer | undefined } | undefined;
  const choose = () => {
    chosen ??= chooseProfile(flags['--profile'], env['LISTCTL_PROFILE'], user, mayCreateProfile);
    return chosen;
  };
  const layerOf = (profile: ChosenProfile | undefined): Layer | undefined =>
    profile && {
      source: `profile ${profile.name}`,
      text: (key) => (serviceSettings.has(key) && !isFor(profile, sources) ? undefined : textOf(profile.values[key])),
    };
  const sources: Sources = {
    flags,
    env,
    user,
    profile: () => choose().profile,
    deniedBecause: () => choose().denied,
    named: () => (flags['--profile'] === undefined ? undefined : layerOf(choose().profile)),
    project: () => {
      project ??= { layer: projectLayer(host) };
      return project.layer;
    },
    // With --profile, the default profile is not used at all.
    fallback: () => (flags['--profile'] === undefined ? layerOf(choose().profile) : undefined),
  };
  return sources;
}

/** Whether the requests of this run go to the service of the profile. */
export function isFor({ values }: Pick<ChosenProfile, 'values'>, sources: SettingSources): boolean {
  const { baseUrl } = values;
  if (typeof baseUrl !== 'string') return true;
  const address = findValue(addressSetting, sources);
  return address === undefined || originOf(address) === attempt(() => originOf(addressSetting.parse(baseUrl)));
}

function chooseProfile(
  named: string | undefined,
  inherited: string | undefined,
  user: UserSettings,
  mayCreateProfile: boolean,
) {
  const find = (name: string, chosenBy: string): ChosenProfile => {
    const profiles = user.profiles();
    const values = profiles.byName.get(name);
    const isNamed = chosenBy === '--profile';
    if (values === undefined && !(isNamed && mayCreateProfile)) throw noSuchProfile(name, profiles, chosenBy);
    return { name, values: values ?? {}, chosenBy, isNamed };
  };
  if (named !== undefined) return { profile: find(named, '--profile') };
  if (inherited) return { profile: find(inherited, 'LISTCTL_PROFILE') };
  try {
    const { current } = user.profiles();
    return { profile: current === undefined ? undefined : find(current, 'profile use') };
  } catch (error) {
    // The environment may be enough.
    if (isDenied(error)) return { profile: undefined, denied: error };
    throw error;
  }
}

function projectLayer(host: Pick<Host, 'cwd' | 'uid'>): Layer | undefined {
  const found = findProjectFile(host);
  return found && { source: found.file, text: (key) => found.values[key] };
}

function textOf(value: string | boolean | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
