import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../cli/command.ts';
import { noToken, tokenCommandRunner } from '../cli/connect.ts';
import { globalFlags } from '../cli/flags.ts';
import { type ServiceTrial, tryService } from '../cli/probe.ts';
import { askSecret } from '../cli/prompts.ts';
import { inSession, type Session } from '../cli/session.ts';
import { type Expiry, readExpiry } from '../cli/token-lifetime.ts';
import { readTextFile } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import { withoutUndefined } from '../core/json.ts';
import { printable } from '../core/text.ts';
import type { Style, View } from '../output/view.ts';
import { checkProfileName, type ProfileValues } from '../settings/read-settings.ts';
import {
  type Address,
  addressSetting,
  addressText,
  findSetting,
  findValue,
  originOf,
  parseAddress,
  refuseOpenHttp,
} from '../settings/setting.ts';
import { checkToken, endOf, findToken, problemWithToken, type Token } from '../settings/token.ts';
import { putProfile, typedValues } from './profile.ts';

/** `listctl auth` */
export const setUpAuth: SetUp = (auth, context) =>
  addCommands(auth, context, [loginCommand, logoutCommand, statusCommand, tokenCommand]);

interface Login {
  readonly profile: string;
  readonly address: Address;
  readonly values: ProfileValues;
  /** Undefined for the built-in service, which takes none. */
  readonly token: string | undefined;
}

/**
 * Saves a profile and its token in one change. Returns whether the profile is the default one, and the file of the
 * token; throws for plain http to another machine (usage), and as `changeSettings`.
 */
export async function saveLogin(
  { profile, address, values, token }: Login,
  session: Session,
): Promise<{ readonly isCurrent: boolean; readonly file: string | undefined }> {
  refuseOpenHttp(address, values['allowHttp'] === true);
  const { changeSettings } = await import('../settings/write-settings.ts');
  const { result: current, files } = await changeSettings(session.host, (draft) => {
    putProfile(draft, profile, values);
    if (token !== undefined) draft.tokens.set(profile, { origin: originOf(address), token });
    return draft.current;
  });
  if (token !== undefined) {
    await session.messages.say(`the token is saved unencrypted in ${files.credentials} (mode 0600)`);
  }
  if (current !== profile) {
    await session.messages.say(
      `profile ${profile} is not the default: pass -p ${profile} or run listctl profile use ${profile}`,
    );
  }
  return { isCurrent: current === profile, file: token === undefined ? undefined : files.credentials };
}

function noTokenNeeded(): Failure {
  return new Failure('usage', 'the built-in service needs no token', {
    hint: 'pass --base-url with the URL of the service',
  });
}

const loginCommand: CommandSpec = {
  name: 'login',
  summary: 'save the token of a profile',
  setUp: (command, context) => {
    command
      .option('--with-token', 'read the token from stdin instead of prompting')
      .option('--no-check', 'save the token without trying it')
      .action(
        inSession(
          context,
          (session, { withToken = false, check }: { readonly withToken?: boolean; readonly check: boolean }) =>
            login(withToken, check, session),
          { mayCreateProfile: true },
        ),
      );
    addHelpNotes(command, {
      examples: [
        'listctl auth login --base-url https://lists.example/v1.0',
        'listctl auth login -p prod --with-token < token.txt',
      ],
      globalFlags: ['profile', 'baseUrl', 'output'],
      exitCodes: { 3: 'the service rejected the token; it was not saved' },
      exits: [11],
    });
  },
};

const loginView: View<{ readonly profile: string; readonly origin: string; readonly file: string | undefined }> = {
  pretty: (logins) =>
    logins.map(({ profile, origin }) => `saved the token of profile ${profile}, for ${origin}`).join('\n'),
  json: ({ profile, origin, file = '' }) => ({ profile, origin, file }),
  id: ({ profile }) => profile,
};

async function login(withToken: boolean, check: boolean, session: Session): Promise<void> {
  const target = loginTarget(session);
  const { profile, address, values } = target;
  if (address.kind === 'local') throw noTokenNeeded();
  await session.output.printing(loginView, false, async (print) => {
    const token = withToken
      ? checkToken(await readTextFile('-', session.host), 'standard input').value
      : await askForToken(address, session);
    refuseOpenHttp(address, values['allowHttp'] === true);
    if (check) await checkWithService(token, target, session);
    const { file } = await saveLogin({ profile, address, values, token }, session);
    await print({ profile, origin: originOf(address), file });
  });
}

