import type { Command } from 'commander';
import { stopSignals } from '../core/errors.ts';
import type { Context } from './context.ts';
import { addSharedOptions } from './flags.ts';

/** A command: its name, and what it takes and does. */
export interface CommandSpec {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** One line, in lower case, without a period. */
  readonly summary: string;
  /** Left out of help pages and suggestions. */
  readonly isHidden?: boolean;
  readonly setUp: SetUp;
}

/** Declares what a command takes; called only when the command is, so it may load what the command needs. */
export type SetUp = (command: Command, context: Context) => void | Promise<void>;

/**
 * Makes the program anew, as for these words: each command is added by its name, and a group or a flag before it makes
 * it whole (`addCommands`). For commands that describe the others.
 */
export type NewProgram = (words: readonly string[]) => Command;

const setUps = new WeakMap<Command, () => Promise<void>>();
const notes = new WeakMap<Command, HelpNotes>();

/** Declares what a command takes, for who describes it and does not run it. */
export async function declare(command: Command): Promise<void> {
  await setUps.get(command)?.();
}

/** The examples and every exit code of a command that is declared; undefined for a group. */
export function helpNotesOf(command: Command): HelpNotes | undefined {
  const own = notes.get(command);
  return own && { ...own, exitCodes: { ...anyExitCodes, ...endedBySignals, ...own.exitCodes } };
}

/**
 * Makes a command a group of these. A start pays for the one that was typed, however many there are: where the next
 * word names it, the others are not even added; where a flag comes first, or the word is no command, each is added by
 * its name and declared when it is called.
 */
export function addCommands(group: Command, context: Context, specs: readonly CommandSpec[]): void {
  const depth = group.parent === null ? 0 : 1;
  const words = context.words.slice(0, depth + 1);
  // Otherwise a shared option may have been typed before the verb, or a page is to show them.
  const isPlain = words.length > depth && words.every((word) => !word.startsWith('-'));
  if (!isPlain) addSharedOptions(group, context);
  const named = specs.filter((spec) => isPlain && namesOf(spec).includes(words[depth] ?? ''));
  for (const spec of named.length > 0 ? named : specs) addCommand(group, context, spec);
  group
    .usage('<command> [options]')
    .helpCommand(false)
    .hook('preSubcommand', (_, command) => setUps.get(command)?.())
    .addHelpText('after', '\nThe flags and examples of a command: listctl help COMMAND');
}

function namesOf({ name, aliases = [] }: CommandSpec): readonly string[] {
  return [name, ...aliases];
}

function addCommand(group: Command, context: Context, spec: CommandSpec): void {
  // With `.command()` it inherits how listctl exits and prints; with `addCommand` it would not.
  const command = group.command(spec.name, { hidden: spec.isHidden ?? false });
  command
    .aliases([...(spec.aliases ?? [])])
    .summary(spec.summary)
    .description(spec.summary);
  setUps.set(command, async () => {
    setUps.delete(command);
    await spec.setUp(command, context);
    // After its own, which a reader of its help looks for first. A group has seen to its own; what is hidden has no page.
    if (command.commands.length === 0 && !spec.isHidden) addSharedOptions(command, context);
  });
}

/** What a help page shows below the flags. */
export interface HelpNotes {
  /** Real command lines, without the prompt. */
  readonly examples: readonly string[];
  /** The exit codes it can end in, each with its meaning; those that any command can end in need not be named. */
  readonly exitCodes: Readonly<Record<number, string>>;
}

/** What any command can end in; one that knows more of it says so itself. */
const anyExitCodes: Readonly<Record<number, string>> = {
  10: 'a local file or stream cannot be read or written',
  70: 'a bug in listctl',
};

/** What a command ends in that was told to stop. */
const endedBySignals: Readonly<Record<number, string>> = {
  [stopSignals.SIGHUP]: 'ended by SIGHUP',
  [stopSignals.SIGINT]: 'ended by Ctrl-C',
  [stopSignals.SIGTERM]: 'ended by SIGTERM',
};

/** Adds examples and exit codes to a command's help. */
export function addHelpNotes(command: Command, { examples, exitCodes }: HelpNotes): void {
  notes.set(command, { examples, exitCodes });
  const codes = Object.entries({ ...anyExitCodes, ...endedBySignals, ...exitCodes });
  const lines = [
    ...['', 'Examples:', ...examples.map((line) => `  $ ${line}`)],
    ...['', 'Exit codes:', ...codes.map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)],
  ];
  command.addHelpText('after', lines.join('\n'));
}
