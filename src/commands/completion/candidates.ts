/** What may come next on a command line. */
import type { Argument, Command, Option } from 'commander';
import type { Host } from '../../host.ts';
import type { NewProgram } from '../command.ts';
import { optionOf, type Place, placeOf } from './place.ts';
import { type Candidate, type Completion, valuesOfArgument, valuesOfOption } from './values.ts';

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
    return valuesOfOption(option, word, command, host);
  if (!isAfterDashes && word.startsWith('-')) return afterDash(word, command, host);
  // What is no command is in the way of every further one.
  if (command.commands.length > 0) return { candidates: positionals.length > 0 ? [] : commandsOf(command) };
  if (command.name() === 'help') return { candidates: await helpCandidates(positionals, newProgram) };
  const argument = argumentAt(place);
  return argument === undefined ? { candidates: [] } : valuesOfArgument(argument, command, host);
}

/** A flag, or the value behind its `=`. */
async function afterDash(word: string, command: Command, host: Host): Promise<Completion> {
  const [, flag = '', value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  const option = value === undefined ? undefined : optionOf(flag, command);
  if (value === undefined || option === undefined) return { candidates: flagsOf(command) };
  if (option.isBoolean()) return { candidates: [] };
  const { candidates, files } = await valuesOfOption(option, value, command, host);
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
  const { topics } = await import('../help/topics.ts');
  const pages = topics.map(({ name, summary }) => ({ value: name, description: summary }));
  const names = new Set(pages.map(({ value }) => value));
  return [...pages, ...commandsOf(command).filter(({ value }) => !names.has(value))];
}

/** What the next word is to the command; the last of its arguments may take every further word. */
function argumentAt({ command, positionals }: Place): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[positionals.length] ?? (last?.variadic ? last : undefined);
}
