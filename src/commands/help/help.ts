import type { Command, Option } from 'commander';
import {
  addHelpNotes,
  type Context,
  commandPath,
  declare,
  type HelpOutput,
  helpNotes,
  type NewProgram,
  type SetUp,
} from '../../cli/command.ts';
import { flagTexts, globalFlags } from '../../cli/flags.ts';
import { equivalentWords, visibleNames } from '../../cli/synonyms.ts';
import { parseWords } from '../../cli/words.ts';
import { Failure } from '../../core/errors.ts';
import { nearestName } from '../../core/text.ts';
import { findValue } from '../../settings/setting.ts';
import { allExitCodes, ownOptions, usageLine } from './pages.ts';
import { topics, variablesOf } from './topics.ts';

/** The program, as `listctl help --json` prints it. */
export interface ProgramNode extends CommandNode {
  readonly name: 'listctl';
  readonly version: string;
  readonly topics: readonly { readonly name: string; readonly summary: string; readonly page: string }[];
}

/** A command, with those below it; hidden ones are left out. */
export interface CommandNode {
  /** Without the program's name: `items create`; empty for the program. */
  readonly path: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** `listctl items get [id...] [flags]` */
  readonly usage: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
    readonly repeatable: boolean;
  }[];
  /** Its own; the global ones are the program's. */
  readonly options: readonly OptionNode[];
  readonly examples: readonly string[];
  /** Meanings by exit code; empty for a group. */
  readonly exitCodes: Readonly<Record<number, string>>;
  readonly commands: readonly CommandNode[];
}

export interface OptionNode {
  /** `-s, --site <id>` */
  readonly flags: string;
  /** `--site` */
  readonly long: string;
  readonly short?: string;
  /** The name of its value: `id`; undefined for a switch. */
  readonly value?: string;
  readonly valueOptional?: boolean;
  readonly description: string;
  /** The default, in words. */
  readonly default?: string;
  /** Environment variables with the same effect. */
  readonly env?: readonly string[];
  /** Its heading: `Output`. */
  readonly group: string;
}

/** `listctl help`: the page of a command or a topic; with `--json`, a description for programs. */
export function setUpHelp(newProgram: NewProgram, helpOutput: HelpOutput): SetUp {
  return (help, context) => {
    help.argument('[topic...]', 'topic, or command such as items create').action(async (typed: readonly string[]) => {
      const topic = typed.length === 1 ? topics.find(({ name }) => name === typed[0]) : undefined;
      if (isJsonWanted(help)) helpOutput.text = await describeProgram(typed, newProgram, context);
      else if (topic !== undefined) helpOutput.text = topic.page();
      else await showPage(typed, newProgram);
    });
    addHelpNotes(help, {
      examples: ['listctl help items create', 'listctl help fields', 'listctl help --json'],
    });
  };
}

/** Only the flag counts: with `LISTCTL_OUTPUT=json` exported, a person still wants to read a page. */
function isJsonWanted(help: Command): boolean {
  const output = findValue(globalFlags.output, { flags: flagTexts(help), env: {} }) ?? 'pretty';
  if (output === 'pretty' || output === 'json') return output === 'json';
  throw new Failure('usage', `invalid --output "${output}": expected pretty or json`);
}

/** The program as JSON, or the command or topic that was typed. */
async function describeProgram(typed: readonly string[], newProgram: NewProgram, context: Context): Promise<string> {
  const root = newProgram(['--help']);
  const tree = await describeCommand(root, root);
  const pages = topics.map(({ name, summary, page }) => ({ name, summary, page: page() }));
  const program: ProgramNode = { name: 'listctl', version: context.version, ...tree, topics: pages };
  // `apply` is a topic as well: for a program the command is what counts.
  const isCommand = tree.commands.some(({ path }) => path === typed[0]);
  const topic = typed.length === 1 && !isCommand ? pages.find(({ name }) => name === typed[0]) : undefined;
  return `${JSON.stringify(topic ?? findCommand(program, typed), undefined, 2)}\n`;
}

async function showPage(typed: readonly string[], newProgram: NewProgram): Promise<void> {
  const program = newProgram(['--help']);
  const { command, positionals } = await parseWords(typed, program);
  const isUnknown = command.commands.length > 0 && positionals.length > 0;
  const meant = isUnknown ? await equivalentWords([...typed, '--help'], program, newProgram) : undefined;
  if (isUnknown && command.parent === null && meant === undefined) {
    throw unknownWord(positionals[0], visibleNames(command), true);
  }
  // Without --help, a group reports its unknown subcommand.
  const words = meant ?? (isUnknown ? typed.slice(0, commandPath(command).length) : [...typed, '--help']);
  await newProgram(words).parseAsync(words, { from: 'user' });
}

function unknownWord(word = '', commands: readonly string[], mayBeTopic: boolean): Failure {
  const names = mayBeTopic ? [...commands, ...topics.map(({ name }) => name)] : commands;
  const meant = nearestName(word, names);
  return new Failure('usage', `unknown command${mayBeTopic ? ' or topic' : ''} '${word.slice(0, 100)}'`, {
    hint: meant === undefined ? 'see listctl --help' : `did you mean ${meant}?`,
  });
}

async function describeCommand(command: Command, root: Command): Promise<CommandNode> {
  await declare(command);
  const page = command.createHelp();
  const commands: CommandNode[] = [];
  for (const below of page.visibleCommands(command)) commands.push(await describeCommand(below, root));
  return {
    path: commandPath(command).slice(1).join(' '),
    aliases: command.aliases(),
    summary: command === root ? command.description() : command.summary(),
    usage: usageLine(command),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      required: argument.required,
      repeatable: argument.variadic,
    })),
    options: (command === root ? page.visibleOptions(command) : ownOptions(command)).map(describeOption),
    examples: helpNotes(command)?.examples ?? [],
    exitCodes: allExitCodes(command) ?? {},
    commands,
  };
}

function describeOption(option: Option): OptionNode {
  const { flags, description, short, long = '', helpGroupHeading = 'Flags:' } = option;
  const value = /[<[]=?(.+)[>\]]$/.exec(flags)?.[1];
  const fallback = / \(default:? ([^()]+)\)$/.exec(description)?.[1];
  const env = variablesOf(long);
  return {
    flags,
    long,
    ...(short === undefined ? {} : { short }),
    ...(value === undefined ? {} : { value }),
    ...(flags.endsWith(']') ? { valueOptional: true } : {}),
    description,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(env.length === 0 ? {} : { env }),
    group: helpGroupHeading.replace(/:$/, ''),
  };
}

function findCommand(node: CommandNode, words: readonly string[]): CommandNode {
  const [word, ...rest] = words;
  if (word === undefined) return node;
  const nameOf = ({ path }: CommandNode) => path.split(' ').at(-1) ?? '';
  const found = node.commands.find((each) => nameOf(each) === word || each.aliases.includes(word));
  if (found !== undefined) return findCommand(found, rest);
  throw unknownWord(word, node.commands.map(nameOf), node.path === '');
}
