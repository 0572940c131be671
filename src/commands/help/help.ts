import type { Argument, Command, Option } from 'commander';
import {
  addHelpNotes,
  commandPath,
  declare,
  helpNotes,
  type NewProgram,
  type SetUp,
  type Shown,
} from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { flagTexts } from '../../cli/flags.ts';
import { Failure } from '../../core/errors.ts';
import { nearestName } from '../../core/text.ts';
import { allExitCodes, ownOptions, usageLine } from './page.ts';
import { topics, variablesOf } from './topics.ts';

/** The program, as `listctl help --json` prints it. */
export interface ProgramNode extends CommandNode {
  readonly name: 'listctl';
  readonly version: string;
  readonly topics: readonly TopicNode[];
}

/** A page that teaches. */
export interface TopicNode {
  readonly name: string;
  readonly summary: string;
  readonly page: string;
}

/** A command, with those below it. Hidden ones are left out. */
export interface CommandNode {
  /** As it is typed, without the program's name: `items create`; empty for the program. */
  readonly path: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** A whole command line: `listctl items get [options] [id...]`. */
  readonly usage: string;
  readonly arguments: readonly ArgumentNode[];
  /** Its own; those that every command understands are the program's. */
  readonly options: readonly OptionNode[];
  readonly examples: readonly string[];
  /** What it can end in, by exit code; a group has none. */
  readonly exitCodes: Readonly<Record<number, string>>;
  readonly commands: readonly CommandNode[];
}

/** What stands behind a command. */
export interface ArgumentNode {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly repeatable: boolean;
}

/** A flag. */
export interface OptionNode {
  /** `-s, --site <id>` */
  readonly flags: string;
  /** `--site` */
  readonly long: string;
  readonly short?: string;
  /** What stands behind it: `id`; without it the flag is a switch. */
  readonly value?: string;
  /** Whether the value may be left out. */
  readonly valueOptional?: boolean;
  readonly description: string;
  /** What holds where it is not typed, in words. */
  readonly default?: string;
  /** The variables that say the same. */
  readonly env?: readonly string[];
  /** The heading that it stands under: `Output`. */
  readonly group: string;
}

/** Every command of a tree, the first one before those below it. */
export function allCommands(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(allCommands)];
}

/** `listctl help`: the page of a command or a topic; with `--json` what there is, for other programs. */
export function setUpHelp(newProgram: NewProgram, shown: Shown): SetUp {
  return (help, context) => {
    help.argument('[topic...]', 'topic, or command such as items create').action(async (typed) => {
      const page = isJsonAsked(help) ? await describe(typed, newProgram, context) : topicPage(typed);
      if (page === undefined) await showPage(typed, newProgram);
      else shown.text = page;
    });
    addHelpNotes(help, {
      examples: ['listctl help items create', 'listctl help fields', 'listctl help --json'],
    });
  };
}

/** Only what was typed counts: a script that exports `LISTCTL_OUTPUT=json` still wants to read a page. */
function isJsonAsked(help: Command): boolean {
  const output = flagTexts(help)['--output'] ?? 'pretty';
  if (output === 'pretty' || output === 'json') return output === 'json';
  throw new Failure('usage', `invalid --output "${output.slice(0, 100)}": expected pretty or json`);
}

function topicPage(typed: readonly string[]): string | undefined {
  const topic = topics.find(({ name }) => typed.length === 1 && name === typed[0]);
  return topic?.page();
}

/** The command or topic that is named, or everything. */
async function describe(typed: readonly string[], newProgram: NewProgram, { version }: Context): Promise<string> {
  const whole = await commandTree(newProgram(['--help']));
  const pages = topics.map(({ name, summary, page }) => ({ name, summary, page: page() }));
  const program: ProgramNode = { name: 'listctl', version, ...whole, topics: pages };
  // For a program `apply` is the command: of that there is more to tell.
  const isCommand = whole.commands.some(({ path }) => path === typed[0]);
  const topic = typed.length === 1 && !isCommand ? pages.find(({ name }) => name === typed[0]) : undefined;
  return `${JSON.stringify(
    topic ??
      findCommand(
        program,
        typed,
        pages.map(({ name }) => name),
      ),
    undefined,
    2,
  )}\n`;
}

