import { Failure } from '../errors.ts';
import type { RowStep } from './task.ts';

/** What a run has seen of its service: whether it is there at all, and whether it does anything but throttle. */
export class ServiceSigns {
  readonly #maxWaitMs: number;
  #hasAnswered = false;
  /** What the last attempt without a sign of the service came to. */
  #silence: (() => unknown) | undefined;
  /** Since when it has done nothing but throttle. */
  #throttledSinceMs: number | undefined;

  /** @param maxWaitMs how long it may do nothing but throttle; Infinity for no end */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Whether anything has answered since the run began. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Takes what an attempt came to.
   *
   * @returns whether the service is given up: it has only throttled for as long as may be waited (reliability, C3)
   */
  take(step: RowStep<unknown>, nowMs: number): boolean {
    if (step.sign === 'silent') {
      if (!step.isDone) this.#silence = step.failure;
      return false;
    }
    this.#hasAnswered = true;
    if (step.sign === 'answered') this.#throttledSinceMs = undefined;
    if (step.sign !== 'throttled' || step.isDone) return false;
    this.#throttledSinceMs ??= nowMs;
    return nowMs - this.#throttledSinceMs > this.#maxWaitMs;
  }

  /** Why a run ends whose service was gone for as long as may be waited. */
  goneFailure(): Failure {
    const failure = this.#silence?.();
    const isUnavailable = failure instanceof Failure && failure.kind === 'unavailable';
    const last = failure instanceof Failure ? ` (last: ${failure.message})` : '';
    return new Failure(
      isUnavailable ? 'unavailable' : 'unreachable',
      `the service was gone for as long as --max-wait allows${last}`,
    );
  }
}
