import { kept } from './rate-search.ts';

/** A run starts with so many requests under way. */
const firstLimit = 4;

/** How much more rows a second are a rise, and how much less than the most are as good. */
const rise = 1.1;
const asGood = 0.97;

/** So many rounds without a rise end a search: after one alone a slow moment would hold the run where it is. */
const missesMax = 2;

/** A round is never shorter: what takes less says more of our own moment than of the service. */
const roundMs = 2;
/** A later search has time for a longer look. */
const laterRoundMs = 200;

/** The first search was quick, so a second one soon looks at what it found. */
const secondMs = 100;
/** When any other search begins; after each that was throttled it takes twice as long, up to the longest. */
const againMs = 10_000;
const againMostMs = 320_000;

/** What is left of a limit that may be too high. */
const cut = 0.7;

/**
 * Finds how many requests under way the service makes something of: doubles them while rows a second rise. It goes by
 * the rate, not by latency, since that of many services grows while their rate still does. All times are those that the
 * caller tells.
 */
export class ConcurrencySearch {
  /** How many requests may be under way. */
  limit: number;
  readonly #limitMax: number;
  #isOn = true;
  #isFirst = true;
  #beginMs = 0;
  #againMs = againMs;
  // The round under way.
  #sinceMs = Number.NaN;
  #count = 0;
  #isFull = false;
  #wasHeldBack = false;
  // The last round with a rise, and those without one since.
  #baseLimit = 0;
  #baseRate = 0;
  #misses = 0;
  #missLimit = 0;
  #missRate = 0;

  /** @param limitMax where it ends, at least 1 */
  constructor(limitMax: number) {
    this.#limitMax = limitMax;
    this.limit = Math.min(firstLimit, limitMax);
  }

  /** A request starts, and so many are under way with it. */
  started(underWay: number, nowMs: number): void {
    if (underWay >= this.limit) this.#isFull = true;
    // The first round begins here: until the first request nothing can end.
    if (Number.isNaN(this.#sinceMs)) this.#sinceMs = nowMs;
  }

  /** A pause or an outage holds the next request back, so this round says nothing of the limit. */
  heldBack(): void {
    this.#wasHeldBack = true;
  }

  /**
   * A request was answered.
   *
   * @param allowed how many may start a second: where nearly as many do, the limit is not what holds them back
   */
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
    // That is a round trip at least: after a doubling only half of them were under way.
    if (this.#count < this.limit) return;
    if (nowMs - this.#sinceMs < (this.#isFirst ? roundMs : laterRoundMs)) return;
    const rate = (1000 * this.#count) / (nowMs - this.#sinceMs);
    if (this.#isFull && !this.#wasHeldBack && rate < kept * allowed) this.#judge(rate, nowMs);
    this.#beginRound(nowMs);
  }

  /**
   * The service throttled. Where a search is raising the limit, it is taken back to the last one that was borne, since
   * that may be all that was wrong. It stays where it is else.
   *
   * @returns how many rows a second were done at the limit that it was taken back to; 0 where it stays
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

  /** Takes the limit down, where fewer requests a second were of no help. */
  cut(): void {
    this.limit = Math.max(1, Math.floor(this.limit * cut));
  }

  /** What was throttled had nothing to do with it: looks again at once. */
  resume(nowMs: number): void {
    this.#beginMs = nowMs;
  }

  #beginRound(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#count = 0;
    this.#isFull = false;
    this.#wasHeldBack = false;
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
