import type { Budget } from '../api/client.ts';

/** The part of the rest that is spent: other clients may share it. */
const spent = 0.97;

/** A rate follows the budget, and its own growth, in steps of at least this part. */
const step = 0.05;

/** By how much a slow start rises with each response: a tenth of the rate in a second. */
const growth = 0.1;

/** The time and the requests over which the cost of a request is measured. */
const measureMs = 1000;
const measureRequests = 3;

/**
 * The rate, in requests a second, that a service's budget allows: the rest of a window is spread over what remains of it.
 * Units are not requests, and others may spend them too, so that the cost of a request is measured, theirs included. A
 * run may begin slowly; then its rate rises while no budget is short. Times are those that the caller passes.
 */
export class RateBudget {
  rate: number;
  /** The end of the window whose budget is known. */
  endMs = Number.POSITIVE_INFINITY;
  #startRate: number;
  /** Units per request. */
  #cost = 1;
  #starts = 0;
  #mark: { readonly ms: number; readonly remaining: number; readonly starts: number } | undefined;

  /** @param startRate the rate of a slow start; Infinity for none */
  constructor(startRate: number) {
    this.#startRate = startRate;
    this.rate = startRate;
  }

  started(): void {
    this.#starts += 1;
  }

  /** Records an accepted request without a budget; returns whether the rate has changed. */
  accepted(): boolean {
    return this.endMs === Number.POSITIVE_INFINITY && this.#grow();
  }

  /**
   * Records a budget; returns whether the rate has changed.
   *
   * @param left the requests that the run still has to send: a budget that is enough for them is not spread
   */
  told({ remaining, resetMs }: Budget, nowMs: number, left: number): boolean {
    this.endMs = nowMs + resetMs;
    const mark = this.#mark;
    // A larger rest is that of a new window.
    if (mark === undefined || remaining > mark.remaining) this.#mark = { ms: nowMs, remaining, starts: this.#starts };
    else if (nowMs - mark.ms >= measureMs && this.#starts - mark.starts >= measureRequests) {
      this.#cost = Math.max(0.1, (mark.remaining - remaining) / (this.#starts - mark.starts));
      this.#mark = { ms: nowMs, remaining, starts: this.#starts };
    }
    if (left * this.#cost <= spent * remaining) return this.#grow();
    const seconds = Math.max(0.001, resetMs / 1000);
    // With nothing left, the next request is that of the next window.
    return this.#change(Math.max((spent * remaining) / this.#cost, 1) / seconds);
  }

  /** Forgets a budget whose window is over; returns whether the rate has changed. */
  expire(nowMs: number): boolean {
    if (nowMs < this.endMs) return false;
    this.endMs = Number.POSITIVE_INFINITY;
    this.#mark = undefined;
    this.rate = this.#startRate;
    return true;
  }

  #grow(): boolean {
    this.#startRate += growth;
    return this.#change(this.#startRate);
  }

  #change(rate: number): boolean {
    if (rate === this.rate || Math.abs(rate - this.rate) < step * this.rate) return false;
    this.rate = rate;
    return true;
  }
}
