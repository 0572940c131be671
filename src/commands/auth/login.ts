import { Failure } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { type Address, addressSetting, addressText, originOf } from '../../settings/address.ts';
import { checkProfileName, type ProfileValues } from '../../settings/profile.ts';
import { findSetting } from '../../settings/setting.ts';
import { checkToken, problemWithToken } from '../../settings/token.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { readTextFile } from '../options/files.ts';
import { typedValues } from '../profile/edit-profile.ts';
import { settingsExitCodes } from '../profile/settings-exit-codes.ts';
import { askSecret } from '../prompts.ts';
import { type Session, withSession } from '../session.ts';
import { type KeptLogin, needsNoToken, storeLogin } from './store-login.ts';

interface LoginFlags {
  readonly withToken?: boolean;
}

/** `listctl auth login` */
export const loginCommand: CommandSpec = {
  name: 'login',
  summary: 'store the token of a profile',
  setUp: (command, context) => {
    command
      .optionsGroup('Token:')
      .option('--with-token', 'read the token from stdin, rather than ask for it')
      .action((flags: LoginFlags) =>
        withSession(context, command, (session) => login(flags, session), { makesProfile: true }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl auth login --base-url https://lists.example/v1.0',
        'listctl auth login -p prod --with-token < token.txt',
      ],
      exitCodes: { 0: 'stored', ...settingsExitCodes },
    });
  },
};

const keptView: View<KeptLogin> = {
  pretty: (logins) =>
    logins.map(({ profile, origin }) => `stored the token of profile ${profile}, for ${origin}`).join('\n'),
  json: ({ profile, origin, file = '' }) => ({ profile, origin, file }),
  id: ({ profile }) => profile,
};

async function login({ withToken = false }: LoginFlags, session: Session): Promise<void> {
  const { profile, address, values } = loginTarget(session);
  if (address.kind === 'local') throw needsNoToken();
  await session.printing(keptView, false, async (print) => {
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
function loginTarget({ sources, host, allowsHttp }: Session): LoginTarget {
  const { '--profile': named, '--base-url': typed } = sources.flags;
  const inUse = typed === undefined ? sources.profile()?.name : undefined;
  const profile = checkProfileName(named ?? inUse ?? 'default');
  const known = sources.user.profiles().byName.get(profile) ?? {};
  const knownUrl = typeof known['baseUrl'] === 'string' ? known['baseUrl'] : undefined;
  // What the profile says of its own service comes first: the token is for that, whatever the environment says.
  const url = typed ?? knownUrl ?? host.env['LISTCTL_BASE_URL'];
  if (url === undefined || url === '') {
    throw new Failure('usage', `profile ${profile} has no address, and a token is only kept for one`, {
      hint: 'pass --base-url with the address of the service',
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
  if (!session.mayPrompt()) {
    throw new Failure('usage', 'auth login asks for the token, and may not ask here', {
      hint: 'pipe it in: listctl auth login --with-token < token.txt',
    });
  }
  const answer = await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
  return checkToken(answer, 'the prompt').value;
}
