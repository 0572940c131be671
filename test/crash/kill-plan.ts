/** When a session of a run is killed, and who is. */
import type { SeededRandom } from './seeded-random.ts';

/** A kill; `both` are killed at the same moment, `service-first` the client while the service is down or just back. */
export interface KillPlan {
  readonly kind: 'client' | 'service' | 'both' | 'service-first';
  /** After the start of the session. */
  readonly atMs: number;
  /** After that, until the client is killed as well. */
  readonly laterMs: number;
}

/** How long a run takes that nobody kills. */
export interface RunTime {
  /** From the start to the first request. */
  readonly startMs: number;
  /** From the first request to the end. */
  readonly workMs: number;
}

/** A service that is killed alone holds a run up for 5 s, so that is the rare one. */
const shares: readonly (readonly [KillPlan['kind'], number])[] = [
  ['client', 0.78],
  ['service', 0.04],
  ['both', 0.12],
  ['service-first', 0.06],
];

/**
 * Plans the kill of one session, at a moment that is uniform over the time that it will take.
 *
 * @param left the share of the rows that are still to do
 */
export function planKill({ startMs, workMs }: RunTime, left: number, random: SeededRandom): KillPlan {
  const [luck, moment, later] = [random.next(), random.next(), random.next()];
  let below = 0;
  const [kind] = shares.find(([, share]) => {
    below += share;
    return luck < below;
  }) ?? ['client'];
  const tookMs = startMs + workMs * left;
  return { kind, atMs: moment * tookMs, laterMs: later * tookMs };
}
