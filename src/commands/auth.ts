import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../cli/command.ts';
import { noToken, tokenCommandRunner } from '../cli/connect.ts';
import { readTextFile } from '../cli/file-args.ts';
import { askSecret } from '../cli/prompts.ts';
import { inSession, type Session } from '../cli/session.ts';
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
  findValue,
  originOf,
  refuseOpenHttp,
} from '../settings/setting.ts';
import { checkToken, endOf, findToken, problemWithToken, type Token } from '../settings/token.ts';
import { putProfile, typedValues } from './profile.ts';

/** `listctl auth` */
export const setUpAuth: SetUp = (auth, context) =>
  addCommands(auth, context, [loginCommand, logoutCommand, statusCommand, tokenCommand]);

/** A profile and the token of its service. */
interface Login {
  readonly profile: string;
  readonly address: Address;
  /** The settings to save in the profile. */
  readonly values: ProfileValues;
  /** Undefined for the built-in service, which takes none. */
  readonly token: string | undefined;
}

/**
 * Saves a profile and its token in one change.
 *
 * @returns whether the profile is the default one, and the file of the token
 * @throws {Failure} usage, for plain http to another machine; as `changeSettings`
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
      .action(
        inSession(
          context,
          (session, { withToken = false }: { readonly withToken?: boolean }) => login(withToken, session),
          { mayCreateProfile: true },
        ),
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

const loginView: View<{ readonly profile: string; readonly origin: string; readonly file: string | undefined }> = {
  pretty: (logins) =>
    logins.map(({ profile, origin }) => `saved the token of profile ${profile}, for ${origin}`).join('\n'),
  json: ({ profile, origin, file = '' }) => ({ profile, origin, file }),
  id: ({ profile }) => profile,
};

async function login(withToken: boolean, session: Session): Promise<void> {
  const { profile, address, values } = loginTarget(session);
  if (address.kind === 'local') throw noTokenNeeded();
  await session.output.printing(loginView, false, async (print) => {
    const token = withToken
      ? checkToken(await readTextFile('-', session.host), 'standard input').value
      : await askForToken(address, session);
    const { file } = await saveLogin({ profile, address, values, token }, session);
    await print({ profile, origin: originOf(address), file });
  });
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
  const { site, list } = typedValues(sources.flags, {}, host.cwd);
  const address = parseUrl(url, profile);
  const isKnown = knownUrl !== undefined && originOf(parseUrl(knownUrl, profile)) === originOf(address);
  return {
    profile,
    address,
    values: {
      baseUrl: url,
      ...(site === undefined ? {} : { site }),
      ...(list === undefined ? {} : { list }),
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
    throw new Failure('usage', 'auth login needs an interactive terminal', {
      hint: 'use: listctl auth login --with-token < token.txt',
    });
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
    command.action(inSession(context, showStatus));
    addHelpNotes(command, {
      examples: ['listctl auth status', 'listctl auth status -p prod -o json'],
      globalFlags: ['profile', 'output'],
      exitCodes: { 3: 'no token for this service' },
    });
  },
};

/** What can be shown of a token: of its value, the last characters. */
type Status = Readonly<Record<'profile' | 'address' | 'source' | 'ending', string | undefined>>;

const statusView: View<Status> = {
  pretty: (statuses) =>
    statuses
      .flatMap(knownMembers)
      .map(([name, value]) => `${name.padEnd(7)}  ${printable(name === 'ending' ? `…${value}` : value)}`)
      .join('\n'),
  json: (status) => objectFrom(knownMembers(status)),
  id: ({ source }) => source,
};

function knownMembers(status: Status): [string, string][] {
  return Object.entries(status).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

function showStatus(session: Session): Promise<void> {
  return session.output.printing(statusView, false, async (print) => {
    const found = await currentToken(session);
    const profile = session.settings.sources.profile()?.name;
    if (found === undefined) {
      const source = 'the built-in service needs no token';
      return print({ profile, address: session.settings.address(), source, ending: undefined });
    }
    const { token, address } = found;
    return print({ profile, address: address && addressText(address), source: token.source, ending: endOf(token) });
  });
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
