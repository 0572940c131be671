/** Before anything is known, this share of throttles may be stray. */
const assumedStray = 0.05;

/** That everything is refused is believed once it explains the last responses better than strays by this factor. */
const odds = 500;

/** The same where strays are known: there are many of them, and chance has more opportunities. */
const knownOdds = 1e5;

/** After the first throttle, the fewest further ones that give a share. */
const throttlesMin = 3;

/** More throttles than known strays explain by this many standard deviations may be a limit. */
const deviations = 3;

/** Less time gives no rate. */
const countMinMs = 1000;

/** A count ends after this many responses: three throttles in them are no sign of a limit. */
const countMax = 1000;

/** Strays up to these shares are told from a limit: more while a check is counting them, and never more than half. */
const checkedStray = 0.25;
const mostStray = 0.5;

/**
 * Tells a limit from stray throttles, by the last responses: many services throttle a share of the requests whatever
 * their rate, such as a busy node of several does. Times are those that the caller passes.
 */
export class ThrottleShare {
  /** The share of requests that is throttled whatever the rate, 0 to 1, as far as is known. */
  stray = 0;
  /** Whether it is being checked how many throttles are stray: many may be. */
  isChecking = false;
  /** A sequential test (CUSUM): the log of how much better a limit explains the last responses than strays do. */
  #score = 0;
  // The count, which begins with a throttle.
  #sinceMs = 0;
  #firstMs = Number.NaN;
  #starts = 0;
  #responses = 0;
  #throttles = 0;
  // The places that throttled requests left empty, since #emptyMs.
  #emptied = 0;
  #emptyMs = 0;

  /** Starts a new count, of requests that start at `nowMs` or later. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#firstMs = Number.NaN;
    this.#responses = 0;
    this.#throttles = 0;
  }

  /** Records that a request starts. */
  started(): void {
    this.#starts += 1;
  }

  /** Records that a request that started at `stamp` was accepted. */
  accepted(stamp: number): void {
    this.#score = Math.max(0, this.#score + this.#weigh(false));
    if (this.#emptied > 0 && stamp >= this.#emptyMs) this.#emptied -= 1;
    if (stamp < this.#firstMs || Number.isNaN(this.#firstMs)) return;
    this.#responses += 1;
    if (this.#responses < countMax) return;
    this.stray = this.#throttles / this.#responses;
    this.begin(this.#sinceMs);
  }

  /**
   * Records that a request that started at `stamp` was throttled.
   *
   * @returns whether the service refuses everything, so that the whole run has to wait
   */
  throttled(stamp: number, nowMs: number): boolean {
    this.#score += this.#weigh(true);
    if (this.#emptied === 0) this.#emptyMs = nowMs;
    this.#emptied += 1;
    if (Number.isNaN(this.#firstMs) && stamp >= this.#sinceMs) {
      this.#firstMs = nowMs;
      this.#starts = 0;
    } else if (stamp >= this.#firstMs) {
      this.#responses += 1;
      this.#throttles += 1;
    }
    if (this.#score < Math.log(this.stray > 0 ? knownOdds : odds)) return false;
    this.#score = 0;
    return true;
  }

  /** The share that is throttled where that is more than strays explain, else 0. */
  excess(nowMs: number): number {
    if (nowMs - this.#firstMs < countMinMs) return 0;
    const expected = this.stray * this.#responses;
    const isMore = this.#throttles >= throttlesMin + expected + deviations * Math.sqrt(expected);
    return isMore ? this.#throttles / this.#responses : 0;
  }

  /** The requests a second that were sent since the count began. */
  sentPerSecond(nowMs: number): number {
    return (this.#starts * 1000) / (nowMs - this.#firstMs);
  }

  /**
   * The number of requests that may be under way where `limit` may otherwise: the place of a throttled request stays
   * empty until a later one is accepted, so that a service that refuses everything is not asked over and over.
   */
  placesOf(limit: number): number {
    return this.stray > 0 ? limit : Math.max(1, limit - this.#emptied);
  }

  #weigh(isThrottled: boolean): number {
    const stray = Math.min(mostStray, Math.max(this.isChecking ? checkedStray : assumedStray, this.stray));
    const limited = (1 + stray) / 2;
    return Math.log(isThrottled ? limited / stray : (1 - limited) / (1 - stray));
  }
}
