/** Things that wait for their moment, the soonest first. */
export class WaitingRows<T> {
  readonly #all: { readonly atMs: number; readonly value: T }[] = [];

  get size(): number {
    return this.#all.length;
  }

  /** When the first one is due; Infinity where there is none. */
  get dueAtMs(): number {
    return this.#all[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Of two for the same moment the first that was added comes first. */
  add(value: T, atMs: number): void {
    let low = 0;
    for (let high = this.#all.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#all[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    this.#all.splice(low, 0, { atMs, value });
  }

  /** Takes the first one whose moment has come. */
  take(nowMs: number): T | undefined {
    return this.dueAtMs <= nowMs ? this.#all.shift()?.value : undefined;
  }

  /** Takes all, due or not. */
  takeAll(): readonly T[] {
    return this.#all.splice(0).map(({ value }) => value);
  }
}
