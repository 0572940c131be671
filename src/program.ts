/** The command tree, in the order of `--help`: a command is added here. */
import { Command, CommanderError } from 'commander';
import {
  addCommands,
  type CommandSpec,
  type Context,
  type HelpOutput,
  type NewProgram,
  type SetUp,
} from './cli/command.ts';
import { Failure } from './core/errors.ts';

/** Runs one command line; throws the failure of the command, or of an invalid command line (usage). */
export async function runProgram(context: Context): Promise<void> {
  const helpOutput: HelpOutput = { text: '', page: undefined };
  const program = createProgram(context, helpOutput);
  let isVersion = false;
  try {
    await program.parseAsync(context.words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.unknownCommand' || mayMeanAnother(helpOutput.page, program, context.words)) {
      const { equivalentWords } = await import('./cli/synonyms.ts');
      const words = await equivalentWords(context.words, program, programOf(context, helpOutput));
      if (words !== undefined) return runProgram({ ...context, words });
    }
    // commander throws for --help, --version and a group without a verb, too.
    isVersion = error.code === 'commander.version';
    if (!helpCodes.has(error.code)) throw await usageFailure(error, context);
  }
  if (helpOutput.page === undefined && helpOutput.text === '') return;
  if (isVersion) return (await import('./cli/report.ts')).printVersion(context);
  const { formatPage, showPage } = await import('./commands/help/pages.ts');
  const text =
    helpOutput.page === undefined ? helpOutput.text : formatPage(helpOutput.page, context.host.stdout.columns);
  await showPage(text, context.words, context.host);
}

/** Whether a page was shown that may not be the one that was asked for: `create --help`, `-h items get`. */
function mayMeanAnother(page: Command | undefined, program: Command, words: readonly string[]): boolean {
  const isGroup = page?.parent === program && page.commands.length > 0 && !/^(-h|--help)$/.test(words.at(-1) ?? '');
  return (page === program || isGroup) && words.some((word) => !word.startsWith('-'));
}

/** Prints the error of a command line; `exit` is the exit code of the process. */
export async function reportError(error: unknown, exit: number, context: Context): Promise<void> {
  const { reportBug, reportFailure } = await import('./cli/report.ts');
  return error instanceof Failure ? reportFailure(error, context, exit) : reportBug(error, context);
}

function createProgram(context: Context, helpOutput: HelpOutput): Command {
  const write = (text: string) => {
    helpOutput.text += text;
  };
  const program = new Command('listctl')
    .description('Manage list items: create, get, update and delete.')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      ...{ writeOut: write, writeErr: write, outputError: () => {} },
      // Without these commander asks Node's streams, which take 3 ms to open.
      ...{ getOutHelpWidth: noWidth, getErrHelpWidth: noWidth, getOutHasColors: noColors, getErrHasColors: noColors },
    })
    .configureHelp({
      // The page is formatted later, by a module that is loaded for help only.
      formatHelp: (command) => {
        helpOutput.page = command;
        return '';
      },
    });
  addCommands(program, context, [...commands, ...metaCommands(context, helpOutput)]);
  return program;
}

const noWidth = () => Number.POSITIVE_INFINITY;
const noColors = () => false;

/** In the order of `--help`. */
const commands: readonly CommandSpec[] = [
  {
    ...lazy(
      'items',
      'create, get, update, delete and edit items',
      async () => (await import('./commands/items/items.ts')).setUpItems,
    ),
    aliases: ['item'],
  },
  lazy('columns', 'list the columns of a list', async () => (await import('./commands/columns.ts')).setUpColumns),
  lazy('apply', 'make a list match a manifest file', async () => (await import('./commands/apply.ts')).setUpApply),
  {
    ...lazy('plan', 'show what apply would change', async () => (await import('./commands/apply.ts')).setUpPlan),
    aliases: ['diff'],
  },
  lazy(
    'state',
    'inspect and edit the state that apply keeps',
    async () => (await import('./commands/state.ts')).setUpState,
  ),
  lazy(
    'runs',
    'list, inspect, resolve and undo bulk runs',
    async () => (await import('./commands/runs/runs.ts')).setUpRuns,
  ),
  lazy('init', 'set up listctl interactively', async () => (await import('./commands/init.ts')).setUpInit, 'Setup'),
  lazy('auth', 'manage the access token', async () => (await import('./commands/auth.ts')).setUpAuth, 'Setup'),
  lazy('profile', 'manage profiles', async () => (await import('./commands/profile.ts')).setUpProfile, 'Setup'),
  lazy(
    'doctor',
    'check the configuration and the connection',
    async () => (await import('./commands/doctor/doctor.ts')).setUpDoctor,
    'Setup',
  ),
  lazy(
    'api',
    'send any request to the service',
    async () => (await import('./commands/api.ts')).setUpApi,
    'Additional',
  ),
  lazy(
    'serve',
    'serve the built-in service on a local port',
    async () => (await import('./commands/serve.ts')).setUpServe,
    'Additional',
  ),
];

function lazy(name: string, summary: string, load: () => Promise<SetUp>, group = 'Item'): CommandSpec {
  const setUp: SetUp = async (command, context) => (await load())(command, context);
  return { name, summary, heading: `${group} commands`, setUp };
}

/** Commands that describe commands: they create the whole program. */
function metaCommands(context: Context, helpOutput: HelpOutput): readonly CommandSpec[] {
  const newProgram = programOf(context, helpOutput);
  return [
    lazy(
      'completion',
      'print a shell completion script',
      async () => (await import('./commands/completion.ts')).setUpCompletion,
      'Additional',
    ),
    {
      ...lazy('__complete', '', async () => (await import('./commands/completion.ts')).setUpComplete(newProgram)),
      isHidden: true,
    },
    lazy(
      'help',
      'show help for a command or topic',
      async () => (await import('./commands/help/help.ts')).setUpHelp(newProgram, helpOutput),
      'Additional',
    ),
  ];
}

function programOf(context: Context, helpOutput: HelpOutput = { text: '', page: undefined }): NewProgram {
  return (words) => createProgram({ ...context, words }, helpOutput);
}

const helpCodes: ReadonlySet<string> = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

async function usageFailure(error: CommanderError, context: Context): Promise<Failure> {
  const { toUsageFailure } = await import('./cli/usage-errors.ts');
  return toUsageFailure(context.words, error, programOf(context), context.host);
}
