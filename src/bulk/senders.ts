/** The plan of a run: its rows, how each is sent, and what is written. */
import type { AttemptResult, NotDone, RequestAttempts } from '../api/attempts.ts';
import type { Client } from '../api/client.ts';
import type { Operation } from '../api/operation.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type Item, type ItemRef, type ListRef, ownField, strongTag } from '../core/item.ts';
import { objectFrom } from '../core/json.ts';
import type { FailureGroup } from '../output/failure.ts';
import type { Row, RowAction } from '../rows/types.ts';
import type { CreateOptions, ItemOperations } from '../services/service.ts';
import type { EarlierFile } from './earlier-values.ts';
import type { RunLimits } from './flags.ts';
import type { RowCounts, RunTotals } from './journal-format.ts';
import { IdSet, payloadHash, rowKeys } from './keys.ts';
import type { FailureReport, RejectsFile, Summary } from './outputs.ts';
import type { RunRecording } from './record.ts';
import type { NumberedRow, RowResult, RunningCounts, Sender, Task } from './task.ts';

export interface RunPlan<R extends PlannedRow> {
  /** `create`, `undo` */
  readonly action: string;
  readonly done: string;
  /** The output on stdout: results of rows, of steps of a plan, or the items that were read; only a read prints items. */
  readonly prints: 'results' | 'steps' | 'items';
  /** Results that are known before sending: reported first, neither recorded nor in `counts`. */
  readonly known?: KnownResults<R>;
  /** Opens the journal; undefined for a run without one. Called when the connection is set up; the caller closes it. */
  readonly openRecord: () => RunRecording | undefined;
  /** The counts of rows, and the sequence number of the next request. */
  readonly counts: RunningCounts;
  readonly nextSeq: number;
  readonly tasks: AsyncIterator<readonly Task<R>[]>;
  readonly createSender: (client: Client, items: ItemOperations) => Sender<R, SentResult>;
  /** See `RunOptions.itemOf`. */
  readonly itemOf?: ((row: R) => string | undefined) | undefined;
  /** For steps of a plan: the number of items that need none. */
  readonly unchanged?: number;
  readonly pace: RunLimits;
  readonly rejects?: RejectsFile<R> | undefined;
  readonly summary: Summary;
  readonly report?: FailureReport;
  /** Hints for a run that did not complete, at most two lines. `word` is the run on a command line. */
  readonly nextSteps: (
    word: string,
    counts: RowCounts & Pick<RunTotals, 'reason'>,
    failures: readonly FailureGroup[],
  ) => readonly string[];
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

/** Makes the request of a row; `create` is for a create, whose id `seenIds` takes. */
export function toOperation(
  items: ItemOperations,
  { id = '', fields = {}, etag }: SentRow,
  { action, list: { site, list } }: { readonly action: RowAction; readonly list: ListRef },
  create?: CreateOptions,
): Operation<SentResult> {
  switch (action) {
    case 'create':
      return items.create({ site, list }, fields, create);
    case 'get':
      return items.get({ site, list, id });
    case 'update':
      return items.update({ site, list, id }, fields, etag);
    case 'delete':
      return deleteById(items, { site, list, id }, etag);
  }
}

export function createRowSender<R extends SentRow>(
  action: RowAction,
  list: ListRef,
  client: Client,
  options: {
    readonly sendsKeys?: boolean;
    /** Derives the key of a row; undefined for random keys. */
    readonly keyOf?: ((row: R) => string) | undefined;
    /** Counts a missing item as deleted. */
    readonly ignoreMissing?: boolean;
    readonly items: ItemOperations;
    /** Rows that an earlier session may have sent are only looked up. */
    readonly looksUp?: boolean;
    /** The ids of the items that this run created. */
    readonly seenIds?: IdSet;
  },
): Sender<R, SentResult> {
  const { sendsKeys, keyOf = rowKeys(), ignoreMissing, items, looksUp, seenIds = new IdSet() } = options;
  return {
    isRead: action === 'get',
    newKey: action === 'create' && sendsKeys ? keyOf : () => null,
    hashOf: ({ id, fields = {} }) => payloadHash(id, fields),
    begin: (row, key, sentMsAgo, sent) => {
      const operation = toOperation(items, row, { action, list }, { key: key ?? undefined, seenIds, sent });
      const attempts = client.startAttempts(sentMsAgo === undefined ? operation : { ...operation, sentMsAgo });
      const settle = looksUp && sentMsAgo !== undefined ? attempts.settle : undefined;
      if (settle !== undefined) return { attempt: settle };
      if (!ignoreMissing) return attempts;
      return { attempt: async () => doneIfMissing(await attempts.attempt(), { id: row.id ?? '' }) };
    },
    toRecord: (_, value) =>
      'members' in value
        ? { id: value.id, etag: value.etag, isFound: value.isFound }
        : { id: value.id, etag: undefined },
  };
}

interface KeepOptions {
  readonly action: 'update' | 'delete';
  readonly list: ListRef;
  readonly client: Client;
  readonly items: ItemOperations;
  /** Counts a missing item as deleted. */
  readonly ignoreMissing: boolean;
  readonly earlier: EarlierFile;
  /** Picks the values of the named fields, in the form in which they can be written back. */
  readonly valuesOf?: ((fields: Fields, names: readonly string[]) => Fields) | undefined;
}

/** Makes the sender; each row takes two requests. */
export function createKeepingSender<R extends SentRow>(options: KeepOptions): Sender<R, SentResult> {
  const { action, list, client, items, ignoreMissing } = options;
  const plain = createRowSender<R>(action, list, client, { items, ignoreMissing });
  return { ...plain, begin: (row, _, sentMsAgo) => new KeptWrite(row, options, sentMsAgo) };
}

/** A write whose item is read first, unless an earlier process kept its values and may have sent it. */
class KeptWrite {
  readonly #row: SentRow;
  readonly #options: KeepOptions;
  readonly #sentMsAgo: number | undefined;
  #reading: RequestAttempts<Item> | undefined;
  #write: RequestAttempts<SentResult> | undefined;

