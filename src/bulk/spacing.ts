/** How many milliseconds' worth of requests may start at once. */
const burstMs = 20;

/** A timer that is late by so much must not cost rate, where less than one request is due in `burstMs`. */
const latenessMs = 2;

/**
 * Spaces requests evenly (a leaky bucket): never more than the rate, but for what is due in 20 ms, or one request. All
 * times are those that the caller tells.
 */
export class Spacing {
  /** When the next one would be due if none had been early. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #intervalMs = 0;
  #earlyMs = 0;

  /** Sets how many requests may start a second from now on; Infinity for any number. */
  setRate(perSecond: number, nowMs: number): void {
    const intervalMs = 1000 / perSecond;
    const owedMs = this.#dueMs - nowMs;
    // So many requests early stay as many: a slow rate's long wait ends with it.
    if (owedMs > 0 && intervalMs < this.#intervalMs) this.#dueMs = nowMs + (owedMs * intervalMs) / this.#intervalMs;
    this.#intervalMs = intervalMs;
    this.#earlyMs = Math.max(latenessMs, burstMs - intervalMs);
  }

  /** Milliseconds until the next one may start; 0 for now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#dueMs - this.#earlyMs - nowMs);
  }

  /** One starts. */
  started(nowMs: number): void {
    this.#dueMs = Math.max(this.#dueMs, nowMs) + this.#intervalMs;
  }
}