/** `listctl help items create` is `listctl items create --help`. */
async function showPage(typed: readonly string[], newProgram: NewProgram): Promise<void> {
  const parse = (words: readonly string[], program: Command) => program.parseAsync(words, { from: 'user' });
  const words = [...typed, '--help'];
  const program = newProgram(words);
  program.on('beforeAllHelp', ({ command }: { readonly command: Command }) => {
    // A group that shows its own page has no such command: then what it says to that word is the answer.
    const known = commandPath(command).length;
    if (command.commands.length > 0 && known <= typed.length) throw new UnknownWord(typed.slice(0, known));
  });
  await parse(words, program).catch(async (error: unknown) => {
    if (!(error instanceof UnknownWord)) throw error;
    if (error.words.length === 1) throw unknownFirstWord(error.words[0], program);
    return parse(error.words, newProgram(error.words));
  });
}

function unknownFirstWord(word = '', program: Command): Failure {
  const commands = program.createHelp().visibleCommands(program);
  return unknownWord(
    word,
    commands.map((command) => command.name()),
    topics.map(({ name }) => name),
  );
}

/** Words of which the last is no command. */
class UnknownWord extends Error {
  override readonly name = 'UnknownWord';
  readonly words: readonly string[];

  constructor(words: readonly string[]) {
    super(`unknown command: ${words.join(' ')}`);
    this.words = words;
  }
}

/**
 * The failure for a word behind `help` that is none of these.
 *
 * @param topics empty where only a command may stand
 */
export function unknownWord(word: string, commands: readonly string[], topics: readonly string[]): Failure {
  const kind = topics.length === 0 ? 'command' : 'command or topic';
  const meant = nearestName(word, [...commands, ...topics]);
  return new Failure('usage', `unknown ${kind} '${word.slice(0, 100)}'`, {
    hint: meant === undefined ? 'see listctl --help' : `Did you mean ${meant}?`,
  });
}

/** Declares every command below one, and describes them. */
export async function commandTree(command: Command): Promise<CommandNode> {
  const describe = async (each: Command): Promise<CommandNode> => {
    await declare(each);
    const page = each.createHelp();
    const commands: CommandNode[] = [];
    for (const below of page.visibleCommands(each)) commands.push(await describe(below));
    const { examples = [] } = helpNotes(each) ?? {};
    return {
      path: pathOf(each),
      aliases: each.aliases(),
      summary: each.parent === null ? each.description() : each.summary(),
      usage: usageLine(each),
      arguments: each.registeredArguments.map(argumentNode),
      options: (each === command ? page.visibleOptions(each) : ownOptions(each)).map(optionNode),
      examples,
      exitCodes: allExitCodes(each) ?? {},
      commands,
    };
  };
  return describe(command);
}

/**
 * The command that words name, by its names or its aliases.
 *
 * @param topicNames what the first word may be, too: for who meant one of these
 * @throws {Failure} usage, naming the first word that is no command
 */
export function findCommand(node: CommandNode, words: readonly string[], topicNames: readonly string[]): CommandNode {
  const [word, ...rest] = words;
  if (word === undefined) return node;
  const nameOf = ({ path }: CommandNode) => path.split(' ').at(-1) ?? '';
  const found = node.commands.find((each) => nameOf(each) === word || each.aliases.includes(word));
  if (found !== undefined) return findCommand(found, rest, topicNames);
  throw unknownWord(word, node.commands.map(nameOf), node.path === '' ? topicNames : []);
}

function pathOf(command: Command): string {
  return commandPath(command).slice(1).join(' ');
}

function argumentNode(argument: Argument): ArgumentNode {
  return {
    name: argument.name(),
    description: argument.description,
    required: argument.required,
    repeatable: argument.variadic,
  };
}

function optionNode(option: Option): OptionNode {
  const { flags, description, short, long = '', helpGroupHeading = 'Flags:' } = option;
  const value = /[<[](.+)[>\]]$/.exec(flags)?.[1];
  const fallback = / \(default:? ([^()]+)\)$/.exec(description)?.[1];
  const env = variablesOf(long);
  return {
    flags,
    long,
    ...(short === undefined ? {} : { short }),
    ...(value === undefined ? {} : { value }),
    ...(option.optional ? { valueOptional: true } : {}),
    description,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(env.length === 0 ? {} : { env }),
    group: helpGroupHeading.replace(/:$/, ''),
  };
}
