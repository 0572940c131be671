import { addHelpNotes, type CommandSpec, serviceExits } from '../../cli/command.ts';
import { showDryRun } from '../../cli/output.ts';
import { inSession } from '../../cli/session.ts';
import { itemView } from '../../output/item.ts';
import { addFromOption, checkIdsOrFrom, type FromFlags, forEachItem, itemRefs, runFrom } from './select.ts';

/** `listctl items get` */
export const getCommand: CommandSpec = {
  name: 'get',
  aliases: ['show'],
  summary: 'get items by id',
  setUp: async (command, context) => {
    command.argument('[id...]', 'ids of the items');
    command.option('--dry-run', 'show what would be sent without sending it');
    await addFromOption(command, 'get', context);
    command.action(
      inSession(context, async (session, ids: readonly string[], flags: FromFlags) => {
        const { from } = flags;
        checkIdsOrFrom(ids, from);
        if (from !== undefined) return runFrom({ action: 'get', from }, flags, session);
        const refs = await itemRefs(ids, session);
        if (flags.dryRun) return showDryRun(refs, (items, ref) => items.get(ref), session);
        const items = await session.service.items();
        return forEachItem(
          { refs, done: 'read', view: itemView, act: (ref, client) => client.send(items.get(ref)) },
          session,
        );
      }),
    );
    addHelpNotes(command, {
      examples: [
        'listctl items get -s home -l tasks 17',
        'listctl items get -s home -l tasks 17 18 19 -o jsonl',
        'listctl items get -s home -l tasks 17 | jq -r .fields.Title',
        'listctl items get -s home -l tasks --from ids.txt -o csv > now.csv',
      ],
      globalFlags: ['site', 'list', 'output'],
      exitCodes: { 9: 'some items could not be read' },
      exits: serviceExits,
    });
  },
};
