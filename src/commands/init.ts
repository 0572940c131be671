import { addHelpNotes, type SetUp } from '../cli/command.ts';
import { connect } from '../cli/connect.ts';
import type { Context } from '../cli/context.ts';
import { globalFlags } from '../cli/flags.ts';
import { tryOut } from '../cli/probe.ts';
import { askSecret, askText, confirm } from '../cli/prompts.ts';
import { type Session, withSession } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId } from '../core/item.ts';
import { checkProfileName } from '../settings/read-settings.ts';
import {
  type Address,
  addressText,
  findSetting,
  InvalidValue,
  parseAddress,
  refuseOpenHttp,
} from '../settings/setting.ts';
import { problemWithToken } from '../settings/token.ts';
import { storeLogin } from './auth.ts';
import { profileView } from './profile.ts';

/** `listctl init` */
export const setUpInit: SetUp = (command, context) => {
  command.action(() => withSession(context, command, (session) => init(session, context), { makesProfile: true }));
  addHelpNotes(command, {
    examples: ['listctl init', 'listctl init -p prod'],
    globalFlags: ['profile', 'baseUrl', 'site', 'list', 'output'],
    exitCodes: { 1: 'not a list service', 3: 'the token was rejected' },
    exits: [6, 7, 11],
  });
};

/** What was answered, and what is known of it so far. */
interface Answers {
  readonly address: Address;
  readonly site: string;
  readonly list: string;
}

async function init(session: Session, context: Context): Promise<void> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('usage', 'init needs an interactive terminal', {
      hint: 'use: listctl auth login --with-token --base-url URL -s SITE -l LIST < token.txt',
    });
  }
  const profile = checkProfileName(session.settings.sources.flags['--profile'] ?? 'default');
  await session.output.printing(profileView, false, async (print) => {
    const answers = await askAll(profile, session);
    const token = await askUntilGood(answers, session, context);
    const { address, site, list } = answers;
    const isOpen = address.kind === 'http' && address.url.protocol === 'http:';
    const values = {
      ...{ baseUrl: addressText(address), site, list },
      ...(isOpen && session.settings.allowsHttp ? { allowHttp: true } : {}),
    };
    const { isCurrent } = await storeLogin({ profile, address, values, token }, session);
    await print({ name: profile, isCurrent, values });
  });
}

/** Asks for everything but the token; Enter alone keeps what the profile or the environment says. */
async function askAll(profile: string, session: Session): Promise<Answers> {
  const {
    settings: { sources, allowsHttp },
    host,
  } = session;
  const known = sources.user.profiles().byName.get(profile) ?? {};
  const initial = (flag: string, key: string, variable: string) => {
    const value = sources.flags[flag] ?? known[key] ?? host.env[variable];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const isIdOf = (name: string) => (answer: string) => problemOf(() => checkId(answer, name));
  const baseUrl = await askText(
    'Service URL, including the version path',
    {
      initial: initial('--base-url', 'baseUrl', 'LISTCTL_BASE_URL'),
      problem: (answer) => problemOf(() => refuseOpenHttp(parseAddress(answer), allowsHttp)),
    },
    session,
  );
  const site = await askText(
    'Site',
    { initial: initial('--site', 'site', 'LISTCTL_SITE'), problem: isIdOf('site') },
    session,
  );
  const list = await askText(
    'List',
    { initial: initial('--list', 'list', 'LISTCTL_LIST'), problem: isIdOf('list') },
    session,
  );
  return { address: parseAddress(baseUrl), site, list };
}

/** Asks for the token until the service takes it; gives it, or undefined where none is needed. */
async function askUntilGood(answers: Answers, session: Session, context: Context): Promise<string | undefined> {
  const { address } = answers;
  for (;;) {
    const token =
      address.kind === 'local'
        ? undefined
        : await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
    const failure = await tryWith(token, answers, session, context);
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

async function tryWith(
  token: string | undefined,
  { address, ...list }: Answers,
  { settings: { sources }, host, service: { connecting } }: Session,
  context: Context,
): Promise<Failure | undefined> {
  const timeoutMs = findSetting(globalFlags.timeout, sources)?.value ?? 30_000;
  const given = token === undefined ? undefined : { value: token, source: 'the prompt' };
  const transport = await connect(address, async () => given, context, connecting());
  try {
    return await tryOut(transport, list, { timeoutMs, signal: host.signal });
  } finally {
    await transport.close();
  }
}

function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Failure || error instanceof InvalidValue) return error.message;
    throw error;
  }
}
