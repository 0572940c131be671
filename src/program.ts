/** The command tree, in the order of `--help`: a command is added here. */
import { Command, CommanderError, Help, type HelpConfiguration } from 'commander';
import { addCommands, type CommandSpec, type NewProgram, type SetUp } from './cli/command.ts';
import type { Context } from './cli/context.ts';
import { Failure } from './core/errors.ts';

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
    if (!pagesAsked.has(error.code)) throw await wrongWords(error, context);
  }
  await context.host.stdout.write(pages.join(''));
}

/** Prints what a command line ended in, when it ended badly; `exit` is the status that the process ends with. */
export async function reportError(error: unknown, exit: number, context: Context): Promise<void> {
  const { reportBug, reportFailure } = await import('./cli/report.ts');
  return error instanceof Failure ? reportFailure(error, context, exit) : reportBug(error, context);
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
  addCommands(program, context, [...commands, ...commandsOnCommands(context, writePage)]);
  return program.addHelpText('after', 'Topics: listctl help fields|output|exit-codes|environment|many|apply');
}

/** In the order of `--help`. What is not the verbs on items is loaded when it is called. */
const commands: readonly CommandSpec[] = [
  {
    ...late(
      'items',
      'create, get, update and delete items',
      async () => (await import('./commands/items/items.ts')).setUpItems,
    ),
    aliases: ['item'],
  },
  late(
    'apply',
    'make a list match a file, again and again',
    async () => (await import('./commands/apply.ts')).setUpApply,
  ),
  late(
    'state',
    'what apply knows of a list: import, forget, resolve, export',
    async () => (await import('./commands/state.ts')).setUpState,
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
  late('auth', 'the stored token', async () => (await import('./commands/auth.ts')).setUpAuth),
  late('profile', 'named addresses and defaults', async () => (await import('./commands/profile.ts')).setUpProfile),
  late('api', 'send any other request to the service', async () => (await import('./commands/api.ts')).setUpApi),
  late(
    'doctor',
    'what is set, from where, and does it answer',
    async () => (await import('./commands/doctor/doctor.ts')).setUpDoctor,
  ),
];

function late(name: string, summary: string, load: () => Promise<SetUp>, isHidden = false): CommandSpec {
  return { name, summary, isHidden, setUp: async (command, context) => (await load())(command, context) };
}

/** What describes the commands, and so needs the program as a whole. */
function commandsOnCommands(context: Context, writePage: (text: string) => void): readonly CommandSpec[] {
  const newProgram: NewProgram = (words) => createProgram({ ...context, words }, writePage);
  return [
    late(
      'completion',
      'the script by which a shell completes listctl',
      async () => (await import('./commands/completion.ts')).setUpCompletion,
    ),
    late(
      '__complete',
      'what a shell may put in the place of the last word',
      async () => (await import('./commands/complete.ts')).setUpComplete(newProgram),
      true,
    ),
    late('help', 'the page of a command, or of a topic', async () =>
      (await import('./commands/help/help.ts')).setUpHelp(newProgram, writePage),
    ),
  ];
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

async function wrongWords(error: CommanderError, context: Context): Promise<Failure> {
  const { wrongWordsFailure } = await import('./cli/usage-errors.ts');
  return wrongWordsFailure({ words: context.words, error }, (words) => createProgram({ ...context, words }, () => {}));
}
