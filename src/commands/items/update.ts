import type { Command } from 'commander';
import { addHelpNotes, type CommandSpec, serviceExits } from '../../cli/command.ts';
import { showDryRun } from '../../cli/output.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { addFieldOptions, collect, type FieldFlags, readFields } from '../../cli/values.ts';
import { itemView } from '../../output/item.ts';
import {
  addFromOption,
  checkIds,
  checkIdsOrFrom,
  type FromFlags,
  forEachItem,
  itemRefs,
  oneList,
  runFrom,
  runRecorded,
} from './select.ts';

/** `listctl items update` */
export const updateCommand: CommandSpec = {
  name: 'update',
  summary: 'update fields of items',
  setUp: async (command, context) => {
    command.argument('[id...]', 'ids of the items');
    addFieldOptions(command);
    command.option('--unset <key>', 'clear a field by setting it to null; repeatable', collect);
    command.option('--dry-run', 'show what would be sent without sending it');
    await addFromOption(command, 'update', context);
    command.action(
      inSession(context, async (session, ids: readonly string[], flags: FieldFlags & FromFlags) => {
        const { from } = flags;
        checkIdsOrFrom(ids, from);
        if (from !== undefined) return runFrom({ action: 'update', from }, flags, session);
        // Without fields, that is the error.
        if (flags.field ?? flags.fields ?? flags.unset) await refuseFields(ids, command, session);
        checkIds(ids);
        if (flags.keepBefore && !flags.dryRun) {
          return runRecorded({ action: 'update' }, await itemRefs(ids, session), flags, session);
        }
        const fields = await readFields(flags, async () => (await oneList(session)).ids, session, command);
        const refs = await itemRefs(ids, session);
        if (flags.dryRun) return showDryRun(refs, (items, ref) => items.update(ref, fields), session);
        const items = await session.service.items();
        return forEachItem(
          {
            refs,
            done: 'updated',
            view: itemView,
            act: (ref, client) => client.send(items.update(ref, fields)),
          },
          session,
        );
      }),
    );
    addHelpNotes(command, {
      examples: [
        'listctl items update -s home -l tasks 17 18 -f Count:=3 --unset Note --keep-before',
        'listctl items update -s home -l tasks --from ids.txt -f Status=Done',
      ],
      globalFlags: ['site', 'list', 'output'],
      exitCodes: { 8: 'in doubt: the item may have been updated', 9: 'some items were not updated' },
      exits: [...serviceExits, 11],
    });
  },
};

/** `update 1 Title=x -f a=b` would update an item with the id `Title=x`. A single id may be anything. */
async function refuseFields(ids: readonly string[], command: Command, session: Session): Promise<void> {
  if (ids.length < 2 || !ids.some((id) => id.includes('='))) return;
  const { fieldAmongIds } = await import('../../cli/usage-errors.ts');
  const failure = fieldAmongIds(session.command.words, command, session.host);
  if (failure !== undefined) throw failure;
}
