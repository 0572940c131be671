/** Rows over the time of a run, counted in steps of the same length: the longer it took, the longer they are. */
export interface RateSteps {
  /** A row ended, so long after the start. */
  addRow(atMs: number): void;
  /** The run waited, since it was throttled. */
  addPause(fromMs: number, toMs: number): void;
  /** The rate of each step, and whether any of it was throttled. */
  end(totalMs: number): { readonly ratePerSecond: readonly number[]; readonly throttled: readonly boolean[] };
}

/** More steps than that say no more to a person, and fill the output of a run that took a day. */
const stepsMax = 120;
const firstStepMs = 100;

/** Makes an empty count. */
export function openRateSteps(): RateSteps {
  let stepMs = firstStepMs;
  let rows: number[] = [];
  let pauses: boolean[] = [];
  const indexOf = (atMs: number) => {
    while (Math.floor(atMs / stepMs) >= stepsMax) {
      rows = inPairs(rows).map(([one = 0, other = 0]) => one + other);
      pauses = inPairs(pauses).map(([one = false, other = false]) => one || other);
      stepMs *= 2;
    }
    return Math.floor(atMs / stepMs);
  };
  return {
    addRow: (atMs) => {
      const index = indexOf(atMs);
      rows[index] = (rows[index] ?? 0) + 1;
    },
    addPause: (fromMs, toMs) => {
      // The last one first: it may make the steps longer.
      const last = indexOf(toMs);
      for (let index = indexOf(fromMs); index <= last; index += 1) pauses[index] = true;
    },
    end: (totalMs) => {
      if (rows.length + pauses.length === 0) return { ratePerSecond: [], throttled: [] };
      const last = indexOf(Math.max(0, totalMs - 1));
      const count = Math.max(rows.length, pauses.length, last + 1);
      const ratePerSecond = Array.from({ length: count }, (_, index) => {
        // The last one is shorter; but a part of a step that is too short would look like a peak.
        const lengthMs = Math.max(stepMs / 2, Math.min(stepMs, totalMs - index * stepMs));
        return Number((((rows[index] ?? 0) * 1000) / lengthMs).toPrecision(3));
      });
      return { ratePerSecond, throttled: Array.from({ length: count }, (_, index) => pauses[index] === true) };
    },
  };
}

function inPairs<T>(values: readonly (T | undefined)[]): (readonly (T | undefined)[])[] {
  return Array.from({ length: Math.ceil(values.length / 2) }, (_, index) => [values[2 * index], values[2 * index + 1]]);
}
