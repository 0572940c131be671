import type { Clock } from '../host.ts';

/** Wakes at a moment, one sleep at a time: the earliest that was asked for since it last did. */
export class Alarm {
  readonly #clock: Clock;
  readonly #onWake: () => void;
  #atMs = Number.POSITIVE_INFINITY;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock, onWake: () => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  /** Sees to it that it wakes at this moment of the monotonic clock, or before. */
  set(atMs: number): void {
    if (atMs >= this.#atMs) return;
    this.cancel();
    const sleeping = new AbortController();
    this.#sleeping = sleeping;
    this.#atMs = atMs;
    const woken = () => {
      this.#sleeping = undefined;
      this.#atMs = Number.POSITIVE_INFINITY;
      this.#onWake();
    };
    this.#clock.sleep(Math.max(0, atMs - this.#clock.monotonicMs()), sleeping.signal).then(woken, () => {});
  }

  /** Nothing is waited for any more. */
  cancel(): void {
    this.#sleeping?.abort();
    this.#sleeping = undefined;
    this.#atMs = Number.POSITIVE_INFINITY;
  }
}
