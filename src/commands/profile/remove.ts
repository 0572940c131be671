import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { shownProfile } from './edit-profile.ts';
import { profileView } from './profile-view.ts';
import { settingsExitCodes } from './settings-exit-codes.ts';

/** `listctl profile remove` */
export const removeCommand: CommandSpec = {
  name: 'remove',
  aliases: ['rm'],
  summary: 'forget a profile, and the token that is stored for it',
  setUp: (command, context) => {
    command.argument('<name>', 'the profile').action((name: string) =>
      withSession(context, command, (session) =>
        session.printing(profileView, false, async (print) => {
          const { changeSettings } = await import('../../settings/change-settings.ts');
          const { result } = await changeSettings(session.host, (draft) => {
            const removed = shownProfile(draft, name);
            draft.profiles.delete(name);
            draft.tokens.delete(name);
            // No other one takes its place by itself: what was meant for this must not go elsewhere.
            if (removed.isCurrent) draft.current = undefined;
            return removed;
          });
          await print({ ...result, isCurrent: false });
          if (result.isCurrent) await session.notice('no profile is in use now: listctl profile use NAME chooses one');
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl profile remove staging'],
      exitCodes: { 0: 'removed', ...settingsExitCodes },
    });
  },
};
