/** A count of answers ends after this many: two throttles in them are no sign of a limit. */
const answersMax = 1000;

/** After the first throttle, the fewest further ones that give a share. */
const throttlesMin = 3;

/** More throttles than known strays explain by this many standard deviations are a sign of a limit. */
const deviations = 3;

/** A row of throttles that strays alone form less often than this means that everything is refused. */
const chance = 1e-4;

/** Where strays are known there are many of them, and a row of them is to be rarer. */
const knownChance = 1e-6;

/** A row of known strays is nothing unusual while it is more likely than this. */
const usual = 0.01;

/** So many accepted requests give a rate. */
const acceptedMin = 12;

/** Before anything is counted, one throttle in this many answers is assumed to be stray. */
const assumedAnswers = 32;

/** Requests that may be under way while everything seems to be refused. */
const askers = 2;

/**
 * Counts throttled answers, to tell a rate limit from stray throttles: many services throttle a share of the requests
 * whatever their rate, such as a busy node of several does. Times are those that the caller passes.
 */
export class ThrottleShare {
  /** The share of requests that is throttled whatever the rate, 0 to 1, as far as is known. */
  stray = 0;
  // The count at one rate: of requests that started at #sinceMs or later.
  #sinceMs = Number.NEGATIVE_INFINITY;
  #before = 0;
  #firstMs = Number.NaN;
  // Of requests that started after the first throttle arrived: what a service had saved up until then would dilute the share.
  #starts = 0;
  #answers = 0;
  #throttles = 0;
  // Throttles in a row, each of a request that started after the first of them arrived: a burst of them, as after a
  // stall, counts once.
  #rowMs = Number.NaN;
  #row = 0;
  #isRefusing = false;
  // The count since the rate was first lowered after one that was borne.
  #lowerMs = 0;
  #lowerAnswers = 0;
  #lowerThrottles = 0;
  #emptied = 0;

  /** Starts a new count, of requests that start at `nowMs` or later. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#before = 0;
    this.#firstMs = Number.NaN;
    this.#starts = 0;
    this.#answers = 0;
    this.#throttles = 0;
  }

  /** Starts the count over all rates that `forgive` goes by. */
  beginLowering(nowMs: number): void {
    this.#lowerMs = nowMs;
    this.#lowerAnswers = 0;
    this.#lowerThrottles = 0;
  }

  /** The requests a second that were accepted since `beginLowering`; 0 where they are too few to say. */
  acceptedPerSecond(nowMs: number): number {
    const accepted = this.#lowerAnswers - this.#lowerThrottles;
    return accepted < acceptedMin ? 0 : (accepted * 1000) / Math.max(1, nowMs - this.#lowerMs);
  }

  /** Takes all that was throttled since `beginLowering` for stray. */
  forgive(): void {
    this.stray = this.#lowerThrottles / Math.max(1, this.#lowerAnswers);
  }

  /** Records that a request starts. */
  started(): void {
    this.#starts += 1;
  }

  /**
   * Records that a request that started at `stamp` was answered.
   *
   * @param isStrict whether known strays count like other throttles
   * @returns the share that is throttled where that is more than strays explain, else 0
   */
  accepted(stamp: number, isStrict: boolean): number {
    this.#lowerAnswers += 1;
    if (stamp >= this.#rowMs) this.#endRow();
    if (stamp < this.#sinceMs || stamp < this.#firstMs) return 0;
    if (Number.isNaN(this.#firstMs)) this.#before += 1;
    else this.#answers += 1;
    const expected = isStrict ? 0 : this.stray * this.#answers;
    if (this.#throttles >= throttlesMin + expected + deviations * Math.sqrt(expected))
      return this.#throttles / this.#answers;
    if (this.#before + this.#answers >= answersMax) {
      this.stray = this.#throttles / (this.#before + this.#answers);
      this.begin(this.#sinceMs);
    }
    return 0;
  }

  /**
   * Records that a request that started at `stamp` was throttled.
   *
   * @returns whether the service refuses everything, so that the whole run has to wait
   */
  throttled(stamp: number, nowMs: number): boolean {
    if (stamp >= this.#sinceMs && Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      this.#starts = 0;
    } else if (stamp >= this.#sinceMs && stamp >= this.#firstMs) {
      this.#answers += 1;
      this.#throttles += 1;
    }
    this.#lowerAnswers += 1;
    this.#lowerThrottles += 1;
    this.#emptied += 1;
    if (Number.isNaN(this.#rowMs)) this.#rowMs = nowMs;
    else if (stamp >= this.#rowMs) this.#row += 1;
    const others = Math.max(0, this.#throttles - this.#row);
    const strays = (1 + others) / (assumedAnswers + this.#before + Math.max(0, this.#answers - this.#row));
    this.#isRefusing ||=
      this.#row > 1 && Math.max(this.stray, strays) ** this.#row < (this.stray > 0 ? knownChance : chance);
    return this.#isRefusing;
  }

  /**
   * The number of requests that may be under way where `limit` may otherwise: the place of a throttled request stays
   * empty until a later one is accepted, so that a service that refuses everything is not asked over and over.
   */
  placesOf(limit: number): number {
    if (this.stray > 0 && this.stray ** this.#row > usual) return limit;
    return Math.max(Math.min(limit, askers), limit - this.#emptied);
  }

  /** The requests a second that were started since the first throttle of this count. */
  sentPerSecond(nowMs: number): number {
    return (this.#starts * 1000) / Math.max(1, nowMs - this.#firstMs);
  }

  #endRow(): void {
    this.#row = 0;
    this.#isRefusing = false;
    this.#emptied -= 1;
    if (this.#emptied === 0) this.#rowMs = Number.NaN;
  }
}
