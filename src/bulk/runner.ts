/**
 * The loop over the rows of a run: `Run.#turn` reads rows, records intents, sends, records outcomes and reports results.
 * How fast it goes is decided in pace.ts, what follows a failed attempt in retry.ts, what is on disk in ledger.ts.
 */
import type { AttemptResult, NotDone } from '../api/attempts.ts';
import { Failure, Stopped } from '../core/errors.ts';
import type { Clock } from '../core/host.ts';
import { countOf } from '../core/text.ts';
import type { RunTotals } from './journal-format.ts';
import { type Entry, Ledger, type LedgerOptions, type SettledRows } from './ledger.ts';
import type { Pace } from './pace.ts';
import { DelayQueue, Queue, Sequences, TaskReader, WakeTimer } from './queues.ts';
import { decideRetry, ServiceHealth } from './retry.ts';
import type { NumberedRow, Task } from './task.ts';

/** The parts of a run. */
export interface RunOptions<R extends NumberedRow, T> extends LedgerOptions<R, T> {
  readonly tasks: AsyncIterator<readonly Task<R>[]>;
  readonly pace: Pace;
  readonly limitMax: number;
  readonly retries: number;
  /** The number of failed rows after which the run stops; Infinity for no limit. */
  readonly maxErrors: number;
  readonly clock: Clock;
  /** Stops the run: nothing new is sent, requests in flight are awaited. */
  readonly signal: AbortSignal;
  /** Whether rows that were not sent because the run stopped are reported as results. */
  readonly reportLeft: boolean;
  /** The clock of the service, in milliseconds since the Unix epoch; undefined before its first response. */
  readonly serviceMs?: (() => number | undefined) | undefined;
  /** The run ends if every response for this long was a throttle; undefined for never. */
  readonly maxWaitMs?: number | undefined;
  /** The item of a row, if several rows may have the same; see `Sequences`. */
  readonly itemOf?: ((row: R) => string | undefined) | undefined;
}

/** How a session ended. */
export interface RunEnd {
  readonly totals: RunTotals;
  readonly settled: SettledRows;
  /** Why it ended early: a `Failure` or a `Stopped`. */
  readonly stoppedBy: unknown;
  /** Whether every result was reported; false if one could not be recorded or printed. */
  readonly hasAllResults: boolean;
}

/** The number of results that may be pending before reading pauses. */
const windowMax = 4096;

/** Entries worth a sync, per concurrent request; a row has two, its intent and its outcome. */
const syncedEach = 4;

/** The drift of the service's clock after which it is recorded again; its dates have whole seconds. */
const serviceDriftMs = 60_000;

const itemNotDone = 'an earlier row of the same item is not done';

export class Run<R extends NumberedRow, T> {
  /** Rejects only on a bug in the runner itself. */
  readonly ended: Promise<RunEnd>;
  readonly #options: RunOptions<R, T>;
  readonly #tasks: TaskReader<R>;
  readonly #ledger: Ledger<R, T>;
  readonly #health: ServiceHealth;
  readonly #timer: WakeTimer;
  /** Rows whose intents are on disk, in the order of sending. */
  readonly #ready = new Queue<Entry<R, T>>();
  readonly #waiting = new DelayQueue<Entry<R, T>>();
  /** Rows that wait for an earlier one of their item. */
  readonly #sequences: Sequences<R, Entry<R, T>>;
  readonly #ended = new AbortController();
  readonly #startedAtMs: number;
  #settle: { readonly resolve: (end: RunEnd) => void; readonly reject: (error: unknown) => void } | undefined;
  readonly #startedWallMs: number;
  #serviceAheadMs: number | undefined;
  inFlight = 0;
  sent = 0;
  retries = 0;
  #failed = 0;
  #hasDone: boolean;
  #isScheduled = false;
  #stop: { readonly by: unknown; readonly isJournal: boolean } | undefined;

