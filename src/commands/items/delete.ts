import type { Client } from '../../api/client.ts';
import { addHelpNotes, type CommandSpec, serviceExits } from '../../cli/command.ts';
import { showDryRun } from '../../cli/output.ts';
import { describeList } from '../../cli/run-settings.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import type { ItemRef } from '../../core/item.ts';
import { listNames } from '../../core/text.ts';
import { deletedView } from '../../output/item.ts';
import {
  addFromOption,
  checkIdsOrFrom,
  type FromFlags,
  forEachItem,
  itemRefs,
  oneList,
  runFrom,
  runRecorded,
} from './select.ts';

interface DeleteFlags extends FromFlags {
  readonly ignoreMissing?: boolean;
  readonly yes?: boolean;
}

/** `listctl items delete` */
export const deleteCommand: CommandSpec = {
  name: 'delete',
  aliases: ['rm'],
  summary: 'delete items',
  setUp: async (command, context) => {
    command.argument('[id...]', 'ids of the items');
    command
      .option('-y, --yes', 'skip the prompt; without a terminal only --from and --no-input require it')
      .option('--ignore-missing', 'treat a missing item as deleted')
      .option('--dry-run', 'show what would be sent without sending it');
    await addFromOption(command, 'delete', context);
    command.action(
      inSession(context, async (session, ids: readonly string[], flags: DeleteFlags) => {
        const { from } = flags;
        checkIdsOrFrom(ids, from);
        if (from !== undefined) return deleteMany(from, flags, session);
        const refs = await itemRefs(ids, session);
        if (flags.dryRun) return showDryRun(refs, (items, ref) => items.delete(ref), session);
        if (!flags.yes) await confirmDelete(refs, session);
        if (flags.keepBefore) {
          return runRecorded({ action: 'delete', ignoreMissing: flags.ignoreMissing }, refs, flags, session);
        }
        const items = await session.service.items();
        const act = (ref: ItemRef, client: Client) =>
          deleteItem(client.send(items.delete(ref)), ref, flags.ignoreMissing === true);
        return forEachItem({ refs, done: 'deleted', view: deletedView, act }, session);
      }),
    );
    addHelpNotes(command, {
      examples: [
        'listctl items delete -s home -l tasks 17',
        'listctl items delete -s home -l tasks 17 18 --yes --keep-before',
        'listctl items delete -s home -l tasks --from ids.txt --yes',
      ],
      globalFlags: ['site', 'list', 'output'],
      exitCodes: { 8: 'in doubt: the item may have been deleted', 9: 'some items were not deleted' },
      exits: [...serviceExits, 11],
    });
  },
};

function deleteMany(from: string, flags: DeleteFlags, session: Session): Promise<void> {
  const { ignoreMissing, yes } = flags;
  return runFrom({ action: 'delete', from, ignoreMissing, needsConfirmation: !yes }, flags, session);
}

async function deleteItem(deletion: Promise<void>, ref: ItemRef, ignoreMissing: boolean): Promise<{ id: string }> {
  try {
    await deletion;
  } catch (error) {
    const isMissing = error instanceof Failure && error.kind === 'not-found' && error.details.isPage !== true;
    if (!isMissing || !ignoreMissing) throw error;
  }
  return { id: ref.id };
}

/** Asks for confirmation on a terminal; without one, only with --no-input or in CI --yes is required. */
async function confirmDelete(refs: readonly ItemRef[], session: Session): Promise<void> {
  if (!session.prompts.isUnattended && !session.prompts.mayPrompt()) return;
  const names = listNames(
    refs.map(({ id }) => id),
    10,
  );
  const place = describeList(await oneList(session));
  const what = `${refs.length === 1 ? 'item' : 'items'} ${names} from ${place}`;
  if (await session.prompts.confirm(`Delete ${what} on ${session.settings.target()}?`)) return;
  throw new Failure('usage', 'not confirmed: nothing was deleted', {
    hint: session.prompts.skipHint(),
  });
}
