import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { runWords } from './named-run.ts';
import type { ResolveFlags } from './resolve-run.ts';

/** `listctl runs resolve` */
export const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'say what became of rows in doubt',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .option('--row <n>', 'the row, by its number')
      .option('--all', 'every row in doubt')
      .option('--applied [id]', 'it was done; of a create, as this item, which is read and compared')
      .option('--not-applied', 'it was not done: --resume sends it again')
      .option('--force', 'do not compare the item with what was sent')
      .action((word: string, flags: ResolveFlags) =>
        withSession(context, command, async (session) => {
          const { resolveRows } = await import('./resolve-run.ts');
          await resolveRows(word, flags, session);
        }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl runs resolve last --row 17 --applied 4711',
        'listctl runs resolve last --row 18 --not-applied',
        'listctl runs resolve 20261120-101530-k3f9 --all --not-applied',
      ],
      exitCodes: {
        0: 'recorded',
        1: 'the service gave an answer that cannot be used',
        2: 'wrong usage, or the row is not in doubt: nothing recorded',
        3: 'credentials',
        4: 'there is no such item',
        5: 'the item is not what was sent',
        6: 'throttled or unavailable',
        7: 'not reached',
        10: 'the run’s journal can’t be read or written, or is damaged',
        11: 'another process is at work on the run',
      },
    });
  },
};
