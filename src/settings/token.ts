/** The token: whose it is, where it may go, and what can be shown of it. */
import { readFileSync, statSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import { unreadable } from '../core/files.ts';
import { writableByOthers } from './read-settings.ts';
import { type Address, originOf } from './setting.ts';
import { type ChosenProfile, isFor, type Sources } from './sources.ts';

/** A bearer token, and where it came from. */
export interface Token {
  readonly value: string;
  /** In the user's words: `LISTCTL_TOKEN`, `profile prod (auth login)`. */
  readonly source: string;
  /** Reads it again after the service refused it, where a file or a command may give another one by now. */
  readonly renew?: () => Promise<Token>;
  /** What the user should know about how it is kept. */
  readonly warning?: string;
}

/** Runs a token command and resolves to what it printed; `name` is for messages. */
export type RunTokenCommand = (command: string, name: string) => Promise<string>;

/** What is shorter, in characters, can be guessed, and is found by chance in the texts in which it is masked. */
export const shortestToken = 8;

/**
 * Checks that a token can be sent in a header: at least 8 characters of printable ASCII without spaces, one trailing
 * newline removed (RFC 6750, section 2.1).
 *
 * @throws {Failure} usage, naming the source; the token itself is not repeated
 */
export function checkToken(text: string, source: string): Token {
  const value = text.replace(/\r?\n$/, '');
  const problem = problemWithToken(value);
  if (problem === undefined) return { value, source };
  throw new Failure('usage', `the token from ${source} ${problem}`, {
    hint: 'set it again without quotes or line breaks (the value is not shown)',
  });
}

/** What is wrong with a token, without repeating it: `has spaces, …`; undefined for a good one. */
export function problemWithToken(value: string): string | undefined {
  if (value === '') return 'is empty';
  if (!/^[\x21-\x7e]+$/.test(value)) return 'has spaces, control characters or non-ASCII characters';
  return value.length < shortestToken ? `is shorter than ${shortestToken} characters` : undefined;
}

/** The last four characters, to tell one token from another; none of one that is short enough to guess the rest. */
export function endOf({ value }: Token): string | undefined {
  return value.length < 20 ? undefined : value.slice(-4);
}

/**
 * Finds the token for an address: the named profile's, `LISTCTL_TOKEN`, the content of the file `LISTCTL_TOKEN_FILE`,
 * what `LISTCTL_TOKEN_COMMAND` prints, the default profile's. A profile's is the stored one, else what its
 * `token-command` prints.
 *
 * @throws {Failure} credentials, when the profile's token is for another origin, or a command gives none; usage,
 *   when a token has characters that no token has; local-file, when a file with one cannot be read, or others may write
 *   the one that says what to run
 */
export async function findToken(
  address: Address | undefined,
  sources: Sources,
  runCommand: RunTokenCommand,
): Promise<Token | undefined> {
  const profile = sources.profile();
  const named = profile?.isNamed ? await profileToken(profile, address, sources, runCommand) : undefined;
  if (named !== undefined) return named;
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file, LISTCTL_TOKEN_COMMAND: command } = sources.env;
  if (token) return checkToken(token, 'LISTCTL_TOKEN');
  if (file) return fileToken(file);
  if (command) return commandToken(command, 'LISTCTL_TOKEN_COMMAND', 'LISTCTL_TOKEN_COMMAND', runCommand);
  return profile && !profile.isNamed ? profileToken(profile, address, sources, runCommand) : undefined;
}

async function profileToken(
  profile: ChosenProfile,
  address: Address | undefined,
  sources: Sources,
  runCommand: RunTokenCommand,
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
    throw otherOrigin(`the token-command of profile ${name} is for the URL of that profile`, address);
  }
  const { files } = sources.user;
  if (files !== undefined && sources.user.areProfilesOpen()) {
    throw writableByOthers(files.config, `the token-command of profile ${name} is not run`);
  }
  const source = `profile ${name} (token-command)`;
  return commandToken(command, `the token-command of profile ${name}`, source, runCommand);
}

async function commandToken(command: string, name: string, source: string, run: RunTokenCommand): Promise<Token> {
  const token = checkToken(await run(command, name), source);
  return { ...token, renew: () => commandToken(command, name, source, run) };
}

function fileToken(file: string): Token {
  const token = checkToken(readTokenFile(file), `LISTCTL_TOKEN_FILE (${file})`);
  // A pipe gives its token once, and would be waited for.
  const canRenew = statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  return canRenew ? { ...token, renew: async () => fileToken(file) } : token;
}

function otherOrigin(what: string, address: Address): Failure {
  return new Failure('credentials', `${what}, not for ${originOf(address)}; nothing was sent`, {
    hint: 'pass the profile of that service with -p, or run listctl auth login --base-url URL',
  });
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error, 'LISTCTL_TOKEN_FILE: ');
  }
}
