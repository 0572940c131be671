/** How long a rate is tried before it counts as borne: so much time, so many round trips and so many requests. */
const stepMs = 2000;
const stepTrips = 3;
const stepRequests = 10;
/** The time while nothing is known but that the rate is far too low. */
const doublingStepMs = 1000;

/** What part of a rate must have been answered, else it was not the rate that held a run back. */
export const kept = 0.85;

/** A ceiling that is no further above the floor is found. */
const found = 1.1;

/** Where a share is throttled, the rest is about what the service allows; a little less is sent to check that. */
const easing = 0.9;

/** Two shares within this factor are the same share, as few throttles as they are counted from. */
const alike = 4;

/** A share that stays the same at this many rates in a row, each lower, has nothing to do with the rate. */
const alikeMin = 3;

/** A lower rate has helped only once this many throttles would otherwise have been expected: fewer may be chance. */
const missedMin = 12;

/** The first rate after a pause is never lower, or slow limits would take seconds to find. */
const firstRate = 8;

/** The first step above what was borne up to the first pause. */
const openingGrowth = 0.25;

/** A floor that no longer holds goes down to what was borne on the whole, between these parts of the ceiling. */
const dip = 0.25;
const below = 0.97;

/** How long what was found is held: so long that pauses like the last one take a thirtieth of the time. */
const holdMs = 30_000;
const holdPauses = 30;
const holdMostMs = 600_000;

/** What is tried above what was held: a tenth more, then a fifth, up to twice as much. */
const firstGrowth = 0.1;

/** How much more than was borne may start where too many at once may be all that was wrong: it is not to hold back. */
const spareGrowth = 0.5;

/** A lower rate that is tried to see whether it helps. */
interface Check {
  /** The share that was throttled before; 0 where it was a single throttle. */
  readonly share: number;
  /** What to return to where it does not help. */
  readonly rate: number;
  readonly floor: number;
  readonly isOn: boolean;
}

/**
 * Finds how many requests a second a service allows that throttles, between a floor that it bore and a ceiling that it
 * did not. Rates are requests a second. All times are those that the caller passes.
 *
 * A pause, when everything is refused, lowers both. Where only a share is throttled, less than the rest is sent: if
 * that helps, it is the floor; if the share stays the same, it has nothing to do with the rate.
 */
export class RateSearch {
  /** How many requests may start a second; Infinity before the first throttle. */
  rate = Number.POSITIVE_INFINITY;
  /** How often the rate was lowered since it was last borne. */
  inVain = 0;
  readonly #rateMax: number;
  #isOn = false;
  #floor = 0;
  #ceiling = Number.POSITIVE_INFINITY;
  #growth = 1;
  #holdEndMs = Number.POSITIVE_INFINITY;
  #wasBorne = true;
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
  #tripMs = 0;
  #check: Check | undefined;
  #alikes = 0;

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

  /**
   * The service throttled, and the run pauses.
   *
   * @param endMs when the pause ends
   */
  throttled(nowMs: number, endMs: number): void {
    // The service was not ready yet, whatever the rate: knock once in a while, and go on as before when it opens.
    if (this.#answers === 0) {
      this.#isShut = true;
      this.#choose();
      this.rate = Math.min(this.rate, 1000 / Math.max(1000, endMs - nowMs));
    } else if (!this.#isOn) {
      this.#isOn = true;
      this.#floor = Math.max(firstRate, this.#bore(nowMs, endMs));
      this.#growth = openingGrowth;
      this.#choose();
    } else if (this.#check === undefined || !Number.isNaN(this.#firstMs)) {
      // Nothing is said of a lower rate of which no request has been answered yet.
      const failed = Math.min(this.rate, this.#tried(nowMs));
      this.#lower(failed, this.#bore(nowMs, endMs));
    }
    this.#pause(nowMs, endMs);
  }

  /**
   * The service throttled, and the run pauses, but too many at once may be all that was wrong.
   *
   * @param borne what was borne with fewer at once
   */
  spared(borne: number, nowMs: number, endMs: number): void {
    this.#spare(borne);
    this.#pause(nowMs, endMs);
  }

  #pause(nowMs: number, endMs: number): void {
    this.#pausedMs = nowMs;
    this.#sinceMs = endMs;
    this.#answers = 0;
    this.#check = undefined;
    this.#beginStep(endMs);
  }

  /** Whether a lower rate is being checked. */
  get isChecking(): boolean {
    return this.#check !== undefined;
  }

