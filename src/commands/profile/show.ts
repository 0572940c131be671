import { Failure } from '../../errors.ts';
import { noSuchProfile } from '../../settings/profile.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { type Session, withSession } from '../session.ts';
import { profileView, type ShownProfile } from './profile-view.ts';
import { misfit } from './settings-exit-codes.ts';

/** `listctl profile show` */
export const showCommand: CommandSpec = {
  name: 'show',
  summary: 'what a profile sets',
  setUp: (command, context) => {
    command
      .argument('[name]', 'the profile; without it the one that is in use')
      .action((name: string | undefined) =>
        withSession(context, command, (session) =>
          session.printing(profileView, false, async (print) => print(profileFor(name, session))),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl profile show', 'listctl profile show prod -o json'],
      exitCodes: { 0: 'shown', 1: misfit, 2: 'there is no such profile', 10: 'the settings can’t be read' },
    });
  },
};

function profileFor(typed: string | undefined, { sources }: Session): ShownProfile {
  const profiles = sources.user.profiles();
  const name = typed ?? sources.profile()?.name;
  if (name === undefined) {
    throw new Failure('usage', 'no profile is in use', { hint: 'listctl profile list shows what there is' });
  }
  const values = profiles.byName.get(name);
  if (values === undefined) throw noSuchProfile(name, profiles);
  return { name, values, isCurrent: name === profiles.current };
}
