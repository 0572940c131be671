/** The values of flags and arguments, as far as they can be known without asking the service. */
import { readdirSync } from 'node:fs';
import type { Argument, Command, Option } from 'commander';
import { Failure } from '../../errors.ts';
import type { Host } from '../../host.ts';
import { dryRunFormats, outputFormats } from '../../output/view.ts';
import { findRunsDirectory } from '../../settings/directories.ts';
import { openUserSettings } from '../../settings/user-settings.ts';
import { formatMeanings } from '../help/formats.ts';
import { optionOf } from './place.ts';

/** A word that may be typed, and what it means. */
export interface Candidate {
  readonly value: string;
  readonly description?: string;
}

/** What a shell is told. Candidates that the word does not begin may be among them. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Where no candidate fits, the name of a file does: as the whole word, or behind its first `=`. */
  readonly files?: ':files' | ':files=' | undefined;
}

/** The words that a flag takes; each command that has the flag takes the same. */
export const flagWords: ReadonlyMap<string, readonly string[]> = new Map([
  ['--color', ['auto', 'always', 'never']],
  ['--idempotency', ['honoured', 'unknown', 'none']],
  ['--input-format', ['csv', 'tsv', 'jsonl', 'json', 'ids']],
  ['--empty', ['omit', 'string', 'null']],
  ['--rows', ['auto', 'items', 'fields']],
  ['--in-doubt', ['hold', 'retry', 'skip']],
]);

const methods = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'];
const shells = ['bash', 'zsh', 'fish', 'powershell'];

/** What may stand behind a flag. */
export function valuesOfOption({ long = '', flags }: Option, typed: string, command: Command, host: Host): Completion {
  const words = flagWords.get(long);
  if (words !== undefined) return { candidates: plain(words) };
  // key@=FILE, key:@=FILE
  if (long === '--field') return { candidates: [], files: /^[^=]+@=/.test(typed) ? ':files=' : undefined };
  if (long === '--output') return { candidates: formats(optionOf('--dry-run', command) !== undefined) };
  if (long === '--default-output') return { candidates: formats(false) };
  if (long === '--profile' || long === '--confirm') return { candidates: profiles(host) };
  return { candidates: [], files: /[<[](file|dir)[>\]]$/.test(flags) ? ':files' : undefined };
}

/** What an argument may be: told by its name on the command's page. */
export function valuesOfArgument(argument: Argument, command: Command, host: Host): Completion {
  switch (argument.name()) {
    case 'run':
      // Or the path of a journal.
      return { candidates: runs(host), files: ':files' };
    case 'seed':
      return { candidates: [], files: ':files' };
    case 'method':
      return { candidates: plain(methods) };
    case 'shell':
      return { candidates: plain(shells) };
    case 'name':
      return { candidates: command.parent?.name() === 'profile' ? profiles(host) : [] };
    default:
      return { candidates: [] };
  }
}

function plain(words: readonly string[]): readonly Candidate[] {
  return words.map((value) => ({ value }));
}

function formats(isDryRun: boolean): readonly Candidate[] {
  const meanings: Readonly<Record<string, string>> = { ...formatMeanings, curl: 'with --dry-run: a command of curl' };
  const names = isDryRun ? dryRunFormats : outputFormats;
  return names.map((value) => ({ value, description: meanings[value] ?? '' }));
}

function profiles(host: Host): readonly Candidate[] {
  try {
    const { byName, current } = openUserSettings(host).profiles();
    return [...byName].map(([value, { baseUrl = '' }]) => ({
      value,
      description: `${baseUrl}${value === current ? ' (in use)' : ''}`.trim(),
    }));
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

/** Newest first, by the names of their journals alone: what is in them would have to be read. */
function runs(host: Host): readonly Candidate[] {
  const directory = findRunsDirectory(host);
  const names = directory === undefined ? [] : namesIn(directory);
  const ids = names.flatMap((name) => /^(\d{8}-\d{6}-[0-9a-z]{4})\.[0-9a-f]{16}\.journal$/.exec(name)?.[1] ?? []);
  const sorted = ids.sort().reverse();
  return [...(sorted.length === 0 ? [] : [{ value: 'last', description: 'the newest run' }]), ...plain(sorted)];
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // There is none yet, or it can't be read: the command itself will say so.
    return [];
  }
}