/** Tries a token before it is saved. Only a rejection is final: a service may be down, or the list unknown. */
async function checkWithService(
  token: string,
  { profile, address, values }: Omit<Login, 'token'>,
  session: Session,
): Promise<void> {
  const known = { ...session.settings.sources.user.profiles().byName.get(profile), ...values };
  const trial = await tryToken({ value: token, source: 'auth login' }, { address, values: known }, session);
  if (trial.status === 'accepted') return;
  if (trial.status === 'unclear') return session.messages.say(uncheckedText(trial.said));
  const { failure } = trial;
  if (failure.details.status !== 401) return session.messages.say(uncheckedText(failure.message));
  const { hint: _, ...details } = failure.details;
  const expiry = readExpiry(token, session.host.clock.now());
  const expired = expiry?.isPast ? `it expired at ${expiry.text}\n` : '';
  throw new Failure('credentials', `the token was not saved: ${failure.message}`, {
    ...details,
    hint: `${expired}pass a valid token, or --no-check to save this one anyway`,
  });
}

/** @param said `HTTP 404: no such list` */
export function uncheckedText(said: string): string {
  return `the token was not checked: ${said}`;
}

/** Tries a token with one request, on the site and the list as far as they are known. */
export async function tryToken(
  token: Token | undefined,
  { address, values }: { readonly address: Address; readonly values: Readonly<Record<string, unknown>> },
  { settings: { sources, service }, host, service: { connect } }: Session,
): Promise<ServiceTrial> {
  const timeoutMs = findValue(globalFlags.timeout, sources) ?? 30_000;
  const open = (at: Address) => connect(at, token);
  const ids = Object.entries({ site: values['site'], list: values['list'] }).filter(([, id]) => typeof id === 'string');
  return tryService(address, open, Object.fromEntries(ids), { timeoutMs, signal: host.signal }, service);
}

/** The profile that the token is for: that of --profile, else `default` for a typed address, else the current one. */
function loginTarget({ settings: { sources, allowHttp }, host }: Session): Omit<Login, 'token'> {
  const { '--profile': named, '--base-url': typed } = sources.flags;
  const current = typed === undefined ? sources.profile()?.name : undefined;
  const profile = checkProfileName(named ?? current ?? 'default');
  const known = sources.user.profiles().byName.get(profile) ?? {};
  const knownUrl = typeof known['baseUrl'] === 'string' ? known['baseUrl'] : undefined;
  // The token is for the service of the profile, whatever the environment says.
  const url = typed ?? knownUrl ?? host.env['LISTCTL_BASE_URL'];
  if (url === undefined || url === '') {
    throw new Failure('usage', `cannot save a token: profile ${profile} has no service URL`, {
      hint: 'pass --base-url with the URL of the service',
    });
  }
  const { site, list, service } = typedValues(sources.flags, {}, host.cwd);
  const address = parseUrl(url, profile);
  const isKnown = knownUrl !== undefined && originOf(parseUrl(knownUrl, profile)) === originOf(address);
  return {
    profile,
    address,
    values: {
      baseUrl: url,
      ...(site === undefined ? {} : { site }),
      ...(list === undefined ? {} : { list }),
      ...(service === undefined ? {} : { service }),
      ...(allowHttp || (isKnown && known['allowHttp'] === true) ? { allowHttp: true } : {}),
    },
  };
}

/** Parses a URL, with the same message for an invalid one as for that of a profile. */
function parseUrl(url: string, profile: string): Address {
  const found = findSetting(addressSetting, {
    flags: {},
    env: {},
    named: () => ({ source: `the address of profile ${profile}`, text: () => url }),
  });
  if (found === undefined) throw new Failure('usage', `profile ${profile} has no address`);
  return found.value;
}

async function askForToken(address: Address, session: Session): Promise<string> {
  if (!session.prompts.mayPrompt()) {
    const hint = session.host.env['LISTCTL_TOKEN']
      ? 'LISTCTL_TOKEN is used without a login; to save it, use:\nprintenv LISTCTL_TOKEN | listctl auth login --with-token'
      : 'use: listctl auth login --with-token < token.txt';
    throw new Failure('usage', 'auth login needs an interactive terminal', { hint });
  }
  const answer = await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
  return checkToken(answer, 'the prompt').value;
}

const logoutCommand: CommandSpec = {
  name: 'logout',
  summary: 'remove the saved token of a profile',
  setUp: (command, context) => {
    command.action(inSession(context, logout));
    addHelpNotes(command, {
      examples: ['listctl auth logout', 'listctl auth logout -p prod'],
      globalFlags: ['profile', 'output'],
      exits: [11],
    });
  },
};

const logoutView: View<{ readonly profile: string; readonly hadToken: boolean }> = {
  pretty: (logouts) =>
    logouts
      .map(({ profile, hadToken }) =>
        hadToken ? `removed the token of profile ${profile}` : `no token is saved for profile ${profile}`,
      )
      .join('\n'),
  json: ({ profile, hadToken }) => ({ profile, hadToken }),
  id: ({ profile }) => profile,
};

