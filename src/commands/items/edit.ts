import { addHelpNotes, type CommandSpec, serviceExits } from '../../cli/command.ts';
import { inSession } from '../../cli/session.ts';
import { itemRefs } from './select.ts';

/** `listctl items edit` */
export const editCommand: CommandSpec = {
  name: 'edit',
  summary: 'edit an item in your editor',
  setUp: (command, context) => {
    command
      .argument('<id>', 'id of the item')
      .option('--dry-run', 'show what would be sent without sending it')
      .action(
        inSession(context, async (session, id: string, { dryRun = false }: { readonly dryRun?: boolean }) => {
          const { editItem } = await import('./edit-item.ts');
          for (const ref of await itemRefs([id], session)) await editItem(ref, dryRun, session);
        }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl items edit -s home -l tasks 17',
        'VISUAL="code --wait" listctl items edit -s home -l tasks 17',
      ],
      globalFlags: ['site', 'list', 'output'],
      exitCodes: { 5: 'conflict: the item was changed meanwhile', 8: 'in doubt: the item may have been updated' },
      exits: serviceExits,
    });
  },
};
