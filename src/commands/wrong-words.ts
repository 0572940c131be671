/** What is wrong with a command line, and what was meant. To be loaded late: it declares commands anew. */
import type { Command, CommanderError, Option } from 'commander';
import { Failure } from '../errors.ts';
import { nearestName } from '../nearest-name.ts';
import type { NewProgram } from './command.ts';
import { optionOf, placeOf } from './completion/place.ts';

/** A command line that is none of listctl's. */
export interface WrongWords {
  readonly words: readonly string[];
  /** What commander says of it. */
  readonly error: Pick<CommanderError, 'message' | 'code'>;
}

/** commander's words as ours: what is wrong, and what to do about it; of a flag and of arguments, what we know of them. */
export async function wrongWordsFailure({ words, error }: WrongWords, newProgram: NewProgram): Promise<Failure> {
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
    const meant = await (await import('./meant-command.ts')).meantCommand(word, command);
    return new Failure('usage', first, { hint: meant === undefined ? seeHelp(command) : `Did you mean ${meant}?` });
  }
  if (error.code === 'commander.excessArguments') return tooManyArguments(command);
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1') || seeHelp(command);
  return new Failure('usage', first, { hint });
}

/** A flag that there is not: what it is a slip of. */
function unknownOption(flag: string, command: Command): Failure {
  if (flag === '--token')
    return unknown(flag, 'an argument can be read by every user of the machine: set LISTCTL_TOKEN instead');
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
    'a field stands behind -f, and a value with blanks in quotes, as in -f Title="Buy milk"';
  return new Failure('usage', `too many arguments: listctl ${pathOf(command)} takes ${takes}`, {
    hint: quoting ?? seeHelp(command),
  });
}

function seeHelp(command: Command): string {
  return `${['listctl', pathOf(command)].join(' ').trim()} --help shows what there is`;
}

const behindDashes = 'a value that begins with - stands behind --, as in: listctl items get -- -17';

function unknown(flag: string, hint: string): Failure {
  return new Failure('usage', `unknown option ${flag}`, { hint });
}

function standsBehind({ flags }: Option, path: string): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long.split(' ')[0]} stands behind the command, not before it`, {
    hint: `as in: listctl ${path} ${long}`,
  });
}

/** commander calls `--quiet=true` unknown. */
function takesNoValue({ flags }: Option): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long} takes no value`, { hint: `pass ${long} alone, or leave it out` });
}

function goesWithFrom({ flags }: Option, path: string): Failure {
  const long = longOf(flags);
  return new Failure('usage', `${long.split(' ')[0]} goes with --from: it is for the rows of a file`, {
    hint: `as in: listctl ${path} --from tasks.csv ${long}`,
  });
}

/** `--site <id>`, of `-s, --site <id>` */
function longOf(flags: string): string {
  return flags.slice(flags.indexOf('--'));
}

function pathOf(command: Command): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim();
}
