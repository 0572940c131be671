/** When a run asks whether the service is back, instead of sending it its rows (reliability, C3). */

/** So many attempts in a row without an answer, over all rows, are an outage. */
const failuresMax = 8;

/** The waits before the probes; the last one is repeated. */
const probeDelaysMs: readonly [number, ...number[]] = [5_000, 10_000, 20_000, 40_000, 60_000];

/**
 * Whether the service is gone. Before the first answer of a run it never is: then the rows' own retries decide. All
 * times are those that the caller tells.
 */
export class Outage {
  /** 'probing' while one probe at a time asks for the service; 'gave-up' is for good. */
  state: 'none' | 'probing' | 'gave-up' = 'none';
  readonly #maxWaitMs: number;
  #wasAnswered = false;
  #failures = 0;
  // The first of the failures: when its request started, and ended.
  #firstStamp = 0;
  #firstFailureMs = 0;
  #probes = 0;
  #probeAtMs = 0;
  /** When the probe that is under way started. */
  #probeStamp: number | undefined;
  #resumedMs = Number.NEGATIVE_INFINITY;

  /** @param maxWaitMs for how long nothing may come but failures; at the first probe to fail after that it gives up */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** When the first attempt of the outage failed; undefined while there is none. */
  get sinceMs(): number | undefined {
    return this.state === 'none' ? undefined : this.#firstFailureMs;
  }

  /** Milliseconds until a probe may start; Infinity while one is under way, and once it gave up. 0 without an outage. */
  waitMs(nowMs: number): number {
    if (this.state === 'none') return 0;
    if (this.state === 'gave-up' || this.#probeStamp !== undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#probeAtMs - nowMs);
  }

  /** A request starts: in an outage it is the probe. */
  started(nowMs: number): void {
    if (this.state === 'probing') this.#probeStamp = nowMs;
  }

  /**
   * A request that started at `stamp` was answered, the probe or another. Where it was sent before the first that
   * failed, it may be the last thing that the service did: a slow answer would else let every row fail that is sent
   * while it comes in.
   */
  answered(stamp: number, nowMs: number): void {
    this.#wasAnswered = true;
    if (this.#failures === 0 || stamp < this.#firstStamp || this.state === 'gave-up') return;
    this.#failures = 0;
    if (this.state === 'none') return;
    this.state = 'none';
    this.#probeStamp = undefined;
    this.#probes = 0;
    this.#resumedMs = nowMs;
  }

  /** A request that started at `stamp` ended without one. */
  failed(stamp: number, nowMs: number): void {
    if (this.state === 'none') this.#countFailure(stamp, nowMs);
    else if (stamp === this.#probeStamp) this.#planProbe(nowMs);
  }

  /** A request was broken off: where it was the probe, the next one takes its place. */
  aborted(stamp: number): void {
    if (stamp === this.#probeStamp) this.#probeStamp = undefined;
  }

  #countFailure(stamp: number, nowMs: number): void {
    // What was sent before the last outage ended says nothing of the service as it is now.
    if (!this.#wasAnswered || stamp < this.#resumedMs) return;
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
    // The last probe goes when the time is up, so that the run never ends before that.
    this.#probeAtMs = Math.max(nowMs + shortestMs, Math.min(nowMs + delayMs, endMs));
    this.#probes += 1;
  }
}
