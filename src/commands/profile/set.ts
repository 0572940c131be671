import { Failure } from '../../errors.ts';
import { checkProfileName } from '../../settings/profile.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { collect } from '../options/fields.ts';
import { type Session, withSession } from '../session.ts';
import { type ProfileEdit, putProfile, removedKeys, typedValues } from './edit-profile.ts';
import { profileView } from './profile-view.ts';
import { settingsExitCodes } from './settings-exit-codes.ts';

interface SetFlags {
  readonly tokenCommand?: string;
  readonly defaultOutput?: string;
  readonly protected?: boolean;
  readonly unset?: readonly string[];
}

/** `listctl profile set` */
export const setCommand: CommandSpec = {
  name: 'set',
  summary: 'make a profile, or change what it sets',
  setUp: (command, context) => {
    command
      .argument('<name>', 'letters, digits and . _ - @')
      .optionsGroup('Profile:')
      .option('--token-command <command>', 'a command of your shell that prints the token')
      .option('--default-output <format>', 'the format of every command that names none')
      .option('--protected', 'writes through it must be confirmed')
      .option('--unset <setting>', 'remove a setting, such as site; repeatable', collect)
      .action((name: string, flags: SetFlags) =>
        withSession(context, command, (session) => setProfile(name, flags, session), { makesProfile: true }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl profile set prod --base-url https://lists.example/v1.0 --site home --list tasks --protected',
        "listctl profile set work --base-url https://lists.example/v1.0 --token-command 'pass show lists'",
        'listctl profile set prod --unset protected',
      ],
      exitCodes: { 0: 'kept', ...settingsExitCodes },
    });
  },
};

async function setProfile(name: string, flags: SetFlags, session: Session): Promise<void> {
  const { host, sources, allowsHttp } = session;
  const edit: ProfileEdit = {
    values: typedValues(sources.flags, { ...flags, allowHttp: allowsHttp }, host.cwd),
    removed: removedKeys(flags.unset ?? []),
  };
  if (Object.keys(edit.values).length + edit.removed.length === 0) {
    throw new Failure('usage', 'nothing to set', { hint: 'pass at least one setting, such as --base-url URL' });
  }
  checkProfileName(name);
  await session.printing(profileView, false, async (print) => {
    const { changeSettings } = await import('../../settings/change-settings.ts');
    const { result } = await changeSettings(host, (draft) => putProfile(draft, name, edit));
    await print(result);
  });
}
