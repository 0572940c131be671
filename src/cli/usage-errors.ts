/** What is wrong with a command line, and what was meant. To be loaded late: it declares commands anew. */
import type { Command, CommanderError, Option } from 'commander';
import { Failure } from '../core/errors.ts';
import { nearestName } from '../core/text.ts';
import { commandPath, declare, type NewProgram } from './command.ts';

/** What stands before the word that is to be completed. */
export interface Place {
  /** The command that was named last, declared. */
  readonly command: Command;
  /** The flag whose value comes next. */
  readonly option: Option | undefined;
  /** What must come after the command and is no flag. */
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

/** commander's words as ours: what is wrong, and what to do about it; of a flag and of arguments, what we know of them. */
export async function toUsageFailure(
  words: readonly string[],
  error: Pick<CommanderError, 'message' | 'code'>,
  newProgram: NewProgram,
): Promise<Failure> {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  // What is asked about is what stands behind `help`; its own flags begin there.
  const asked = words[0] === 'help' && words[1]?.startsWith('-') === false ? words.slice(1) : words;
  // As for a help page, on which a command has every flag that it may have.
  const commandBehind = async (typed: readonly string[]) => (await placeOf(typed, newProgram(['--help']))).command;
  const command = await commandBehind(asked);
  if (error.code === 'commander.unknownOption') {
    // Without what stands behind it: that may be a secret.
    const flag = first.replace(/^unknown option '([^'=]*).*$/s, '$1');
    const at = asked.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
    const option = optionOf(flag, command);
    if (option === undefined) return unknownOption(flag, command);
    const isOfRows = optionOf(flag, (await placeOf(asked, newProgram(asked))).command) === undefined;
    if (isOfRows) return goesWithFrom(option, pathOf(command));
    const isEarly = pathOf(await commandBehind(asked.slice(0, at))) !== pathOf(command);
    return isEarly ? standsBehind(option, pathOf(command)) : takesNoValue(option);
  }
  if (error.code === 'commander.unknownCommand') {
    const [, word = ''] = /'(.*)'/s.exec(first) ?? [];
    const meant = await meantCommand(word, command);
    return new Failure('usage', first, { hint: meant === undefined ? seeHelp(command) : `Did you mean ${meant}?` });
  }
  if (error.code === 'commander.excessArguments') return tooManyArguments(command);
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1') || seeHelp(command);
  return new Failure('usage', first, { hint });
}

/** A flag that there is not: what it is a slip of. */
function unknownOption(flag: string, command: Command): Failure {
  if (flag === '--token') return unknown(flag, 'set LISTCTL_TOKEN instead: other users can read command lines');
  const longs = command.options.flatMap(({ long = '', hidden }) => (hidden ? [] : long.slice(2)));
  const meant = flag.startsWith('--') ? nearestName(flag.slice(2), longs) : undefined;
  if (meant !== undefined) return unknown(flag, `Did you mean --${meant}?`);
  const mayBeValue = !flag.startsWith('--') && command.registeredArguments.length > 0;
  return unknown(flag, mayBeValue ? behindDashes : seeHelp(command));
}

function tooManyArguments(command: Command): Failure {
  const count = command.registeredArguments.length;
  const takes = count === 0 ? 'no arguments' : count === 1 ? 'one argument' : `${count} arguments`;
  const quoting =
    optionOf('--field', command) &&
    'use -f before each field and quote values that contain spaces: -f Title="Buy milk"';
  return new Failure('usage', `too many arguments: listctl ${pathOf(command)} takes ${takes}`, {
    hint: quoting ?? seeHelp(command),
  });
}

function seeHelp(command: Command): string {
  return `${['listctl', pathOf(command)].join(' ').trim()} --help`;
}

const behindDashes = 'put "--" before a value that starts with "-": listctl items get -- -17';

function unknown(flag: string, hint: string): Failure {
  return new Failure('usage', `unknown option ${flag}`, { hint });
}

function standsBehind({ flags }: Option, path: string): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long.split(' ')[0]} must come after the command`, {
    hint: `use: listctl ${path} ${long}`,
  });
}

/** commander calls `--quiet=true` unknown. */
function takesNoValue({ flags }: Option): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long} takes no value`, { hint: `pass ${long} without a value` });
}

function goesWithFrom({ flags }: Option, path: string): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long.split(' ')[0]} requires --from`, {
    hint: `use: listctl ${path} --from tasks.csv ${long}`,
  });
}

/** `--site <id>`, of `-s, --site <id>` */
function longOf(flags: string): string {
  return flags.slice(flags.indexOf('--'));
}

function pathOf(command: Command): string {
  return commandPath(command).slice(1).join(' ');
}

/** Words that people bring along from other programs, and ours, the likelier first. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['create', 'set'],
  new: ['create', 'set'],
  create: ['set'],
  show: ['get'],
  view: ['get', 'show'],
  read: ['get'],
  get: ['show'],
  set: ['update'],
  patch: ['update'],
  change: ['update'],
  rm: ['delete', 'remove'],
  del: ['delete', 'remove'],
  delete: ['remove'],
  remove: ['delete'],
};

/**
 * What stands in the place of a word that is no command of a group: the word's own place in another group, what we call
 * it here, or the name that it is a slip of. Undefined where nothing is near.
 */
async function meantCommand(word: string, group: Command): Promise<string | undefined> {
  const here = named(word, group);
  if (here !== undefined) return here;
  if (group.parent === null) {
    for (const below of group.commands) {
      await declare(below);
      const found = named(word, below);
      if (found !== undefined) return `${below.name()} ${found}`;
    }
  }
  return nearestName(word, namesIn(group));
}

function named(word: string, group: Command): string | undefined {
  const ours = Object.hasOwn(synonyms, word) ? (synonyms[word] ?? []) : [];
  const theirs = namesIn(group);
  return [word, ...ours].find((name) => theirs.includes(name));
}

/** Those that its page shows. */
function namesIn(group: Command): readonly string[] {
  return group
    .createHelp()
    .visibleCommands(group)
    .map((command) => command.name());
}
