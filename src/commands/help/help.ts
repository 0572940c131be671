import type { Command } from 'commander';
import { Failure } from '../../errors.ts';
import { addHelpNotes, type NewProgram, type SetUp } from '../command.ts';
import type { Context } from '../context.ts';
import { flagTexts } from '../options/shared.ts';
import type { ProgramNode } from './command-node.ts';

/** `listctl help`: the page of a command or a topic; with `--json` what there is, for other programs. */
export function setUpHelp(newProgram: NewProgram, writePage: (text: string) => void): SetUp {
  return (help, context) => {
    help.argument('[topic...]', 'a topic, or a command as it is typed: items create').action(async (typed) => {
      if (isJsonAsked(help)) return writePage(await describe(typed, newProgram, context));
      const page = await topicPage(typed);
      if (page !== undefined) return writePage(page);
      await showPage(typed, newProgram);
    });
    addHelpNotes(help, {
      examples: ['listctl help items create', 'listctl help fields', 'listctl help --json'],
      exitCodes: { 0: 'shown', 2: 'there is no such command or topic' },
    });
  };
}

/** Only what was typed counts: a script that exports `LISTCTL_OUTPUT=json` still wants to read a page. */
function isJsonAsked(help: Command): boolean {
  const output = flagTexts(help)['--output'] ?? 'pretty';
  if (output === 'pretty' || output === 'json') return output === 'json';
  throw new Failure('usage', `--output: help has pretty and json, not "${output.slice(0, 100)}"`);
}

async function topicPage(typed: readonly string[]): Promise<string | undefined> {
  const { topics } = await import('./topics.ts');
  const topic = topics.find(({ name }) => typed.length === 1 && name === typed[0]);
  return topic?.page();
}

/** The command or topic that is named, or everything. */
async function describe(typed: readonly string[], newProgram: NewProgram, { version }: Context): Promise<string> {
  const [{ commandTree, findCommand }, { topics }] = await Promise.all([
    import('./command-tree.ts'),
    import('./topics.ts'),
  ]);
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
    const isUnknown = command.commands.length > 0 && depthOf(command) < typed.length;
    if (isUnknown) throw new UnknownWord(typed.slice(0, depthOf(command) + 1));
  });
  await parse(words, program).catch(async (error: unknown) => {
    if (!(error instanceof UnknownWord)) throw error;
    if (error.words.length === 1) throw await unknownFirstWord(error.words[0], program);
    return parse(error.words, newProgram(error.words));
  });
}

async function unknownFirstWord(word = '', program: Command): Promise<Failure> {
  const [{ unknownWord }, { topics }] = await Promise.all([import('./unknown-word.ts'), import('./topics.ts')]);
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

function depthOf(command: Command): number {
  return command.parent === null ? 0 : depthOf(command.parent) + 1;
}
