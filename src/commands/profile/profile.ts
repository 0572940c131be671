import { addCommands, type SetUp } from '../command.ts';
import { listCommand } from './list.ts';
import { removeCommand } from './remove.ts';
import { setCommand } from './set.ts';
import { showCommand } from './show.ts';
import { useCommand } from './use.ts';

/** `listctl profile` */
export const setUpProfile: SetUp = (profile, context) =>
  addCommands(profile, context, [listCommand, showCommand, setCommand, useCommand, removeCommand]);
