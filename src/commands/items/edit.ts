import { addHelpNotes, type CommandSpec, serviceExits } from '../../cli/command.ts';
import { inSession } from '../../cli/session.ts';
import { addFromOption, checkIdsOrFrom, type FromFlags, itemRefs, itemRefsFrom } from './select.ts';

/** `listctl items edit` */
export const editCommand: CommandSpec = {
  name: 'edit',
  summary: 'edit items in your editor',
  setUp: async (command, context) => {
    command.argument('[id...]', 'ids of the items').option('--dry-run', 'show what would be sent without sending it');
    await addFromOption(command, 'edit', context);
    command.action(
      inSession(context, async (session, ids: readonly string[], flags: FromFlags) => {
        const { from, dryRun = false } = flags;
        checkIdsOrFrom(ids, from);
        const { editItems } = await import('./edit-items.ts');
        const refs = from === undefined ? await itemRefs(ids, session) : await itemRefsFrom(from, flags, session);
        await editItems(refs, dryRun, session);
      }),
    );
    addHelpNotes(command, {
      examples: [
        'listctl items edit -s home -l tasks 17',
        'VISUAL="code --wait" listctl items edit -s home -l tasks 17 18 19',
        'listctl items edit -s home -l tasks --from ids.txt',
      ],
      globalFlags: ['site', 'list', 'output'],
      exitCodes: {
        5: 'conflict: the item was changed meanwhile',
        8: 'in doubt: the item may have been updated',
        9: 'some items were not updated',
      },
      exits: serviceExits,
    });
  },
};
