import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { runWords } from './named-run.ts';

/** `listctl runs remove` */
export const removeCommand: CommandSpec = {
  name: 'remove',
  aliases: ['rm'],
  summary: 'forget runs, and what they did',
  setUp: (command, context) => {
    command
      .argument('<run...>', runWords)
      .option('-y, --yes', 'those that are not wholly done, too, without being asked')
      .action((words: readonly string[], { yes = false }: { readonly yes?: boolean }) =>
        withSession(context, command, async (session) => {
          const { removeRuns } = await import('./remove-runs.ts');
          await removeRuns(words, !yes, session);
        }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl runs remove last',
        'listctl runs remove 20261120-101530-k3f9 --yes',
        'listctl runs list -q "[?status==\'done\'].run" -o id | xargs listctl runs remove',
      ],
      exitCodes: {
        0: 'forgotten',
        2: 'there is no such run, or one is not wholly done and nobody confirmed it: none was forgotten',
        10: 'a journal can’t be removed',
        11: 'another process is at work on one of them: none was forgotten',
      },
    });
  },
};
