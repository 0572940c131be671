/** The rows of a run, how one is sent, its result, and what follows an attempt that failed. */
import type { AttemptResult, NotDone, RequestAttempts } from '../api/attempts.ts';
import type { SentEarlier } from '../api/operation.ts';
import { Failure } from '../core/errors.ts';
import type { RowCounts } from './journal-format.ts';

/** A row, by its number in the input, from 1. */
export interface NumberedRow {
  readonly number: number;
}

/** A row to send. */
export interface SendTask<R> {
  readonly kind: 'send';
  readonly row: R;
  /** Its state when this session began. */
  readonly was: keyof RowCounts;
  /** The key and the age of an earlier request that may have taken effect. */
  readonly sent?:
    | {
        readonly key: string | null;
        readonly msAgo: () => number;
        /** By which a look-up judges the item that it finds. */
        readonly earlier?: SentEarlier;
      }
    | undefined;
}

/** What to do about a row that is not done; one in doubt, or invalid, is reported and not sent. */
export type Task<R> =
  | SendTask<R>
  | { readonly kind: 'in-doubt'; readonly row: R; readonly failure: Failure }
  | { readonly kind: 'invalid'; readonly row: R; readonly was: keyof RowCounts; readonly failure: Failure };

/** Sends the rows of a run. */
export interface Sender<R extends NumberedRow, T> {
  /** Whether it only reads, so that no row is ever in doubt. */
  readonly isRead: boolean;
  /** The key for the first request of a row; null for none. */
  newKey(row: R): string | null;
  /** 16 hex digits. */
  hashOf(row: R): string;
  /** Prepares the request of a row; sends nothing yet. */
  begin(row: R, key: string | null, sentMsAgo: number | undefined, sent?: SentEarlier): RequestAttempts<T>;
  toRecord(
    row: R,
    value: T,
  ): { readonly id: string; readonly etag: string | undefined; readonly isFound?: true | undefined };
}

/** The result of a row. `left` was not sent: because the run stopped, or an earlier row of its item is not done. */
export type RowResult<R, T> =
  | { readonly status: 'done'; readonly row: R; readonly value: T }
  | { readonly status: 'failed' | 'in-doubt'; readonly row: R; readonly failure: Failure }
  | { readonly status: 'left'; readonly row: R; readonly reason: string };

/** Counts that change while a run is in progress. */
export type RunningCounts = { -readonly [State in keyof RowCounts]: RowCounts[State] };

/** The state of the run when an attempt failed. */
export interface RunContext {
  readonly hasDone: boolean;
  readonly hasResponded: boolean;
  readonly isStopping: boolean;
  /** Whether there is an outage: attempts are probes then, and do not count against a row. */
  readonly isOutage: boolean;
  /** The attempts of the row that count so far, without this one, and their maximum. */
  readonly tries: number;
  readonly triesMax: number;
}

/**
 * Decides what follows a failed attempt, for its row and for the run (docs/decisions.md, bulk-5, retries-5).
 *
 * A failure that affects every row stops the run and is not counted as the row's. Neither is a throttle, nor a request
 * that could not be sent after the service had responded before: outages are judged over all rows. Before the first
 * response it is as for a single item: the first row that runs out of retries ends the run.
 *
 * @returns what happens to the row, of which `left` stays as it was; whether the attempt counts against `retries`; and why
 *   the whole run stops, if it does
 */
export function decideRetry(
  step: NotDone,
  run: RunContext,
): {
  readonly row: 'retry' | 'in-doubt' | 'failed' | 'left';
  readonly counts: boolean;
  readonly stopReason?: unknown;
} {
  const affectsAll = step.scope === 'run' || (step.scope === 'run-until-first-success' && !run.hasDone);
  if (affectsAll) return ended(step, 'left', { stopReason: step.failure() });
  const counts = countsAgainst(step, run);
  const mayRepeat = step.waitMs !== undefined && (!counts || run.tries + 1 <= run.triesMax);
  if (mayRepeat) return run.isStopping ? ended(step, 'left') : { row: 'retry', counts };
  if (step.service === 'unreachable' && !run.hasResponded) return ended(step, 'left', { stopReason: step.failure() });
  return ended(step, run.isStopping && step.service === 'unreachable' ? 'left' : 'failed');
}

function countsAgainst({ service, outcome }: NotDone, { hasResponded, isOutage }: RunContext): boolean {
  if (service === 'throttled') return false;
  return !(service === 'unreachable' && (isOutage || (outcome === 'not-sent' && hasResponded)));
}

function ended(
  step: NotDone,
  otherwise: 'left' | 'failed',
  more: { readonly stopReason?: unknown } = {},
): ReturnType<typeof decideRetry> {
  const failure = step.failure();
  if (!(failure instanceof Failure)) return { row: 'left', counts: true, ...more };
  return { row: failure.kind === 'in-doubt' ? 'in-doubt' : otherwise, counts: true, ...more };
}

/** Tracks whether the service responds, and whether it does anything but throttle. */
export class ServiceHealth {
  readonly #maxWaitMs: number;
  hasResponded = false;
  /** The error of the last attempt without a response. */
  #silence: (() => unknown) | undefined;
  /** Since when every response was a throttle. */
  #throttledSinceMs: number | undefined;

  /** @param maxWaitMs how long every response may be a throttle; Infinity for no limit */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Records an attempt; returns whether the service has only throttled for longer than `maxWaitMs`. */
  observe(step: AttemptResult<unknown>, nowMs: number): boolean {
    if (step.service === 'unreachable') {
      if (!step.isDone) this.#silence = step.failure;
      return false;
    }
    this.hasResponded = true;
    if (step.service === 'ok') this.#throttledSinceMs = undefined;
    if (step.service !== 'throttled' || step.isDone) return false;
    this.#throttledSinceMs ??= nowMs;
    return nowMs - this.#throttledSinceMs > this.#maxWaitMs;
  }

  outageFailure(): Failure {
    const failure = this.#silence?.();
    const isUnavailable = failure instanceof Failure && failure.kind === 'unavailable';
    const last = failure instanceof Failure ? ` (last: ${failure.message})` : '';
    return new Failure(
      isUnavailable ? 'unavailable' : 'unreachable',
      `gave up: service unreachable for longer than --max-wait${last}`,
    );
  }
}
