/** What a run needs, made of plain values: a clock that jumps, a sender that answers as a test says, a journal to look at. */

import { setImmediate } from 'node:timers/promises';
import type { AttemptResult, NotDone } from '../../../src/api/attempts.ts';
import type { RunJournal } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import { Pace } from '../../../src/bulk/pace.ts';
import { Run, type RunEnd, type RunOptions } from '../../../src/bulk/runner.ts';
import type { RowResult, RunningCounts, Task } from '../../../src/bulk/task.ts';
import { Failure, type FailureKind } from '../../../src/core/errors.ts';
import type { Clock } from '../../../src/core/host.ts';

/** A row of a test. */
export interface TestRow {
  readonly number: number;
}

/** Time that goes on when everybody sleeps. */
export interface JumpingClock extends Clock {
  /** How many sleep now, and how many did at once, at most. */
  readonly asleep: number;
  readonly asleepMax: number;
  /** The waits that were asked for. */
  readonly sleptMs: readonly number[];
  /** Wakes the shortest sleep; returns whether there was one. */
  jump(): boolean;
}

/** Makes a clock. */
function jumpingClock(): JumpingClock {
  let nowMs = 0;
  let asleepMax = 0;
  const sleptMs: number[] = [];
  const asleep: { readonly atMs: number; readonly wake: () => void }[] = [];
  return {
    now: () => 1_800_000_000_000 + nowMs,
    monotonicMs: () => nowMs,
    every: () => () => {},
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        sleptMs.push(ms);
        const stop = () => {
          asleep.splice(asleep.indexOf(sleeper), 1);
          reject(signal.reason);
        };
        const wake = () => {
          signal.removeEventListener('abort', stop);
          resolve();
        };
        // As timers do it: whole milliseconds, and at least one.
        const sleeper = { atMs: nowMs + Math.max(1, Math.ceil(ms)), wake };
        asleep.push(sleeper);
        asleepMax = Math.max(asleepMax, asleep.length);
        signal.addEventListener('abort', stop);
      }),
    sleptMs,
    get asleep() {
      return asleep.length;
    },
    get asleepMax() {
      return asleepMax;
    },
    jump: () => {
      const first = asleep.reduce<(typeof asleep)[number] | undefined>(
        (soonest, each) => (soonest === undefined || each.atMs < soonest.atMs ? each : soonest),
        undefined,
      );
      if (first === undefined) return false;
      asleep.splice(asleep.indexOf(first), 1);
      nowMs = Math.max(nowMs, first.atMs);
      first.wake();
      return true;
    },
  };
}

/** What happened, in its order. */
export type Event =
  | { readonly what: 'written' | 'synced'; readonly records: readonly JournalRecord[] }
  | { readonly what: 'begun' | 'sent' | 'answered' | 'told'; readonly row: number };

/** What a test says of a run; the rest goes well. */
export interface RunSays extends Partial<Omit<RunOptions<TestRow, string>, 'tasks' | 'clock' | 'sender'>> {
  readonly rows?: number;
  readonly tasks?: readonly Task<TestRow>[] | RunOptions<TestRow, string>['tasks'];
  /** What comes of the n-th attempt of a row, from 1. */
  readonly answer?: (row: number, attempt: number, atMs: number) => AttemptResult<string>;
  /** How long an attempt of a row takes, in milliseconds; Infinity for ever. */
  readonly takesMs?: (row: number) => number;
  readonly syncMs?: number;
  readonly isRead?: boolean;
  /** Fails the n-th write or sync, from 1. */
  readonly failsWrite?: (nth: number) => boolean;
  readonly failsSync?: (nth: number) => boolean;
  /** The disk is full from the n-th write on, which goes into the reserve. */
  readonly fullAt?: number;
}

/** A run, and all that it did. */
export interface WatchedRun {
  readonly running: Run<TestRow, string>;
  readonly clock: JumpingClock;
  readonly pace: Pace;
  readonly events: readonly Event[];
  readonly results: readonly RowResult<TestRow, string>[];
  readonly records: readonly JournalRecord[];
  readonly counts: RunningCounts;
  /** How many requests were under way at once, at most. */
  readonly atOnceMax: number;
  /** Lets time pass until it has ended, or there is no sleep left and nothing happens. */
  end(): Promise<RunEnd | undefined>;
  /** Lets time pass until then. */
  until(isReached: () => boolean): Promise<void>;
  /** Lets everything happen that needs no time. */
  settle(): Promise<void>;
}

