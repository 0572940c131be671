/** Searches for the rate and the concurrency that a service sustains. Times are those that the caller passes. */

/** The time, round trips and requests for which a rate is tried before it counts as sustained. */
const stepMs = 2000;
const stepTrips = 3;
const stepRequests = 10;
/** The time while the rate is only known to be far too low. */
const doublingStepMs = 1000;

/** The part of a rate that must have been answered; else something other than the rate limited the run. */
const answeredShare = 0.85;

/** The search ends when the ceiling is less than this factor above the floor. */
const found = 1.08;

/** A floor that no longer holds falls to the sustained rate, between these parts of the ceiling. */
const dip = 0.25;
const below = 0.97;

/** A found rate is held until pauses like the last one take a thirtieth of the time. */
const holdMs = 30_000;
const holdPauses = 30;
const holdMostMs = 600_000;

/** The first step above a held rate; it doubles up to twice the rate. */
const firstGrowth = 0.1;

/** The lowest first rate after a pause if little was sent before: lower ones take seconds to find a limit. */
const firstRate = 8;

/** The first step above the rate that was sustained up to the first pause. */
const openingGrowth = 0.3;

/** The part of the accepted rate that is sent in a check, which no limit throttles. */
const easing = 0.9;

/** The number of pauses after which another check is due. */
const pausesMax = 8;

/** The responses that a check takes; the first one takes those of some seconds, but a fewest. */
const checkSize = 100;
const firstCheckSeconds = 1.5;
const checkFewest = 16;

/** The throttles in a check that are strays rather than chance, or left over from before. */
const strayThrottles = 3;

/** The throttles to expect in a check if all that were seen are strays. */
const dueThrottles = 5;

/** The step above the sustained rate when only the concurrency may have been too high. */
const spareGrowth = 0.5;

/**
 * Finds the rate that a throttling service allows, in requests a second, between a floor that it sustained and a ceiling
 * that it did not.
 *
 * A limit throttles nothing below it, while stray throttles come at any rate. So now and then a rate a little below the
 * accepted one is checked: throttles that remain are strays, and the search starts anew.
 */
export class RateSearch {
  rate = Number.POSITIVE_INFINITY;
  /** Whether a rate is being checked at which a limit throttles nothing. */
  isChecking = false;
  stray = 0;
  readonly #rateMax: number;
  #isOn = false;
  #floor = 0;
  #ceiling = Number.POSITIVE_INFINITY;
  #growth = 1;
  #holdEndMs = Number.POSITIVE_INFINITY;
  /** The last sustained rate, and how many consecutive throttles came below half of it. */
  #good = 0;
  #farBelow = 0;
  #wasSustained = true;
  /** The rate sustained before the search began. */
  #spareRate = 0;
  /** The responses of a check; 0 before the first one. */
  #checkSize = 0;
  #pausesLeft = 1;
  /** Whether the last pause was followed by another before anything was accepted. */
  #isShut = false;
  // Since the last pause, which began at #pausedMs.
  #pausedMs = 0;
  #sinceMs = Number.NaN;
  #responses = 0;
  // The current step: when its rate was set, and its first response.
  #setMs = 0;
  #firstMs = Number.NaN;
  #starts = 0;
  #stepResponses = 0;
  #throttles = 0;
  #tripMs = 0;

  constructor(rateMax: number) {
    this.#rateMax = rateMax;
  }

