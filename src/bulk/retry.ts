/** Decides what follows an attempt that failed: for its row, and for the run. */
import type { AttemptResult, NotDone } from '../api/attempts.ts';
import { Failure } from '../core/errors.ts';

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
