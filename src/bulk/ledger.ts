/** What is said of the rows of a run: on disk first, then to whoever waits for results. */
import type { RequestAttempts } from '../api/client.ts';
import { Failure } from '../core/errors.ts';
import { GroupCommit, type RunJournal } from './journal.ts';
import type { JournalRecord } from './journal-format.ts';
import type { NumberedRow, RowResult, RunningCounts, Sender, SendTask, Task } from './outcome.ts';
import { Queue } from './queues.ts';

/** A place in the order of the input, and the result that comes to stand there. */
export interface Place<V> {
  value: V | undefined;
}

/**
 * Hands results on in the order in which their places were taken, each once it is there, and one after the other: the
 * next one waits until the one before was taken.
 */
export class OrderedResults<V> {
  readonly #places = new Queue<Place<V>>();
  readonly #deliver: (value: V) => Promise<void> | undefined;
  readonly #onRoom: (error: unknown) => void;
  #isDelivering = false;
  #hasFailed = false;

  /**
   * @param hand takes one result; a promise where it needs time
   * @param onRoom told, without an error, when results were handed on after a wait; with one, when `hand` failed: then
   *   nothing more is handed on
   */
  constructor(hand: (value: V) => Promise<void> | undefined, onRoom: (error: unknown) => void) {
    this.#deliver = hand;
    this.#onRoom = onRoom;
  }

  /** How many places wait for their result, or to be handed on; none where nothing is handed on any more. */
  get size(): number {
    return this.#hasFailed ? 0 : this.#places.size;
  }

  /** Whether a result could not be handed on: then no further one is. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Whether nothing waits any more that can be handed on. */
  get isIdle(): boolean {
    return !this.#isDelivering && (this.#hasFailed || this.#places.size === 0);
  }

