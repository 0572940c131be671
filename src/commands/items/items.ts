import { addCommands, type CommandSpec, type SetUp } from '../../cli/command.ts';
import { createCommand } from './create.ts';
import { deleteCommand } from './delete.ts';
import { editCommand } from './edit.ts';
import { getCommand } from './get.ts';
import { updateCommand } from './update.ts';

/** Loaded only when it is typed: few services can list. */
const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls', 'query', 'find'],
  summary: 'list items (Microsoft Graph only)',
  setUp: async (command, context) => (await import('./list.ts')).setUpList(command, context),
};

/** `listctl items`, in the order of help. */
export const setUpItems: SetUp = (items, context) =>
  addCommands(items, context, [createCommand, getCommand, updateCommand, deleteCommand, editCommand, listCommand]);
