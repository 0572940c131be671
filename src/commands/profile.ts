import { isAbsolute, resolve } from 'node:path';
import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../cli/command.ts';
import { type GlobalFlag, globalFlags } from '../cli/flags.ts';
import { inSession, type Session } from '../cli/session.ts';
import { collect } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import { objectFrom } from '../core/json.ts';
import { nearestName, printable, shellWord } from '../core/text.ts';
import type { Row, Screen, View } from '../output/view.ts';
import { checkProfileName, noSuchProfile, type ProfileValues, profileKeys } from '../settings/read-settings.ts';
import {
  companySetting,
  isOpenHttp,
  keyOf,
  parseAddress,
  parseFlag,
  type SettingSources,
} from '../settings/setting.ts';
import type { SettingsDraft } from '../settings/write-settings.ts';

/** `listctl profile` */
export const setUpProfile: SetUp = (profile, context) =>
  addCommands(profile, context, [
    ...[listCommand, showCommand, currentCommand, setCommand, useCommand, renameCommand, removeCommand],
  ]);

interface ShownProfile {
  readonly name: string;
  readonly values: ProfileValues;
  /** Whether it is the default profile. */
  readonly isCurrent: boolean;
}

/** One profile as a list of what it sets. No token is in a profile. */
export const profileView: View<ShownProfile> = {
  pretty: (profiles, screen) => drawProfiles(profiles, screen, false),
  json: (profile) => objectFrom(toRow(profile)),
  id: ({ name }) => name,
  row: toRow,
};

const profilesView: View<ShownProfile> = {
  ...profileView,
  pretty: (profiles, screen) => drawProfiles(profiles, screen, true),
  printsNone: true,
};

/** Draws profiles with the names of the flags, as for --unset. */
async function drawProfiles(profiles: readonly ShownProfile[], screen: Screen, isTable: boolean): Promise<string> {
  const { drawRows } = await import('../output/table.ts');
  const yesNo = (value: unknown) => (value === true ? 'yes' : 'no');
  const switches = profileKeys.switches.filter((key) => profiles.some(({ values }) => Object.hasOwn(values, key)));
  const rows = profiles.map(({ name, isCurrent, values }) => {
    const texts = Object.entries(values).filter(([, value]) => typeof value === 'string');
    const settings = [...texts, ...switches.map((key) => [key, yesNo(values[key])] as const)];
    const named = settings.map(([key, value]) => [flagFor(key).slice(2), String(value)] as const);
    return new Map([['profile', name], ['default', yesNo(isCurrent)], ...named]);
  });
  return drawRows(rows, screen, undefined, isTable);
}

function toRow({ name, isCurrent, values }: ShownProfile): Row {
  return new Map(Object.entries({ name, current: isCurrent, ...values }));
}

const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list profiles',
  setUp: (command, context) => {
    command.action(
      inSession(context, (session) => {
        // Read before printing, so that an unreadable file does not print an empty list.
        const { current, byName } = session.settings.sources.user.profiles();
        return session.output.printing(profilesView, true, async (print) => {
          if (byName.size === 0) await session.messages.notice('no profiles yet; run listctl init to create one');
          for (const [name, values] of byName) await print({ name, values, isCurrent: name === current });
        });
      }),
    );
    addHelpNotes(command, {
      examples: ['listctl profile list', 'listctl profile list -o id'],
    });
  },
};

const flagsByName: Readonly<Record<string, GlobalFlag>> = globalFlags;

const keys: readonly string[] = [...profileKeys.texts, ...profileKeys.switches];

/** Creates or changes a profile; the first one becomes the default. */
export function putProfile(
  draft: SettingsDraft,
  name: string,
  values: ProfileValues,
  removed: readonly string[] = [],
): ShownProfile {
  const profile = { ...draft.profiles.get(name), ...values };
  for (const key of removed) delete profile[key];
  draft.profiles.set(name, profile);
  draft.current ??= name;
  return findProfile(draft, name);
}

