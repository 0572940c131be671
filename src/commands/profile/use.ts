import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { shownProfile } from './edit-profile.ts';
import { profileView } from './profile-view.ts';
import { settingsExitCodes } from './settings-exit-codes.ts';

/** `listctl profile use` */
export const useCommand: CommandSpec = {
  name: 'use',
  summary: 'use a profile where none is named',
  setUp: (command, context) => {
    command.argument('<name>', 'the profile').action((name: string) =>
      withSession(context, command, (session) =>
        session.printing(profileView, false, async (print) => {
          const { changeSettings } = await import('../../settings/change-settings.ts');
          const { result } = await changeSettings(session.host, (draft) => {
            const { values } = shownProfile(draft, name);
            draft.current = name;
            return { name, values, isCurrent: true };
          });
          await print(result);
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl profile use prod'],
      exitCodes: { 0: 'in use', ...settingsExitCodes },
    });
  },
};
