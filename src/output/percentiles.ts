/** Percentiles of as many numbers as one likes, in 11 kB. */

/** Numbers, counted by how large they are (after DDSketch, VLDB 2019: buckets that grow by a constant factor). */
export interface Percentiles {
  /** How many numbers were added. */
  readonly count: number;
  /** Adds a number that is not negative. */
  add(value: number): void;
  /**
   * The smallest number that at least this share of all are not above; undefined where there is none. At most 1 % off,
   * for numbers from 0.001 to 1e9: smaller ones count as 0, larger ones as 1e9.
   *
   * @param share above 0, to 1: 0.95 for the 95th percentile
   */
  at(share: number): number | undefined;
}

/** Percentiles of times, in milliseconds. */
export interface TimePercentiles {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

const range = { min: 1e-3, max: 1e9 } as const;

/** A little less than is promised, for what is lost in rounding. */
const error = 0.0099;
const growthLog = Math.log((1 + error) / (1 - error));
const bucketCount = bucketOf(range.max) + 1;

/** Makes an empty count. */
export function openPercentiles(): Percentiles {
  // Of doubles: they count further than 32 bits.
  const buckets = new Float64Array(bucketCount);
  let count = 0;
  return {
    get count() {
      return count;
    },
    add: (value) => {
      const bucket = bucketOf(Math.min(value, range.max));
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      count += 1;
    },
    at: (share) => {
      if (count === 0) return undefined;
      let left = Math.max(1, Math.ceil(share * count));
      const bucket = buckets.findIndex((size) => {
        left -= size;
        return left <= 0;
      });
      return middleOf(bucket);
    },
  };
}

/** The usual three, of times in milliseconds, to three digits; undefined where there was none. */
export function timePercentiles(times: Percentiles): TimePercentiles | undefined {
  const [p50Ms, p95Ms, p99Ms] = [0.5, 0.95, 0.99].map((share) => times.at(share));
  if (p50Ms === undefined || p95Ms === undefined || p99Ms === undefined) return undefined;
  return { p50Ms: rounded(p50Ms), p95Ms: rounded(p95Ms), p99Ms: rounded(p99Ms) };
}

/** 0 for what counts as 0, then from 1. */
function bucketOf(value: number): number {
  return value < range.min ? 0 : 1 + Math.round(Math.log(value / range.min) / growthLog);
}

/** The number that is equally far, in proportion, from both ends of a bucket. */
function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : range.min * Math.exp((bucket - 1) * growthLog);
}

function rounded(ms: number): number {
  return Number(ms.toPrecision(3));
}
