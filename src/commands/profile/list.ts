import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { profileView } from './profile-view.ts';

/** `listctl profile list` */
export const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'every profile',
  setUp: (command, context) => {
    command.action(() =>
      withSession(context, command, (session) =>
        session.printing(profileView, true, async (print) => {
          const { current, byName } = session.sources.user.profiles();
          if (byName.size === 0) await session.notice('there is no profile yet: listctl init makes one');
          for (const [name, values] of byName) await print({ name, values, isCurrent: name === current });
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl profile list', 'listctl profile list -o id'],
      exitCodes: { 0: 'listed, even where there is none', 10: 'the settings can’t be read' },
    });
  },
};