  /** A request was throttled that says nothing of the rate: it was sent at it all the same. */
  strayed(stamp: number): void {
    if (stamp >= this.#setMs && !Number.isNaN(this.#firstMs)) this.#stepAnswers += 1;
  }

  /** Whether the rate is one that is only being tried: the first throttle ends that. */
  get isTrying(): boolean {
    return this.#isOn && this.#check === undefined && this.rate > this.#floor;
  }

  /**
   * A single request was throttled while a rate is being tried: returns to the floor at once.
   *
   * @param endMs when the pause ends
   */
  throttledOnce(nowMs: number, endMs: number): void {
    const check = { share: 0, rate: this.rate, floor: this.#floor, isOn: true };
    this.#lowerTo(this.#floor, this.#tried(nowMs));
    this.#pause(nowMs, endMs);
    this.#check = check;
  }

  /**
   * A share of the requests is throttled: lowers the rate, or returns to what it was where that has not helped.
   *
   * @param sent the requests a second that the share is of
   * @param borne the rows a second that were done with fewer at once, where too many at once may be the reason; else 0
   * @returns whether it has not helped, so that the share has nothing to do with the rate
   */
  throttledShare(share: number, sent: number, borne: number, nowMs: number): boolean {
    const check = this.#check;
    const isLess = check !== undefined && share * alike < check.share;
    const isAlike = check !== undefined && !isLess && share < alike * check.share;
    if (isLess) this.#raise(nowMs);
    else if (isAlike) this.#alikes += 1;
    else {
      this.#check = { rate: this.rate, floor: this.#floor, isOn: this.#isOn, ...check, share };
      this.#alikes = borne > 0 ? 0 : 1;
    }
    const isStray = isAlike && this.#alikes === alikeMin;
    if (isStray) this.#returnTo(check);
    else if (!isLess && (isAlike || borne === 0)) this.#ease(share, sent, isAlike);
    else if (!isLess) this.#spare(borne);
    this.#beginStep(nowMs);
    return isStray;
  }

  #ease(share: number, sent: number, isAlike: boolean): void {
    const eased = easing * (1 - share) * Math.min(this.rate, sent);
    // What was borne may hold still: that is seen before it is given up.
    const isBelow = !isAlike && this.#floor < below * Math.min(this.rate, sent);
    this.#lowerTo(isBelow ? Math.max(this.#floor, eased) : Math.min(this.#floor || eased, eased), sent);
  }

  #lowerTo(rate: number, sent: number): void {
    this.inVain += 1;
    this.#isOn = true;
    this.#ceiling = Math.min(this.rate, sent, 2 * rate);
    this.#floor = rate;
    this.rate = Math.min(this.#rateMax, rate);
    this.#growth = firstGrowth;
    this.#holdEndMs = Number.POSITIVE_INFINITY;
  }

  #returnTo({ rate, floor, isOn }: Check): void {
    this.inVain = 0;
    this.rate = rate;
    this.#floor = floor;
    this.#isOn = isOn;
    this.#check = undefined;
    this.#ceiling = Number.POSITIVE_INFINITY;
    this.#growth = 1;
  }

  /** Before the search begins, not all that was done with fewer at once may start at the same moment. */
  #spare(borne: number): void {
    if (this.#isOn) return;
    this.#floor = borne;
    this.#growth = spareGrowth;
    this.#choose();
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
  }

  #endStep(nowMs: number): boolean {
    const tookMs = nowMs - this.#firstMs;
    const isOpening = this.#growth >= openingGrowth && this.#ceiling === Number.POSITIVE_INFINITY;
    if (tookMs < (isOpening ? doublingStepMs : stepMs)) return false;
    if (tookMs < stepTrips * this.#tripMs || this.#stepAnswers < stepRequests) return false;
    const missed = this.#stepAnswers * (this.#check?.share ?? 0);
    if (missed > 0 && missed < missedMin) return false;
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
    this.inVain += 1;
    // The floor no longer holds where a ceiling came down upon it, or came down twice without a rate in between.
    if (!this.#wasBorne || this.#floor * found >= failed)
      this.#floor = Math.min(this.#floor, below * failed, Math.max(dip * failed, bore));
    this.#ceiling = failed;
    this.#growth = firstGrowth;
    this.#wasBorne = false;
    this.#holdEndMs = Number.POSITIVE_INFINITY;
    this.#choose();
  }

  /** The service bears the rate: sets the next one to try. */
  #raise(nowMs: number): void {
    this.#wasBorne = true;
    this.inVain = 0;
    this.#check = undefined;
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
    if (next === 0) next = Number.POSITIVE_INFINITY;
    else if (this.#ceiling === Number.POSITIVE_INFINITY) next *= 1 + this.#growth;
    else if (this.#ceiling > found * next) next = Math.sqrt(next * this.#ceiling);
    this.rate = Math.min(this.#rateMax, next);
  }
}
