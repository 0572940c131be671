/** Many rows, each up to its outcome: the loop of a run (bulk.md, "Recommended design of a run"). */
import type { AttemptResult, NotDone } from '../api/client.ts';
import { Failure, Stopped } from '../core/errors.ts';
import type { Clock } from '../core/host.ts';
import { gatherMs } from './journal.ts';
import type { RunTotals } from './journal-format.ts';
import { type Entry, Ledger, type LedgerOptions } from './ledger.ts';
import { decideRetry, type NumberedRow, ServiceHealth, type Task } from './outcome.ts';
import type { Pace } from './pace.ts';
import { DelayQueue, Queue, TaskReader, WakeTimer } from './queues.ts';

/** What a run is made of. */
export interface RunOptions<R extends NumberedRow, T> extends LedgerOptions<R, T> {
  /** What is to be done, in the order of the input. */
  readonly tasks: AsyncIterator<readonly Task<R>[]>;
  readonly pace: Pace;
  /** At most so many requests at once. */
  readonly limitMax: number;
  /** How often a row is tried again. */
  readonly retries: number;
  /** The run stops after so many rows that failed; Infinity for no limit. */
  readonly maxErrors: number;
  readonly clock: Clock;
  /** Tells to stop: nothing new is sent, what is under way is waited for. */
  readonly signal: AbortSignal;
  /** Whether rows that are not sent, since the run stopped, are results too. */
  readonly reportLeft: boolean;
  /** The time of the service, once a response has said it: milliseconds since the Unix epoch. */
  readonly serviceMs?: (() => number | undefined) | undefined;
  /** A service that does nothing but throttle is given up after this time; undefined for never. */
  readonly maxWaitMs?: number | undefined;
}

/** A run at work. */
export interface RunningRun {
  readonly sent: number;
  readonly retries: number;
  readonly inFlight: number;
  /** Whether nothing new is sent any more. */
  readonly isStopping: boolean;
  readonly elapsedMs: number;
  /** Rejects where the runner itself is wrong: whatever else happens is told. */
  readonly ended: Promise<RunEnd>;
}

/** How a session ended. */
export interface RunEnd {
  readonly totals: RunTotals;
  /** Why it ended before all of its rows were done: a `Failure`, or a `Stopped`. */
  readonly stoppedBy: unknown;
  /** Whether what came of every row was told: not where that could not be handed on, or not be recorded. */
  readonly hasAllResults: boolean;
}

/** So many results may wait for their turn; when they do, no new row is taken. */
const windowMax = 4096;

/** Rows whose intents may be written ahead of their turn to be sent: at least, and at most (bulk.md, "A slow disk"). */
const writeAheadRows = { min: 64, max: 1024 } as const;

/** A sync is worth so many entries for each request that may be under way; a row is two, its intent and its outcome. */
const syncedEach = 4;

/** The clock of a service is said again when it is that far from what was said: dates have whole seconds. */
const serviceDriftMs = 60_000;

/** What a row takes from its file to its turn beside the sync of its intent, at most, in milliseconds. */
const slackMs = 10;

/** Starts a run. */
export function startRun<R extends NumberedRow, T>(options: RunOptions<R, T>): RunningRun {
  return new Run(options);
}

class Run<R extends NumberedRow, T> implements RunningRun {
  readonly ended: Promise<RunEnd>;
  readonly #options: RunOptions<R, T>;
  readonly #tasks: TaskReader<R>;
  readonly #ledger: Ledger<R, T>;
  readonly #health: ServiceHealth;
  readonly #timer: WakeTimer;
  /** Their intents are on disk: they may be sent, in this order. */
  readonly #ready = new Queue<Entry<R, T>>();
  readonly #waiting = new DelayQueue<Entry<R, T>>();
  readonly #ended = new AbortController();
  readonly #startedAtMs: number;
  #settle: { readonly resolve: (end: RunEnd) => void; readonly reject: (error: unknown) => void } | undefined;
  readonly #startedWallMs: number;
  #serviceAheadMs: number | undefined;
  #inFlight = 0;
  #sent = 0;
  #retries = 0;
  #failed = 0;
  #hasDone: boolean;
  #isScheduled = false;
  #stop: { readonly by: unknown; readonly isJournals: boolean } | undefined;

