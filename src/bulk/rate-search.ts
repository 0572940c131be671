/** How long a rate is tried before it counts as borne: so much time, so many round trips and so many requests. */
const stepMs = 2000;
const stepTrips = 3;
const stepRequests = 10;
/** The time while nothing is known but that the rate is far too low. */
const doublingStepMs = 1000;

/** What part of a rate must have been answered, else it was not the rate that held a run back. */
export const kept = 0.85;

/** A ceiling that is no further above the floor is found. */
const found = 1.08;

/** A floor that no longer holds goes down to what was borne on the whole, between these parts of the ceiling. */
const dip = 0.25;
const below = 0.97;

/** How long what was found is held: so long that pauses like the last one take a thirtieth of the time. */
const holdMs = 30_000;
const holdPauses = 30;
const holdMostMs = 600_000;

/** What is tried above what was held: a tenth more, then a fifth, up to twice as much. */
const firstGrowth = 0.1;

/** The first rate after a pause is never lower where little was sent before, or limits would take seconds to find. */
const firstRate = 8;

/** The first step above what was borne up to the first pause. */
const openingGrowth = 0.3;

/** The part of what was accepted that is sent in a check: a limit throttles none of it. */
const easing = 0.9;

/** After so many pauses another check is due. */
const pausesMax = 8;

/** A check takes so many responses; the first one only what comes in so many seconds, but no fewer than so many. */
const checkSize = 100;
const firstCheckSeconds = 1.5;
const checkFewest = 16;

/** So many throttles in a check are strays, not chance nor a leftover of what was sent before. */
const strayThrottles = 3;

/** So many throttles would be due in the responses of a check if a share that was seen were stray. */
const dueThrottles = 5;

/** How much more than was borne may start where too many at once may be all that was wrong: it is not to hold back. */
const spareGrowth = 0.5;

/**
 * Finds how many requests a second a service allows that throttles, between a floor that it bore and a ceiling that it
 * did not. Rates are requests a second. All times are those that the caller passes.
 *
 * A limit throttles nothing below it, strays come at any rate. So now and then a rate is checked that is a little less
 * than what was accepted: throttles that stay there are strays, and the search was in vain.
 */
export class RateSearch {
  /** How many requests may start a second; Infinity before the first throttle. */
  rate = Number.POSITIVE_INFINITY;
  /** Whether a rate is being checked at which a limit throttles nothing. */
  isChecking = false;
  /** The share of strays, as far as is known. */
  stray = 0;
  readonly #rateMax: number;
  #isOn = false;
  #floor = 0;
  #ceiling = Number.POSITIVE_INFINITY;
  #growth = 1;
  #holdEndMs = Number.POSITIVE_INFINITY;
  /** The last rate that was borne, and how many throttles in a row came below half of it. */
  #good = 0;
  #farBelow = 0;
  #wasBorne = true;
  /** What was borne before the search began. */
  #spareBore = 0;
  /** How many responses a check takes; 0 before the first one. */
  #checkSize = 0;
  /** How many pauses are left until a check is due. */
  #pausesLeft = 1;
  /** Whether the last pause was followed by another before anything was accepted. */
  #isShut = false;
  // Since the last pause, which began at #pausedMs.
  #pausedMs = 0;
  #sinceMs = Number.NaN;
  #answers = 0;
  // The step under way: when its rate was set, and its first answer.
  #setMs = 0;
  #firstMs = Number.NaN;
  #starts = 0;
  #stepAnswers = 0;
  #throttles = 0;
  #tripMs = 0;

  /** @param rateMax what is never gone beyond: Infinity without a --rate */
  constructor(rateMax: number) {
    this.#rateMax = rateMax;
  }