  constructor(options: RunOptions<R, T>) {
    this.#options = options;
    this.#sequences = new Sequences(options.itemOf);
    this.#hasDone = options.counts.done > 0;
    this.#startedAtMs = options.clock.monotonicMs();
    this.#startedWallMs = options.clock.now();
    this.#health = new ServiceHealth(options.maxWaitMs ?? Number.POSITIVE_INFINITY);
    this.#timer = new WakeTimer(options.clock, () => this.#schedule());
    this.#tasks = new TaskReader(
      options.tasks,
      () => this.#schedule(),
      (error) => this.#stopFor(error),
    );
    this.#ledger = new Ledger(options, {
      ready: (entries) => this.#onReady(entries),
      progress: () => this.#schedule(),
      failure: (error, isJournal) => this.#stopFor(error, isJournal),
    });
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const { signal } = options;
    const stop = () => this.#stopFor(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true, signal: this.#ended.signal });
    this.#schedule();
  }

  get isStopping(): boolean {
    return this.#stop !== undefined;
  }

  get settled(): Readonly<SettledRows> {
    return this.#ledger.settled;
  }

  get elapsedMs(): number {
    return this.#options.clock.monotonicMs() - this.#startedAtMs;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#settle === undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      try {
        if (this.#settle !== undefined) this.#turn();
      } catch (error) {
        this.#end()?.reject(error);
      }
    });
  }

  #turn(): void {
    const { pace, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (pace.outage === 'gave-up') this.#stopFor(this.#health.outageFailure());
    // 1. Read and check rows, and record the intent of each.
    if (this.#stop === undefined) this.#readRows(nowMs);
    else this.#abandonQueued();
    // 2. Write these intents, and the outcomes since the last turn. Outcomes are written before their slots are reused: of
    // the intents that a killed process leaves open, only the first `limitMax` can have been sent (docs/decisions.md, doubt-2).
    if (!this.#stop?.isJournal) this.#ledger.commit.write(nowMs, nowMs - this.#startedAtMs);
    const { full } = this.#options.journal;
    if (full !== undefined) this.#stopFor(full);
    // 3. Send rows whose intents are on disk; `#attempted` takes the outcome of each.
    const hasSent = this.#stop === undefined && this.#send(nowMs);
    // 4. Report results whose outcomes are on disk. That, and sending, makes room for more rows.
    if (this.#ledger.results.pump() || (hasSent && this.#writtenAhead === 0)) this.#schedule();
    // 5. Sync the journal, wait for the next event, or end.
    this.#waitOrEnd(nowMs);
  }

  #readRows(nowMs: number): void {
    const { pace } = this.#options;
    const isBlocked = pace.outage !== 'none' || pace.pausedUntilMs !== undefined;
    if (isBlocked) this.#requeueReady(nowMs);
    let room = isBlocked ? this.#roomForProbe(nowMs) : this.#writeAheadMax() - this.#writtenAhead;
    // The first row goes alone, until the service has responded.
    if (!this.#health.hasResponded) room = Math.min(room, 1 - this.#writtenAhead - this.inFlight);
    while (room > 0) {
      const retry = this.#waiting.take(nowMs);
      if (retry !== undefined) this.#ledger.intend(retry);
      else if (!this.#health.hasResponded && this.#waiting.size > 0) return;
      else if (!this.#takeNext()) return;
      room -= 1;
    }
  }

  get #writtenAhead(): number {
    return this.#ledger.intended + this.#ready.size;
  }

  /** The maximum of `#writtenAhead`. */
  #writeAheadMax(): number {
    const { pace, limitMax } = this.#options;
    // One request at a time means one intent at a time: at most one row is in doubt.
    if (limitMax === 1) return this.inFlight === 0 ? 1 : 0;
    return pace.writeAheadMax(this.#ledger.commit.syncMs, this.sent / Math.max(1, this.elapsedMs));
  }

  /** During an outage or a pause, one row may go as a probe. */
  #roomForProbe(nowMs: number): number {
    if (this.#writtenAhead + this.inFlight > 0) return 0;
    const waitMs = this.#options.pace.waitMs(nowMs);
    if (waitMs > 0) this.#timer.set(nowMs + waitMs);
    return waitMs === 0 ? 1 : 0;
  }

  /** Withdraws the intents of rows that will not be sent for a while, so that a crash does not put them in doubt. */
  #requeueReady(nowMs: number): void {
    if (this.#options.pace.waitMs(nowMs) === 0) return;
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.#ledger.requeue(entry);
      this.#waiting.add(entry, nowMs);
    }
  }

  /** Takes the next row to send, and reports the rows before it that are not sent; false if no row can be taken now. */
  #takeNext(): boolean {
    while (this.#stop === undefined && this.#ledger.results.size < windowMax) {
      const task = this.#tasks.next();
      if (task === undefined) return false;
      if (task.kind === 'send') {
        if (this.#enter(this.#ledger.open(task))) return true;
        continue;
      }
      this.#ledger.recordUnsent(task);
      this.#break(task.row);
      if (task.kind === 'invalid') this.#countFailure();
    }
    return false;
  }

  /** Records the intent of a row, unless it has to wait for an earlier one of its item. */
  #enter(entry: Entry<R, T>): boolean {
    const place = this.#sequences.enter(entry);
    if (place === 'free') this.#ledger.intend(entry);
    else if (place === 'broken') this.#ledger.abandonWaiting(entry, itemNotDone);
    return place === 'free';
  }

  /** Lets the next row of the same item go. */
  #followUp(entry: Entry<R, T>): void {
    const next = this.#sequences.next(entry);
    if (next !== undefined) this.#waiting.add(next, this.#options.clock.monotonicMs());
  }

  #break(row: R): void {
    for (const entry of this.#sequences.break(row)) this.#ledger.abandonWaiting(entry, itemNotDone);
  }

  #onReady(entries: readonly Entry<R, T>[]): void {
    for (const entry of entries) {
      if (this.#stop === undefined) this.#ready.push(entry);
      else this.#ledger.abandon(entry);
    }
  }

  #send(nowMs: number): boolean {
    const { pace } = this.#options;
    const sentBefore = this.sent;
    while (this.inFlight < pace.limit && this.#ready.size > 0) {
      const waitMs = pace.waitMs(nowMs);
      if (waitMs > 0) {
        this.#timer.set(nowMs + waitMs);
        break;
      }
      const entry = this.#ready.shift();
      if (entry !== undefined) this.#attempt(entry, nowMs);
    }
    return this.sent > sentBefore;
  }

  #attempt(entry: Entry<R, T>, nowMs: number): void {
    const { pace, sender } = this.#options;
    const { task, key } = entry;
    entry.request ??= sender.begin(task.row, key, task.sent?.msAgo(), task.sent?.earlier);
    const stamp = pace.started(nowMs);
    this.inFlight += 1;
    this.sent += 1;
    if (entry.attempts > 0) this.retries += 1;
    entry.attempts += 1;
    entry.request.attempt().then(
      (step) => this.#attempted(entry, stamp, step),
      (error: unknown) => this.#end()?.reject(error),
    );
  }

  #attempted(entry: Entry<R, T>, stamp: number, step: AttemptResult<T>): void {
    this.inFlight -= 1;
    const nowMs = this.#options.clock.monotonicMs();
    this.#updatePace(stamp, step, nowMs);
    this.#recordServiceClock();
    const isGivenUp = this.#health.observe(step, nowMs);
    if (step.isDone) {
      this.#hasDone = true;
      this.#ledger.done(entry, step.value, step.tookMs);
      this.#followUp(entry);
    } else {
      entry.failure = step.failure;
      if (isGivenUp) this.#stopFor(step.failure());
      this.#notDone(entry, step, nowMs);
    }
    this.#schedule();
  }

  /** Records the clock by which the service counts the age of keys; a resume may run on another machine. */
  #recordServiceClock(): void {
    const ms = this.#options.serviceMs?.();
    if (ms === undefined) return;
    const aheadMs = Math.round(ms - this.#startedWallMs - this.elapsedMs);
    if (Math.abs(aheadMs - (this.#serviceAheadMs ?? Number.POSITIVE_INFINITY)) < serviceDriftMs) return;
    this.#serviceAheadMs = aheadMs;
    this.#ledger.commit.add(['S', aheadMs]);
  }

  #updatePace(stamp: number, step: AttemptResult<T>, nowMs: number): void {
    const { pace } = this.#options;
    if (step.service !== 'throttled') {
      // A request may have been aborted by the stop, which is not an outage.
      const lost = this.#stop === undefined ? 'no-response' : 'aborted';
      pace.ended(stamp, step.service === 'unreachable' ? lost : 'accepted', nowMs, undefined, step.budget);
      return;
    }
    const { pausedUntilMs: before } = pace;
    const retryAfterMs = step.isDone || !step.isRetryAfter ? undefined : step.waitMs;
    pace.ended(stamp, 'throttled', nowMs, retryAfterMs, step.budget);
    const { pausedUntilMs: until } = pace;
    if (until !== undefined && until !== before && until > nowMs)
      this.#ledger.commit.add(['T', Math.round(until - nowMs)]);
  }

  #notDone(entry: Entry<R, T>, step: NotDone, nowMs: number): void {
    const { pace, sender, retries } = this.#options;
    if (step.outcome === 'unknown' && !sender.isRead) entry.isDoubtful = true;
    const { row, stopReason, counts } = decideRetry(step, {
      hasDone: this.#hasDone,
      hasResponded: this.#health.hasResponded,
      isStopping: this.#stop !== undefined,
      isOutage: pace.outage !== 'none',
      tries: entry.tries,
      triesMax: retries,
    });
    if (counts) entry.tries += 1;
    const settle = row === 'in-doubt' && this.#stop === undefined ? entry.request?.settle : undefined;
    if (settle !== undefined && step.scope === 'row') {
      this.inFlight += 1;
      settle().then(
        (settled) => this.#settled(entry, settled, stopReason),
        (error: unknown) => this.#end()?.reject(error),
      );
      return;
    }
    if (stopReason !== undefined) this.#stopFor(stopReason);
    if (row === 'retry') {
      this.#ledger.requeue(entry);
      this.#waiting.add(entry, nowMs + (step.waitMs ?? 0));
      return;
    }
    const failure = step.failure();
    if (row === 'left' || !(failure instanceof Failure)) this.#ledger.abandon(entry);
    else this.#endWith(entry, failure, step.tookMs);
  }

  #endWith(entry: Entry<R, T>, failure: Failure, tookMs: number): void {
    this.#break(entry.task.row);
    if (failure.kind === 'in-doubt') {
      this.#ledger.doubt(entry, failure, tookMs);
      return;
    }
    this.#ledger.fail(entry, failure, tookMs);
    this.#countFailure();
  }

  /** Ends a row that was looked up; `stopReason` holds if the service does not respond to that either. */
  #settled(entry: Entry<R, T>, step: AttemptResult<T>, stopReason: unknown): void {
    this.inFlight -= 1;
    this.#health.observe(step, this.#options.clock.monotonicMs());
    if (stopReason !== undefined && step.service === 'unreachable') this.#stopFor(stopReason);
    const failure = step.isDone ? undefined : step.failure();
    if (step.isDone) {
      this.#hasDone = true;
      this.#ledger.done(entry, step.value, step.tookMs);
      this.#followUp(entry);
    } else if (failure instanceof Failure) this.#endWith(entry, failure, step.tookMs);
    else this.#ledger.abandon(entry);
    this.#schedule();
  }

  #waitOrEnd(nowMs: number): void {
    const { clock, limitMax } = this.#options;
    const hasNoJournal = this.#stop?.isJournal === true;
    if (!hasNoJournal) {
      const enough = syncedEach * limitMax;
      this.#timer.set(this.#ledger.commit.sync(nowMs, () => clock.monotonicMs(), enough, this.#ready.size === 0));
    }
    // Rows that are due already wait for a free slot or the end of a pause.
    if (this.#stop === undefined && this.#waiting.dueAtMs > nowMs) this.#timer.set(this.#waiting.dueAtMs);
    if (this.inFlight > 0) return;
    if (hasNoJournal) {
      this.#ledger.markUnsyncedInDoubt();
      this.#end()?.resolve(this.#summarize());
    } else if (this.#isComplete()) this.#endWithTotals();
  }

  #isComplete(): boolean {
    if (!this.#ledger.isIdle || this.#tasks.isReading) return false;
    if (this.#stop !== undefined) return this.#tasks.isAtEnd || !this.#reportLeft;
    return this.#tasks.isAtEnd && this.#waiting.size === 0 && this.#ready.size === 0;
  }

  get #reportLeft(): boolean {
    return this.#options.reportLeft && !this.#ledger.results.hasFailed;
  }

  #endWithTotals(): void {
    const { journal } = this.#options;
    const ending = this.#summarize();
    const settle = this.#end();
    const write = async () => {
      journal.write([['E', ending.totals]], this.elapsedMs);
      await journal.sync();
    };
    write().then(
      () => settle?.resolve(ending),
      (error: unknown) => settle?.resolve({ ...ending, stoppedBy: error, hasAllResults: false }),
    );
  }

  #end() {
    const settle = this.#settle;
    this.#settle = undefined;
    this.#ended.abort();
    this.#timer.cancel();
    return settle;
  }

  #summarize(): RunEnd {
    const { counts, pace, clock } = this.#options;
    const outageMs = Math.round(pace.outageMs(clock.monotonicMs()));
    const by = this.#stop?.by;
    const reason = by instanceof Failure ? by.kind : by instanceof Stopped ? by.signal : undefined;
    const did = { ms: Math.round(this.elapsedMs), sent: this.sent, retries: this.retries };
    const held = { throttledMs: Math.round(pace.throttledMs), ...(outageMs > 0 && { outageMs }) };
    const totals = { ...counts, ...did, ...held };
    const hasAllResults = !this.#ledger.results.hasFailed && this.#stop?.isJournal !== true;
    const settled = { ...this.settled };
    return { totals: reason === undefined ? totals : { ...totals, reason }, settled, stoppedBy: by, hasAllResults };
  }

  #countFailure(): void {
    this.#failed += 1;
    const { maxErrors } = this.#options;
    if (this.#failed < maxErrors) return;
    this.#stopFor(new Failure('incomplete', `stopped after ${countOf(maxErrors, 'failed row')}`));
  }

  /** Keeps the first reason, but a journal that cannot be written overrides it. */
  #stopFor(by: unknown, isJournal = false): void {
    if (this.#stop === undefined || (isJournal && !this.#stop.isJournal)) this.#stop = { by, isJournal };
    this.#schedule();
  }

  /** Reports the rows that will not be sent, and with `reportLeft` those that were never read. */
  #abandonQueued(): void {
    for (const entry of this.#waiting.takeAll()) this.#ledger.abandonWaiting(entry);
    for (const entry of this.#sequences.takeAll()) this.#ledger.abandonWaiting(entry);
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) this.#ledger.abandon(entry);
    while (this.#reportLeft && this.#ledger.results.size < windowMax) {
      const task = this.#tasks.next();
      if (task === undefined) return;
      if (task.kind === 'send') this.#ledger.recordLeft(task.row);
      else this.#ledger.recordUnsent(task);
    }
  }
}
