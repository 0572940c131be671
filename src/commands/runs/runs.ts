import { addCommands, type SetUp } from '../command.ts';
import { listCommand } from './list.ts';
import { removeCommand } from './remove.ts';
import { resolveCommand } from './resolve.ts';
import { showCommand } from './show.ts';
import { undoCommand } from './undo.ts';

/** `listctl runs` */
export const setUpRuns: SetUp = (runs, context) =>
  addCommands(runs, context, [listCommand, showCommand, resolveCommand, undoCommand, removeCommand]);