  started(nowMs: number): void {
    // As if a pause had just ended.
    if (Number.isNaN(this.#sinceMs)) this.#pause(nowMs, nowMs);
    this.#starts += 1;
  }

  /** Records a response to a request that started at `stamp`; returns whether the rate has changed. */
  accepted(stamp: number, nowMs: number): boolean {
    if (stamp < this.#sinceMs) return false;
    this.#responses += 1;
    if (this.#isShut) return this.#open(nowMs);
    if (this.rate === Number.POSITIVE_INFINITY || stamp < this.#setMs) return false;
    if (Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      this.#tripMs = nowMs - stamp;
      return false;
    }
    this.#stepResponses += 1;
    return this.#endStep(nowMs);
  }

  /** The throttles of this step that known strays do not explain. */
  get #unknown(): number {
    return Math.max(0, this.#throttles - 2 * this.stray * this.#stepResponses);
  }

  get share(): number {
    return this.#throttles / this.#stepResponses;
  }

  /** Records a throttle that is not a reason to pause; returns whether a check has shown that throttles are strays. */
  strayed(stamp: number): boolean {
    if (stamp < this.#setMs || Number.isNaN(this.#firstMs)) return false;
    this.#stepResponses += 1;
    this.#throttles += 1;
    return this.isChecking && this.#unknown >= strayThrottles;
  }

  /** Starts a check, without a pause, of whether a share of throttles depends on the rate at which they were `sent`. */
  check(share: number, sent: number, nowMs: number): void {
    this.#isOn = true;
    this.#wasSustained = false;
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

  /** Records a pause after a throttle; returns whether a lower rate has not helped, so that a lower concurrency might. */
  throttled(nowMs: number, endMs: number): boolean {
    // The service accepts nothing at any rate: sends a request now and then until it does.
    if (this.#responses === 0) {
      this.#isShut = true;
      this.#choose();
      this.rate = Math.min(this.rate, 1000 / Math.max(1000, endMs - nowMs));
    } else if (!this.#isOn) {
      this.#isOn = true;
      this.#floor = Math.max(this.#spareRate, this.#sustained(nowMs, endMs));
      this.#growth = openingGrowth;
      if (this.#responses < stepRequests) {
        this.#wasSustained = false;
        this.rate = Math.min(this.#rateMax, Math.max(firstRate, this.#floor));
      } else this.#checkFloor();
    } else if (!this.isChecking) {
      const failed = Math.min(this.rate, this.#tried(nowMs));
      this.#farBelow = failed < this.#good / 2 ? this.#farBelow + 1 : 0;
      this.#lower(failed, this.#sustained(nowMs, endMs));
    }
    this.#pause(nowMs, endMs);
    if (this.#farBelow < 2) return false;
    this.#farBelow = 0;
    return true;
  }

  /** Records a pause after a throttle that the concurrency may have caused; `sustained` is the rate with less of it. */
  spared(sustained: number, nowMs: number, endMs: number): void {
    this.#spareRate = this.#sustained(nowMs, endMs);
    if (!this.#isOn) {
      // Not a search yet, but requests must not all start at once after the pause.
      this.#floor = sustained;
      this.#growth = spareGrowth;
      this.#choose();
    }
    this.#pause(nowMs, endMs);
  }

  #pause(nowMs: number, endMs: number): void {
    this.#pausedMs = nowMs;
    this.#sinceMs = endMs;
    this.#responses = 0;
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
    this.#stepResponses = 0;
    this.#throttles = 0;
  }

  #endStep(nowMs: number): boolean {
    const tookMs = nowMs - this.#firstMs;
    const isDoubling = this.#growth >= openingGrowth && this.#ceiling === Number.POSITIVE_INFINITY;
    if (tookMs < (isDoubling ? doublingStepMs : stepMs)) return false;
    if (tookMs < stepTrips * this.#tripMs || this.#stepResponses < stepRequests) return false;
    // More throttles need more responses to be told from strays.
    if (this.isChecking && this.#stepResponses < this.#checkSize * (1 + this.#unknown / 2)) return false;
    // With fewer, something other than the rate limited them.
    if (this.#stepResponses * 1000 >= answeredShare * this.rate * tookMs) this.#raise(nowMs);
    this.#beginStep(nowMs);
    return true;
  }

  /** The rate sustained since the last pause, whose time counts, since limits save up requests in it. */
  #sustained(nowMs: number, endMs: number): number {
    const pauseMs = Math.max(endMs - nowMs, this.#sinceMs - this.#pausedMs);
    return (this.#responses * 1000) / (Math.max(0, nowMs - this.#sinceMs) + pauseMs);
  }

  /** The rate sent in this step; Infinity if it is too early to tell. */
  #tried(nowMs: number): number {
    const tookMs = nowMs - this.#setMs;
    return tookMs < 1000 ? Number.POSITIVE_INFINITY : (this.#starts * 1000) / tookMs;
  }

  #lower(failed: number, sustained: number): void {
    // The floor no longer holds if the ceiling reached it, or fell twice without a sustained rate in between.
    this.#pausesLeft -= 1;
    if (!this.#wasSustained || this.#pausesLeft <= 0 || this.#floor * found >= failed)
      this.#floor = Math.min(this.#floor, below * failed, Math.max(dip * failed, sustained));
    this.#wasSustained = false;
    this.#ceiling = failed;
    this.#growth = firstGrowth;
    this.#holdEndMs = Number.POSITIVE_INFINITY;
    if (this.#pausesLeft <= 0) this.#checkFloor();
    else this.#choose();
  }

  /** Records that the rate is sustained, and sets the next one to try. */
  #raise(nowMs: number): void {
    this.#wasSustained = true;
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
 * latency, which rises in many services before the rate stops rising.
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
