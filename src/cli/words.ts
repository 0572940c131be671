/** The words of a command line, as far as they can be parsed. Loaded lazily: it declares commands. */
import type { Command, Option } from 'commander';
import { commandPath, declare } from './command.ts';

/** A command line, parsed as far as it goes. */
export interface ParsedWords {
  /** The last command that was named, declared. */
  readonly command: Command;
  /** The flag whose value comes next. */
  readonly option: Option | undefined;
  readonly positionals: readonly string[];
  /** After `--` there are no flags. */
  readonly isAfterDashes: boolean;
}

/** Parses words that may be incomplete, and declares only the commands that they name. */
export async function parseWords(words: readonly string[], program: Command): Promise<ParsedWords> {
  await declare(program);
  let parsed: ParsedWords = { command: program, option: undefined, positionals: [], isAfterDashes: false };
  for (const word of words) parsed = await parseWord(parsed, word);
  return parsed;
}

async function parseWord(parsed: ParsedWords, word: string): Promise<ParsedWords> {
  const { command, option, positionals, isAfterDashes } = parsed;
  const next = { ...parsed, option: undefined };
  if (option?.required) return next;
  if (!isAfterDashes && word === '--') return { ...next, isAfterDashes: true };
  if (!isAfterDashes && word.startsWith('-') && word !== '-') return { ...next, option: findOpenOption(word, command) };
  // The value of a flag with an optional value.
  if (option !== undefined) return next;
  const subcommand = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
  if (subcommand === undefined) return { ...next, positionals: [...positionals, word] };
  await declare(subcommand);
  return { ...next, command: subcommand };
}

/** The flag in this word whose value is the next word. */
function findOpenOption(word: string, command: Command): Option | undefined {
  const takesValue = (option: Option | undefined) => option?.required === true || option?.optional === true;
  if (word.startsWith('--')) {
    const option = findOption(word, command);
    return takesValue(option) ? option : undefined;
  }
  // Short flags in one word, such as -vp; the rest of the word is the value of the first that takes one.
  for (let at = 1; at < word.length; at += 1) {
    const option = findOption(`-${word.charAt(at)}`, command);
    if (takesValue(option)) return at === word.length - 1 ? option : undefined;
  }
  return undefined;
}

/** The option of a command with this long or short flag. */
export function findOption(flag: string, command: Command): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

/** The places of the arguments of a command, before `--`: without flags, their values and the command's own names. */
export function argumentsAt(words: readonly string[], command: Command): readonly number[] {
  const found: number[] = [];
  for (let at = 0; at < words.length && words[at] !== '--'; at += 1) {
    const word = words[at] ?? '';
    if (word === '-' || !word.startsWith('-')) found.push(at);
    else if (findOpenOption(word, command) !== undefined) at += 1;
  }
  return found.slice(commandPath(command).length - 1);
}
