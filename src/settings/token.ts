/** The token: where it comes from, and which service it may be sent to. */
import { statSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import { readAtMost, unreadable } from '../core/files.ts';
import { writableByOthers } from './read-settings.ts';
import { type Address, originOf } from './setting.ts';
import { type ChosenProfile, isFor, type Sources } from './sources.ts';

export interface Token {
  readonly value: string;
  /** `LISTCTL_TOKEN`, `profile prod (auth login)` */
  readonly source: string;
  /** Reads it again, from a file or a command; the signal ends the command. */
  readonly renew?: (signal: AbortSignal) => Promise<Token>;
  readonly warning?: string;
  /** How to replace it: `run listctl auth login -p prod`. */
  readonly remedy?: string;
}

/** Runs a token command and resolves to its output; `name` is for messages. The signal ends it. */
export type RunTokenCommand = (command: string, name: string, signal?: AbortSignal) => Promise<string>;

/** A shorter token could be guessed, and would be masked in unrelated texts. */
export const shortestToken = 8;

/**
 * Checks that a token can be sent in a header (RFC 6750, section 2.1), without one trailing newline. The failure
 * (usage) does not contain it.
 */
export function checkToken(text: string, source: string): Token {
  const value = text.replace(/\r?\n$/, '');
  const problem = problemWithToken(value);
  if (problem === undefined) return { value, source };
  throw new Failure('usage', `the token from ${source} ${problem}`, {
    hint: 'set it again without quotes or line breaks (the value is not shown)',
  });
}

/** The problem with an invalid token, without its text: `has spaces, …`. */
export function problemWithToken(value: string): string | undefined {
  if (value === '') return 'is empty';
  // As JSON, which `m365 util accesstoken get` prints by default.
  if (/^(["']).*\1$/.test(value)) return 'is in quotes';
  if (!/^[\x21-\x7e]+$/.test(value)) return 'has spaces, control characters or non-ASCII characters';
  return value.length < shortestToken ? `is shorter than ${shortestToken} characters` : undefined;
}

/** The last four characters, if the rest is long enough not to be guessed. */
export function endOf({ value }: Token): string | undefined {
  return value.length < 20 ? undefined : value.slice(-4);
}

/**
 * Finds the token for an address: that of the profile of --profile, of `LISTCTL_TOKEN`, `LISTCTL_TOKEN_FILE` or
 * `LISTCTL_TOKEN_COMMAND`, or of the default profile. A profile has a stored token, or a `token-command`.
 *
 * @throws {Failure} credentials, if the profile's token is for another origin, or a command fails; usage, for an
 *   invalid token; local-file, if a file is unreadable, or others can write the one with the command
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
  if (token) return { ...checkToken(token, 'LISTCTL_TOKEN'), remedy: 'set LISTCTL_TOKEN to a valid token' };
  if (file) return fileToken(file);
  if (command) {
    const name = 'LISTCTL_TOKEN_COMMAND';
    return commandToken({ command, name, source: name }, runCommand);
  }
  return profile && !profile.isNamed ? profileToken(profile, address, sources, runCommand) : undefined;
}

/** Whether a token is set anywhere; it is neither read nor checked. */
export function hasToken(sources: Sources): boolean {
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file, LISTCTL_TOKEN_COMMAND: command } = sources.env;
  if (token || file || command) return true;
  const profile = sources.profile();
  if (profile === undefined) return false;
  return profile.values['tokenCommand'] !== undefined || sources.user.credentials().has(profile.name);
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
    const remedy = `run listctl auth login -p ${name}`;
    const token = { ...checkToken(stored.token, `profile ${name} (auth login)`), remedy };
    if (!sources.user.areCredentialsLoose) return token;
    const file = sources.user.files?.credentials;
    return { ...token, warning: `${file} can be read by others; its mode becomes 0600 when it is next written` };
  }
  const { tokenCommand: command } = values;
  if (typeof command !== 'string') return undefined;
  // An address from elsewhere must not get the token of this service.
  if (address !== undefined && !isFor(profile, sources)) {
    throw otherOrigin(`the token-command of profile ${name} is for the URL of that profile`, address);
  }
  const { files } = sources.user;
  if (files !== undefined && sources.user.areProfilesOpen) {
    throw writableByOthers(files.config, `the token-command of profile ${name} is not run`);
  }
  const named = { name: `the token-command of profile ${name}`, source: `profile ${name} (token-command)` };
  return commandToken({ command, ...named }, runCommand);
}

async function commandToken(
  of: { readonly command: string; readonly name: string; readonly source: string },
  run: RunTokenCommand,
  signal?: AbortSignal,
): Promise<Token> {
  const { command, name, source } = of;
  const token = checkToken(await run(command, name, signal), source);
  const remedy = `check the output of ${name}`;
  return { ...token, remedy, renew: (until) => commandToken(of, run, until) };
}

function fileToken(file: string): Token {
  const remedy = `put a valid token into ${file} (LISTCTL_TOKEN_FILE)`;
  const token = { ...checkToken(readTokenFile(file), `LISTCTL_TOKEN_FILE (${file})`), remedy };
  // A pipe contains the token only once.
  const canRenew = statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  return canRenew ? { ...token, renew: async () => fileToken(file) } : token;
}

function otherOrigin(what: string, address: Address): Failure {
  return new Failure('credentials', `${what}, not for ${originOf(address)}`, {
    hint: 'pass the profile of that service with -p, or run listctl auth login --base-url URL',
  });
}

function readTokenFile(file: string): string {
  try {
    return readAtMost(file, 1_048_576).toString();
  } catch (error) {
    throw unreadable(file, error, 'LISTCTL_TOKEN_FILE: ');
  }
}
