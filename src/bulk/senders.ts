/** How the rows of a run are sent: each through the same api as a single item. */
import type { AttemptResult, Client, Operation } from '../api/client.ts';
import { createOperation, deleteOperation, getOperation, updateOperation } from '../api/items.ts';
import { Failure } from '../core/errors.ts';
import type { Fields, Item, ItemRef, ListRef } from '../core/item.ts';
import type { RowAction } from '../rows/types.ts';
import { type IdSet, payloadHash, rowKeys } from './keys.ts';
import type { Sender } from './outcome.ts';

/** What is left of an item that is gone: its id. */
export type DeletedItem = { readonly id: string };

/** Asks for an item to be removed; the answer is its id. */
export function deleteById(ref: ItemRef, ifMatch?: string): Operation<DeletedItem> {
  const question = deleteOperation(ref, ifMatch);
  const read: Operation<DeletedItem>['read'] = (answer) => {
    question.read(answer);
    return { id: ref.id };
  };
  return { ...question, read, check: undefined };
}

/** The step, done with this value where the service says that the item is not there. */
export function doneIfMissing<T, V>(step: AttemptResult<T>, value: V): AttemptResult<T | V> {
  return isMissing(step) ? { ...step, isDone: true, value } : step;
}

/** Whether the service says that the item is not there. A page for people says nothing of an item. */
export function isMissing(step: AttemptResult<unknown>): boolean {
  if (step.isDone || step.outcome !== 'refused' || step.concerns !== 'itself') return false;
  const failure = step.failure();
  return failure instanceof Failure && failure.kind === 'not-found';
}

/** What is sent of a row. */
export interface SentRow {
  readonly number: number;
  readonly id?: string | undefined;
  readonly fields?: Fields;
}

/** What came of a row: the item where there is one, else its id. */
export type SentResult = Item | DeletedItem;

/** What a sender is made of. */
export interface SenderOptions<R> {
  readonly action: RowAction;
  readonly list: ListRef;
  readonly client: Client;
  readonly sendsKeys: boolean;
  /** Derives the key of a row; undefined for random keys. */
  readonly keyOf?: ((row: R) => string) | undefined;
  /** An item that is not there counts as deleted. */
  readonly ignoreMissing: boolean;
  /** The ids that creates of this run were given. */
  readonly given: IdSet;
}

/** Makes the sender of a verb. */
export function createRowSender<R extends SentRow>(options: SenderOptions<R>): Sender<R, SentResult> {
  const { action, client, sendsKeys, ignoreMissing, keyOf = rowKeys() } = options;
  const questionOf = questions[action];
  return {
    isRead: action === 'get',
    newKey: action === 'create' && sendsKeys ? keyOf : () => null,
    hashOf: ({ id, fields = {} }) => payloadHash(id, fields),
    begin: (row, rowKey, sentMsAgo) => {
      const question = questionOf(row, options, rowKey ?? undefined);
      const exchange = client.startAttempts(sentMsAgo === undefined ? question : { ...question, sentMsAgo });
      if (!ignoreMissing) return exchange;
      return { attempt: async () => doneIfMissing(await exchange.attempt(), { id: row.id ?? '' }) };
    },
    toRecord: (_, value) => ({ id: value.id, etag: 'etag' in value ? value.etag : undefined }),
  };
}

type QuestionOf = (
  row: SentRow,
  options: Pick<SenderOptions<never>, 'list' | 'given'>,
  key: string | undefined,
) => Operation<SentResult>;

const questions: Readonly<Record<RowAction, QuestionOf>> = {
  create: ({ fields = {} }, { list, given }, key) => createOperation(list, fields, key, given),
  get: (row, { list }) => getOperation(refOf(row, list)),
  update: (row, { list }) => updateOperation(refOf(row, list), row.fields ?? {}),
  delete: (row, { list }) => deleteById(refOf(row, list)),
};

function refOf({ id = '' }: SentRow, { site, list }: ListRef): ItemRef {
  return { site, list, id };
}
