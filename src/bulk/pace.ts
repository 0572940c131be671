/** The pace of a run: its concurrency, its rate, and its pauses and outages. */
import type { Budget } from '../api/outcome.ts';
import { gatherMs } from './journal.ts';
import { ConcurrencySearch, RateSearch } from './pace-search.ts';
import { RateBudget, ThrottleShare } from './service-limits.ts';

/** Consecutive attempts without a response, over all rows, that are an outage (docs/decisions.md, retries-5). */
const failuresMax = 8;

/** The waits before the probes; the last one is repeated. */
const probeDelaysMs: readonly [number, ...number[]] = [5_000, 10_000, 20_000, 40_000, 60_000];

/**
 * Detects outages and schedules probes. Before the first response of a run there is no outage: the retries of rows decide.
 */
class CircuitBreaker {
  state: 'none' | 'probing' | 'gave-up' = 'none';
  endedMs = 0;
  readonly #maxWaitMs: number;
  #hasSucceeded = false;
  #failures = 0;
  // The first of the failures: when its request started, and ended.
  #firstStamp = 0;
  #firstFailureMs = 0;
  #probes = 0;
  #probeAtMs = 0;
  #probeStamp: number | undefined;
  #resumedMs = Number.NEGATIVE_INFINITY;

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  get sinceMs(): number | undefined {
    return this.state === 'none' ? undefined : this.#firstFailureMs;
  }

  get probeAtMs(): number | undefined {
    return this.state === 'probing' && this.#probeStamp === undefined ? this.#probeAtMs : undefined;
  }