  /** Takes the next place. */
  next(): Place<V> {
    const place: Place<V> = { value: undefined };
    if (!this.#hasFailed) this.#places.push(place);
    return place;
  }

  /** Hands on what stands at the front; true where there is room now that there was not. */
  pump(): boolean {
    if (this.#isDelivering || this.#hasFailed) return false;
    const before = this.#places.size;
    for (let first = this.#places.first; first?.value !== undefined; first = this.#places.first) {
      this.#places.shift();
      const taking = this.#tryToDeliver(first.value);
      if (taking === undefined) continue;
      this.#isDelivering = true;
      taking.then(
        () => this.#delivered(undefined),
        (error: unknown) => this.#delivered({ error }),
      );
      break;
    }
    return this.#places.size < before;
  }

  /** What throws at once has failed as what rejects has: who is told of it must not be who asked. */
  #tryToDeliver(value: V): Promise<void> | undefined {
    try {
      return this.#deliver(value);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #delivered(failed: { readonly error: unknown } | undefined): void {
    this.#isDelivering = false;
    this.#hasFailed = failed !== undefined;
    this.pump();
    this.#onRoom(failed?.error);
  }
}

/** A row on its way. */
export interface Entry<R, T> {
  readonly task: SendTask<R>;
  readonly hash: string;
  readonly key: string | null;
  /** How often it was sent, and how many of those count against its tries. */
  attempts: number;
  tries: number;
  /** Whether it may have had an effect already. */
  isDoubtful: boolean;
  exchange: RequestAttempts<T> | undefined;
  /** What the last attempt came to, if it was no success. */
  failure: (() => unknown) | undefined;
  readonly place: Place<RowResult<R, T>>;
  /** What it came to, once that is known: it waits to be on disk. */
  result: RowResult<R, T> | undefined;
  state: keyof RunningCounts;
}

/** What a ledger is made of. */
export interface LedgerOptions<R extends NumberedRow, T> {
  readonly sender: Sender<R, T>;
  readonly journal: RunJournal;
  readonly counts: RunningCounts;
  /** The number of the next send. */
  readonly nextSeq: number;
  readonly onResult: (result: RowResult<R, T>) => Promise<void> | undefined;
}

/** Whom a ledger tells. */
export interface LedgerListener<R, T> {
  /** The intents of these rows are on disk. */
  onReady(entries: readonly Entry<R, T>[]): void;
  /** Something can go on: results were taken, records are on disk. */
  onProgress(): void;
  /** A result could not be handed on; or, of the journal, nothing can be said any more. */
  onFailure(error: unknown, isJournals: boolean): void;
}

/** The state of each row, as the journal and the counts have it; results leave it in the order of the input. */
export class Ledger<R extends NumberedRow, T> {
  readonly counts: RunningCounts;
  readonly #sender: Sender<R, T>;
  readonly #commit: GroupCommit<Entry<R, T>>;
  readonly #results: OrderedResults<RowResult<R, T>>;
  readonly #listener: LedgerListener<R, T>;
  #seq: number;
  #intended = 0;
  /** Rows whose outcome is known and not on disk, by the state that they are in until then. */
  readonly #unsynced: RunningCounts = { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };

  constructor({ sender, journal, counts, nextSeq, onResult }: LedgerOptions<R, T>, listener: LedgerListener<R, T>) {
    this.counts = counts;
    this.#sender = sender;
    this.#seq = nextSeq;
    this.#listener = listener;
    this.#commit = new GroupCommit(
      journal,
      (entries) => this.#durable(entries),
      (error) => listener.onFailure(error, true),
    );
    this.#results = new OrderedResults(onResult, (error) => {
      if (error !== undefined) listener.onFailure(error, false);
      listener.onProgress();
    });
  }

  /** How many rows wait for their result, or to be handed on. */
  get waiting(): number {
    return this.#results.size;
  }

  /** How many intents are not on disk yet. */
  get intended(): number {
    return this.#intended;
  }

  /** Whether all that was said is on disk, and all that can be told is told. */
  get isIdle(): boolean {
    return this.#commit.isIdle && this.#results.isIdle;
  }

  /** Whether results cannot be handed on any more. */
  get hasResultError(): boolean {
    return this.#results.hasFailed;
  }

  get syncMs(): number {
    return this.#commit.syncMs;
  }

  /** Says something of the whole run. */
  add(record: JournalRecord): void {
    this.#commit.add(record);
  }

  /** Writes what was said: a process that is killed after this does not lose it. */
  write(nowMs: number, timeMs: number): void {
    this.#commit.write(nowMs, timeMs);
  }

  /** As `Commits.sync`. */
  sync(nowMs: number, clockMs: () => number, enough: number, isStarving: boolean): number {
    return this.#commit.sync(nowMs, clockMs, enough, isStarving);
  }

  /** Hands on results whose turn it is; true where there is room now that there was not. */
  pump(): boolean {
    return this.#results.pump();
  }

  /** Takes up a row that is to be sent. */
  open(task: SendTask<R>): Entry<R, T> {
    const { row, sent, was } = task;
    const entry: Entry<R, T> = {
      task,
      hash: this.#sender.hashOf(row),
      key: sent === undefined ? this.#sender.newKey(row) : sent.key,
      attempts: 0,
      tries: 0,
      isDoubtful: sent !== undefined,
      exchange: undefined,
      failure: undefined,
      place: this.#results.next(),
      result: undefined,
      state: was,
    };
    this.intend(entry);
    return entry;
  }

  /** Says that a row is about to be sent: it may be, once that is on disk. */
  intend(entry: Entry<R, T>): void {
    const { key, hash, task, attempts } = entry;
    this.#intended += 1;
    this.#commit.add(['I', task.row.number, this.#seq, attempts + 1, key, hash], entry);
    this.#seq += 1;
  }

  /** What comes of a row without a request. */
  recordUnsent(task: Exclude<Task<R>, SendTask<R>>): void {
    const { row, failure } = task;
    this.#results.next().value = { status: task.kind === 'in-doubt' ? 'in-doubt' : 'failed', row, failure };
    if (task.kind === 'in-doubt') return;
    // Nothing was sent, so its record need not be on disk before it is told.
    this.#commit.add(['X', row.number]);
    this.counts[task.was] -= 1;
    this.counts.invalid += 1;
  }

  /** What comes of a row that the run never gets to. */
  recordLeft(row: R): void {
    this.#results.next().value = { status: 'left', row };
  }

  done(entry: Entry<R, T>, value: T, tookMs: number): void {
    const { row } = entry.task;
    const { id, etag } = this.#sender.toRecord(row, value);
    this.#commit.add(['D', row.number, id, etag ?? null, Math.round(tookMs)], entry);
    this.#result(entry, { status: 'done', row, value });
  }

  fail(entry: Entry<R, T>, failure: Failure, tookMs: number): void {
    const { row } = entry.task;
    const { status = null, serviceCode = null } = failure.details;
    this.#commit.add(['F', row.number, failure.kind, status, serviceCode, Math.round(tookMs)], entry);
    this.#result(entry, { status: 'failed', row, failure });
  }

  doubt(entry: Entry<R, T>, failure: Failure, tookMs: number | null): void {
    const { row } = entry.task;
    this.#commit.add(['U', row.number, causeOf(failure), tookMs === null ? null : Math.round(tookMs)], entry);
    this.#result(entry, { status: 'in-doubt', row, failure });
  }

  /** The row is as it was before its intent, or in doubt if it was sent before: it will be tried again. */
  requeue(entry: Entry<R, T>): void {
    const { row } = entry.task;
    if (entry.isDoubtful) this.#commit.add(['U', row.number, 'it was to be sent again', null]);
    else this.#commit.add(['N', row.number]);
    this.#move(entry, entry.isDoubtful ? 'inDoubt' : 'left');
  }

  /** The run ends before the row is done: it stays to be done, or in doubt if it was sent. */
  abandon(entry: Entry<R, T>): void {
    if (entry.isDoubtful) this.doubt(entry, unknownFailure(entry), null);
    else {
      this.requeue(entry);
      entry.place.value = { status: 'left', row: entry.task.row };
    }
  }

  /** As `leave`, of a row that was taken back before. */
  abandonRequeued(entry: Entry<R, T>): void {
    const { row } = entry.task;
    entry.place.value = entry.isDoubtful
      ? { status: 'in-doubt', row, failure: unknownFailure(entry) }
      : { status: 'left', row };
  }

  /** The journal cannot be written: whether the last records are on disk cannot be known. */
  markUnsyncedInDoubt(): void {
    for (const state of Object.keys(this.#unsynced) as (keyof RunningCounts)[]) {
      this.counts[state] -= this.#unsynced[state];
      this.counts.inDoubt += this.#unsynced[state];
    }
  }

  /** The row's result waits for its record to be on disk. */
  #result(entry: Entry<R, T>, result: RowResult<R, T>): void {
    entry.result = result;
    this.#unsynced[entry.state] += 1;
  }

  #durable(entries: readonly Entry<R, T>[]): void {
    const intended = entries.filter(({ result }) => result === undefined);
    this.#intended -= intended.length;
    for (const entry of entries) {
      const { result } = entry;
      if (result === undefined) continue;
      this.#unsynced[entry.state] -= 1;
      this.#move(entry, states[result.status]);
      entry.place.value = result;
    }
    this.#listener.onReady(intended);
    this.#listener.onProgress();
  }

  #move(entry: Entry<R, T>, state: keyof RunningCounts): void {
    this.counts[entry.state] -= 1;
    this.counts[state] += 1;
    entry.state = state;
  }
}

const states = { done: 'done', failed: 'failed', 'in-doubt': 'inDoubt', left: 'left' } as const;

function unknownFailure<R extends NumberedRow>({
  failure,
  task,
}: Pick<Entry<R, unknown>, 'failure' | 'task'>): Failure {
  const known = failure?.();
  if (known instanceof Failure && known.kind === 'in-doubt') return known;
  const message = `in doubt what became of row ${task.row.number}: it was sent, and its answer never came`;
  return new Failure('in-doubt', message, { outcome: 'unknown' });
}

/** Why the outcome is unknown, in our own words: what the service said does not belong in a journal. */
function causeOf({ details }: Failure): string {
  return details.status === undefined ? 'no complete answer' : `HTTP ${details.status}`;
}
