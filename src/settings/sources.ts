/** Where each setting of one run may come from: what was typed, and what the user, the project and the environment keep. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import {
  isDenied,
  nameShown,
  noSuchProfile,
  openUserSettings,
  type Profile,
  readStoredFile,
  type UserSettings,
  writableByOthers,
} from './read-settings.ts';
import { addressSetting, type FlagTexts, findSetting, type Layer, originOf, type SettingSources } from './setting.ts';

/** What a project file sets, and which one it is. */
export interface ProjectFile {
  readonly file: string;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * All that a project file may say. Who gives a user a directory must not choose where the user's token goes: an address
 * or a command there is refused.
 */
const allowed: ReadonlySet<string> = new Set(['site', 'list', 'output']);

/**
 * Finds the nearest project file, in the directory where listctl was started or above it.
 *
 * @throws {Failure} naming the file: local-file, when it is damaged or another user's, or everybody may write it; usage,
 *   when it sets something that it may not
 */
export function findProjectFile({ cwd, uid }: Pick<Host, 'cwd' | 'uid'>): ProjectFile | undefined {
  if (cwd === '') return undefined;
  for (let directory = cwd; ; directory = dirname(directory)) {
    const file = join(directory, '.listctl.json');
    if (isThere(file)) return readProjectFile(file, uid);
    if (dirname(directory) === directory) return undefined;
  }
}

function isThere(file: string): boolean {
  try {
    // A pipe by that name would be waited for.
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A directory above that may not be looked into holds no file for this user.
    return false;
  }
}

function readProjectFile(file: string, uid: number | undefined): ProjectFile {
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

/** The profile of a run, and who chose it. */
export interface ChosenProfile extends Profile {
  /** `--profile`, `LISTCTL_PROFILE` or `profile use`. */
  readonly chosenBy: string;
  /** `--profile` named it: it stands above the environment, and its name was meant. */
  readonly isNamed: boolean;
}

/** The sources of one run's settings. */
export interface Sources extends SettingSources {
  readonly user: UserSettings;
  /**
   * The profile of the run: the named one, else the default one. Undefined where there is none, and where the system
   * denies us the file that would tell the default one.
   *
   * @throws {Failure} usage, when a profile was named that is not there; local-file, when the settings make no sense
   */
  profile(): ChosenProfile | undefined;
  /** Why the default profile is not known, where the system denies us the file. */
  deniedBecause(): Error | undefined;
}

/** What a profile says of its own service; of another one, which was named elsewhere, it says nothing. */
const saidOfService: ReadonlySet<string> = new Set(['idempotency', 'allowHttp', 'caFile']);

/**
 * Puts the sources together; files are read when something in them is asked for.
 *
 * @param mayCreateProfile the profile that `--profile` names need not be there: the command makes it
 */
export function openSources(
  flags: FlagTexts,
  host: Pick<Host, 'env' | 'platform' | 'passwdHome' | 'cwd' | 'uid'>,
  mayCreateProfile = false,
): Sources {
  const { env } = host;
  const user = openUserSettings(host);
  let chosen: { readonly profile: ChosenProfile | undefined; readonly denied?: Error } | undefined;
  let project: { readonly layer: Layer | undefined } | undefined;
  const choose = () => {
    chosen ??= chooseProfile(flags['--profile'], env['LISTCTL_PROFILE'], user, mayCreateProfile);
    return chosen;
  };
  const layerOf = (profile: ChosenProfile | undefined): Layer | undefined =>
    profile && {
      source: `profile ${profile.name}`,
      text: (key) => (saidOfService.has(key) && !isFor(profile, sources) ? undefined : textOf(profile.values[key])),
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
    // Who names a profile means it and no other: what it leaves open is not taken from a third place.
    fallback: () => (flags['--profile'] === undefined ? layerOf(choose().profile) : undefined),
  };
  return sources;
}

/**
 * Whether requests of this run go to the service that the profile is for: its address has the same origin, or it
 * names none.
 */
export function isFor({ values }: Profile, sources: SettingSources): boolean {
  const { baseUrl } = values;
  if (typeof baseUrl !== 'string') return true;
  const address = findSetting(addressSetting, sources)?.value;
  return address === undefined || originOf(address) === originOfText(baseUrl);
}

/** The origin of an address as a profile keeps it; undefined where it is malformed. */
function originOfText(baseUrl: string): string | undefined {
  try {
    return originOf(addressSetting.parse(baseUrl));
  } catch {
    return undefined;
  }
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
    // What the environment says is enough for many a command.
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
