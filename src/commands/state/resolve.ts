import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import type { ResolveFlags } from './resolve-item.ts';
import { addStateOptions } from './state-options.ts';

/** `listctl state resolve SEED KEY=ID`, `KEY=none` */
export const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'settle an item that is in doubt',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key=id>', 'the item that its create made, or KEY=none where it made none')
      .option('--force', 'take the item whatever it holds')
      .action((seed: string, text: string, flags: ResolveFlags) =>
        withSession(context, command, async (session) =>
          (await import('./resolve-item.ts')).settle(seed, text, flags, session),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state resolve seed.yaml "Buy milk=17"', 'listctl state resolve seed.yaml "Buy milk=none"'],
      exitCodes: {
        0: 'settled',
        2: 'wrong usage, or the key is not in doubt',
        3: 'credentials',
        4: 'there is no such item',
        5: 'that item holds something else',
        11: 'another process is at work on this state',
      },
    });
  },
};
