/** The plan of a run: its rows, how each is sent, and what is written. */
import type { AttemptResult, Client, ItemOperations, Operation } from '../api/client.ts';
import { Failure } from '../core/errors.ts';
import type { Item, ItemRef, ListRef } from '../core/item.ts';
import type { FailureGroup } from '../output/failure.ts';
import type { Row, RowAction } from '../rows/types.ts';
import type { FailureReport } from './failure-report.ts';
import type { RunLimits } from './flags.ts';
import type { RowCounts } from './journal-format.ts';
import { type IdSet, payloadHash, rowKeys } from './keys.ts';
import type { NumberedRow, RowResult, RunningCounts, Sender, Task } from './outcome.ts';
import type { RejectsFile, Summary } from './outputs.ts';
import type { RunRecording } from './record.ts';

/** The plan of a run. */
export interface RunPlan<R extends PlannedRow> {
  /** `create`, `undo` */
  readonly action: string;
  readonly done: string;
  readonly isRead: boolean;
  /** The output on stdout: results of rows, of steps of a plan, or the items that were read. */
  readonly prints: 'results' | 'steps' | 'items';
  /** Results that are known before sending: reported first, neither recorded nor in `counts`. */
  readonly known?: KnownResults<R>;
  /** Opens the journal; undefined for a run without one. Called when the connection is set up; the caller closes it. */
  readonly openRecord: () => RunRecording | undefined;
  /** The counts of rows, and the sequence number of the next request. */
  readonly counts: RunningCounts;
  readonly nextSeq: number;
  readonly tasks: AsyncIterator<readonly Task<R>[]>;
  readonly createSender: (client: Client) => Sender<R, SentResult>;
  /** For steps of a plan: the number of items that need none. */
  readonly unchanged?: number;
  readonly pace: RunLimits;
  readonly rejects?: RejectsFile<R> | undefined;
  readonly summary: Summary;
  readonly report?: FailureReport;
  /** Hints for a run that did not complete, at most two lines. `word` is the run on a command line. */
  readonly nextSteps: (word: string, counts: RowCounts, failures: readonly FailureGroup[]) => readonly string[];
}

/** The parts of a row that messages use. */
export interface PlannedRow extends NumberedRow {
  readonly line?: number;
  readonly id?: string | undefined;
  readonly name?: string;
  readonly action?: string;
}

/** Rows whose results are known before sending. */
export interface KnownResults<R> {
  readonly results: readonly Extract<RowResult<R, never>, { readonly status: 'failed' | 'in-doubt' }>[];
  /** The failure of the run if nothing else fails. */
  readonly failure: Failure | undefined;
}

/** Makes the request that deletes an item; its result is the id. */
export function deleteById(items: ItemOperations, ref: ItemRef, ifMatch?: string): Operation<{ readonly id: string }> {
  const operation = items.delete(ref, ifMatch);
  return {
    ...operation,
    read: (response) => {
      operation.read(response);
      return { id: ref.id };
    },
    check: undefined,
    lookUp: undefined,
  };
}

/** Turns a "not found" into a success with this value. */
export function doneIfMissing<T, V>(step: AttemptResult<T>, value: V): AttemptResult<T | V> {
  return isMissing(step) ? { ...step, isDone: true, value } : step;
}

/** Whether the service reports that the item does not exist; an HTML page does not count. */
export function isMissing(step: AttemptResult<unknown>): boolean {
  if (step.isDone || step.outcome !== 'refused' || step.scope !== 'row') return false;
  const failure = step.failure();
  return failure instanceof Failure && failure.kind === 'not-found';
}

/** The item, or the id of a deleted one. */
export type SentResult = Item | { readonly id: string };

/** A row of a file, of which only good ones are sent, or a step of a plan, with the entity tag that its item must have. */
export type SentRow = Pick<Row, 'number'> &
  Partial<Pick<Row, 'id' | 'fields'>> & { readonly etag?: string | undefined };

/** Makes the request of a row; `given` takes the id of a created item. */
export function toOperation(
  items: ItemOperations,
  { id = '', fields = {}, etag }: SentRow,
  action: RowAction,
  { site, list }: ListRef,
  key: string | undefined,
  given: IdSet,
): Operation<SentResult> {
  switch (action) {
    case 'create':
      return items.create({ site, list }, fields, key, given);
    case 'get':
      return items.get({ site, list, id });
    case 'update':
      return items.update({ site, list, id }, fields, etag);
    case 'delete':
      return deleteById(items, { site, list, id }, etag);
  }
}

/** Makes the sender of an action. */
export function createRowSender<R extends SentRow>(
  action: RowAction,
  list: ListRef,
  client: Client,
  options: {
    readonly sendsKeys: boolean;
    /** Derives the key of a row; undefined for random keys. */
    readonly keyOf: ((row: R) => string) | undefined;
    /** Counts a missing item as deleted. */
    readonly ignoreMissing: boolean;
    /** The operations on items, if not those of the client. */
    readonly items?: ItemOperations | undefined;
    /** Rows that an earlier session may have sent are only looked up. */
    readonly looksUp?: boolean;
    /** The ids of the items that this run created. */
    readonly given: IdSet;
  },
): Sender<R, SentResult> {
  const { sendsKeys, keyOf = rowKeys(), ignoreMissing, items = client.items, looksUp, given } = options;
  return {
    isRead: action === 'get',
    newKey: action === 'create' && sendsKeys ? keyOf : () => null,
    hashOf: ({ id, fields = {} }) => payloadHash(id, fields),
    begin: (row, key, sentMsAgo) => {
      const operation = toOperation(items, row, action, list, key ?? undefined, given);
      const attempts = client.startAttempts(sentMsAgo === undefined ? operation : { ...operation, sentMsAgo });
      const settle = looksUp && sentMsAgo !== undefined ? attempts.settle : undefined;
      if (settle !== undefined) return { attempt: settle };
      if (!ignoreMissing) return attempts;
      return { attempt: async () => doneIfMissing(await attempts.attempt(), { id: row.id ?? '' }) };
    },
    toRecord: (_, value) => ({ id: value.id, etag: 'etag' in value ? value.etag : undefined }),
  };
}
