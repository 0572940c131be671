import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { profileView } from './profile-view.ts';
import { misfit } from './settings-exit-codes.ts';

/** `listctl profile list` */
export const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'every profile',
  setUp: (command, context) => {
    command.action(() =>
      withSession(context, command, (session) => {
        // Before there is a printer: that they can't be read is not that there is none.
        const { current, byName } = session.sources.user.profiles();
        return session.printing({ ...profileView, printsNone: true }, true, async (print) => {
          if (byName.size === 0) await session.notice('there is no profile yet: listctl init makes one');
          for (const [name, values] of byName) await print({ name, values, isCurrent: name === current });
        });
      }),
    );
    addHelpNotes(command, {
      examples: ['listctl profile list', 'listctl profile list -o id'],
      exitCodes: {
        0: 'listed, even where there is none',
        1: misfit,
        2: 'wrong usage',
        10: 'the settings can’t be read',
      },
    });
  },
};
