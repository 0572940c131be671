import type { View } from '../../output/view.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { currentToken, tokenExitCodes } from './current-token.ts';
import { needsNoToken } from './store-login.ts';

/** `listctl auth token` */
export const tokenCommand: CommandSpec = {
  name: 'token',
  summary: 'print the token, for a script',
  setUp: (command, context) => {
    command.action(() =>
      withSession(context, command, (session) =>
        session.printing(tokenView, false, async (print) => {
          const found = await currentToken(session);
          if (found === undefined) throw needsNoToken();
          await print(found.token.value);
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['LISTCTL_TOKEN=$(listctl auth token) ./nightly.sh'],
      exitCodes: { 0: 'printed', ...tokenExitCodes },
    });
  },
};

const tokenView: View<string> = {
  pretty: (tokens) => tokens.join('\n'),
  json: (token) => ({ token }),
  id: (token) => token,
};