function findProfile({ profiles, current }: SettingsDraft, name: string): ShownProfile {
  const profile = profiles.get(name);
  if (profile === undefined) {
    const byName = new Map([...profiles.keys()].map((each) => [each, {}]));
    throw noSuchProfile(name, { current, byName });
  }
  const values = Object.entries(profile).filter(
    (entry): entry is [string, string | boolean] => keys.includes(entry[0]) && typeof entry[1] !== 'object',
  );
  return { name, isCurrent: name === current, values: Object.fromEntries(values) };
}

/**
 * Parses the settings that were typed: of the global flags, and of the command itself by name. An invalid one is a
 * usage failure.
 */
export function typedValues(
  flags: SettingSources['flags'],
  own: Readonly<Record<string, unknown>>,
  cwd: string,
): ProfileValues {
  const values: [string, string | boolean][] = [];
  for (const key of profileKeys.texts) {
    const parse = key === 'company' ? companySetting.parse : flagsByName[key]?.parse;
    const flag = flagFor(key);
    const text = key === 'output' ? own['defaultOutput'] : (own[key] ?? flags[flag]);
    if (typeof text !== 'string') continue;
    if (text === '') {
      throw new Failure('usage', `${flag} has no value`, {
        hint: `pass --unset ${kebabCase(key)} to remove the setting`,
      });
    }
    // A profile accepts less than the command line.
    if (parse !== undefined) parseFlag(flag, text, parse);
    values.push([key, toAbsolute(key, text, cwd)]);
  }
  for (const key of profileKeys.switches) if (own[key] === true) values.push([key, true]);
  return Object.fromEntries(values);
}

function parseUnset(name: string): string {
  const key = keys.find((each) => flagFor(each) === `--${name}`) ?? keyOf(`--${name}`);
  if (keys.includes(key)) return key;
  const meant = nearestName(key, keys);
  throw new Failure('usage', `invalid --unset "${name}": not a profile setting`, {
    hint:
      meant === undefined
        ? `use one of ${keys.map((each) => flagFor(each).slice(2)).join(', ')}`
        : `did you mean ${flagFor(meant).slice(2)}?`,
  });
}

/** The flag of a setting; --output is the format of the command itself. */
function flagFor(key: string): string {
  return key === 'output' ? '--default-output' : `--${kebabCase(key)}`;
}

function kebabCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Makes paths absolute, since listctl may be started elsewhere later. */
function toAbsolute(key: string, text: string, cwd: string): string {
  if (key === 'caFile') return resolve(cwd, text);
  const address = key === 'baseUrl' ? parseAddress(text) : undefined;
  const isRelative = address?.kind === 'local' && address.directory !== undefined && !isAbsolute(address.directory);
  return isRelative ? `local:${resolve(cwd, address.directory)}` : text;
}

/** Changes the settings, and prints the profile that `change` returns; for people `told`, if it is given. */
function changeAndPrint(
  session: Session,
  change: (draft: SettingsDraft) => ShownProfile,
  told?: (profile: ShownProfile) => string,
): Promise<void> {
  const view =
    told === undefined
      ? profileView
      : { ...profileView, pretty: (all: readonly ShownProfile[]) => all.map(told).join('\n') };
  return session.output.printing(view, false, async (print) => {
    const { changeSettings } = await import('../settings/write-settings.ts');
    const { result } = await changeSettings(session.host, change);
    await print(result);
  });
}

const currentCommand: CommandSpec = {
  name: 'current',
  summary: 'print the name of the profile in use',
  setUp: (command, context) => {
    command.action(
      inSession(context, (session) =>
        session.output.printing(
          { ...profileView, pretty: (profiles) => profiles.map(({ name }) => printable(name)).join('\n') },
          false,
          async (print) => print(profileFor(undefined, session)),
        ),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl profile current', 'listctl profile current -o json'],
    });
  },
};

