import { addHelpNotes, type CommandSpec } from '../../cli/command.ts';
import { withSession } from '../../cli/session.ts';
import { itemRefs } from './select.ts';

interface EditFlags {
  readonly dryRun?: boolean;
}

/** `listctl items edit`. What it needs is loaded when it is called. */
export const editCommand: CommandSpec = {
  name: 'edit',
  summary: 'change an item in your editor',
  setUp: (command, context) => {
    command
      .argument('<id>', 'the item to edit')
      .optionsGroup('Sending:')
      .option('--dry-run', 'show what would be sent, and change nothing')
      .action((id: string, { dryRun: isDryRun = false }: EditFlags) =>
        withSession(context, command, async (session) => {
          const { editItem } = await import('./edit-item.ts');
          for (const ref of itemRefs([id], session)) await editItem(ref, isDryRun, session);
        }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl items edit -s home -l tasks 17',
        'VISUAL="code --wait" listctl items edit -s home -l tasks 17',
      ],
      exitCodes: {
        0: 'updated, or nothing was changed',
        1: 'refused',
        2: 'wrong usage, not confirmed, or the editor failed: nothing sent',
        3: 'credentials',
        4: 'not found',
        5: 'conflict: somebody changed it meanwhile',
        6: 'throttled or unavailable',
        7: 'not reached',
        8: 'in doubt: it may have been updated',
      },
    });
  },
};
