import { addCommands, type SetUp } from '../command.ts';
import { loginCommand } from './login.ts';
import { logoutCommand } from './logout.ts';
import { statusCommand } from './status.ts';
import { tokenCommand } from './token.ts';

/** `listctl auth` */
export const setUpAuth: SetUp = (auth, context) =>
  addCommands(auth, context, [loginCommand, logoutCommand, statusCommand, tokenCommand]);