const renameCommand: CommandSpec = {
  name: 'rename',
  aliases: ['mv'],
  summary: 'rename a profile and its saved token',
  setUp: (command, context) => {
    command
      .argument('<name>', 'name of the profile')
      .argument('<new-name>', 'its new name')
      .action(inSession(context, (session, old: string, name: string) => renameProfile(old, name, session)));
    addHelpNotes(command, {
      examples: ['listctl profile rename default prod'],
      exits: [11],
    });
  },
};

/** Copies the token first, so that a crash in between leaves each profile with its token; it can be run again. */
async function renameProfile(old: string, name: string, session: Session): Promise<void> {
  checkProfileName(name);
  const { changeSettings } = await import('../settings/write-settings.ts');
  await changeSettings(session.host, (draft) => {
    findProfile(draft, old);
    if (draft.profiles.has(name)) {
      throw new Failure('usage', `profile ${name} already exists`, {
        hint: `choose another name, or remove it first: listctl profile remove ${name}`,
      });
    }
    const token = draft.tokens.get(old);
    if (token === undefined) draft.tokens.delete(name);
    else draft.tokens.set(name, token);
  });
  const rename = (draft: SettingsDraft) => {
    findProfile(draft, old);
    const all = [...draft.profiles];
    draft.profiles.clear();
    for (const [each, values] of all) draft.profiles.set(each === old ? name : each, values);
    draft.tokens.delete(old);
    if (draft.current === old) draft.current = name;
    return findProfile(draft, name);
  };
  await changeAndPrint(session, rename, () => `renamed profile ${old} to ${name}`);
}

const removeCommand: CommandSpec = {
  name: 'remove',
  aliases: ['rm'],
  summary: 'remove a profile and its saved token',
  setUp: (command, context) => {
    command
      .argument('<name>', 'name of the profile')
      .option('-y, --yes', 'skip the confirmation prompt')
      .action(
        inSession(context, (session, name: string, { yes = false }: { readonly yes?: boolean }) =>
          removeProfile(name, yes, session),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl profile remove staging'],
      exits: [11],
    });
  },
};

async function removeProfile(name: string, isConfirmed: boolean, session: Session): Promise<void> {
  if (!isConfirmed) await confirmRemoval(name, session);
  let wasCurrent = false;
  let hadToken = false;
  const remove = (draft: SettingsDraft) => {
    const removed = findProfile(draft, name);
    wasCurrent = removed.isCurrent;
    draft.profiles.delete(name);
    hadToken = draft.tokens.delete(name);
    // No other profile becomes the default: writes must not go to another service unnoticed.
    if (wasCurrent) draft.current = undefined;
    return { ...removed, isCurrent: false };
  };
  await changeAndPrint(session, remove, () => `removed profile ${printable(name)}${hadToken ? ' and its token' : ''}`);
  if (wasCurrent) await session.messages.notice('no default profile now; run listctl profile use NAME to set one');
}

/** Asks on a terminal, as `items delete` does. */
async function confirmRemoval(name: string, { prompts, settings, ...session }: Session): Promise<void> {
  if (!prompts.isUnattended && !prompts.mayPrompt()) return;
  const { user } = settings.sources;
  const profiles = user.profiles();
  if (!profiles.byName.has(name)) throw noSuchProfile(name, profiles);
  const what = `profile ${name}${user.credentials().has(name) ? ' and its saved token' : ''}`;
  if (prompts.mayPrompt() && (await (await import('../cli/prompts.ts')).confirm(`Remove ${what}?`, session))) return;
  throw new Failure('usage', 'not confirmed: nothing was removed', { hint: 'pass --yes to skip the prompt' });
}

