import { addHelpNotes, type SetUp } from '../cli/command.ts';
import { type GlobalFlag, globalFlags } from '../cli/flags.ts';
import type { ServiceTrial } from '../cli/probe.ts';
import { askSecret, askText, confirm } from '../cli/prompts.ts';
import { inSession, type Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type ListRef } from '../core/item.ts';
import { factsOf, setups } from '../services/index.ts';
import { checkProfileName } from '../settings/read-settings.ts';
import {
  type Address,
  addressText,
  InvalidValue,
  parseAddress,
  refuseOpenHttp,
  serviceKinds,
} from '../settings/setting.ts';
import { problemWithToken } from '../settings/token.ts';
import { saveLogin, tryToken, uncheckedText } from './auth.ts';
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
    const profile = saved.isCurrent ? '' : ` -p ${saved.name}`;
    // A list that can be read may be in use: a read proves as much as a write.
    const canList = await hasList(saved.values['service']);
    next = canList
      ? `next: listctl items list${profile} --limit 5`
      : `next: listctl items create${profile} -f Title="Hello"`;
  });
  await session.messages.notice(next);
}

async function hasList(service: unknown): Promise<boolean> {
  const kind = serviceKinds.find((each) => each === service) ?? 'list-item';
  return (await factsOf(kind).load()).list !== undefined;
}

async function saveList(profile: string, listAddress: string, session: Session) {
  const { findList } = await import('./init-list.ts');
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
  const { token, address } = await askForWorkingToken(answers, session);
  const { profile, site, list } = answers;
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
 * Asks for everything but the token; Enter keeps the value of the profile or the environment. For Microsoft Graph the
 * address of the list in the browser is enough, and asked for if the URL is that of the service.
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
  const all = await setups();
  const setupOf = (answer: string) =>
    all.find(({ setup }) => URL.canParse(answer) && setup.baseUrlFor(new URL(answer).host) !== undefined)?.setup;
  const baseUrl = await ask('Service URL, including the version path', 'baseUrl', (answer) => {
    const setup = setupOf(answer);
    if (setup !== undefined) setup.parseListUrl(answer);
    else refuseOpenHttp(parseAddress(answer), allowHttp);
  });
  if (setupOf(baseUrl) !== undefined) return { profile, listAddress: baseUrl };
  const address = parseAddress(baseUrl);
  const owner = all.find(({ setup }) => address.kind === 'http' && setup.ownsHost(address.url.host));
  if (owner !== undefined) {
    const problem = (answer: string) => problemWith(answer, owner.setup.parseListUrl);
    const question = `${factsOf(owner.kind).title} detected. URL of the list`;
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

/** Asks until the service accepts the token, which the built-in service does not need; returns the address that works. */
async function askForWorkingToken(
  { address, site, list }: Answers,
  session: Session,
): Promise<{ readonly token: string | undefined; readonly address: Address }> {
  for (;;) {
    const token =
      address.kind === 'local'
        ? undefined
        : await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
    const typed =
      token === undefined ? undefined : { value: token, source: 'the prompt', remedy: 'type another token' };
    const trial = await tryToken(typed, { address, values: { site, list } }, session);
    const isLocal = token === undefined;
    if (trial.status === 'accepted') {
      await session.messages.say(isLocal ? 'the service responds' : 'the service responds and accepts the token');
      return { token, address };
    }
    if (isRejected(trial) && !isLocal) {
      await session.messages.report(trial.failure);
      continue;
    }
    return { token, address: await addressToSave(address, trial, session) };
  }
}

type FailedTrial = Exclude<ServiceTrial, { readonly status: 'accepted' }>;

function isRejected(trial: FailedTrial): trial is Extract<ServiceTrial, { readonly status: 'failed' }> {
  return trial.status === 'failed' && trial.failure.kind === 'credentials';
}

/** Asks what to save although the trial failed: the address with a version path, if the service responds there. */
async function addressToSave(address: Address, trial: FailedTrial, session: Session): Promise<Address> {
  if (trial.status === 'failed') await session.messages.report(trial.failure);
  else await session.messages.say(uncheckedText(trial.said));
  const { versioned } = trial.status === 'failed' ? trial : {};
  if (versioned && (await confirm(`Use ${addressText(versioned)} instead?`, session))) return versioned;
  if (await confirm('Save these settings anyway?', session)) return address;
  throw new Failure('usage', 'not confirmed: nothing was saved');
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
