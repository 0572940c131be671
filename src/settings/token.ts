/** The token: whose it is, where it may go, and what can be shown of it. */
import { readFileSync } from 'node:fs';
import { Failure } from '../errors.ts';
import { unreadable } from '../files.ts';
import type { Host } from '../host.ts';
import { type Address, originOf } from './address.ts';
import { type ChosenProfile, isFor, type Sources } from './sources.ts';
import { writableByOthers } from './stored-file.ts';

/** A bearer token, and where it came from. */
export interface Token {
  readonly value: string;
  /** In the user's words: `LISTCTL_TOKEN`, `profile prod (auth login)`. */
  readonly source: string;
  /** Gets another one after the service refused this: where a command gives tokens, it is asked again. */
  readonly renew?: () => Promise<Token>;
  /** What the user should know about how it is kept. */
  readonly warning?: string;
}

/** What finding a token needs of the world. */
export type TokenHost = Pick<Host, 'env' | 'platform' | 'signal' | 'stderr'>;

/**
 * Checks that a token can stand in a header: printable ASCII without spaces, one trailing newline removed
 * (rulings, "Requests"; RFC 6750, section 2.1).
 *
 * @throws {Failure} usage, naming the source; the token itself is not repeated
 */
export function checkToken(text: string, source: string): Token {
  const value = text.replace(/\r?\n$/, '');
  const problem = problemWithToken(value);
  if (problem === undefined) return { value, source };
  throw new Failure('usage', `the token from ${source} ${problem}`, {
    hint: 'it is not shown here; set it again, without quotes or line breaks',
  });
}

/** What is wrong with a token, without repeating it: `has spaces, …`; undefined for a good one. */
export function problemWithToken(value: string): string | undefined {
  if (value === '') return 'is empty';
  return /^[\x21-\x7e]+$/.test(value) ? undefined : 'has spaces, control characters or letters beyond ASCII';
}

/** The last four characters, to tell one token from another; none of one that is short enough to guess the rest. */
export function endOf({ value }: Token): string | undefined {
  return value.length < 20 ? undefined : value.slice(-4);
}

/**
 * Finds the token for an address: the named profile's, `LISTCTL_TOKEN`, what the file that `LISTCTL_TOKEN_FILE` names
 * holds, the default profile's. A profile's is the stored one, else what its `token-command` prints.
 *
 * @throws {Failure} credentials, when the profile's token is for another origin, or its command gives none; usage,
 *   when a token has characters that no token has; local-file, when a file with one can't be read, or others may write
 *   the one that says what to run
 */
export async function findToken(
  address: Address | undefined,
  sources: Sources,
  host: TokenHost,
): Promise<Token | undefined> {
  const profile = sources.profile();
  const named = profile?.isNamed ? await profileToken(profile, address, sources, host) : undefined;
  if (named !== undefined) return named;
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file } = host.env;
  if (token) return checkToken(token, 'LISTCTL_TOKEN');
  if (file) return checkToken(readTokenFile(file), `LISTCTL_TOKEN_FILE (${file})`);
  return profile && !profile.isNamed ? profileToken(profile, address, sources, host) : undefined;
}

async function profileToken(
  profile: ChosenProfile,
  address: Address | undefined,
  sources: Sources,
  host: TokenHost,
): Promise<Token | undefined> {
  const { name, values } = profile;
  const stored = sources.user.credentials().get(name);
  if (stored !== undefined) {
    if (address !== undefined && originOf(address) !== stored.origin) {
      throw otherOrigin(`the token of profile ${name} was stored for ${stored.origin}`, address);
    }
    const token = checkToken(stored.token, `profile ${name} (auth login)`);
    if (!sources.user.areCredentialsLoose()) return token;
    const file = sources.user.files?.credentials;
    return { ...token, warning: `${file} can be read by others; its mode becomes 0600 when it is next written` };
  }
  const { tokenCommand: command } = values;
  if (typeof command !== 'string') return undefined;
  // An address from elsewhere must not draw a token out of the command that belongs to this one.
  if (address !== undefined && !isFor(profile, sources)) {
    throw otherOrigin(`the token-command of profile ${name} is for the address of that profile`, address);
  }
  const { files } = sources.user;
  if (files !== undefined && sources.user.areProfilesOpen()) {
    throw writableByOthers(files.config, `the token-command of profile ${name} is not run`);
  }
  return commandToken(command, name, host);
}

async function commandToken(command: string, profile: string, host: TokenHost): Promise<Token> {
  const { runTokenCommand } = await import('./token-command.ts');
  const token = checkToken(await runTokenCommand(command, profile, host), `profile ${profile} (token-command)`);
  return { ...token, renew: () => commandToken(command, profile, host) };
}

function otherOrigin(what: string, address: Address): Failure {
  return new Failure('credentials', `${what}, and requests would go to ${originOf(address)}: nothing was sent`, {
    hint: 'name the profile of that address with -p, or store a token for it: listctl auth login --base-url URL',
  });
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error, 'LISTCTL_TOKEN_FILE: ');
  }
}
