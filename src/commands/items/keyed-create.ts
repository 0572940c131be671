/** `items create --key-field`: one item with its key in a column of Microsoft Graph. Loaded late. */
import type { Client } from '../../api/client.ts';
import type { Operation } from '../../api/operation.ts';
import { keyColumnsOf, openKeyField } from '../../cli/encode-fields.ts';
import { showRequests } from '../../cli/output.ts';
import { toIdempotencyKey } from '../../cli/run-settings.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { type Fields, type Item, type ListRef, ownField } from '../../core/item.ts';
import { itemView } from '../../output/item.ts';
import type { KeyColumns } from '../../services/service.ts';

interface KeyedCreate {
  readonly list: ListRef;
  readonly fields: Fields;
  /** The column. */
  readonly keyField: string;
  /** As typed: of a create that may have been sent before. */
  readonly idempotencyKey: string | undefined;
}

export async function createKeyed(create: KeyedCreate, isDryRun: boolean, session: Session): Promise<void> {
  const { list, fields } = create;
  const keyColumns = await keyColumnsOf(session);
  const typed = typedKey(create, keyColumns);
  const keyField = await openKeyField(create.keyField, list, session);
  if (isDryRun) {
    return showRequests(
      [keyColumns.operations(keyField).create(list, fields, { key: typed ?? '<key>' }).request],
      session,
    );
  }
  const key = typed ?? toIdempotencyKey(undefined, true) ?? '';
  await session.output.printing(
    itemView,
    false,
    async (print) => {
      const client = await session.service.client();
      // Others may have written a key that was typed.
      const { schema: readSchema } = await session.service.load();
      const schema = typed === undefined ? undefined : await readSchema?.(list, client);
      const mayExist = create.idempotencyKey !== undefined;
      const proof = typed === undefined ? undefined : { clock: session.host.clock, author: undefined };
      const operation = keyColumns.operations(keyField, { mayExist, schema, proof }).create(list, fields, { key });
      await print(await send(operation, mayExist && keyField.guarantee === 'indexed', key, client));
    },
    'created',
  );
}

/** The key of `--idempotency-key`, or in the fields themselves. */
function typedKey(
  { fields, keyField, idempotencyKey }: KeyedCreate,
  { problem: problemOf }: KeyColumns,
): string | undefined {
  const own = ownField(fields, keyField);
  if (own !== undefined && idempotencyKey !== undefined) {
    throw new Failure('usage', `--idempotency-key cannot be used with field "${keyField}", which is the key`);
  }
  const key = own ?? toIdempotencyKey(idempotencyKey, false);
  if (key === undefined) return undefined;
  const problem = problemOf(key);
  if (typeof key === 'string' && problem === undefined) return key;
  throw new Failure('usage', `the key in ${keyField} ${problem}`);
}

/** Sends it; unless it may exist already, and is found. */
async function send(operation: Operation<Item>, looksUp: boolean, key: string, client: Client): Promise<Item> {
  const lookUp = looksUp ? operation.lookUp?.() : undefined;
  const finding = lookUp && (await client.send(lookUp));
  if (finding === undefined || (finding.reason !== undefined && finding.isMissing)) return client.send(operation);
  if (finding.reason === undefined) return finding.value;
  throw new Failure('in-doubt', `in doubt: ${finding.reason}`, { outcome: 'unknown', idempotencyKey: key });
}
