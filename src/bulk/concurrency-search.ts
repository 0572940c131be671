import { answeredShare } from './rate-search.ts';

/** The concurrency at the start of a run. */
const firstLimit = 4;

/** The factors by which a rate is higher, and by which it is as good as the highest. */
const rise = 1.1;
const asGood = 0.97;

/** The rounds without a rise that end a search; one alone may be a slow moment. */
const missesMax = 2;

/** The shortest round: a shorter one measures this process rather than the service. */
const roundMs = 2;
/** The same in later searches, which have time. */
const laterRoundMs = 200;

/** The first search is quick, so a second one soon repeats it. */
const secondMs = 100;
/** The time until other searches; doubled after each that was throttled. */
const againMs = 10_000;
const againMostMs = 320_000;

/** The factor that lowers a limit that may be too high. */
const cut = 0.7;

/**
 * Finds the concurrency beyond which the rate of responses does not rise: doubles it while the rate rises. It ignores
 * latency, which rises in many services before the rate stops rising. Times are those that the caller passes.
 */
export class ConcurrencySearch {
  limit: number;
  readonly #limitMax: number;
  #isOn = true;
  #isFirst = true;
  #beginMs = 0;
  #againMs = againMs;
  // The current round.
  #sinceMs = Number.NaN;
  #count = 0;
  #isFull = false;
  #isSkipped = false;
  // The last round with a rise, and those without one since.
  #baseLimit = 0;
  #baseRate = 0;
  #misses = 0;
  #missLimit = 0;
  #missRate = 0;

  /** @param limitMax --concurrency */
  constructor(limitMax: number) {
    this.#limitMax = limitMax;
    this.limit = Math.min(firstLimit, limitMax);
  }

  /** Records the start of a request; `inFlight` includes it. */
  started(inFlight: number, nowMs: number): void {
    if (inFlight >= this.limit) this.#isFull = true;
    // The first round begins with the first request.
    if (Number.isNaN(this.#sinceMs)) this.#sinceMs = nowMs;
  }

  /** Records that something else limits requests, so that this round does not count. */
  skipRound(): void {
    this.#isSkipped = true;
  }

  /** Records a response; a round at nearly the `allowed` rate does not count either. */
  accepted(nowMs: number, allowed: number): void {
    if (!this.#isOn) {
      if (nowMs < this.#beginMs || this.limit === this.#limitMax) return;
      this.#isOn = true;
      this.#baseRate = 0;
      this.#baseLimit = 0;
      this.#misses = 0;
      this.#beginRound(nowMs);
      return;
    }
    this.#count += 1;
    // At least a round trip: after a doubling only half of them were in flight.
    if (this.#count < this.limit) return;
    if (nowMs - this.#sinceMs < (this.#isFirst ? roundMs : laterRoundMs)) return;
    const rate = (1000 * this.#count) / (nowMs - this.#sinceMs);
    if (this.#isFull && !this.#isSkipped && rate < answeredShare * allowed) this.#judge(rate, nowMs);
    this.#beginRound(nowMs);
  }

  /**
   * Records a throttle. If a search has raised the limit, it is restored to the last sustained one, since the concurrency
   * may be all that was wrong.
   *
   * @returns the rate at the restored limit; 0 if it was not raised
   */
  stepBack(nowMs: number): number {
    const isRaised = this.#isOn && this.limit > this.#baseLimit && this.#baseLimit > 0;
    this.#againMs = Math.max(againMs, this.#againMs);
    if (isRaised) {
      this.limit = this.#baseLimit;
      if (!this.#isFirst) this.#againMs = Math.min(againMostMs, 2 * this.#againMs);
    }
    this.#stop(nowMs);
    return isRaised ? this.#baseRate : 0;
  }

  /** Lowers the limit after a lower rate did not help. */
  cut(): void {
    this.limit = Math.max(1, Math.floor(this.limit * cut));
  }

  /** Starts another search at once, since the throttles were strays. */
  resume(nowMs: number): void {
    this.#beginMs = nowMs;
  }

  #beginRound(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#count = 0;
    this.#isFull = false;
    this.#isSkipped = false;
  }

  #judge(rate: number, nowMs: number): void {
    if (rate >= rise * this.#baseRate) {
      this.#baseRate = rate;
      this.#baseLimit = this.limit;
      this.#misses = 0;
      this.#missRate = 0;
    } else {
      this.#misses += 1;
      if (rate * asGood > this.#missRate) {
        this.#missRate = rate;
        this.#missLimit = this.limit;
      }
    }
    if (this.#misses < missesMax && this.limit < this.#limitMax) {
      this.limit = Math.min(this.#limitMax, 2 * this.limit);
      return;
    }
    this.limit = this.#missRate * asGood > this.#baseRate ? this.#missLimit : this.#baseLimit;
    this.#againMs = this.#isFirst ? secondMs : againMs;
    this.#stop(nowMs);
  }

  #stop(nowMs: number): void {
    this.#isOn = false;
    this.#isFirst = false;
    this.#beginMs = nowMs + this.#againMs;
  }
}
