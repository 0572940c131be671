import { addCommands, type SetUp } from '../command.ts';
import { createCommand } from './create.ts';
import { deleteCommand } from './delete.ts';
import { editCommand } from './edit.ts';
import { getCommand } from './get.ts';
import { listLesson } from './list.ts';
import { updateCommand } from './update.ts';

/** `listctl items`: the verbs on items, in the order of help. */
export const setUpItems: SetUp = (items, context) =>
  addCommands(items, context, [createCommand, getCommand, updateCommand, deleteCommand, editCommand, listLesson]);
