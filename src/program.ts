/** The command tree, in the order of `--help`: a command is added here. */
import { Command, CommanderError, Help, type HelpConfiguration } from 'commander';
import { addCommands, type CommandSpec, type SetUp } from './commands/command.ts';
import type { Context } from './commands/context.ts';
import { itemsCommand } from './commands/items/items.ts';
import { reportBug, reportFailure } from './commands/report.ts';
import { Failure } from './errors.ts';

/**
 * Runs one command line.
 *
 * @throws {Failure} what the command ended in; usage, for words that are no command line of listctl
 */
export async function runProgram(context: Context): Promise<void> {
  const pages: string[] = [];
  const program = createProgram(context, (text) => pages.push(text));
  try {
    await program.parseAsync(context.words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // A page was asked for, by --help, --version or by a group without a verb.
    if (!pagesAsked.has(error.code)) throw usageFailure(error);
  }
  await context.host.stdout.write(pages.join(''));
}

/** Prints what a command line ended in, when it ended badly. */
export function reportError(error: unknown, context: Context): Promise<void> {
  return error instanceof Failure ? reportFailure(error, context) : reportBug(error, context);
}

/** The program with its commands; `writePage` takes the text of help pages. */
function createProgram(context: Context, writePage: (text: string) => void): Command {
  const { stdout } = context.host;
  const program = new Command('listctl')
    .description('Manage list items: create, get, update and delete.')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: writePage,
      writeErr: writePage,
      outputError: () => {},
      getOutHelpWidth: () => stdout.columns ?? 100,
      getErrHelpWidth: () => stdout.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp(helpPages);
  addCommands(program, context, [...commands, helpCommand(writePage)]);
  return program;
}

/** In the order of `--help`. What is not the verbs on items is loaded when it is called. */
const commands: readonly CommandSpec[] = [
  itemsCommand,
  late(
    'apply',
    'make a list match a file, again and again',
    async () => (await import('./commands/apply/apply.ts')).setUpApply,
  ),
  late(
    'state',
    'what apply knows of a list: import, forget, resolve, export',
    async () => (await import('./commands/state/state.ts')).setUpState,
  ),
  late(
    'runs',
    'runs over many rows: what they did, what is left, taking it back',
    async () => (await import('./commands/runs/runs.ts')).setUpRuns,
  ),
  late(
    'serve',
    'run the embedded service for other programs',
    async () => (await import('./commands/serve.ts')).setUpServe,
  ),
  late(
    'init',
    'ask for address, token, site and list, try them, keep them',
    async () => (await import('./commands/init.ts')).setUpInit,
  ),
  late('auth', 'the stored token', async () => (await import('./commands/auth/auth.ts')).setUpAuth),
  late(
    'profile',
    'named addresses and defaults',
    async () => (await import('./commands/profile/profile.ts')).setUpProfile,
  ),
  late('api', 'send any other request to the service', async () => (await import('./commands/api/api.ts')).setUpApi),
];

function late(name: string, summary: string, load: () => Promise<SetUp>): CommandSpec {
  return { name, summary, setUp: async (command, context) => (await load())(command, context) };
}

/** `listctl help items create` is `listctl items create --help`. */
function helpCommand(writePage: (text: string) => void): CommandSpec {
  return {
    name: 'help',
    summary: 'the help page of a command',
    setUp: (help, context) => {
      help.argument('[command...]', 'as it is typed, such as items create').action(async (typed: readonly string[]) => {
        const parse = (words: readonly string[], program: Command) => program.parseAsync(words, { from: 'user' });
        const words = [...typed, '--help'];
        const program = createProgram({ ...context, words }, writePage);
        program.on('beforeAllHelp', ({ command }: { readonly command: Command }) => {
          // A group that shows its own page has no such command: then what it says to that word is the answer.
          const isUnknown = command.commands.length > 0 && depthOf(command) < typed.length;
          if (isUnknown) throw new UnknownWord(typed.slice(0, depthOf(command) + 1));
        });
        await parse(words, program).catch((error: unknown) => {
          if (!(error instanceof UnknownWord)) throw error;
          return parse(error.words, createProgram({ ...context, words: error.words }, writePage));
        });
      });
    },
  };
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

function depthOf(command: Command): number {
  return command.parent === null ? 0 : depthOf(command.parent) + 1;
}

/** A group that was typed without a verb shows its verbs; the flags are in what `--help` shows. */
const helpPages: HelpConfiguration & { isShort?: boolean } = {
  prepareContext(context) {
    // commander says «error» where no page was asked for.
    this.isShort = context.error === true;
    this.helpWidth = context.helpWidth ?? 100;
  },
  visibleOptions(command) {
    return this.isShort ? [] : Help.prototype.visibleOptions.call(this, command);
  },
  subcommandTerm: (command) => [command.name(), ...command.aliases()].join(', '),
  commandUsage(command) {
    const names = [];
    for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
    return [...names, command.usage()].join(' ');
  },
};

const pagesAsked: ReadonlySet<string> = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

/** commander's words as ours: the message, and its suggestion as the hint. */
function usageFailure({ message, code }: CommanderError): Failure {
  const [first = '', ...rest] = message.replace(/^error: /, '').split('\n');
  if (code === 'commander.unknownOption') {
    // What stands behind the flag may be a secret.
    const flag = first.replace(/^unknown option '([^'=]*).*$/s, '$1');
    return new Failure('usage', `unknown option ${flag}`, { hint: hintForUnknown(flag, rest) });
  }
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1') || 'listctl --help shows what there is';
  return new Failure('usage', first, { hint });
}

function hintForUnknown(flag: string, suggestion: readonly string[]): string {
  if (flag === '--token') return 'an argument can be read by every user of the machine: set LISTCTL_TOKEN instead';
  const meant = suggestion.join(' ').replace(/^\((.*)\)$/, '$1');
  return meant || 'a value that begins with - stands behind --, as in: listctl items get -- -17';
}
