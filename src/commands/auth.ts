import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../cli/command.ts';
import { noToken, tokenCommandRunner } from '../cli/connect.ts';
import { readTextFile } from '../cli/file-args.ts';
import { askSecret } from '../cli/prompts.ts';
import { type Session, withSession } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { objectFrom } from '../core/json.ts';
import { printable } from '../core/text.ts';
import type { View } from '../output/view.ts';
import { checkProfileName, type ProfileValues } from '../settings/read-settings.ts';
import {
  type Address,
  addressSetting,
  addressText,
  findSetting,
  originOf,
  refuseOpenHttp,
} from '../settings/setting.ts';
import { checkToken, endOf, findToken, problemWithToken, type Token } from '../settings/token.ts';
import { putProfile, typedValues } from './profile.ts';

/** A profile with its service, and the token for that. */
export interface Login {
  readonly profile: string;
  readonly address: Address;
  /** What the profile is to set; `baseUrl` where it does not yet. */
  readonly values: ProfileValues;
  /** Undefined for the built-in service, which takes none. */
  readonly token: string | undefined;
}

/** What was kept. */
export interface KeptLogin {
  readonly profile: string;
  readonly origin: string;
  /** The file that the token is in; undefined where there is none. */
  readonly file: string | undefined;
  /** Whether the profile is the one that is used where none is named. */
  readonly isCurrent: boolean;
}

/**
 * Keeps a login, both files in one change, and says where the token is now.
 *
 * @throws {Failure} usage, when the address refusing to send the token over plain http; as `changeSettings`
 */
export async function storeLogin({ profile, address, values, token }: Login, session: Session): Promise<KeptLogin> {
  refuseOpenHttp(address, values['allowHttp'] === true);
  const origin = originOf(address);
  const { changeSettings } = await import('../settings/write-settings.ts');
  const { result: current, files } = await changeSettings(session.host, (draft) => {
    putProfile(draft, profile, { values, removed: [] });
    if (token !== undefined) draft.tokens.set(profile, { origin, token });
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
  return { profile, origin, file: token === undefined ? undefined : files.credentials, isCurrent: current === profile };
}

/** The failure for an address that takes no token. */
export function needsNoToken(): Failure {
  return new Failure('usage', 'the built-in service needs no token', {
    hint: 'pass --base-url with the URL of the service',
  });
}

interface LoginFlags {
  readonly withToken?: boolean;
}

/** `listctl auth login` */
export const loginCommand: CommandSpec = {
  name: 'login',
  summary: 'save the token of a profile',
  setUp: (command, context) => {
    command
      .option('--with-token', 'read the token from stdin instead of prompting')
      .action((flags: LoginFlags) =>
        withSession(context, command, (session) => login(flags, session), { makesProfile: true }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl auth login --base-url https://lists.example/v1.0',
        'listctl auth login -p prod --with-token < token.txt',
      ],
      globalFlags: ['profile', 'baseUrl', 'output'],
      exits: [11],
    });
  },
};

const keptView: View<KeptLogin> = {
  pretty: (logins) =>
    logins.map(({ profile, origin }) => `saved the token of profile ${profile}, for ${origin}`).join('\n'),
  json: ({ profile, origin, file = '' }) => ({ profile, origin, file }),
  id: ({ profile }) => profile,
};

async function login({ withToken = false }: LoginFlags, session: Session): Promise<void> {
  const { profile, address, values } = loginTarget(session);
  if (address.kind === 'local') throw needsNoToken();
  await session.output.printing(keptView, false, async (print) => {
    const token = withToken ? await readToken(session) : await askForToken(address, session);
    await print(await storeLogin({ profile, address, values, token }, session));
  });
}

interface LoginTarget {
  readonly profile: string;
  readonly address: Address;
  readonly values: ProfileValues;
}

/** The profile that the token is for: the named one; with an address `default`; else the one in use. */
function loginTarget({ settings: { sources, allowsHttp }, host }: Session): LoginTarget {
  const { '--profile': named, '--base-url': typed } = sources.flags;
  const inUse = typed === undefined ? sources.profile()?.name : undefined;
  const profile = checkProfileName(named ?? inUse ?? 'default');
  const known = sources.user.profiles().byName.get(profile) ?? {};
  const knownUrl = typeof known['baseUrl'] === 'string' ? known['baseUrl'] : undefined;
  // What the profile says of its own service comes first: the token is for that, whatever the environment says.
  const url = typed ?? knownUrl ?? host.env['LISTCTL_BASE_URL'];
  if (url === undefined || url === '') {
    throw new Failure('usage', `cannot save a token: profile ${profile} has no service URL`, {
      hint: 'pass --base-url with the URL of the service',
    });
  }
  const { site, list } = typedValues(sources.flags, {}, host.cwd);
  const address = parseTyped(url, profile);
  const isKnown = knownUrl !== undefined && originOf(parseTyped(knownUrl, profile)) === originOf(address);
  return {
    profile,
    address,
    values: {
      baseUrl: url,
      ...(site === undefined ? {} : { site }),
      ...(list === undefined ? {} : { list }),
      ...(allowsHttp || (isKnown && known['allowHttp'] === true) ? { allowHttp: true } : {}),
    },
  };
}

/** An address, wherever it came from, with the usual words for a malformed one. */
function parseTyped(url: string, profile: string): Address {
  const found = findSetting(addressSetting, {
    flags: {},
    env: {},
    named: () => ({ source: `the address of profile ${profile}`, text: () => url }),
  });
  if (found === undefined) throw new Failure('usage', `profile ${profile} has no address`);
  return found.value;
}

/** The token from stdin, as a script passes it. */
async function readToken({ host }: Session): Promise<string> {
  return checkToken(await readTextFile('-', host), 'standard input').value;
}

async function askForToken(address: Address, session: Session): Promise<string> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('usage', 'auth login needs an interactive terminal', {
      hint: 'use: listctl auth login --with-token < token.txt',
    });
  }
  const answer = await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
  return checkToken(answer, 'the prompt').value;
}

