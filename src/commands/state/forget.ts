import type { SeedFlags } from '../apply/seed-file.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { addStateOptions } from './state-options.ts';

/** `listctl state forget SEED KEY` */
export const forgetCommand: CommandSpec = {
  name: 'forget',
  summary: 'let go of an item without deleting it',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key>', 'an item that the state knows')
      .action((seed: string, key: string, flags: SeedFlags) =>
        withSession(context, command, async (session) =>
          (await import('./forget-item.ts')).letGo(seed, key, flags, session),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state forget seed.yaml "Buy milk"'],
      exitCodes: { 0: 'forgotten', 2: 'wrong usage, or the key is not known', 11: 'another process is at work on it' },
    });
  },
};
