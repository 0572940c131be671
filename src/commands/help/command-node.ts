/** The whole command line as a value: what man pages, the reference and other programs are told. */

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
