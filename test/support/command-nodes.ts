import type { CommandNode } from '../../src/commands/help/help.ts';

/** Every command of a tree, the first one before those below it. */
export function allCommands(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(allCommands)];
}
