/** What the points of a scenario came to. */
export interface TortureEnd {
  readonly name: string;
  /** Runs in which something failed below the scenario's directory. */
  readonly hits: number;
  /** How often listctl ended how in those. */
  readonly exitCodes: ReadonlyMap<number | undefined, number>;
  readonly tookMs: number;
  /** What does not hold, with the fault that it does not hold under; none where all is well. */
  readonly broken: readonly string[];
}

/** Counts, while points are run. */
export class Tally {
  readonly #name: string;
  readonly #startedAtMs = performance.now();
  readonly #exitCodes = new Map<number | undefined, number>();
  readonly #broken: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** A run in which something failed has ended so. */
  hit(exitCode: number | undefined): void {
    this.#exitCodes.set(exitCode, (this.#exitCodes.get(exitCode) ?? 0) + 1);
  }

  /** These do not hold under a fault. */
  breaks(fault: string, sentences: readonly string[]): void {
    for (const sentence of sentences) this.#broken.push(`${fault}: ${sentence}`);
  }

  end(): TortureEnd {
    return {
      name: this.#name,
      hits: [...this.#exitCodes.values()].reduce((sum, count) => sum + count, 0),
      exitCodes: this.#exitCodes,
      tookMs: performance.now() - this.#startedAtMs,
      broken: this.#broken,
    };
  }
}
