/** Where on the command line the cursor is: the words before it, as the commands understand them. */
import type { Command, Option } from 'commander';
import { declare } from '../command.ts';

/** What stands before the word that is to be completed. */
export interface Place {
  /** The command that was named last, declared. */
  readonly command: Command;
  /** The flag whose value comes next. */
  readonly option: Option | undefined;
  /** What stands behind the command and is no flag. */
  readonly positionals: readonly string[];
  /** `--` was typed: what begins with - is a value, too. */
  readonly isAfterDashes: boolean;
}

/** Reads the words, and declares the commands that they name and no other. */
export async function placeOf(words: readonly string[], program: Command): Promise<Place> {
  await declare(program);
  let place: Place = { command: program, option: undefined, positionals: [], isAfterDashes: false };
  for (const word of words) place = await placeAfter(place, word);
  return place;
}

async function placeAfter(place: Place, word: string): Promise<Place> {
  const { command, option, positionals, isAfterDashes } = place;
  if (option?.required) return { ...place, option: undefined };
  const base = { ...place, option: undefined };
  if (!isAfterDashes && word === '--') return { ...base, isAfterDashes: true };
  if (!isAfterDashes && word.startsWith('-') && word !== '-') return { ...base, option: awaiting(word, command) };
  // A value that may be left out has been given.
  if (option !== undefined) return base;
  const below = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
  if (below === undefined) return { ...base, positionals: [...positionals, word] };
  await declare(below);
  return { ...base, command: below };
}

/** The flag in this word whose value is the next word; undefined where it has none, or has it. */
function awaiting(word: string, command: Command): Option | undefined {
  const takesValue = (option: Option | undefined) => option?.required === true || option?.optional === true;
  if (word.startsWith('--')) {
    const option = optionOf(word, command);
    return takesValue(option) ? option : undefined;
  }
  // Several in one word: -vp. What stands behind the first that takes a value is its value.
  for (let at = 1; at < word.length; at += 1) {
    const option = optionOf(`-${word.charAt(at)}`, command);
    if (takesValue(option)) return at === word.length - 1 ? option : undefined;
  }
  return undefined;
}

/** The flag of a command by its short or its long form. */
export function optionOf(flag: string, command: Command): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}
