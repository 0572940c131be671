import { createClient } from '../api/client.ts';
import { graphOperations } from '../api/graph/items.ts';
import { graphAddress, isGraphHost, locate, parseListAddress } from '../api/graph/places.ts';
import { defaultRetries } from '../api/outcome.ts';
import { addHelpNotes, type SetUp } from '../cli/command.ts';
import { tokenCommandRunner } from '../cli/connect.ts';
import { type GlobalFlag, globalFlags } from '../cli/flags.ts';
import { askSecret, askText, confirm } from '../cli/prompts.ts';
import { inSession, type Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type ListRef } from '../core/item.ts';
import { checkProfileName, type ProfileValues } from '../settings/read-settings.ts';
import {
  type Address,
  addressSetting,
  addressText,
  findValue,
  InvalidValue,
  parseAddress,
  refuseOpenHttp,
} from '../settings/setting.ts';
import { isFor, type Sources } from '../settings/sources.ts';
import { findToken, problemWithToken, type Token } from '../settings/token.ts';
import { saveLogin, tryToken } from './auth.ts';
import { profileView } from './profile.ts';

/** `listctl init` */
export const setUpInit: SetUp = (command, context) => {
  command.argument('[address]', 'address of a SharePoint list in the browser').action(
    inSession(context, async (session, listAddress: string | undefined) => init(listAddress, session), {
      mayCreateProfile: true,
    }),
  );
  addHelpNotes(command, {
    examples: [
      'listctl init',
      'listctl init -p prod',
      'listctl init https://contoso.sharepoint.com/sites/team/Lists/Books',
    ],
    globalFlags: ['profile', 'baseUrl', 'site', 'list', 'output'],
    exitCodes: { 1: 'not a list service', 3: 'the token was rejected' },
    exits: [6, 7, 11],
  });
};

/** Sets up a service by asking, or a list of Microsoft Graph: then it asks nothing if there is a token. */
async function init(listAddress: string | undefined, session: Session): Promise<void> {
  if (listAddress === undefined && !session.prompts.mayPrompt()) {
    throw new Failure('usage', 'init needs an interactive terminal', {
      hint: 'use: listctl auth login --with-token --base-url URL -s SITE -l LIST < token.txt',
    });
  }
  const named = checkProfileName(session.settings.sources.flags['--profile'] ?? 'default');
  let next = '';
  await session.output.printing(profileView, false, async (print) => {
    const saved = await (listAddress === undefined ? askAndSave(session) : saveList(named, listAddress, session));
    await print(saved);
    next = `next: listctl items create${saved.isCurrent ? '' : ` -p ${saved.name}`} -f Title="Hello"`;
  });
  await session.messages.notice(next);
}

async function saveList(profile: string, listAddress: string, session: Session) {
  const { address, values, token } = await findList(listAddress, session);
  const { isCurrent } = await saveLogin({ profile, address, values, token }, session);
  return { name: profile, isCurrent, values };
}

interface Answers extends ListRef {
  readonly profile: string;
  readonly address: Address;
}

async function askAndSave(session: Session) {
  const { allowHttp, service, sources } = session.settings;
  const answers = await askAll(session);
  if ('listAddress' in answers) return saveList(answers.profile, answers.listAddress, session);
  const token = await askForWorkingToken(answers, session);
  const { profile, address, site, list } = answers;
  const known = sources.user.profiles().byName.get(profile);
  const isProtected =
    known?.['protected'] === true || (await confirm('Ask before every write through this profile?', session));
  const isOpen = address.kind === 'http' && address.url.protocol === 'http:';
  const values = {
    ...{ baseUrl: addressText(address), site, list },
    ...(service === 'list-item' ? {} : { service }),
    ...(isOpen && allowHttp ? { allowHttp } : {}),
    ...(isProtected ? { protected: true } : {}),
  };
  const { isCurrent } = await saveLogin({ profile, address, values, token }, session);
  return { name: profile, isCurrent, values };
}

/**
 * Asks for everything but the token; Enter keeps the value of the profile or the environment. Of Microsoft Graph it asks
 * for the address of the list in the browser.
 */