  /** A request starts. */
  started(nowMs: number): void {
    // As if a pause had just ended.
    if (Number.isNaN(this.#sinceMs)) this.#pause(nowMs, nowMs);
    this.#starts += 1;
  }

  /** A request that started at `stamp` was answered; gives whether the rate has changed. */
  accepted(stamp: number, nowMs: number): boolean {
    if (stamp < this.#sinceMs) return false;
    this.#answers += 1;
    if (this.#isShut) return this.#open(nowMs);
    if (this.rate === Number.POSITIVE_INFINITY || stamp < this.#setMs) return false;
    if (Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      this.#tripMs = nowMs - stamp;
      return false;
    }
    this.#stepAnswers += 1;
    return this.#endStep(nowMs);
  }

  /** How many throttles of this step the known strays do not explain. */
  get #unknown(): number {
    return Math.max(0, this.#throttles - 2 * this.stray * this.#stepAnswers);
  }

  /** The share of throttles in this step. */
  get share(): number {
    return this.#throttles / this.#stepAnswers;
  }

  /**
   * A request was throttled, which is no reason to pause: it was sent at this rate all the same.
   *
   * @returns whether a check has shown by now that the throttles are strays
   */
  strayed(stamp: number): boolean {
    if (stamp < this.#setMs || Number.isNaN(this.#firstMs)) return false;
    this.#stepAnswers += 1;
    this.#throttles += 1;
    return this.isChecking && this.#unknown >= strayThrottles;
  }

  /**
   * A share of the requests is throttled: checks without a pause whether that depends on the rate.
   *
   * @param share the share
   * @param sent the requests a second that it is a share of
   */
  check(share: number, sent: number, nowMs: number): void {
    this.#isOn = true;
    this.#wasBorne = false;
    this.#ceiling = Math.min(this.rate, sent);
    this.#growth = firstGrowth;
    this.#holdEndMs = Number.POSITIVE_INFINITY;
    this.#floor = (1 - share) * this.#ceiling;
    this.#checkFloor();
    this.#checkSize = Math.max(this.#checkSize, dueThrottles / share);
    this.#beginStep(nowMs);
  }

  #checkFloor(): void {
    this.#floor *= easing;
    this.isChecking = true;
    const first = Math.min(checkSize, Math.max(checkFewest, firstCheckSeconds * this.#floor));
    this.#checkSize = this.#checkSize === 0 ? first : checkSize;
    this.#choose();
    this.#pausesLeft = pausesMax;
  }

  /**
   * The service throttled, and the run pauses.
   *
   * @param endMs when the pause ends
   * @returns whether fewer requests a second have not helped, so that fewer at once might
   */
  throttled(nowMs: number, endMs: number): boolean {
    // The service was not ready yet, whatever the rate: knock once in a while, and go on as before when it opens.
    if (this.#answers === 0) {
      this.#isShut = true;
      this.#choose();
      this.rate = Math.min(this.rate, 1000 / Math.max(1000, endMs - nowMs));
    } else if (!this.#isOn) {
      this.#isOn = true;
      this.#floor = Math.max(this.#spareBore, this.#bore(nowMs, endMs));
      this.#growth = openingGrowth;
      if (this.#answers < stepRequests) {
        this.#wasBorne = false;
        this.rate = Math.min(this.#rateMax, Math.max(firstRate, this.#floor));
      } else this.#checkFloor();
    } else if (!this.isChecking) {
      const failed = Math.min(this.rate, this.#tried(nowMs));
      this.#farBelow = failed < this.#good / 2 ? this.#farBelow + 1 : 0;
      this.#lower(failed, this.#bore(nowMs, endMs));
    }
    this.#pause(nowMs, endMs);
    if (this.#farBelow < 2) return false;
    this.#farBelow = 0;
    return true;
  }

  /**
   * The service throttled, and the run pauses, but too many at once may be all that was wrong.
   *
   * @param borne what was borne with fewer at once
   */
  spared(borne: number, nowMs: number, endMs: number): void {
    this.#spareBore = this.#bore(nowMs, endMs);
    if (!this.#isOn) {
      // No search yet, only that they don't all start at once after the pause.
      this.#floor = borne;
      this.#growth = spareGrowth;
      this.#choose();
    }
    this.#pause(nowMs, endMs);
  }

  #pause(nowMs: number, endMs: number): void {
    this.#pausedMs = nowMs;
    this.#sinceMs = endMs;
    this.#answers = 0;
    this.#beginStep(endMs);
  }

  #open(nowMs: number): boolean {
    this.#isShut = false;
    this.#choose();
    this.#beginStep(nowMs);
    return true;
  }

  #beginStep(nowMs: number): void {
    this.#setMs = nowMs;
    this.#firstMs = Number.NaN;
    this.#starts = 0;
    this.#stepAnswers = 0;
    this.#throttles = 0;
  }

  #endStep(nowMs: number): boolean {
    const tookMs = nowMs - this.#firstMs;
    const isDoubling = this.#growth >= openingGrowth && this.#ceiling === Number.POSITIVE_INFINITY;
    if (tookMs < (isDoubling ? doublingStepMs : stepMs)) return false;
    if (tookMs < stepTrips * this.#tripMs || this.#stepAnswers < stepRequests) return false;
    // The more throttles there are, few as they are, the longer it takes to tell.
    if (this.isChecking && this.#stepAnswers < this.#checkSize * (1 + this.#unknown / 2)) return false;
    // With fewer it was not the rate that held them back, and nothing is known of it.
    if (this.#stepAnswers * 1000 >= kept * this.rate * tookMs) this.#raise(nowMs);
    this.#beginStep(nowMs);
    return true;
  }

  /** What the service has borne since the last pause: what it saved up in the pause is not counted as more. */
  #bore(nowMs: number, endMs: number): number {
    const pauseMs = Math.max(endMs - nowMs, this.#sinceMs - this.#pausedMs);
    return (this.#answers * 1000) / (Math.max(0, nowMs - this.#sinceMs) + pauseMs);
  }

  /** How many were sent a second in this step; Infinity where it is too early to say. */
  #tried(nowMs: number): number {
    const tookMs = nowMs - this.#setMs;
    return tookMs < 1000 ? Number.POSITIVE_INFINITY : (this.#starts * 1000) / tookMs;
  }

  #lower(failed: number, bore: number): void {
    // The floor no longer holds where a ceiling came down upon it, or came down twice without a rate in between.
    this.#pausesLeft -= 1;
    if (!this.#wasBorne || this.#pausesLeft <= 0 || this.#floor * found >= failed)
      this.#floor = Math.min(this.#floor, below * failed, Math.max(dip * failed, bore));
    this.#wasBorne = false;
    this.#ceiling = failed;
    this.#growth = firstGrowth;
    this.#holdEndMs = Number.POSITIVE_INFINITY;
    if (this.#pausesLeft <= 0) this.#checkFloor();
    else this.#choose();
  }

  /** The service bears the rate: sets the next one to try. */
  #raise(nowMs: number): void {
    this.#wasBorne = true;
    this.isChecking = false;
    this.#good = this.rate;
    this.#floor = Math.max(this.#floor, this.rate);
    if (nowMs >= this.#holdEndMs) this.#ceiling = Number.POSITIVE_INFINITY;
    else if (this.#ceiling === Number.POSITIVE_INFINITY) this.#growth = Math.min(1, 2 * this.#growth);
    this.#choose();
    const pausesMs = holdPauses * (this.#sinceMs - this.#pausedMs);
    if (this.rate !== this.#floor) this.#holdEndMs = Number.POSITIVE_INFINITY;
    else if (this.#holdEndMs === Number.POSITIVE_INFINITY)
      this.#holdEndMs = nowMs + Math.min(holdMostMs, Math.max(holdMs, pausesMs));
  }

  #choose(): void {
    let next = this.#floor;
    if (this.isChecking) next = this.#floor;
    else if (next === 0) next = Number.POSITIVE_INFINITY;
    else if (this.#ceiling === Number.POSITIVE_INFINITY) next *= 1 + this.#growth;
    else if (this.#ceiling > found * next) next = Math.sqrt(next * this.#ceiling);
    this.rate = Math.min(this.#rateMax, next);
  }
}
