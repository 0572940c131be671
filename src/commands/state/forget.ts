import { forgetItem } from '../../seed/state-edits.ts';
import type { SeedFlags } from '../apply/seed-file.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { addStateOptions, editState } from './edit-state.ts';

/** `listctl state forget SEED KEY` */
export const forgetCommand: CommandSpec = {
  name: 'forget',
  summary: 'let go of an item without deleting it',
  setUp: (command, context) => {
    addStateOptions(command);
    command.argument('<key>', 'an item that the state knows').action((seed: string, key: string, flags: SeedFlags) =>
      withSession(context, command, (session) =>
        editState(seed, flags, { makes: false }, session, async (state) => {
          const forgotten = forgetItem(state, key);
          await session.say(`"${key}" (item ${state.items.get(key)?.id}) is not this seed's any more`);
          return forgotten;
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl state forget seed.yaml "Buy milk"'],
      exitCodes: { 0: 'forgotten', 2: 'wrong usage, or the key is not known', 11: 'another process is at work on it' },
    });
  },
};
