/** What the responses of a service say of its limits: budgets and throttles. Times are those that the caller passes. */
import type { Budget } from '../api/outcome.ts';

/** The part of the rest that is spent: other clients may share it. */
const spent = 0.97;

/**
 * The longest window whose rest is spread; SharePoint's is a minute. A longer one is left to 429 and Retry-After: 100
 * requests of a day would be one every quarter of an hour.
 */
const windowMaxMs = 120_000;

/** A longer wait between two requests is a pause. */
const gapMaxMs = 3000;

/** A rate follows the budget, and its own growth, in steps of at least this part. */
const step = 0.05;

/** By how much a slow start rises with each response: a tenth of the rate in a second. */
const growth = 0.1;

/** The cost of a request is measured over this time and number of requests, or over a longer time and any number. */
const measured = { ms: 1000, requests: 3, longMs: 5000 } as const;

/** By how much one measurement may raise the cost: another client may have spent much at once. */
const costGrowthMax = 4;

/**
 * The rate, in requests a second, that a service's budget allows: the rest of a window is spread over what remains of it.
 * Units are not requests, and others may spend them too, so that the cost of a request is measured, theirs included. A
 * run may begin slowly; then its rate rises while no budget is short.
 */
export class RateBudget {
  rate: number;
  /** Whether requests are so far apart, because the budget is short, that the run pauses between them. */
  isPausing = false;
  #startRate: number;
  readonly #maxWaitMs: number;
  /** When the last budget was recorded, and when its window ends; Infinity without a known budget. */
  #recordedMs = Number.POSITIVE_INFINITY;
  #endMs = Number.POSITIVE_INFINITY;
  #cost = 1;
  #starts = 0;
  #mark: { readonly ms: number; readonly remaining: number; readonly starts: number } | undefined;

  /**
   * @param startRate the rate of a slow start; Infinity for none
   * @param maxWaitMs the longest pause between two requests; a budget that is shorter is left to 429
   */
  constructor(startRate: number, maxWaitMs: number) {
    this.#startRate = startRate;
    this.#maxWaitMs = Math.max(maxWaitMs, gapMaxMs);
    this.rate = startRate;
  }

  started(): void {
    this.#starts += 1;
  }

  /**
   * Records a response.
   *
   * @param stamp when its request started
   * @param left the requests that the run still has to send: a budget that is enough for them is not spread
   * @returns whether the rate has changed
   */
  record(stamp: number, isAccepted: boolean, budget: Budget | undefined, left: number, nowMs: number): boolean {
    const hasExpired = this.expire(nowMs);
    if (budget !== undefined && budget.resetMs <= windowMaxMs) return this.#spread(budget, left, nowMs) || hasExpired;
    if (!isAccepted) return hasExpired;
    if (!Number.isFinite(this.#recordedMs)) return this.#grow() || hasExpired;
    // A request that was sent after the last budget was known, and has none, shows that the budget is no longer short.
    return stamp >= this.#recordedMs && this.#forget();
  }

  /** Forgets a budget whose window is over; returns whether the rate has changed. */
  expire(nowMs: number): boolean {
    return nowMs >= this.#endMs && this.#forget();
  }

  #spread({ remaining, resetMs }: Budget, left: number, nowMs: number): boolean {
    this.#recordedMs = nowMs;
    this.#endMs = nowMs + resetMs;
    this.#measure(remaining, nowMs);
    this.isPausing = false;
    if (left * this.#cost <= spent * remaining) return this.#grow();
    // With nothing left, the next request is that of the next window.
    const gapMs = Math.max(1, resetMs) / Math.max((spent * remaining) / this.#cost, 1);
    if (gapMs > this.#maxWaitMs) return this.#forget();
    this.isPausing = gapMs > gapMaxMs;
    return this.#change(1000 / gapMs);
  }

  #measure(remaining: number, nowMs: number): void {
    const mark = this.#mark;
    const ms = nowMs - (mark?.ms ?? 0);
    const requests = this.#starts - (mark?.starts ?? 0);
    // A larger rest is that of a new window.
    const isNew = mark === undefined || remaining > mark.remaining;
    if (!isNew) {
      const isEnough = ms >= measured.ms && requests >= measured.requests;
      if (!isEnough && !(ms >= measured.longMs && requests > 0)) return;
      const cost = (mark.remaining - remaining) / requests;
      this.#cost = Math.max(0.1, Math.min(cost, costGrowthMax * Math.max(1, this.#cost)));
    }
    this.#mark = { ms: nowMs, remaining, starts: this.#starts };
  }

  /** Forgets the budget, and what a request costs of it; returns whether the rate has changed. */
  #forget(): boolean {
    this.#recordedMs = Number.POSITIVE_INFINITY;
    this.#endMs = Number.POSITIVE_INFINITY;
    this.#mark = undefined;
    this.#cost = 1;
    this.isPausing = false;
    const hasChanged = this.rate !== this.#startRate;
    this.rate = this.#startRate;
    return hasChanged;
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
 * as those to one busy node.
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

  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#firstMs = Number.NaN;
    this.#responses = 0;
    this.#throttles = 0;
  }

  started(): void {
    this.#starts += 1;
  }

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
