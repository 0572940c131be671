import { addHelpNotes, type CommandSpec } from '../command.ts';
import { addPaceOptions } from '../many/flags.ts';
import { addMaxDeleteOption } from '../many/max-delete.ts';
import { withSession } from '../session.ts';
import { runWords } from './named-run.ts';
import type { UndoFlags } from './undo-run.ts';

/** `listctl runs undo` */
export const undoCommand: CommandSpec = {
  name: 'undo',
  summary: 'delete what a run created',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .optionsGroup('Taking back:')
      .option('-y, --yes', 'do not ask')
      .option('--force', 'items that were changed since, too')
      .option('--resume', 'go on where it ended; it does so by itself')
      .option('--journal <file>', 'file to record this undo in (RUN.undo where RUN is a path)');
    addMaxDeleteOption(command);
    command.optionsGroup('Many items:');
    addPaceOptions(command);
    command.action((word: string, flags: UndoFlags) =>
      withSession(context, command, async (session) => {
        const { undoRun } = await import('./undo-run.ts');
        await undoRun(word, flags, session);
      }),
    );
    addHelpNotes(command, {
      examples: [
        'listctl runs undo last',
        'listctl runs undo 20261120-101530-k3f9 --yes --rate 10/s',
        'listctl runs undo ci/tasks.journal --yes -p staging',
      ],
      exitCodes: {
        0: 'taken back, or there was nothing to take back',
        2: 'wrong usage, a run that created nothing of its own, or not confirmed: nothing sent',
        3: 'credentials',
        6: 'throttled or unavailable',
        7: 'not reached',
        8: 'in doubt: some may have been deleted; running it again is safe',
        9: 'some were left: changed since, or refused',
        10: 'a journal can’t be read or written, or is damaged',
        11: 'another process is at work on the run',
      },
    });
  },
};