  constructor(options: RunOptions<R, T>) {
    this.#options = options;
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
      onReady: (entries) => this.#onReady(entries),
      onProgress: () => this.#schedule(),
      onFailure: (error, isJournals) => this.#stopFor(error, isJournals),
    });
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const { signal } = options;
    const stop = () => this.#stopFor(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    this.#ended.signal.addEventListener('abort', () => signal.removeEventListener('abort', stop));
    this.#schedule();
  }

  get sent(): number {
    return this.#sent;
  }

  get retries(): number {
    return this.#retries;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isStopping(): boolean {
    return this.#stop !== undefined;
  }

  get elapsedMs(): number {
    return this.#options.clock.monotonicMs() - this.#startedAtMs;
  }

  /** Once a turn of the event loop, however much happened in it. */
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
    if (this.#stop === undefined) this.#take(nowMs);
    else this.#abandonQueued();
    // An outcome is written before its slot is used again: so, of the intents that a killed process leaves open, only
    // the first ones, as many as may be under way, can have been sent (reliability, C5).
    if (!this.#stop?.isJournals) this.#ledger.write(nowMs, nowMs - this.#startedAtMs);
    const hasSent = this.#stop === undefined && this.#send(nowMs);
    // What was handed on made room, and so did the last row that was ready, for rows that nothing else would ask for.
    if (this.#ledger.pump() || (hasSent && this.#writtenAhead === 0)) this.#schedule();
    this.#waitOrEnd(nowMs);
  }

  #waitOrEnd(nowMs: number): void {
    const { clock, limitMax } = this.#options;
    const isBroken = this.#stop?.isJournals === true;
    if (!isBroken) {
      const enough = syncedEach * limitMax;
      this.#timer.set(this.#ledger.sync(nowMs, () => clock.monotonicMs(), enough, this.#ready.size === 0));
    }
    // What is due already waits for something else: a free place, or the end of a pause.
    if (this.#stop === undefined && this.#waiting.dueAtMs > nowMs) this.#timer.set(this.#waiting.dueAtMs);
    if (this.#inFlight > 0) return;
    if (isBroken) this.#endWithoutJournal();
    else if (this.#isComplete()) this.#endWithTotals();
  }

  /** Whether every row that was taken, and every one that will be, has been told. */
  #isComplete(): boolean {
    if (!this.#ledger.isIdle || this.#tasks.isReading) return false;
    if (this.#stop !== undefined) return this.#tasks.isAtEnd || !this.#reportLeft;
    return this.#tasks.isAtEnd && this.#waiting.size === 0 && this.#ready.size === 0;
  }

  get #reportLeft(): boolean {
    return this.#options.reportLeft && !this.#ledger.hasResultError;
  }

  #endWithoutJournal(): void {
    this.#ledger.markUnsyncedInDoubt();
    this.#end()?.resolve(this.#summarize());
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
    const { counts, pace } = this.#options;
    const by = this.#stop?.by;
    const reason = by instanceof Failure ? by.kind : by instanceof Stopped ? by.signal : undefined;
    const did = { ms: Math.round(this.elapsedMs), sent: this.#sent, retries: this.#retries };
    const totals = { ...counts, ...did, throttledMs: Math.round(pace.throttledMs) };
    const hasAllResults = !this.#ledger.hasResultError && this.#stop?.isJournals !== true;
    return { totals: reason === undefined ? totals : { ...totals, reason }, stoppedBy: by, hasAllResults };
  }

  /** Takes rows, and says that they are to be sent. */
  #take(nowMs: number): void {
    const { pace } = this.#options;
    const isHeldBack = pace.outage !== 'none' || pace.pausedUntilMs !== undefined;
    if (isHeldBack) this.#requeueReady(nowMs);
    let room = isHeldBack ? this.#roomForProbe(nowMs) : this.#writeAheadMax() - this.#writtenAhead;
    // The first row goes alone: until something has answered, nobody knows that it is there.
    if (!this.#health.hasResponded) room = Math.min(room, 1 - this.#writtenAhead - this.#inFlight);
    while (room > 0) {
      const again = this.#waiting.take(nowMs);
      if (again !== undefined) this.#ledger.intend(again);
      else if (!this.#health.hasResponded && this.#waiting.size > 0) return;
      else if (!this.#takeNext()) return;
      room -= 1;
    }
  }

  /** How many rows wait to be sent, their intents said: none of them has been. */
  get #writtenAhead(): number {
    return this.#ledger.intended + this.#ready.size;
  }

  /**
   * How many may: so many that the wait for a sync, and its time, are hidden, and no more where the pace is what holds rows back, since
   * whoever is killed has that many more rows that might have been sent.
   */
  #writeAheadMax(): number {
    const { pace, limitMax } = this.#options;
    // One at a time stays one at a time, also on disk: order and doubt are of one row then.
    if (limitMax === 1) return this.#inFlight === 0 ? 1 : 0;
    const { syncMs } = this.#ledger;
    const ratePerMs = this.#sent / Math.max(1, this.elapsedMs);
    const hidden = Math.ceil(2 * (gatherMs.usual + syncMs) * ratePerMs);
    const most = Math.min(writeAheadRows.max, Math.max(writeAheadRows.min, 2 * pace.limit, hidden));
    return Math.min(most, Math.ceil((pace.ratePerSecond / 1000) * (2 * syncMs + slackMs)));
  }

  /** While nothing else may be sent, a probe is: the first row that there is. */
  #roomForProbe(nowMs: number): number {
    if (this.#writtenAhead + this.#inFlight > 0) return 0;
    const waitMs = this.#options.pace.waitMs(nowMs);
    if (waitMs > 0) this.#timer.set(nowMs + waitMs);
    return waitMs === 0 ? 1 : 0;
  }

  /** Takes back the intents of rows that will not be sent for a while: a crash meanwhile leaves none of them in doubt. */
  #requeueReady(nowMs: number): void {
    if (this.#options.pace.waitMs(nowMs) === 0) return;
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.#ledger.requeue(entry);
      this.#waiting.add(entry, nowMs);
    }
  }

  /** Takes the next row to send, and tells what comes of those before it that are not to be sent; false without one. */
  #takeNext(): boolean {
    while (this.#stop === undefined && this.#ledger.waiting < windowMax) {
      const task = this.#tasks.next();
      if (task === undefined) return false;
      if (task.kind === 'send') {
        this.#ledger.open(task);
        return true;
      }
      this.#ledger.recordUnsent(task);
      if (task.kind === 'invalid') this.#countFailure();
    }
    return false;
  }

  #onReady(entries: readonly Entry<R, T>[]): void {
    for (const entry of entries) {
      if (this.#stop === undefined) this.#ready.push(entry);
      else this.#ledger.abandon(entry);
    }
  }

  /** Sends what is ready, as far as the pace allows; whether it sent anything. */
  #send(nowMs: number): boolean {
    const { pace } = this.#options;
    const sentBefore = this.#sent;
    while (this.#inFlight < pace.limit && this.#ready.size > 0) {
      const waitMs = pace.waitMs(nowMs);
      if (waitMs > 0) {
        this.#timer.set(nowMs + waitMs);
        break;
      }
      const entry = this.#ready.shift();
      if (entry !== undefined) this.#attempt(entry, nowMs);
    }
    return this.#sent > sentBefore;
  }

  #attempt(entry: Entry<R, T>, nowMs: number): void {
    const { pace, sender } = this.#options;
    const { task, key } = entry;
    entry.exchange ??= sender.begin(task.row, key, task.sent?.msAgo());
    const stamp = pace.started(nowMs);
    this.#inFlight += 1;
    this.#sent += 1;
    if (entry.attempts > 0) this.#retries += 1;
    entry.attempts += 1;
    entry.exchange.attempt().then(
      (step) => this.#attempted(entry, stamp, step),
      (error: unknown) => this.#end()?.reject(error),
    );
  }

  #attempted(entry: Entry<R, T>, stamp: number, step: AttemptResult<T>): void {
    this.#inFlight -= 1;
    const nowMs = this.#options.clock.monotonicMs();
    this.#updatePace(stamp, step, nowMs);
    this.#recordServiceClock();
    const isGivenUp = this.#health.observe(step, nowMs);
    if (step.isDone) {
      this.#hasDone = true;
      this.#ledger.done(entry, step.value, step.tookMs);
    } else {
      entry.failure = step.failure;
      if (isGivenUp) this.#stopFor(step.failure());
      this.#notDone(entry, step, nowMs);
    }
    this.#schedule();
  }

  /** By which clock a service counts the age of keys: whoever resumes the run may have another one. */
  #recordServiceClock(): void {
    const ms = this.#options.serviceMs?.();
    if (ms === undefined) return;
    const aheadMs = Math.round(ms - this.#startedWallMs - this.elapsedMs);
    if (Math.abs(aheadMs - (this.#serviceAheadMs ?? Number.POSITIVE_INFINITY)) < serviceDriftMs) return;
    this.#serviceAheadMs = aheadMs;
    this.#ledger.add(['S', aheadMs]);
  }

  #updatePace(stamp: number, step: AttemptResult<T>, nowMs: number): void {
    const { pace } = this.#options;
    if (step.sign !== 'throttled') {
      pace.ended(stamp, step.sign === 'silent' ? 'no-answer' : 'accepted', nowMs);
      return;
    }
    const { pausedUntilMs: before } = pace;
    pace.ended(stamp, 'throttled', nowMs, step.isDone || !step.isAsked ? undefined : step.waitMs);
    const { pausedUntilMs: until } = pace;
    if (until !== undefined && until !== before) this.#ledger.add(['T', Math.round(until - nowMs)]);
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
    if (stopReason !== undefined) this.#stopFor(stopReason);
    if (row === 'again') {
      this.#ledger.requeue(entry);
      this.#waiting.add(entry, nowMs + (step.waitMs ?? 0));
      return;
    }
    const failure = step.failure();
    if (row === 'left' || !(failure instanceof Failure)) this.#ledger.abandon(entry);
    else if (row === 'in-doubt') this.#ledger.doubt(entry, failure, step.tookMs);
    else {
      this.#ledger.fail(entry, failure, step.tookMs);
      this.#countFailure();
    }
  }

  #countFailure(): void {
    this.#failed += 1;
    const { maxErrors } = this.#options;
    if (this.#failed < maxErrors) return;
    const rows = maxErrors === 1 ? 'the first row that failed' : `${maxErrors} rows that failed`;
    this.#stopFor(new Failure('incomplete', `stopped after ${rows}`));
  }

  /** The first reason is the one that counts; but for a journal that cannot be written, after which nothing is certain. */
  #stopFor(by: unknown, isJournals = false): void {
    if (this.#stop === undefined || (isJournals && !this.#stop.isJournals)) this.#stop = { by, isJournals };
    this.#schedule();
  }

  /** Lets go of what is not sent any more; where that is wanted, of every row that was never taken, too. */
  #abandonQueued(): void {
    for (const entry of this.#waiting.takeAll()) this.#ledger.abandonRequeued(entry);
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) this.#ledger.abandon(entry);
    while (this.#reportLeft && this.#ledger.waiting < windowMax) {
      const task = this.#tasks.next();
      if (task === undefined) return;
      if (task.kind === 'send') this.#ledger.recordLeft(task.row);
      else this.#ledger.recordUnsent(task);
    }
  }
}
