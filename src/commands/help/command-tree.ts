/** From the commands as they are declared to a value that tells of them. */
import type { Argument, Command, Option } from 'commander';
import { declare, helpNotesOf } from '../command.ts';
import type { ArgumentNode, CommandNode, OptionNode } from './command-node.ts';
import { variablesOf } from './environment.ts';
import { unknownWord } from './unknown-word.ts';

/** Declares every command below one, and describes them. */
export async function commandTree(command: Command): Promise<CommandNode> {
  const shared = command.options.map(({ long }) => long);
  const describe = async (each: Command): Promise<CommandNode> => {
    await declare(each);
    const page = each.createHelp();
    const commands: CommandNode[] = [];
    for (const below of page.visibleCommands(each)) commands.push(await describe(below));
    const { examples = [], exitCodes = {} } = helpNotesOf(each) ?? {};
    return {
      path: pathOf(each),
      aliases: each.aliases(),
      summary: each.parent === null ? each.description() : each.summary(),
      usage: page.commandUsage(each),
      arguments: each.registeredArguments.map(argumentNode),
      options: page
        .visibleOptions(each)
        .filter(({ long }) => each === command || !(shared.includes(long) || long === '--help'))
        .map(optionNode),
      examples,
      exitCodes,
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
  if (command.parent === null) return '';
  return `${pathOf(command.parent)} ${command.name()}`.trim();
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
  const { flags, description, short, long = '', helpGroupHeading = 'Options:' } = option;
  const value = /[<[](.+)[>\]]$/.exec(flags)?.[1];
  // A description ends with what holds where the flag is not typed, in brackets.
  const fallback = / \(([^()]+)\)$/.exec(description)?.[1];
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
