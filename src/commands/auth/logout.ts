import { Failure } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { settingsExitCodes } from '../profile/settings-exit-codes.ts';
import { type Session, withSession } from '../session.ts';

/** `listctl auth logout` */
export const logoutCommand: CommandSpec = {
  name: 'logout',
  summary: 'forget the stored token of a profile',
  setUp: (command, context) => {
    command.action(() => withSession(context, command, logout));
    addHelpNotes(command, {
      examples: ['listctl auth logout', 'listctl auth logout -p prod'],
      exitCodes: { 0: 'forgotten, or there was none', ...settingsExitCodes },
    });
  },
};

interface Logout {
  readonly profile: string;
  readonly hadToken: boolean;
}

const logoutView: View<Logout> = {
  pretty: (logouts) =>
    logouts
      .map(({ profile, hadToken }) =>
        hadToken ? `forgot the token of profile ${profile}` : `no token is stored for profile ${profile}`,
      )
      .join('\n'),
  json: ({ profile, hadToken }) => ({ profile, hadToken }),
  id: ({ profile }) => profile,
};

function logout(session: Session): Promise<void> {
  const profile = session.sources.profile()?.name;
  if (profile === undefined) {
    throw new Failure('usage', 'no profile is in use, and tokens are stored for profiles', {
      hint: 'name one with -p; listctl profile list shows what there is',
    });
  }
  return session.printing(logoutView, false, async (print) => {
    const { changeSettings } = await import('../../settings/change-settings.ts');
    const { result: hadToken } = await changeSettings(session.host, ({ tokens }) => tokens.delete(profile));
    await print({ profile, hadToken });
  });
}
