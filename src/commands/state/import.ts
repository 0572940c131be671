import type { SeedFlags } from '../apply/seed-file.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { addStateOptions } from './state-options.ts';

/** `listctl state import SEED KEY=ID` */
export const importCommand: CommandSpec = {
  name: 'import',
  summary: 'take over an item that is already there',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key=id>', 'an item of the seed, and the id that it has in the list')
      .action((seed: string, text: string, flags: SeedFlags) =>
        withSession(context, command, async (session) =>
          (await import('./import-item.ts')).takeOver(seed, text, flags, session),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state import seed.yaml "Buy milk=17"'],
      exitCodes: {
        0: 'taken over',
        2: 'wrong usage, or the key is known already',
        3: 'credentials',
        4: 'there is no such item',
        11: 'another process is at work on this state',
      },
    });
  },
};
