import { addCommands, type SetUp } from '../command.ts';
import { exportCommand } from './export.ts';
import { forgetCommand } from './forget.ts';
import { importCommand } from './import.ts';
import { resolveCommand } from './resolve.ts';

/** `listctl state`: what `apply` knows of a list. */
export const setUpState: SetUp = (command, context) => {
  addCommands(command, context, [importCommand, forgetCommand, resolveCommand, exportCommand]);
};
