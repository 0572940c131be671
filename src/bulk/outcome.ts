/** What a run is made of: rows to do, how one is sent, and what came of each. */
import type { AttemptResult, NotDone, RequestAttempts } from '../api/client.ts';
import { Failure } from '../core/errors.ts';
import type { RowCounts } from './journal-format.ts';

/** A row as the runner knows it: by its number in the input, from 1. */
export interface NumberedRow {
  readonly number: number;
}

/** What is to be done about one row. Rows that were done before are none. */
export type Task<R extends NumberedRow> = SendTask<R> | InDoubtTask<R> | InvalidTask<R>;

/** A row to send. */
export interface SendTask<R> {
  readonly kind: 'send';
  readonly row: R;
  /** How it stood when this session began. */
  readonly was: keyof RowCounts;
  /**
   * The key that it may have been sent with, and how many milliseconds ago, to be asked when it is sent again; undefined
   * where it certainly has had no effect.
   */
  readonly sent?: { readonly key: string | null; readonly msAgo: () => number } | undefined;
}

/** A row whose outcome is unknown, and that stays so. */
export interface InDoubtTask<R> {
  readonly kind: 'in-doubt';
  readonly row: R;
  readonly failure: Failure;
}

/** A row that cannot be sent. */
export interface InvalidTask<R> {
  readonly kind: 'invalid';
  readonly row: R;
  readonly was: keyof RowCounts;
  readonly failure: Failure;
}

/** How a run sends its rows: it is handed an api, and makes none. */
export interface Sender<R extends NumberedRow, T> {
  /** Whether it only reads: then nothing is ever in doubt. */
  readonly isRead: boolean;
  /** The key that a row is sent with for the first time; null where none is sent. */
  newKey(row: R): string | null;
  /** 16 hex digits that tell the row's payload from another one. */
  hashOf(row: R): string;
  /** The way of one row to its outcome; nothing is sent yet. */
  begin(row: R, key: string | null, sentMsAgo: number | undefined): RequestAttempts<T>;
  /** What the journal keeps of what was done. */
  toRecord(row: R, value: T): { readonly id: string; readonly etag: string | undefined };
}

/** What came of one row. `left` is a row that was not sent, since the run stopped before. */
export type RowResult<R, T> =
  | { readonly status: 'done'; readonly row: R; readonly value: T }
  | { readonly status: 'failed' | 'in-doubt'; readonly row: R; readonly failure: Failure }
  | { readonly status: 'left'; readonly row: R };

/** The counts of a run while it is at work. */
export type RunningCounts = { -readonly [State in keyof RowCounts]: RowCounts[State] };

/** What is known of the run when an attempt has ended without success. */
export interface RunContext {
  /** Whether any row of the run has been done. */
  readonly hasDone: boolean;
  /** Whether the service has answered anything in this session. */
  readonly hasResponded: boolean;
  /** Whether the run is to end: nothing is sent any more. */
  readonly isStopping: boolean;
  /** Whether the service is known to be gone: then attempts ask for it, and count against no row. */
  readonly isOutage: boolean;
  /** How many attempts of the row count already, this one left out, and how many may. */
  readonly tries: number;
  readonly triesMax: number;
}

/** What becomes of a row after an attempt without success. */
export interface RetryDecision {
  /** It is tried again; its outcome is unknown for good; it failed; or it is left as it was, still to do. */
  readonly row: 'again' | 'in-doubt' | 'failed' | 'left';
  /** Why the whole run stops, where it does. */
  readonly stopReason?: unknown;
  /** Whether the attempt counts against the row's tries. */
  readonly counts: boolean;
}

/**
 * What becomes of a row, and of the run, after an attempt that was no success (cli.md, "Many items"; reliability, C3).
 *
 * What concerns every row stops the run, and is no row's failure. A throttled attempt counts against no row, nor does
 * one that was never sent once the service has answered: that a service is gone is judged over all rows. Where nothing
 * has answered yet it is as for one item: the first row that is out of tries ends the run.
 */
export function decideRetry(step: NotDone, run: RunContext): RetryDecision {
  const concernsAll = step.concerns === 'every' || (step.concerns === 'every-until-done' && !run.hasDone);
  if (concernsAll) return ended(step, 'left', { stopReason: step.failure() });
  const counts = countsAgainst(step, run);
  const mayRepeat = step.waitMs !== undefined && (!counts || run.tries + 1 <= run.triesMax);
  if (mayRepeat) return run.isStopping ? ended(step, 'left', {}) : { row: 'again', counts };
  if (step.sign === 'silent' && !run.hasResponded) return ended(step, 'left', { stopReason: step.failure() });
  return ended(step, run.isStopping && step.sign === 'silent' ? 'left' : 'failed', {});
}

function countsAgainst({ sign, outcome }: NotDone, { hasResponded, isOutage }: RunContext): boolean {
  if (sign === 'throttled') return false;
  return !(sign === 'silent' && (isOutage || (outcome === 'not-sent' && hasResponded)));
}

/** What may have happened is in doubt, whatever else is to be said. */
function ended(step: NotDone, otherwise: 'left' | 'failed', more: Pick<RetryDecision, 'stopReason'>): RetryDecision {
  const failure = step.failure();
  if (!(failure instanceof Failure)) return { row: 'left', counts: true, ...more };
  return { row: failure.kind === 'in-doubt' ? 'in-doubt' : otherwise, counts: true, ...more };
}

/** What a run has seen of its service: whether it is there at all, and whether it does anything but throttle. */
export class ServiceHealth {
  readonly #maxWaitMs: number;
  #hasResponded = false;
  /** What the last attempt without a sign of the service came to. */
  #silence: (() => unknown) | undefined;
  /** Since when it has done nothing but throttle. */
  #throttledSinceMs: number | undefined;

  /** @param maxWaitMs how long it may do nothing but throttle; Infinity for no end */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Whether anything has answered since the run began. */
  get hasResponded(): boolean {
    return this.#hasResponded;
  }

  /**
   * Takes what an attempt came to.
   *
   * @returns whether the service is given up: it has only throttled for as long as may be waited (reliability, C3)
   */
  observe(step: AttemptResult<unknown>, nowMs: number): boolean {
    if (step.sign === 'silent') {
      if (!step.isDone) this.#silence = step.failure;
      return false;
    }
    this.#hasResponded = true;
    if (step.sign === 'answered') this.#throttledSinceMs = undefined;
    if (step.sign !== 'throttled' || step.isDone) return false;
    this.#throttledSinceMs ??= nowMs;
    return nowMs - this.#throttledSinceMs > this.#maxWaitMs;
  }

  /** Why a run ends whose service was gone for as long as may be waited. */
  outageFailure(): Failure {
    const failure = this.#silence?.();
    const isUnavailable = failure instanceof Failure && failure.kind === 'unavailable';
    const last = failure instanceof Failure ? ` (last: ${failure.message})` : '';
    return new Failure(
      isUnavailable ? 'unavailable' : 'unreachable',
      `the service was gone for as long as --max-wait allows${last}`,
    );
  }
}
