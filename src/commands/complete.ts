/** `listctl __complete current=WORD WORD…`: what may stand in the place of the last word, for the shells' scripts. */
import { readdirSync } from 'node:fs';
import type { Argument, Command, Option } from 'commander';
import type { NewProgram, SetUp } from '../cli/command.ts';
import { type GlobalFlag, globalFlags } from '../cli/flags.ts';
import { optionOf, type Place, placeOf } from '../cli/usage-errors.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { printable } from '../core/text.ts';
import { dryRunFormats, formatMeanings, outputFormats } from '../output/view.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { openUserSettings } from '../settings/read-settings.ts';

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

const choicesByFlag: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(globalFlags).flatMap(({ flag, choices = [] }: GlobalFlag) =>
    choices.length === 0 ? [] : [[flag, choices] as const],
  ),
);

/** The values that a flag may have. */
export function optionValues(
  { long = '', flags, argChoices }: Option,
  typed: string,
  command: Command,
  host: Host,
): Completion {
  // key@=FILE, key:@=FILE
  if (long === '--field') return { candidates: [], files: /^[^=]+@=/.test(typed) ? ':files=' : undefined };
  if (long === '--output') return { candidates: formats(optionOf('--dry-run', command) !== undefined) };
  if (long === '--default-output') return { candidates: formats(false) };
  if (long === '--profile' || long === '--confirm') return { candidates: profiles(host) };
  const choices = argChoices ?? choicesByFlag.get(long);
  if (choices !== undefined) return { candidates: plain(choices) };
  return { candidates: [], files: /[<[](file|dir)[>\]]$/.test(flags) ? ':files' : undefined };
}

/** The values that an argument may have, by its name. */
export async function argumentValues(argument: Argument, command: Command, host: Host): Promise<Completion> {
  switch (argument.name()) {
    case 'run':
      // Or the path of a journal.
      return { candidates: runs(host), files: ':files' };
    case 'manifest':
    case 'seed':
      return { candidates: [], files: ':files' };
    case 'method':
      return { candidates: plain((await import('./api.ts')).methods) };
    case 'shell':
      return { candidates: plain([...(await import('./completion.ts')).scripts.keys()]) };
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

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    // There is none yet, or it cannot be read: the command itself will say so.
    return [];
  }
}

/**
 * What may stand in the place of a word.
 *
 * @param newProgram for `help`, behind which commands stand as at the beginning
 */
export async function candidatesAt(
  place: Place,
  word: string,
  newProgram: NewProgram,
  host: Host,
): Promise<Completion> {
  const { command, option, positionals, isAfterDashes } = place;
  if (option !== undefined && (option.required || !word.startsWith('-')))
    return optionValues(option, word, command, host);
  if (!isAfterDashes && word.startsWith('-')) return afterDash(word, command, host);
  // What is no command is in the way of every further one.
  if (command.commands.length > 0) return { candidates: positionals.length > 0 ? [] : commandsOf(command) };
  if (command.name() === 'help') return { candidates: await helpCandidates(positionals, newProgram) };
  const argument = argumentAt(place);
  return argument === undefined ? { candidates: [] } : argumentValues(argument, command, host);
}

/** A flag, or the value behind its `=`. */
async function afterDash(word: string, command: Command, host: Host): Promise<Completion> {
  const [, flag = '', value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  const option = value === undefined ? undefined : optionOf(flag, command);
  if (value === undefined || option === undefined) return { candidates: flagsOf(command) };
  if (option.isBoolean()) return { candidates: [] };
  const { candidates, files } = await optionValues(option, value, command, host);
  return {
    candidates: candidates.map((each) => ({ ...each, value: `${flag}=${each.value}` })),
    // A file behind a second `=`, as in --field=Body@=FILE, is beyond what the scripts do.
    files: files === ':files' ? ':files=' : undefined,
  };
}

/** Its own come first. */
function flagsOf(command: Command): readonly Candidate[] {
  const options: readonly Option[] = command.createHelp().visibleOptions(command);
  return options.map(({ long, description }) => ({ value: long ?? '', description }));
}

function commandsOf(command: Command): readonly Candidate[] {
  const commands = command.createHelp().visibleCommands(command);
  return commands.map((each) => ({ value: each.name(), description: each.summary() }));
}

async function helpCandidates(typed: readonly string[], newProgram: NewProgram): Promise<readonly Candidate[]> {
  const { command, positionals } = await placeOf(typed, newProgram(['--help']));
  if (positionals.length > 0 || command.commands.length === 0) return [];
  if (typed.length > 0) return commandsOf(command);
  const { topics } = await import('./help/topics.ts');
  const pages = topics.map(({ name, summary }) => ({ value: name, description: summary }));
  const names = new Set(pages.map(({ value }) => value));
  return [...pages, ...commandsOf(command).filter(({ value }) => !names.has(value))];
}

/** What the next word is to the command; the last of its arguments may take every further word. */
function argumentAt({ command, positionals }: Place): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[positionals.length] ?? (last?.variadic ? last : undefined);
}

/**
 * A line for each candidate: the whole word, a tab, what it means. The line `:files` says that the name of a file is
 * wanted, `:files=` that it is behind the first `=` of the word.
 *
 * It reads settings and the names of runs, and sends nothing. Where it cannot know it says nothing: an error in the
 * middle of a command line helps nobody.
 */
export function setUpComplete(newProgram: NewProgram): SetUp {
  return (command, { host, words }) => {
    command
      .argument('[words...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async () => {
        const [, current = '', ...typed] = words;
        const word = current.replace(/^current=/, '');
        const place = await placeOf(typed, newProgram(['--help']));
        const { candidates, files } = await candidatesAt(place, word, newProgram, host);
        const lines = candidates
          .filter(({ value }) => value.startsWith(word) && isPlain.test(value))
          .map(({ value, description = '' }) => `${value}\t${printable(description)}\n`);
        const isFileWanted = files !== undefined && lines.length === 0;
        await host.stdout.write(isFileWanted ? `${files}\n` : lines.join(''));
      });
  };
}

/** What no shell takes for anything but a word: the name of a profile is what somebody wrote into a file. */
const isPlain = /^[\p{L}\p{N}\p{M}._@:=/-]+$/u;
