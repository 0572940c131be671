/** The share of throttles that may be stray before anything is known. */
const assumedStray = 0.05;

/** How much better a service that refuses everything must explain the last responses than strays do. */
const odds = 500;

/** The same with known strays, among which chance has more opportunities. */
const knownOdds = 1e5;

/** The fewest throttles after the first one that give a share. */
const throttlesMin = 3;

/** The standard deviations above known strays from which throttles may be a limit. */
const deviations = 3;

/** Less time gives no rate. */
const countMinMs = 1000;

/** The responses after which a count ends: three throttles in them do not show a limit. */
const countMax = 1000;

/** The shares up to which strays are told from a limit: while a check counts them, and at most. */
const checkedStray = 0.25;
const mostStray = 0.5;

/**
 * Tells a limit from stray throttles by the last responses: many services throttle a share of requests at any rate, such
 * as those to one busy node. Times are those that the caller passes.
 */
export class ThrottleShare {
  /** The share of requests that is throttled at any rate, 0 to 1, if known. */
  stray = 0;
  /** Whether a check is counting strays. */
  isChecking = false;
  /** A sequential test (CUSUM): the log of how much better a limit explains the last responses than strays. */
  #score = 0;
  // The count, which begins with a throttle.
  #sinceMs = 0;
  #firstMs = Number.NaN;
  #starts = 0;
  #responses = 0;
  #throttles = 0;
  // The slots that throttled requests left empty, since #emptyMs.
  #emptied = 0;
  #emptyMs = 0;

  /** Starts a new count, of requests that start at `nowMs` or later. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#firstMs = Number.NaN;
    this.#responses = 0;
    this.#throttles = 0;
  }

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

  /** The throttled share if it is more than strays explain, else 0. */
  excess(nowMs: number): number {
    if (nowMs - this.#firstMs < countMinMs) return 0;
    const expected = this.stray * this.#responses;
    const isMore = this.#throttles >= throttlesMin + expected + deviations * Math.sqrt(expected);
    return isMore ? this.#throttles / this.#responses : 0;
  }

  /** The rate of requests since the count began. */
  sentPerSecond(nowMs: number): number {
    return (this.#starts * 1000) / (nowMs - this.#firstMs);
  }

  /**
   * The concurrency of a `limit`: the slot of a throttled request stays empty until a later one is accepted, so that a
   * service that refuses everything gets fewer requests.
   */
  slotsOf(limit: number): number {
    return this.stray > 0 ? limit : Math.max(1, limit - this.#emptied);
  }

  #weigh(isThrottled: boolean): number {
    const stray = Math.min(mostStray, Math.max(this.isChecking ? checkedStray : assumedStray, this.stray));
    const limited = (1 + stray) / 2;
    return Math.log(isThrottled ? limited / stray : (1 - limited) / (1 - stray));
  }
}
