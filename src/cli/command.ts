import type { Command } from 'commander';
import type { Host } from '../core/host.ts';
import { addGlobalFlags, type GlobalFlagName } from './flags.ts';

/** What every command receives. */
export interface Context {
  readonly host: Host;
  /** The command line, without the program's name. */
  readonly words: readonly string[];
  readonly version: string;
  /** Overrides the transport of commands that do not choose one, in tests. */
  readonly transport?: 'one' | 'many';
  /**
   * How the command ends, unless it fails; and, of a command that may write to the service, the number of writes that it
   * handed to a transport, without those that are known not to have been sent.
   */
  readonly ending: { is: 'done' | 'changes'; writes?: number };
  /** The format of errors; `asJson` is undefined until the command line has been parsed. */
  readonly errors: { asJson: boolean | undefined; color: 'auto' | 'always' | 'never' };
}

/** A command: its name and summary, and the function that declares the rest. */
export interface CommandSpec {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly heading?: string;
  readonly isHidden?: boolean;
  readonly setUp: SetUp;
}

/** Declares arguments, flags and action. Called only for the command that was typed, so it may import what it needs. */
export type SetUp = (command: Command, context: Context) => void | Promise<void>;

/** Creates the program again for other words, for commands that describe commands. */
export type NewProgram = (words: readonly string[]) => Command;

/** The text to print, or the command whose help page to print. */
export interface HelpOutput {
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

/** Undefined for a group. */
export function helpNotes(command: Command): HelpNotes | undefined {
  return notes.get(command);
}

/**
 * Adds the subcommands of a group: only the one that the next word names, to start fast. If a flag comes first, or the
 * word is unknown, all are added, with the global flags.
 */
export function addCommands(group: Command, context: Context, specs: readonly CommandSpec[]): void {
  const depth = group.parent === null ? 0 : 1;
  const words = context.words.slice(0, depth + 1);
  const isPlain = words.length > depth && words.every((word) => !word.startsWith('-'));
  if (!isPlain) addGlobalFlags(group, context.version);
  const named = specs.filter(({ name, aliases = [] }) => isPlain && [name, ...aliases].includes(words[depth] ?? ''));
  for (const spec of named.length > 0 ? named : specs) addCommand(group, context, spec);
  group.helpCommand(false).hook('preSubcommand', (_, command) => setUps.get(command)?.());
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
    // A group has added them already.
    if (command.commands.length === 0 && !spec.isHidden) addGlobalFlags(command, context.version);
  });
}

/** What help shows in addition to the flags of a command. */
export interface HelpNotes {
  readonly examples: readonly string[];
  /** The global flags to list (default: output). */
  readonly globalFlags?: readonly GlobalFlagName[];
  /** Values of `--output` besides those of every command. */
  readonly formats?: readonly string[];
  /** Exit codes with a special meaning for this command. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** Further exit codes, without 0, 1, 2, 10, 70 and those of signals. */
  readonly exits?: readonly number[];
}

/** The exit codes of commands that send requests. */
export const serviceExits = [3, 4, 5, 6, 7] as const;

export function addHelpNotes(command: Command, { globalFlags = ['output'], ...more }: HelpNotes): void {
  notes.set(command, { globalFlags, ...more });
}