/** `listctl auth logout` */
export const logoutCommand: CommandSpec = {
  name: 'logout',
  summary: 'remove the saved token of a profile',
  setUp: (command, context) => {
    command.action(() => withSession(context, command, logout));
    addHelpNotes(command, {
      examples: ['listctl auth logout', 'listctl auth logout -p prod'],
      globalFlags: ['profile', 'output'],
      exits: [11],
    });
  },
};

interface Logout {
  readonly profile: string;
  readonly hadToken: boolean;
}

const logoutView: View<Logout> = {
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

/** The token that a request would be sent with, and where it would go; no address is needed to know it. */
export interface CurrentToken {
  readonly token: Token;
  readonly address: Address | undefined;
}

/**
 * Finds the token of this run; undefined for the built-in service, which takes none.
 *
 * @throws {Failure} credentials, when there is none; and as `findToken`
 */
export async function currentToken({
  settings: { sources },
  host,
  messages: { say, isJsonWanted },
}: Session): Promise<CurrentToken | undefined> {
  const address = findSetting(addressSetting, sources)?.value;
  if (address?.kind === 'local') return undefined;
  const token = await findToken(address, sources, tokenCommandRunner(host, isJsonWanted));
  if (token === undefined) throw noToken(sources.flags['--profile']);
  if (token.warning !== undefined) await say(token.warning);
  return { token, address };
}

/** `listctl auth status` */
export const statusCommand: CommandSpec = {
  name: 'status',
  summary: 'show where the token comes from',
  setUp: (command, context) => {
    command.action(() => withSession(context, command, showStatus));
    addHelpNotes(command, {
      examples: ['listctl auth status', 'listctl auth status -p prod -o json'],
      globalFlags: ['profile', 'output'],
      exitCodes: { 3: 'no token for this service' },
    });
  },
};

/** What can be told of a token without telling it. */
type Status = Readonly<Record<'profile' | 'address' | 'source' | 'ending', string | undefined>>;

const statusView: View<Status> = {
  pretty: (statuses) => statuses.flatMap((status) => members(status).map(lineOf)).join('\n'),
  json: (status) => objectFrom(members(status)),
  id: ({ source }) => source,
};

function showStatus(session: Session): Promise<void> {
  return session.output.printing(statusView, false, async (print) => {
    const found = await currentToken(session);
    const profile = session.settings.sources.profile()?.name;
    if (found === undefined) {
      return print({
        profile,
        address: session.settings.address(),
        source: 'the built-in service needs no token',
        ending: undefined,
      });
    }
    const { token, address } = found;
    return print({ profile, address: address && addressText(address), source: token.source, ending: endOf(token) });
  });
}

function members(status: Status): [string, string][] {
  return Object.entries(status).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

function lineOf([name, value]: [string, string]): string {
  return `${name.padEnd('profile'.length)}  ${printable(name === 'ending' ? `…${value}` : value)}`;
}

/** `listctl auth token` */
export const tokenCommand: CommandSpec = {
  name: 'token',
  summary: 'print the token',
  setUp: (command, context) => {
    command.action(() =>
      withSession(context, command, (session) =>
        session.output.printing(tokenView, false, async (print) => {
          const found = await currentToken(session);
          if (found === undefined) throw needsNoToken();
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

/** `listctl auth` */
export const setUpAuth: SetUp = (auth, context) =>
  addCommands(auth, context, [loginCommand, logoutCommand, statusCommand, tokenCommand]);