async function askAll(session: Session): Promise<Answers | (Pick<Answers, 'profile'> & { listAddress: string })> {
  const {
    settings: { sources, allowHttp },
    host,
  } = session;
  const named = sources.flags['--profile'];
  const profile = checkProfileName(named ?? (await askForProfile(session)));
  const known = sources.user.profiles().byName.get(profile) ?? {};
  const ask = (question: string, key: 'baseUrl' | 'site' | 'list', check: (answer: string) => void) => {
    const { flag, variable = '' }: GlobalFlag = globalFlags[key];
    const value = sources.flags[flag] ?? known[key] ?? host.env[variable];
    const initial = typeof value === 'string' && value !== '' ? value : undefined;
    return askText(question, { initial, problem: (answer) => problemWith(answer, check) }, session);
  };
  const baseUrl = await ask('Service URL, including the version path', 'baseUrl', (answer) =>
    refuseOpenHttp(parseAddress(answer), allowHttp),
  );
  const address = parseAddress(baseUrl);
  if (address.kind === 'http' && isGraphHost(address.url.host)) {
    const problem = (answer: string) => problemWith(answer, parseListAddress);
    const question = 'This is Microsoft Graph. Address of the list in the browser';
    return { profile, listAddress: await askText(question, { problem }, session) };
  }
  const site = await ask('Site', 'site', (answer) => checkId(answer, 'site'));
  const list = await ask('List', 'list', (answer) => checkId(answer, 'list'));
  return { profile, address, site, list };
}

/** Asks for the name that --profile selects later; Enter keeps the default profile. */
function askForProfile(session: Session): Promise<string> {
  const initial = session.settings.sources.profile()?.name ?? 'default';
  const options = { initial, problem: (answer: string) => problemWith(answer, checkProfileName) };
  return askText('Profile name, for --profile', options, session);
}

/** Asks until the service accepts the token; undefined where none is needed. */
async function askForWorkingToken(answers: Answers, session: Session): Promise<string | undefined> {
  const { address, site, list } = answers;
  for (;;) {
    const token =
      address.kind === 'local'
        ? undefined
        : await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
    const typed =
      token === undefined ? undefined : { value: token, source: 'the prompt', remedy: 'type another token' };
    const failure = await tryToken(typed, { address, values: { site, list } }, session);
    if (failure === undefined) {
      await session.messages.say(
        token === undefined ? 'the service responds' : 'the service responds and accepts the token',
      );
      return token;
    }
    await session.messages.report(failure);
    if (failure.kind === 'credentials' && token !== undefined) continue;
    if (await confirm('Save these settings anyway?', session)) return token;
    throw new Failure('usage', 'not confirmed: nothing was saved');
  }
}

function problemWith(answer: string, check: (answer: string) => void): string | undefined {
  try {
    check(answer);
    return undefined;
  } catch (error) {
    if (error instanceof Failure || error instanceof InvalidValue) return error.message;
    throw error;
  }
}

/**
 * Finds the ids of a list by its address in the browser, with two requests. It asks for a token only without one.
 *
 * @returns what to save: the token only if it was asked for
 * @throws {Failure} usage, for another address, or without a token off a terminal; as `Client.send`
 */
async function findList(text: string, session: Session) {
  const { host } = parseListAddress(text);
  const address = serviceAddress(host, session);
  const { allowHttp } = session.settings;
  refuseOpenHttp(address, allowHttp);
  const known = await findToken(address, sourcesFor(address, session), tokenCommandRunner(session.host, false));
  const token = known ?? (await askToken(address, session));
  const { site, list } = await locateList(text, address, token, session);
  const names = { service: 'graph', baseUrl: addressText(address), site, list };
  const values: ProfileValues = allowHttp ? { ...names, allowHttp } : names;
  return { address, values, token: known === undefined ? token.value : undefined };
}

function serviceAddress(host: string, { settings: { sources } }: Session): Address {
  const found = sources.flags['--base-url'] ?? graphAddress(host);
  const address = findValue(addressSetting, { flags: { '--base-url': found }, env: {} });
  if (address !== undefined) return address;
  throw new Failure('usage', `${host} is not a host of SharePoint Online`, {
    hint: 'pass --base-url with the URL of Microsoft Graph; nothing was sent',
  });
}

/** The sources of the token: a profile of another service has none for this address. */
function sourcesFor(address: Address, { settings: { sources } }: Session): Sources {
  const here: Sources = { ...sources, flags: { ...sources.flags, '--base-url': addressText(address) } };
  const profile = sources.profile();
  return profile === undefined || isFor(profile, here) ? here : { ...here, profile: () => undefined };
}

async function askToken(address: Address, session: Session): Promise<Token> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('credentials', 'no token', {
      hint: 'set LISTCTL_TOKEN or LISTCTL_TOKEN_COMMAND (docs/graph.md has commands); nothing was sent',
    });
  }
  const value = await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
  return { value, source: 'the prompt' };
}

async function locateList(list: string, address: Address, token: Token, session: Session): Promise<ListRef> {
  const { host, service, settings } = session;
  const transport = await service.connect(address, token, { service: 'graph' });
  const client = createClient(transport, {
    ...{ items: graphOperations, honorsKeys: false, ...defaultRetries },
    ...{ timeoutMs: findValue(globalFlags.timeout, settings.sources) ?? 30_000, signal: host.signal },
    ...{ clock: host.clock, random: () => host.random() },
  });
  try {
    return await locate({ site: '', list }, async () => client);
  } finally {
    await transport.close();
  }
}