  constructor(row: SentRow, options: KeepOptions, sentMsAgo: number | undefined) {
    this.#row = row;
    this.#options = options;
    const kept = sentMsAgo === undefined ? undefined : options.earlier.of(row.number);
    // Nothing is sent before the values are kept.
    this.#sentMsAgo = kept === undefined ? undefined : sentMsAgo;
    if (kept !== undefined) this.#write = this.#start(kept.etag);
  }

  async attempt(): Promise<AttemptResult<SentResult>> {
    const step = this.#write === undefined ? await this.#readAndWrite() : await this.#send(this.#write);
    return this.#options.ignoreMissing ? doneIfMissing(step, { id: this.#id }) : step;
  }

  get #id(): string {
    return this.#row.id ?? '';
  }

  async #readAndWrite(): Promise<AttemptResult<SentResult>> {
    const read = await this.#read();
    if (!read.isDone) return onlyRead(read);
    const { etag, fields } = read.value;
    const { earlier } = this.#options;
    try {
      await earlier.keep({ row: this.#row.number, id: this.#id, etag, fields: this.#changed(fields) });
    } catch (error) {
      const { service, tookMs } = read;
      const stopped = { isDone: false, outcome: 'refused', waitMs: undefined, isRetryAfter: false } as const;
      return { ...stopped, service, tookMs, scope: 'run', failure: () => error };
    }
    this.#write = this.#start(etag);
    return this.#send(this.#write);
  }

  /** The fields of the item that the write changes, as they are. */
  #changed(fields: Fields): Fields {
    if (this.#options.action === 'delete') return fields;
    const { valuesOf = namedValues } = this.#options;
    return valuesOf(fields, Object.keys(this.#row.fields ?? {}));
  }

  /** The write is refused if the item changed since it was read. */
  #start(etag: string | undefined): RequestAttempts<SentResult> {
    const { action, list, client, items } = this.#options;
    const row = { ...this.#row, etag: strongTag(etag) };
    const operation = toOperation(items, row, { action, list });
    return client.startAttempts({ ...operation, sentMsAgo: this.#sentMsAgo });
  }

  #read(): Promise<AttemptResult<Item>> {
    const { client, items, list } = this.#options;
    this.#reading ??= client.startAttempts(items.get({ ...list, id: this.#id }));
    return this.#reading.attempt();
  }

  async #send(write: RequestAttempts<SentResult>): Promise<AttemptResult<SentResult>> {
    const step = await write.attempt();
    if (step.isDone || step.waitMs !== undefined || this.#options.action === 'update') return step;
    const failure = step.failure();
    if (!(failure instanceof Failure && failure.kind === 'in-doubt' && step.outcome === 'refused')) return step;
    // Of an item that is not there no tag matches either: a deletion in doubt was applied then.
    this.#reading = undefined;
    const read = await this.#read();
    if (read.isDone) return changedSince(step, this.#id);
    return isMissing(read) ? { ...step, isDone: true, value: { id: this.#id } } : step;
  }
}

function namedValues(fields: Fields, names: readonly string[]): Fields {
  return objectFrom(names.map((name) => [name, ownField(fields, name) ?? null]));
}

/** The result of a row whose item could not be read: whatever the read's outcome, the item was not changed. */
export function onlyRead(read: NotDone): NotDone {
  return { ...read, outcome: read.outcome === 'unknown' ? 'refused' : read.outcome };
}

function changedSince(step: NotDone, id: string): NotDone {
  const message = `item "${id}" changed since it was read; not deleted`;
  const failure = () => new Failure('conflict', message, { outcome: 'refused' });
  return { ...step, outcome: 'refused', scope: 'row', failure };
}
