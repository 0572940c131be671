import { addHelpNotes, type CommandSpec, serviceExits } from '../../cli/command.ts';
import { type Print, showDryRun } from '../../cli/output.ts';
import { toIdempotencyKey } from '../../cli/run-settings.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { addFieldOptions, type FieldFlags, readFields } from '../../cli/values.ts';
import { Failure } from '../../core/errors.ts';
import type { Item } from '../../core/item.ts';
import { itemView } from '../../output/item.ts';
import { addFromOption, type FromFlags, oneList, runFrom } from './select.ts';

interface CreateFlags extends FieldFlags, FromFlags {
  readonly idempotencyKey?: string;
  readonly keyField?: string;
}

/** `listctl items create` */
export const createCommand: CommandSpec = {
  name: 'create',
  aliases: ['add', 'new'],
  summary: 'create items',
  setUp: async (command, context) => {
    addFieldOptions(command);
    command
      .option('--idempotency-key <key>', 'retry an uncertain create with its original key')
      .option('--key-field <column>', 'column for the key of each create (Graph)')
      .option('--dry-run', 'show what would be sent without sending it');
    await addFromOption(command, 'create', context);
    command.action(
      inSession(context, async (session, flags: CreateFlags) => {
        if (flags.from !== undefined) return createMany(flags, flags.from, session);
        const idempotencyKey = toIdempotencyKey(flags.idempotencyKey, session.settings.sendsKeys);
        const { keyField } = flags;
        if (keyField === undefined && flags.idempotencyKey !== undefined) refuseKey(session);
        const fields = await readFields(flags, async () => (await oneList(session)).ids, session, command);
        const { ids: list } = await oneList(session);
        if (keyField !== undefined) {
          const { createKeyed } = await import('./keyed-create.ts');
          return createKeyed({ list, fields, keyField, idempotencyKey }, flags.dryRun === true, session);
        }
        if (flags.dryRun)
          return showDryRun([list], (items) => items.create(list, fields, { key: idempotencyKey }), session);
        const create = async (print: Print<Item>) => {
          const client = await session.service.client();
          const items = await session.service.items();
          await print(await client.send(items.create(list, fields, { key: idempotencyKey })));
        };
        return session.output.printing(itemView, false, create, 'created');
      }),
    );
    addHelpNotes(command, {
      examples: [
        'listctl items create -s home -l tasks -f Title="Buy milk" -f Count:=2',
        'listctl items create -s home -l tasks --fields item.yaml -f Body@=note.txt --dry-run',
        'listctl items create -s home -l tasks --from tasks.csv --type Count=number',
        'listctl items create -s home -l tasks --from tasks.csv --resume',
      ],
      globalFlags: ['site', 'list', 'output'],
      exitCodes: { 8: 'in doubt: the item may have been created', 9: 'some rows were not created' },
      exits: [...serviceExits, 11],
    });
  },
};

function createMany(flags: CreateFlags, from: string, session: Session): Promise<void> {
  if (flags.idempotencyKey !== undefined) {
    throw new Failure('usage', '--idempotency-key cannot be used with --from: each row has its own', {
      hint: 'pass --idempotency-key-from to derive them from the rows',
    });
  }
  return runFrom({ action: 'create', from }, flags, session);
}

/** @throws {Failure} usage, if the service would ignore the key, and store the item twice */
function refuseKey({ service: { facts } }: Session): void {
  if (facts.takesKeys) return;
  throw new Failure('usage', `${facts.title} does not support idempotency keys`, {
    hint: 'leave out --idempotency-key, or pass --key-field COLUMN as well',
  });
}
