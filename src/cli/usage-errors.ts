/** Failures for invalid command lines, with suggestions. Loaded lazily: it declares all commands. */
import type { Command, CommanderError, Option } from 'commander';
import { Failure } from '../core/errors.ts';
import { nearestName } from '../core/text.ts';
import { commandPath, declare, type NewProgram } from './command.ts';

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

export function findOption(flag: string, command: Command): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

/** Converts an error of commander to a failure with a hint. */
export async function toUsageFailure(
  words: readonly string[],
  error: Pick<CommanderError, 'message' | 'code'>,
  newProgram: NewProgram,
): Promise<Failure> {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  // `help items` is about items, but the flags of `help --json` are its own.
  const typed = words[0] === 'help' && words[1]?.startsWith('-') === false ? words.slice(1) : words;
  // Like a help page, which has all flags, including those of --from.
  const findCommand = async (some: readonly string[]) => (await parseWords(some, newProgram(['--help']))).command;
  const command = await findCommand(typed);
  if (error.code === 'commander.unknownOption') {
    // Without its value, which may be a secret.
    const flag = first.replace(/^unknown option '([^'=]*).*$/s, '$1');
    const at = typed.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
    const option = findOption(flag, command);
    if (option === undefined) return unknownOption(flag, command);
    const needsFrom = findOption(flag, (await parseWords(typed, newProgram(typed))).command) === undefined;
    if (needsFrom) return requiresFrom(option, pathOf(command));
    const isEarly = pathOf(await findCommand(typed.slice(0, at))) !== pathOf(command);
    return isEarly ? beforeCommand(option, pathOf(command)) : takesNoValue(option);
  }
  if (error.code === 'commander.unknownCommand') {
    const [, word = ''] = /'(.*)'/s.exec(first) ?? [];
    const suggested = await suggestCommand(word, command);
    const hint = suggested === undefined ? seeHelp(command) : `Did you mean ${suggested}?`;
    return new Failure('usage', first, { hint });
  }
  if (error.code === 'commander.excessArguments') return tooManyArguments(command);
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1') || seeHelp(command);
  return new Failure('usage', first, { hint });
}

function unknownOption(flag: string, command: Command): Failure {
  const unknown = (hint: string) => new Failure('usage', `unknown option ${flag}`, { hint });
  if (flag === '--token') return unknown('set LISTCTL_TOKEN instead: other users can read command lines');
  const longs = command.options.flatMap(({ long = '', hidden }) => (hidden ? [] : long.slice(2)));
  const suggested = flag.startsWith('--') ? nearestName(flag.slice(2), longs) : undefined;
  if (suggested !== undefined) return unknown(`Did you mean --${suggested}?`);
  const mayBeValue = !flag.startsWith('--') && command.registeredArguments.length > 0;
  return unknown(
    mayBeValue ? 'put "--" before a value that starts with "-": listctl items get -- -17' : seeHelp(command),
  );
}

function tooManyArguments(command: Command): Failure {
  const count = command.registeredArguments.length;
  const takes = count === 0 ? 'no arguments' : count === 1 ? 'one argument' : `${count} arguments`;
  const quoting =
    findOption('--field', command) &&
    'use -f before each field and quote values that contain spaces: -f Title="Buy milk"';
  return new Failure('usage', `too many arguments: listctl ${pathOf(command)} takes ${takes}`, {
    hint: quoting ?? seeHelp(command),
  });
}

function seeHelp(command: Command): string {
  return `${['listctl', pathOf(command)].join(' ').trim()} --help`;
}

function beforeCommand({ flags }: Option, path: string): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long.split(' ')[0]} must come after the command`, {
    hint: `use: listctl ${path} ${long}`,
  });
}

/** commander reports `--quiet=true` as unknown. */
function takesNoValue({ flags }: Option): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long} takes no value`, { hint: `pass ${long} without a value` });
}

function requiresFrom({ flags }: Option, path: string): Failure {
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

/** Verbs of other programs, with the likeliest of listctl first. */
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

/** Suggests a command for an unknown word: in this group, in another one, or with a similar name. */
async function suggestCommand(word: string, group: Command): Promise<string | undefined> {
  const here = findSynonym(word, group);
  if (here !== undefined) return here;
  if (group.parent === null) {
    for (const other of group.commands) {
      await declare(other);
      const found = findSynonym(word, other);
      if (found !== undefined) return `${other.name()} ${found}`;
    }
  }
  return nearestName(word, visibleNames(group));
}

function findSynonym(word: string, group: Command): string | undefined {
  const verbs = Object.hasOwn(synonyms, word) ? (synonyms[word] ?? []) : [];
  const names = visibleNames(group);
  return [word, ...verbs].find((name) => names.includes(name));
}

function visibleNames(group: Command): readonly string[] {
  return group
    .createHelp()
    .visibleCommands(group)
    .map((command) => command.name());
}