/** Starts a run. */
export function watchedRun(says: RunSays): WatchedRun {
  const { rows = 10, answer = () => done(), takesMs = () => 10, syncMs = 0, isRead = false } = says;
  const clock = jumpingClock();
  const never = new AbortController().signal;
  const events: Event[] = [];
  const records: JournalRecord[] = [];
  const results: RowResult<TestRow, string>[] = [];
  const attempts = new Map<number, number>();
  const underWay = { now: 0, max: 0 };
  const listed = says.tasks ?? Array.from({ length: rows }, (_, index) => sendTask(index + 1));
  const tasks = 'next' in listed ? listed : inBlocks(listed);
  const counts = says.counts ?? { ...noRows, left: 'next' in listed ? rows : listed.length };
  const pace = says.pace ?? new Pace({ limitMax: says.limitMax ?? 8, maxWaitMs: 900_000 }, () => 0.5);
  const attempt = async ({ number }: TestRow): Promise<AttemptResult<string>> => {
    const nth = (attempts.get(number) ?? 0) + 1;
    attempts.set(number, nth);
    underWay.now += 1;
    underWay.max = Math.max(underWay.max, underWay.now);
    events.push({ what: 'sent', row: number });
    await clock.sleep(takesMs(number), new AbortController().signal);
    underWay.now -= 1;
    events.push({ what: 'answered', row: number });
    return answer(number, nth, clock.monotonicMs());
  };
  const running = new Run<TestRow, string>({
    ...{ limitMax: 8, retries: 4, maxErrors: Number.POSITIVE_INFINITY, nextSeq: 1, reportLeft: false, signal: never },
    journal: watchedJournal(says, { events, records, clock, syncMs }),
    ...says,
    ...{ counts, pace, clock, tasks },
    ...{
      onResult: (result) => {
        events.push({ what: 'told', row: result.row.number });
        results.push(result);
        return says.onResult?.(result);
      },
      sender: {
        isRead,
        newKey: () => `key-${events.length}`,
        hashOf: () => 'aaaaaaaaaaaaaaaa',
        begin: (row) => {
          events.push({ what: 'begun', row: row.number });
          return { attempt: () => attempt(row) };
        },
        toRecord: (_, value) => ({ id: value, etag: undefined }),
      },
    },
  });
  return {
    ...{ running, clock, pace, events, results, records, counts },
    get atOnceMax() {
      return underWay.max;
    },
    settle: turns,
    until: (isReached) => passTime(clock, isReached),
    end: async () => {
      let end: RunEnd | undefined;
      let failure: { readonly error: unknown } | undefined;
      running.ended.then(
        (value) => {
          end = value;
        },
        (error: unknown) => {
          failure = { error };
        },
      );
      for (let idle = 0; end === undefined && failure === undefined && idle < 20; ) {
        await turns();
        idle = clock.jump() ? 0 : idle + 1;
      }
      if (failure !== undefined) throw failure.error;
      return end;
    },
  };
}

async function turns(): Promise<void> {
  for (let left = 6; left > 0; left -= 1) await setImmediate();
}

async function passTime(clock: JumpingClock, isReached: () => boolean): Promise<void> {
  for (let times = 0; times < 20_000 && !isReached(); times += 1) {
    await turns();
    if (!isReached()) clock.jump();
  }
  await turns();
}

const noRows: RunningCounts = { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };

interface Watching {
  readonly events: Event[];
  readonly records: JournalRecord[];
  readonly clock: Clock;
  readonly syncMs: number;
}

function watchedJournal(says: RunSays, { events, records, clock, syncMs }: Watching): RunJournal {
  let writes = 0;
  let syncs = 0;
  let synced = 0;
  return {
    get full() {
      return writes < (says.fullAt ?? Number.POSITIVE_INFINITY)
        ? undefined
        : new Failure('local-file', 'no space left');
    },
    write: (group) => {
      writes += 1;
      if (says.failsWrite?.(writes)) throw new Failure('local-file', 'cannot write the journal: no space left');
      records.push(...group);
      events.push({ what: 'written', records: group });
    },
    sync: async () => {
      syncs += 1;
      const [nth, upTo] = [syncs, records.length];
      if (syncMs > 0) await clock.sleep(syncMs, new AbortController().signal);
      if (says.failsSync?.(nth)) throw new Failure('local-file', 'cannot write the journal: input/output error');
      events.push({ what: 'synced', records: records.slice(synced, upTo) });
      synced = upTo;
    },
  };
}

async function* inBlocks<T>(tasks: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < tasks.length; at += 100) yield tasks.slice(at, at + 100);
}

/** A row that is to be sent. */
export function sendTask(number: number): Task<TestRow> {
  return { kind: 'send', row: { number }, was: 'left' };
}

/** An attempt that was a success. */
export function done(value = 'id'): AttemptResult<string> {
  return { isDone: true, value, outcome: 'applied', service: 'ok', tookMs: 10 };
}

/** An attempt that was none. */
export function notDone(more: Partial<NotDone> & { readonly kind?: FailureKind }) {
  const { kind = 'refused', ...step } = more;
  return {
    ...{ isDone: false, outcome: 'refused', service: 'ok', tookMs: 10, waitMs: undefined, isRetryAfter: false },
    ...{ scope: 'row', failure: () => new Failure(kind, `it was ${kind}`) },
    ...step,
  } as NotDone;
}

/** What may be sent again after a wait, and what is not known of it. */
export const steps = {
  refused: () => notDone({}),
  throttled: (waitMs: number) => notDone({ kind: 'unavailable', service: 'throttled', waitMs, isRetryAfter: true }),
  unreachable: (waitMs: number) =>
    notDone({ kind: 'unreachable', outcome: 'not-sent', service: 'unreachable', waitMs }),
  doubtful: () => notDone({ kind: 'in-doubt', outcome: 'unknown', service: 'unreachable' }),
  doubtfulAgain: (waitMs: number) => notDone({ kind: 'in-doubt', outcome: 'unknown', service: 'unreachable', waitMs }),
  unauthorised: () => notDone({ kind: 'credentials', scope: 'run' }),
} as const;
