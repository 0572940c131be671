/** The state of each row of a run: recorded on disk first, then reported in the order of the input. */
import type { RequestAttempts } from '../api/attempts.ts';
import { Failure } from '../core/errors.ts';
import { GroupCommit, type RunJournal } from './journal.ts';
import { Queue } from './queues.ts';
import type { NumberedRow, RowResult, RunningCounts, Sender, SendTask, Task } from './task.ts';

type Slot<V> = { value: V | undefined };

/** Delivers results in the order of their places, one at a time. */
export class OrderedResults<V> {
  readonly #slots = new Queue<Slot<V>>();
  readonly #deliver: (value: V) => Promise<void> | undefined;
  readonly #onRoom: (error: unknown) => void;
  #isDelivering = false;
  hasFailed = false;

  /**
   * @param deliver takes one result; returns a promise if it needs time
   * @param onRoom called after a delivery that took time; with an error if it failed, which ends all deliveries
   */
  constructor(deliver: (value: V) => Promise<void> | undefined, onRoom: (error: unknown) => void) {
    this.#deliver = deliver;
    this.#onRoom = onRoom;
  }

  /** The number of results that are not delivered yet; 0 after a failure. */
  get size(): number {
    return this.hasFailed ? 0 : this.#slots.size;
  }

  get isIdle(): boolean {
    return !this.#isDelivering && (this.hasFailed || this.#slots.size === 0);
  }

  next(): Slot<V> {
    const place: Slot<V> = { value: undefined };
    if (!this.hasFailed) this.#slots.push(place);
    return place;
  }

  pump(): boolean {
    if (this.#isDelivering || this.hasFailed) return false;
    const before = this.#slots.size;
    for (let first = this.#slots.first; first?.value !== undefined; first = this.#slots.first) {
      this.#slots.shift();
      const taking = this.#tryToDeliver(first.value);
      if (taking === undefined) continue;
      this.#isDelivering = true;
      taking.then(
        () => this.#delivered(undefined),
        (error: unknown) => this.#delivered({ error }),
      );
      break;
    }
    return this.#slots.size < before;
  }

  /** Turns a synchronous error into a rejection, so that the listener is not called from within `pump`. */
  #tryToDeliver(value: V): Promise<void> | undefined {
    try {
      return this.#deliver(value);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #delivered(failed: { readonly error: unknown } | undefined): void {
    this.#isDelivering = false;
    this.hasFailed = failed !== undefined;
    this.pump();
    this.#onRoom(failed?.error);
  }
}

/** A row that is being sent. */
export interface Entry<R, T> {
  readonly task: SendTask<R>;
  readonly hash: string;
  readonly key: string | null;
  /** Requests sent, and how many of them count against `retries`. */
  attempts: number;
  tries: number;
  isDoubtful: boolean;
  request: RequestAttempts<T> | undefined;
  failure: (() => unknown) | undefined;
  readonly place: Slot<RowResult<R, T>>;
  /** The outcome, once known; reported when it is on disk. */
  result: RowResult<R, T> | undefined;
  state: keyof RunningCounts;
}

/** The rows with a result, and how many of them failed or are in doubt. */
export type SettledRows = Record<'settled' | 'failed' | 'inDoubt', number>;

/** The parts of a ledger. */
export interface LedgerOptions<R extends NumberedRow, T> {
  readonly sender: Sender<R, T>;
  readonly journal: RunJournal;
  readonly counts: RunningCounts;
  readonly nextSeq: number;
  readonly onResult: (result: RowResult<R, T>) => Promise<void> | undefined;
}

export class Ledger<R extends NumberedRow, T> {
  readonly counts: RunningCounts;
  readonly commit: GroupCommit<Entry<R, T>>;
  readonly results: OrderedResults<RowResult<R, T>>;
  /** The rows of this session with a result, in whatever order: those before them may still be in progress. */
  readonly settled: SettledRows = { settled: 0, failed: 0, inDoubt: 0 };
  /** The number of intents that are not on disk yet. */
  intended = 0;
  readonly #sender: Sender<R, T>;
  readonly #onReady: (entries: readonly Entry<R, T>[]) => void;
  readonly #onProgress: () => void;
  #seq: number;
  /** Rows whose outcome is known but not on disk, by their previous state. */
  readonly #unsynced: RunningCounts = { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };

  /**
   * @param on.ready called with rows whose intents are on disk: they may be sent
   * @param on.progress called when results were delivered, or records are on disk
   * @param on.failure called if a result could not be delivered, or the journal could not be written
   */
  constructor(
    { sender, journal, counts, nextSeq, onResult }: LedgerOptions<R, T>,
    on: {
      readonly ready: (entries: readonly Entry<R, T>[]) => void;
      readonly progress: () => void;
      readonly failure: (error: unknown, isJournal: boolean) => void;
    },
  ) {
    this.counts = counts;
    this.#sender = sender;
    this.#seq = nextSeq;
    this.#onReady = on.ready;
    this.#onProgress = on.progress;
    this.commit = new GroupCommit(
      journal,
      (entries) => this.#durable(entries),
      (error) => on.failure(error, true),
    );
    this.results = new OrderedResults(onResult, (error) => {
      if (error !== undefined) on.failure(error, false);
      on.progress();
    });
  }

  get isIdle(): boolean {
    return this.commit.isIdle && this.results.isIdle;
  }

