/** How the rows of a run are sent: each through the same api as a single item. */
import { createQuestion, deleteQuestion, getQuestion, updateQuestion } from '../../api/items.ts';
import type { Question, Wire } from '../../api/wire.ts';
import { payloadHash } from '../../bulk/payload-hash.ts';
import { rowKeys } from '../../bulk/row-keys.ts';
import type { RowStep, Sender } from '../../bulk/task.ts';
import { Failure } from '../../errors.ts';
import type { Fields, Item, ItemRef, ListRef } from '../../item.ts';
import type { RowAction } from '../../rows/row.ts';

/** What is sent of a row. */
export interface SentRow {
  readonly number: number;
  readonly id?: string | undefined;
  readonly fields?: Fields;
}

/** What came of a row: the item where there is one, else its id. */
export type SentResult = Item | { readonly id: string };

/** What a sender is made of. */
export interface SendingOptions {
  readonly action: RowAction;
  readonly list: ListRef;
  readonly wire: Wire;
  readonly sendsKeys: boolean;
  /** An item that is not there counts as deleted. */
  readonly ignoresMissing: boolean;
}

/** Makes the sender of a verb. */
export function rowSender(options: SendingOptions): Sender<SentRow, SentResult> {
  const { action, wire, sendsKeys, ignoresMissing } = options;
  const key = rowKeys();
  const questionOf = questions[action];
  return {
    isRead: action === 'get',
    newKey: action === 'create' && sendsKeys ? key : () => null,
    hashOf: ({ id, fields = {} }) => payloadHash(id, fields),
    begin: (row, rowKey, sentMsAgo) => {
      const question = questionOf(row, options.list, rowKey ?? undefined);
      const exchange = wire.begin(sentMsAgo === undefined ? question : { ...question, sentMsAgo });
      return ignoresMissing ? { attempt: async () => foundOrNot(await exchange.attempt(), row) } : exchange;
    },
    keptOf: (_, value) => ({ id: value.id, etag: 'etag' in value ? value.etag : undefined }),
  };
}

type QuestionOf = (row: SentRow, list: ListRef, key: string | undefined) => Question<SentResult>;

const questions: Readonly<Record<RowAction, QuestionOf>> = {
  create: ({ fields = {} }, list, key) => createQuestion(list, fields, key),
  get: (row, list) => getQuestion(refOf(row, list)),
  update: (row, list) => updateQuestion(refOf(row, list), row.fields ?? {}),
  delete: (row, list) => {
    const ref = refOf(row, list);
    const question = deleteQuestion(ref);
    const read: Question<SentResult>['read'] = (answer) => {
      question.read(answer);
      return { id: ref.id };
    };
    return { ...question, read, proof: undefined };
  },
};

function refOf({ id = '' }: SentRow, { site, list }: ListRef): ItemRef {
  return { site, list, id };
}

/** The step, where an item that is not there was to be removed: it is. */
function foundOrNot(step: RowStep<SentResult>, { id = '' }: SentRow): RowStep<SentResult> {
  // A page for people says nothing of an item.
  if (step.isDone || step.outcome !== 'refused' || step.concerns !== 'itself') return step;
  const failure = step.failure();
  const isMissing = failure instanceof Failure && failure.kind === 'not-found';
  return isMissing ? { ...step, isDone: true, value: { id } } : step;
}