function logout(session: Session): Promise<void> {
  const profile = session.settings.sources.profile()?.name;
  if (profile === undefined) {
    throw new Failure('usage', 'no default profile', {
      hint: 'pass --profile NAME; see listctl profile list',
    });
  }
  return session.output.printing(logoutView, false, async (print) => {
    const { changeSettings } = await import('../settings/write-settings.ts');
    const { result: hadToken } = await changeSettings(session.host, ({ tokens }) => tokens.delete(profile));
    await print({ profile, hadToken });
  });
}

/** Finds the token that a request would be sent with, and where to; undefined for the built-in service. */
async function currentToken({
  settings: { sources },
  host,
  messages: { say, isJsonWanted },
}: Session): Promise<{ readonly token: Token; readonly address: Address | undefined } | undefined> {
  const address = findValue(addressSetting, sources);
  if (address?.kind === 'local') return undefined;
  const token = await findToken(address, sources, tokenCommandRunner(host, isJsonWanted));
  if (token === undefined) throw noToken(sources.flags['--profile']);
  if (token.warning !== undefined) await say(token.warning);
  return { token, address };
}

const statusCommand: CommandSpec = {
  name: 'status',
  summary: 'show where the token comes from',
  setUp: (command, context) => {
    command
      .option('--check', 'ask the service whether it accepts the token')
      .action(
        inSession(context, (session, { check = false }: { readonly check?: boolean }) => showStatus(check, session)),
      );
    addHelpNotes(command, {
      examples: ['listctl auth status', 'listctl auth status --check', 'listctl auth status -p prod -o json'],
      globalFlags: ['profile', 'output'],
      exitCodes: { 3: 'no token for this service, or the service rejected it' },
      exits: [4, 6, 7],
    });
  },
};

/** What can be shown of a token: of its value, the last characters. */
interface Status {
  readonly profile?: string | undefined;
  readonly address?: string | undefined;
  readonly source: string;
  readonly ending?: string | undefined;
  readonly expiry?: Expiry | undefined;
  /** Whether the service accepts it; undefined if it was not asked, or did not say. */
  readonly accepted?: boolean | undefined;
}

const statusView: View<Status> = {
  pretty: (statuses, { style }) => statuses.flatMap((status) => statusLines(status, style)).join('\n'),
  json: ({ expiry, ...members }) =>
    withoutUndefined({ ...members, expiresAt: expiry && new Date(expiry.atMs).toISOString() }),
  id: ({ source }) => source,
};

function statusLines({ expiry, accepted, ending, ...texts }: Status, { red, green }: Style): string[] {
  const lines = Object.entries({
    ...texts,
    ending: ending && `…${ending}`,
    [expiry?.isPast ? 'expired' : 'expires']: expiry?.text,
    accepted: accepted === undefined ? undefined : String(accepted),
  });
  const paintOf = (name: string) =>
    name === 'expired' ? red : name === 'accepted' ? (accepted ? green : red) : String;
  return lines.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(8)}  ${paintOf(name)(printable(value))}`],
  );
}

async function showStatus(check: boolean, session: Session): Promise<void> {
  let failure: Failure | undefined;
  await session.output.printing(statusView, false, async (print) => {
    const found = await currentToken(session);
    const profile = session.settings.sources.profile()?.name;
    if (found === undefined) {
      return print({ profile, address: session.settings.address(), source: 'the built-in service needs no token' });
    }
    const { token, address } = found;
    const trial = check ? await tryCurrent(token, session) : undefined;
    if (trial?.status === 'unclear') await session.messages.say(uncheckedText(trial.said));
    failure = trial?.status === 'failed' ? trial.failure : undefined;
    const isRejected = failure?.details.status === 401;
    await print({
      ...{ profile, address: address && addressText(address), source: token.source, ending: endOf(token) },
      expiry: readExpiry(token.value, session.host.clock.now()),
      accepted: isRejected ? false : trial?.status === 'accepted' || undefined,
    });
  });
  if (failure !== undefined) throw failure;
}

/** @throws {Failure} usage, without an address that the token may be sent to */
function tryCurrent(token: Token, session: Session): Promise<ServiceTrial> {
  const { sources, address } = session.settings;
  const [site, list] = [findValue(globalFlags.site, sources), findValue(globalFlags.list, sources)];
  return tryToken(token, { address: parseAddress(address()), values: { site, list } }, session);
}

const tokenCommand: CommandSpec = {
  name: 'token',
  summary: 'print the token',
  setUp: (command, context) => {
    command.action(
      inSession(context, (session) =>
        session.output.printing(tokenView, false, async (print) => {
          const found = await currentToken(session);
          if (found === undefined) throw noTokenNeeded();
          await print(found.token.value);
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['LISTCTL_TOKEN=$(listctl auth token) ./nightly.sh'],
      globalFlags: ['profile', 'output'],
      exitCodes: { 3: 'no token for this service' },
    });
  },
};

const tokenView: View<string> = {
  pretty: (tokens) => tokens.join('\n'),
  json: (token) => ({ token }),
  id: (token) => token,
};