  /** Milliseconds until a probe may start; Infinity while one is in flight and after giving up; 0 without an outage. */
  waitMs(nowMs: number): number {
    if (this.state === 'none') return 0;
    if (this.state === 'gave-up' || this.#probeStamp !== undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#probeAtMs - nowMs);
  }

  started(nowMs: number): void {
    if (this.state === 'probing') this.#probeStamp = nowMs;
  }

  /**
   * Records a response. One to a request sent before the first failed one does not end an outage: a slow response would let
   * every row fail that is sent while it arrives.
   */
  succeeded(stamp: number, nowMs: number): void {
    this.#hasSucceeded = true;
    if (this.#failures === 0 || stamp < this.#firstStamp || this.state === 'gave-up') return;
    this.#failures = 0;
    if (this.state === 'none') return;
    this.state = 'none';
    this.endedMs += nowMs - this.#firstFailureMs;
    this.#probeStamp = undefined;
    this.#probes = 0;
    this.#resumedMs = nowMs;
  }

  failed(stamp: number, nowMs: number): void {
    if (this.state === 'none') this.#countFailure(stamp, nowMs);
    else if (stamp === this.#probeStamp) this.#planProbe(nowMs);
  }

  /** Records an aborted request; if it was the probe, the next request takes its place. */
  aborted(stamp: number): void {
    if (stamp === this.#probeStamp) this.#probeStamp = undefined;
  }

  #countFailure(stamp: number, nowMs: number): void {
    // Requests from before the end of the last outage do not count.
    if (!this.#hasSucceeded || stamp < this.#resumedMs) return;
    if (this.#failures === 0) {
      this.#firstStamp = stamp;
      this.#firstFailureMs = nowMs;
    }
    this.#failures += 1;
    if (this.#failures < failuresMax) return;
    this.state = 'probing';
    this.#planProbe(nowMs);
  }

  #planProbe(nowMs: number): void {
    this.#probeStamp = undefined;
    const endMs = this.#firstFailureMs + this.#maxWaitMs;
    if (nowMs >= endMs) {
      this.state = 'gave-up';
      return;
    }
    const [shortestMs] = probeDelaysMs;
    const delayMs = probeDelaysMs[Math.min(this.#probes, probeDelaysMs.length - 1)] ?? shortestMs;
    // The last probe goes when the time is up.
    this.#probeAtMs = Math.max(nowMs + shortestMs, Math.min(nowMs + delayMs, endMs));
    this.#probes += 1;
  }
}

/** The bound of the first backoff; it doubles with each consecutive pause (docs/decisions.md, retries-2). */
const firstBackoffMs = 1000;
const longestBackoffMs = 20_000;

/** Pauses within this time of each other are consecutive. */
const inRowMs = 2000;

/** A floor that stops hot loops. */
const shortestMs = 100;

class ThrottlePause {
  episodes = 0;
  /** Their total duration, including the rest of the current one. */
  totalMs = 0;
  endMs = Number.NEGATIVE_INFINITY;
  #beganMs = Number.NEGATIVE_INFINITY;
  #inRow = 0;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Whether a request started before the last pause, so that its throttle is not news. */
  hadStarted(stamp: number): boolean {
    return stamp <= this.#beganMs;
  }

  /** Starts a pause of the requested time, or with backoff and full jitter (docs/decisions.md, retries-2). */
  begin(nowMs: number, retryAfterMs: number | undefined): void {
    this.#inRow = nowMs - this.endMs < inRowMs ? this.#inRow + 1 : 0;
    this.episodes += 1;
    this.#beganMs = nowMs;
    const boundMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** this.#inRow);
    this.extend(nowMs, Math.max(shortestMs, retryAfterMs ?? Math.ceil(this.#random() * boundMs)));
  }

  /** Extends the pause to this time from now; returns whether that is later than its end. */
  extend(nowMs: number, ms: number): boolean {
    const endMs = nowMs + ms;
    if (endMs <= this.endMs) return false;
    this.totalMs += endMs - Math.max(nowMs, this.endMs);
    this.endMs = endMs;
    return true;
  }
}

/** The burst, in milliseconds at the rate. */
const burstMs = 20;

/** The lateness of timers that must not reduce the rate, if less than one request is due in `burstMs`. */
const latenessMs = 2;

/** Spaces requests evenly (a leaky bucket), with a burst of 20 ms or one request. */
class RateLimiter {
  /** When the next request is due, without bursts. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #intervalMs = 0;
  #earlyMs = 0;

  setRate(perSecond: number, nowMs: number): void {
    const intervalMs = 1000 / perSecond;
    const owedMs = this.#dueMs - nowMs;
    // Keeps the number of early requests, not the wait of the old rate.
    if (owedMs > 0 && intervalMs < this.#intervalMs) this.#dueMs = nowMs + (owedMs * intervalMs) / this.#intervalMs;
    this.#intervalMs = intervalMs;
    this.#earlyMs = Math.max(latenessMs, burstMs - intervalMs);
  }

  get nextMs(): number {
    return this.#dueMs - this.#earlyMs;
  }

  waitMs(nowMs: number): number {
    return Math.max(0, this.nextMs - nowMs);
  }

  started(nowMs: number): void {
    this.#dueMs = Math.max(this.#dueMs, nowMs) + this.#intervalMs;
  }
}

/**
 * How a request ended: 'accepted' is any complete response that is neither of the next two, a refusal too; 'throttled'
 * is 429, or 503 with Retry-After; 'no-response' is no connection, no response or a broken one, 500, 502, 504 and a bare
 * 503; 'aborted' is what the run itself broke off, which says nothing of the service.
 */
export type PaceEnd = 'accepted' | 'throttled' | 'no-response' | 'aborted';

/** Shorter waits are what is left of a wait that a sum of fractions missed. */
const noWaitMs = 1e-6;

/** The fewest and most rows whose intents are written before their turn to be sent. */
const writeAheadRows = { min: 64, max: 1024 } as const;

/** The longest time of a row between its file and its turn, apart from the sync of its intent, in milliseconds. */
const slackMs = 10;

/**
 * The pace of one run. It has no clock and no timer: `nowMs` is monotonic milliseconds, may be fractional, never goes
 * back. The runner's loop is:
 *
 *     while (inFlight < pace.limit && (waitMs = pace.waitMs(now())) === 0) send a row;
 *     wait until a request ends, or for waitMs if that is finite;
 *     if (pace.outage === 'gave-up') end the run;
 *
 * Every `started` is followed by one `ended` with its stamp.
 */
export class Pace {
  readonly #concurrency: ConcurrencySearch;
  #search: RateSearch;
  readonly #throttles = new ThrottleShare();
  readonly #limiter = new RateLimiter();
  readonly #pause: ThrottlePause;
  readonly #breaker: CircuitBreaker;
  readonly #rateMax: number;
  readonly #budget: RateBudget;
  readonly #left: () => number;
  /** The maximum number of requests that start a second; Infinity without a known limit. */
  ratePerSecond = Number.POSITIVE_INFINITY;
  #inFlight = 0;
  #isPaused = false;

  /**
   * @param options `limitMax`: --concurrency, at least 1; `ratePerSecond`: --rate; `startPerSecond`: the rate of a slow
   *   start, without --rate; `left`: the rows that are still to be sent; `maxWaitMs`: --max-wait, after which an outage ends
   *   the run, and the longest pause for a short budget
   * @param random gives a number from 0 up to 1
   */
  constructor(
    options: {
      readonly limitMax: number;
      readonly ratePerSecond?: number | undefined;
      readonly startPerSecond?: number | undefined;
      readonly left?: (() => number) | undefined;
      readonly maxWaitMs: number;
    },
    random: () => number,
  ) {
    const { limitMax, ratePerSecond = Number.POSITIVE_INFINITY, startPerSecond, left, maxWaitMs } = options;
    this.#concurrency = new ConcurrencySearch(limitMax);
    this.#search = new RateSearch(ratePerSecond);
    this.#pause = new ThrottlePause(random);
    this.#breaker = new CircuitBreaker(maxWaitMs);
    this.#rateMax = ratePerSecond;
    this.#left = left ?? (() => Number.POSITIVE_INFINITY);
    const startRate = Number.isFinite(ratePerSecond) ? ratePerSecond : (startPerSecond ?? ratePerSecond);
    this.#budget = new RateBudget(startRate, maxWaitMs);
    this.#applyRate(0);
  }

  /** The maximum number of concurrent requests now, at least 1. It may fall below the number in flight. */
  get limit(): number {
    return this.#throttles.slotsOf(this.#concurrency.limit);
  }

  /** The end of a pause after throttles, or for a short budget; undefined without one. May be past until the next `waitMs`. */
  get pausedUntilMs(): number | undefined {
    if (this.#isPaused) return this.#pause.endMs;
    return this.#budget.isPausing && this.ratePerSecond === this.#budget.rate ? this.#limiter.nextMs : undefined;
  }

  get throttledMs(): number {
    return this.#pause.totalMs;
  }

  /** The number of pauses; one that was extended counts once. */
  get episodes(): number {
    return this.#pause.episodes;
  }

  /** 'probing' while the service does not respond and one request at a time is sent; 'gave-up' is final. */
  get outage(): CircuitBreaker['state'] {
    return this.#breaker.state;
  }

  /** When the outage began; undefined without one. */
  get outageSinceMs(): number | undefined {
    return this.#breaker.sinceMs;
  }

  /** When the service is tried next in an outage; undefined without one, and while it is tried. */
  get probeAtMs(): number | undefined {
    return this.#breaker.probeAtMs;
  }

  /** The duration of all outages, including the current one. */
  outageMs(nowMs: number): number {
    const { sinceMs, endedMs } = this.#breaker;
    return endedMs + (sinceMs === undefined ? 0 : nowMs - sinceMs);
  }

  /** How long nothing was sent because of pauses and outages. */
  pausedMs(nowMs: number): number {
    const restMs = this.#isPaused ? Math.max(0, this.#pause.endMs - nowMs) : 0;
    return this.#pause.totalMs - restMs + this.outageMs(nowMs);
  }

  /**
   * The most rows whose intents are written before their turn to be sent: enough to hide the time of a sync, but no more
   * than can be sent, since each of them may be in doubt after a crash.
   *
   * @param sentPerMs the rate of the run so far
   */
  writeAheadMax(syncMs: number, sentPerMs: number): number {
    const hidden = Math.ceil(2 * (gatherMs.usual + syncMs) * sentPerMs);
    const most = Math.min(writeAheadRows.max, Math.max(writeAheadRows.min, 2 * this.limit, hidden));
    return Math.min(most, Math.ceil((this.ratePerSecond / 1000) * (2 * syncMs + slackMs)));
  }

  /**
   * Milliseconds until the next request may start, given that fewer than `limit` are in flight. Infinity if only an end
   * can change it: a probe is in flight, or the run was given up. In an outage one request may start, as the probe.
   */
  waitMs(nowMs: number): number {
    if (this.#budget.expire(nowMs)) this.#applyRate(nowMs);
    const ms = this.#limiter.waitMs(nowMs);
    const closedMs = this.#isPaused || this.#breaker.state !== 'none' ? this.#blockedMs(nowMs) : 0;
    if (closedMs > 0) this.#concurrency.skipRound();
    return ms > noWaitMs || closedMs > 0 ? Math.max(ms, closedMs) : 0;
  }

  /** Records the start of a request; returns the stamp to pass with its end. */
  started(nowMs: number): number {
    this.#inFlight += 1;
    this.#limiter.started(nowMs);
    this.#search.started(nowMs);
    this.#budget.started();
    this.#throttles.started();
    this.#concurrency.started(this.#inFlight, nowMs);
    this.#breaker.started(nowMs);
    return nowMs;
  }

  /**
   * Records the end of a request.
   *
   * @param retryAfterMs of a throttled one: the wait that the service asked for, with jitter; without it the pace backs off
   * @param budget in the headers of the response
   */
  ended(stamp: number, end: PaceEnd, nowMs: number, retryAfterMs?: number, budget?: Budget): void {
    this.#inFlight -= 1;
    if (this.#budget.record(stamp, end === 'accepted', budget, this.#left(), nowMs)) this.#applyRate(nowMs);
    switch (end) {
      case 'accepted':
        this.#breaker.succeeded(stamp, nowMs);
        this.#concurrency.accepted(nowMs, this.ratePerSecond);
        this.#accepted(stamp, nowMs);
        break;
      case 'throttled':
        this.#breaker.succeeded(stamp, nowMs);
        this.#throttled(stamp, nowMs, retryAfterMs);
        break;
      case 'no-response':
        this.#breaker.failed(stamp, nowMs);
        break;
      case 'aborted':
        this.#breaker.aborted(stamp);
    }
  }

  #accepted(stamp: number, nowMs: number): void {
    this.#throttles.accepted(stamp);
    const { isChecking, share } = this.#search;
    if (!this.#search.accepted(stamp, nowMs)) return;
    // A single check may miss rare strays that others have seen.
    if (isChecking && !this.#search.isChecking) this.#throttles.stray = Math.max(share, this.#throttles.stray / 2);
    this.#applyRate(nowMs);
  }

  #throttled(stamp: number, nowMs: number, retryAfterMs: number | undefined): void {
    if (this.#pause.hadStarted(stamp)) {
      if (retryAfterMs === undefined || !this.#pause.extend(nowMs, retryAfterMs)) return;
      this.#isPaused = true;
      return;
    }
    const isRefusing = this.#throttles.throttled(stamp, nowMs);
    const { isChecking } = this.#search;
    // During a search, the first throttle shows that a rate is too high, unless there are known strays.
    const isLimit = this.#search.rate < Number.POSITIVE_INFINITY && this.#throttles.stray === 0;
    if (isRefusing || (isLimit && !isChecking)) this.#beginPause(nowMs, retryAfterMs);
    else if (!isChecking && this.#throttles.excess(nowMs) > 0) this.#check(nowMs);
    else if (this.#search.strayed(stamp)) this.#forgive(nowMs);
    // The rate of half of the slots does not show that of all.
    if (2 * this.limit <= this.#concurrency.limit) this.#concurrency.skipRound();
  }

  #beginPause(nowMs: number, retryAfterMs: number | undefined): void {
    this.#pause.begin(nowMs, retryAfterMs);
    const sustained = this.#concurrency.stepBack(nowMs);
    if (sustained > 0) this.#search.spared(sustained, nowMs, this.#pause.endMs);
    else if (this.#search.throttled(nowMs, this.#pause.endMs)) this.#concurrency.cut();
    this.#applyRate(nowMs);
    this.#throttles.begin(this.#pause.endMs);
    this.#isPaused = true;
  }

  #check(nowMs: number): void {
    this.#concurrency.stepBack(nowMs);
    this.#search.check(this.#throttles.excess(nowMs), this.#throttles.sentPerSecond(nowMs), nowMs);
    this.#applyRate(nowMs);
  }

  /** Searches anew, after a check has shown that throttles are strays. */
  #forgive(nowMs: number): void {
    this.#throttles.stray = this.#search.share;
    this.#search = new RateSearch(this.#rateMax);
    this.#concurrency.resume(nowMs);
    this.#applyRate(nowMs);
  }

  #blockedMs(nowMs: number): number {
    const pausedMs = this.#pause.endMs - nowMs;
    this.#isPaused &&= pausedMs > noWaitMs;
    const ms = Math.max(this.#isPaused ? pausedMs : 0, this.#breaker.waitMs(nowMs));
    return ms > noWaitMs ? ms : 0;
  }

  #applyRate(nowMs: number): void {
    const rate = Math.min(this.#rateMax, this.#search.rate, this.#budget.rate);
    if (rate !== this.ratePerSecond) this.#throttles.begin(nowMs);
    this.ratePerSecond = rate;
    this.#search.stray = this.#throttles.stray;
    this.#throttles.isChecking = this.#search.isChecking;
    this.#limiter.setRate(this.ratePerSecond, nowMs);
  }
}