  /** Takes a row to send; its intent is recorded by `intend`. */
  open(task: SendTask<R>): Entry<R, T> {
    const { row, sent, was } = task;
    return {
      task,
      hash: this.#sender.hashOf(row),
      key: sent === undefined ? this.#sender.newKey(row) : sent.key,
      attempts: 0,
      tries: 0,
      isDoubtful: sent !== undefined,
      request: undefined,
      failure: undefined,
      place: this.results.next(),
      result: undefined,
      state: was,
    };
  }

  intend(entry: Entry<R, T>): void {
    const { key, hash, task, attempts } = entry;
    this.intended += 1;
    this.commit.add(['I', task.row.number, this.#seq, attempts + 1, key, hash], entry);
    this.#seq += 1;
  }

  recordUnsent(task: Exclude<Task<R>, SendTask<R>>): void {
    const { row, failure } = task;
    const status = task.kind === 'in-doubt' ? 'in-doubt' : 'failed';
    this.results.next().value = { status, row, failure };
    this.#countSettled(status);
    if (task.kind === 'in-doubt') return;
    // Nothing was sent, so the result need not wait for the disk.
    this.commit.add(['X', row.number]);
    this.counts[task.was] -= 1;
    this.counts.invalid += 1;
  }

  recordLeft(row: R): void {
    this.results.next().value = { status: 'left', row, reason: stopped };
  }

  done(entry: Entry<R, T>, value: T, tookMs: number): void {
    const { row } = entry.task;
    const { id, etag = null, isFound } = this.#sender.toRecord(row, value);
    const record = ['D', row.number, id, etag, Math.round(tookMs)] as const;
    this.commit.add(isFound ? [...record, 'found'] : record, entry);
    this.#result(entry, { status: 'done', row, value });
  }

  fail(entry: Entry<R, T>, failure: Failure, tookMs: number): void {
    const { row } = entry.task;
    const { status = null, serviceCode = null } = failure.details;
    this.commit.add(['F', row.number, failure.kind, status, serviceCode, Math.round(tookMs)], entry);
    this.#result(entry, { status: 'failed', row, failure });
  }

  doubt(entry: Entry<R, T>, failure: Failure, tookMs: number | null): void {
    const { row } = entry.task;
    this.commit.add(['U', row.number, causeOf(failure), tookMs === null ? null : Math.round(tookMs)], entry);
    this.#result(entry, { status: 'in-doubt', row, failure });
  }

  /** Withdraws the intent of a row that is sent later: it is as before, or in doubt if it was sent already. */
  requeue(entry: Entry<R, T>): void {
    const { row } = entry.task;
    if (entry.isDoubtful) this.commit.add(['U', row.number, 'queued for retry', null]);
    else this.commit.add(['N', row.number]);
    this.#move(entry, entry.isDoubtful ? 'inDoubt' : 'left');
  }

  /** Ends a row because the run stops: it is left, or in doubt if it was sent. */
  abandon(entry: Entry<R, T>): void {
    if (entry.isDoubtful) this.doubt(entry, unknownFailure(entry), null);
    else {
      this.requeue(entry);
      entry.place.value = { status: 'left', row: entry.task.row, reason: stopped };
    }
  }

  /** As `abandon`, for a row without an intent: it was requeued, or waited for another one. */
  abandonWaiting(entry: Entry<R, T>, reason = stopped): void {
    const { row } = entry.task;
    if (entry.isDoubtful) this.#countSettled('in-doubt');
    entry.place.value = entry.isDoubtful
      ? { status: 'in-doubt', row, failure: unknownFailure(entry) }
      : { status: 'left', row, reason };
  }

  /** Counts rows as in doubt whose records may not be on disk, after the journal failed. */
  markUnsyncedInDoubt(): void {
    for (const state of Object.keys(this.#unsynced) as (keyof RunningCounts)[]) {
      this.counts[state] -= this.#unsynced[state];
      this.counts.inDoubt += this.#unsynced[state];
    }
  }

  #result(entry: Entry<R, T>, result: RowResult<R, T>): void {
    entry.result = result;
    this.#unsynced[entry.state] += 1;
  }

  #durable(entries: readonly Entry<R, T>[]): void {
    const intended = entries.filter(({ result }) => result === undefined);
    this.intended -= intended.length;
    for (const entry of entries) {
      const { result } = entry;
      if (result === undefined) continue;
      this.#unsynced[entry.state] -= 1;
      this.#move(entry, states[result.status]);
      if (result.status !== 'left') this.#countSettled(result.status);
      entry.place.value = result;
    }
    this.#onReady(intended);
    this.#onProgress();
  }

  #countSettled(status: 'done' | 'failed' | 'in-doubt'): void {
    this.settled.settled += 1;
    if (status === 'failed') this.settled.failed += 1;
    if (status === 'in-doubt') this.settled.inDoubt += 1;
  }

  #move(entry: Entry<R, T>, state: keyof RunningCounts): void {
    this.counts[entry.state] -= 1;
    this.counts[state] += 1;
    entry.state = state;
  }
}

const stopped = 'the run stopped first';

const states = { done: 'done', failed: 'failed', 'in-doubt': 'inDoubt', left: 'left' } as const;

function unknownFailure({ failure }: Entry<NumberedRow, unknown>): Failure {
  const known = failure?.();
  if (known instanceof Failure && known.kind === 'in-doubt') return known;
  return new Failure('in-doubt', 'the request was sent, but no response arrived', { outcome: 'unknown' });
}

/** The cause without the service's own words, which may hold values of the row. */
function causeOf({ details }: Failure): string {
  return details.status === undefined ? 'no complete response' : `HTTP ${details.status}`;
}