const setCommand: CommandSpec = {
  name: 'set',
  summary: 'create or change a profile',
  setUp: (command, context) => {
    command
      .argument('<name>', 'name of the profile')
      .option('--token-command <command>', 'shell command that prints the token')
      .option('--default-output <format>', 'default output format')
      .option('--company <name>', 'organization named in the user agent (Microsoft Graph)')
      .option('--protected', 'require confirmation of writes')
      .option('--unset <setting>', 'remove a setting, e.g. site; repeatable', collect)
      .action(
        inSession(
          context,
          async (session, name: string, { unset = [], ...own }: { readonly unset?: readonly string[] }) =>
            setProfile(name, own, unset, session),
          { mayCreateProfile: true },
        ),
      );
    addHelpNotes(command, {
      examples: [
        'listctl profile set prod --base-url https://lists.example/v1.0 --site home --list tasks --protected',
        "listctl profile set work --base-url https://lists.example/v1.0 --token-command 'pass show lists'",
        'listctl profile set prod --unset protected',
      ],
      globalFlags: [
        'baseUrl',
        'service',
        'site',
        'list',
        'timeout',
        'retries',
        'maxWait',
        'idempotency',
        'allowHttp',
        'caFile',
        'output',
      ],
      exits: [11],
    });
  },
};

async function setProfile(
  name: string,
  own: Readonly<Record<string, unknown>>,
  unset: readonly string[],
  session: Session,
): Promise<void> {
  const {
    host,
    settings: { sources, allowHttp },
  } = session;
  const values = typedValues(sources.flags, { ...own, allowHttp }, host.cwd);
  const removed = unset.map(parseUnset);
  if (Object.keys(values).length + removed.length === 0) {
    const format = sources.flags['--output'];
    const setting = format === undefined ? '--base-url URL' : `--default-output ${format}`;
    throw new Failure('usage', 'nothing to set', { hint: `pass at least one setting, e.g. ${setting}` });
  }
  checkProfileName(name);
  let saved: ProfileValues = {};
  await changeAndPrint(session, (draft) => {
    const profile = putProfile(draft, name, values, removed);
    saved = profile.values;
    return profile;
  });
  const { baseUrl, allowHttp: mayUseHttp } = saved;
  if (mayUseHttp === true || typeof baseUrl !== 'string' || !isOpenHttp(parseAddress(baseUrl))) return;
  const command = `listctl profile set ${shellWord(name)} --allow-http`;
  await session.messages.say(`the token is not sent over plain http: use an https URL, or run ${command}`);
}

const showCommand: CommandSpec = {
  name: 'show',
  summary: 'show a profile',
  setUp: (command, context) => {
    command
      .argument('[name]', 'name of the profile (default: the default profile)')
      .action(
        inSession(context, (session, name: string | undefined) =>
          session.output.printing(profileView, false, async (print) => print(profileFor(name, session))),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl profile show', 'listctl profile show prod -o json'],
    });
  },
};

function profileFor(typed: string | undefined, { settings: { sources } }: Session): ShownProfile {
  const profiles = sources.user.profiles();
  const name = typed ?? sources.profile()?.name;
  if (name === undefined) {
    throw new Failure('usage', 'no default profile', { hint: 'pass a name; see listctl profile list' });
  }
  const values = profiles.byName.get(name);
  if (values === undefined) throw noSuchProfile(name, profiles);
  return { name, values, isCurrent: name === profiles.current };
}

/** `now using profile prod (https://lists.example/v1.0)` */
function usedText(name: string, { baseUrl }: ProfileValues): string {
  return printable(`now using profile ${name}${baseUrl === undefined ? '' : ` (${baseUrl})`}`);
}

const useCommand: CommandSpec = {
  name: 'use',
  summary: 'set the default profile',
  setUp: (command, context) => {
    command.argument('<name>', 'name of the profile').action(
      inSession(context, (session, name: string) => {
        const use = (draft: SettingsDraft) => {
          const profile = findProfile(draft, name);
          draft.current = name;
          return { ...profile, isCurrent: true };
        };
        return changeAndPrint(session, use, ({ values }) => usedText(name, values));
      }),
    );
    addHelpNotes(command, {
      examples: ['listctl profile use prod'],
      exits: [11],
    });
  },
};
