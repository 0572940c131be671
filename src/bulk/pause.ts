/** The one pause that all rows share when the service throttles. */

/** The bound of the first wait that nobody asked for; it doubles with each pause in a row, up to the longest. */
const firstBackoffMs = 1000;
const longestBackoffMs = 20_000;

/** Pauses that follow each other within so much time are in a row. */
const inRowMs = 2000;

/** A floor that stops hot loops. */
const shortestMs = 100;

/** When a run is paused. All times are those that the caller tells. */
export class Pause {
  /** How many pauses there were. */
  episodes = 0;
  /** What they took in all, the rest of the present one included. */
  totalMs = 0;
  /** When the last one ends, or ended. */
  endMs = Number.NEGATIVE_INFINITY;
  #beganMs = Number.NEGATIVE_INFINITY;
  #inRow = 0;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Whether a request that started at `stamp` was under way when the last pause began: it says nothing new. */
  foresaw(stamp: number): boolean {
    return stamp <= this.#beganMs;
  }

  /** Begins a pause, for as long as was asked; where nothing was, by backoff with full jitter (reliability, C3). */
  begin(nowMs: number, askedMs: number | undefined): void {
    this.#inRow = nowMs - this.endMs < inRowMs ? this.#inRow + 1 : 0;
    this.episodes += 1;
    this.#beganMs = nowMs;
    const boundMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** this.#inRow);
    this.extend(nowMs, Math.max(shortestMs, askedMs ?? Math.ceil(this.#random() * boundMs)));
  }

  /** Makes it last for so long from now on, and gives whether it would have ended before. */
  extend(nowMs: number, ms: number): boolean {
    const endMs = nowMs + ms;
    if (endMs <= this.endMs) return false;
    this.totalMs += endMs - Math.max(nowMs, this.endMs);
    this.endMs = endMs;
    return true;
  }
}
