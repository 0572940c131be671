import type { Command } from 'commander';
import type { Context } from './context.ts';
import { addGlobalFlags, type GlobalFlagName } from './flags.ts';

/** A command: its name and summary, and the function that declares the rest. */
export interface CommandSpec {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** An imperative phrase in lower case, without a period. */
  readonly summary: string;
  /** The heading above it on the page of its group. */
  readonly heading?: string;
  /** Left out of help and suggestions. */
  readonly isHidden?: boolean;
  readonly setUp: SetUp;
}

/** Declares arguments, flags and action; called only for the command that was typed, so it may load what it needs. */
export type SetUp = (command: Command, context: Context) => void | Promise<void>;

/** Builds the program again for other words: for commands that describe commands. */
export type NewProgram = (words: readonly string[]) => Command;

/** What a command line asks to be shown: a text, or the page of a command. */
export interface Shown {
  text: string;
  page: Command | undefined;
}

const setUps = new WeakMap<Command, () => Promise<void>>();
const notes = new WeakMap<Command, HelpNotes>();

/** Declares a command without running it. */
export async function declare(command: Command): Promise<void> {
  await setUps.get(command)?.();
}

/** The names of a command and of the groups above it, `listctl` first. */
export function commandPath(command: Command): readonly string[] {
  return command.parent === null ? [command.name()] : [...commandPath(command.parent), command.name()];
}

/** What the help of a declared command adds to its flags; undefined for a group. */
export function helpNotes(command: Command): HelpNotes | undefined {
  return notes.get(command);
}

/**
 * Makes a command a group. If the next word names a subcommand, only that one is added: a start pays for the command
 * that was typed. If a flag comes first, or the word is unknown, all are added, with the global flags.
 */
export function addCommands(group: Command, context: Context, specs: readonly CommandSpec[]): void {
  const depth = group.parent === null ? 0 : 1;
  const words = context.words.slice(0, depth + 1);
  const isPlain = words.length > depth && words.every((word) => !word.startsWith('-'));
  if (!isPlain) addGlobalFlags(group, context);
  const named = specs.filter((spec) => isPlain && namesOf(spec).includes(words[depth] ?? ''));
  for (const spec of named.length > 0 ? named : specs) addCommand(group, context, spec);
  group.helpCommand(false).hook('preSubcommand', (_, command) => setUps.get(command)?.());
}

function namesOf({ name, aliases = [] }: CommandSpec): readonly string[] {
  return [name, ...aliases];
}

function addCommand(group: Command, context: Context, spec: CommandSpec): void {
  // Unlike `addCommand`, it inherits `exitOverride` and `configureOutput`.
  const command = group.command(spec.name, { hidden: spec.isHidden ?? false });
  command
    .aliases([...(spec.aliases ?? [])])
    .summary(spec.summary)
    .helpGroup(spec.heading ?? 'Commands');
  setUps.set(command, async () => {
    setUps.delete(command);
    await spec.setUp(command, context);
    // A group has added its own; a hidden command takes none.
    if (command.commands.length === 0 && !spec.isHidden) addGlobalFlags(command, context);
  });
}

/** What help shows beside the flags of a command. */
export interface HelpNotes {
  /** Command lines that can be run, without the prompt. */
  readonly examples: readonly string[];
  /** The global flags on its page: those that are often typed with it. */
  readonly globalFlags?: readonly GlobalFlagName[];
  /** Exit codes that mean something special for this command. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** Further exit codes, in their general meaning; 0, 1, 2, 10, 70 and those of signals need not be named. */
  readonly exits?: readonly number[];
}

/** What a command that sends requests can end in. */
export const serviceExits = [3, 4, 5, 6, 7] as const;

/** Sets the examples and the exit codes of a command. */
export function addHelpNotes(command: Command, { globalFlags = ['output'], ...more }: HelpNotes): void {
  notes.set(command, { globalFlags, ...more });
}
