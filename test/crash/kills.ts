/** When a session of a run is killed, and which process; and the kill itself: SIGKILL. */
import { pick, type SeededRandom } from '../support/seeded-random.ts';
import type { ServedDirectory } from '../support/served-directory.ts';
import type { ClientProcess } from './client.ts';
import type { Wire } from './fault-proxy.ts';
import type { ModeName } from './modes.ts';

/** A kill; `both` are killed at the same moment, `service-first` the client while the service is down or just back. */
export interface KillPlan {
  readonly kind: 'client' | 'service' | 'both' | 'service-first';
  /** The time after the start of the session, or the number of its writes that have reached the service. */
  readonly at: { readonly ms: number } | { readonly writes: number; readonly thenMs: number };
  /** After that, until the client is killed as well. */
  readonly laterMs: number;
}

/** How long a run takes without kills. */
export interface RunTime {
  /** From the start to the first request. */
  readonly startMs: number;
  /** From the first request to the end. */
  readonly workMs: number;
}

export interface SessionAhead {
  readonly mode: ModeName;
  readonly time: RunTime;
  readonly left: number;
  /** How many writes that may be. */
  readonly writes: number;
}

type Shares = readonly (readonly [KillPlan['kind'], number])[];

/** A service that is killed alone holds a run up for 5 s, so that is the rare one. */
const shares: Shares = [
  ['client', 0.7],
  ['service', 0.04],
  ['both', 0.18],
  ['service-first', 0.08],
];

/** Here the service is under test, and its end is not waited for. */
const sharesOfService: Shares = [
  ['client', 0.25],
  ['service', 0.3],
  ['both', 0.35],
  ['service-first', 0.1],
];

/** By the clock many kills hit a start, a read or a wait: those among the writes find more, and are reproducible. */
const shareByClock = 0.4;

/** From a request's coming to what its answer leaves behind. */
const oneWriteMs = 6;

/** Plans the kill of one session, at a moment that is uniform over its time, or over its writes. */
export function planKill({ mode, time, left, writes }: SessionAhead, random: SeededRandom): KillPlan {
  const [luck, clock, moment, later] = [random.next(), random.next(), random.next(), random.next()];
  const kind = pick(luck, mode === 'service' ? sharesOfService : shares) ?? 'client';
  const tookMs = time.startMs + time.workMs * left;
  const at =
    clock < shareByClock
      ? { ms: moment * tookMs }
      : { writes: 1 + Math.floor(moment * writes), thenMs: later * oneWriteMs };
  return { kind, at, laterMs: later * tookMs };
}

/** Kills whom the plan says, unless the session is at its end before; gives how often the service was killed. */
export async function carryOutKill(
  { kind, at, laterMs }: KillPlan,
  running: ClientProcess,
  { service, wire }: { readonly service: ServedDirectory; readonly wire: Wire },
): Promise<number> {
  let hasEnded = false;
  const ended = running.finally(() => {
    hasEnded = true;
  });
  const moment = 'ms' in at ? sleep(at.ms) : wire.writesCame(at.writes).then(() => sleep(at.thenMs));
  await Promise.race([moment, ended]);
  if (hasEnded) return 0;
  if (kind === 'client' || kind === 'both') running.kill('SIGKILL');
  if (kind === 'client') return 0;
  await Promise.all([service.kill(), wire.goDown()]);
  const killed = kind === 'service-first' ? sleep(laterMs).then(() => running.kill('SIGKILL')) : undefined;
  await service.start();
  await wire.comeUp();
  await killed;
  return 1;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
