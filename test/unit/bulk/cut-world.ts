/** What a run is sent to in memory, and by whom, for runs that are cut off. */
import type { AttemptResult } from '../../../src/api/attempts.ts';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import type { Sender } from '../../../src/bulk/task.ts';
import { Failure } from '../../../src/core/errors.ts';
import type { Clock } from '../../../src/core/host.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { hashFor } from './journal-samples.ts';

/** A row: its number is all there is. */
export interface Row {
  readonly number: number;
}

/** A service in memory. It has power all the time: what was sent to it may be carried out after ours is gone. */
export class Service {
  readonly items = new Map<string, Row>();
  readonly #ids = new Map<string, string>();
  readonly #honorsKeys: boolean;

  constructor(honorsKeys: boolean) {
    this.#honorsKeys = honorsKeys;
  }

  create(row: Row, key: string): string {
    const earlier = this.#honorsKeys ? this.#ids.get(key) : undefined;
    if (earlier !== undefined) return earlier;
    const id = `item-${this.items.size + 1}`;
    this.items.set(id, row);
    this.#ids.set(key, id);
    return id;
  }
}

/** What is the same for all sessions of a run. */
export interface World {
  readonly random: SeededRandom;
  readonly service: Service;
  readonly honorsKeys: boolean;
  readonly rows: number;
  readonly limit: number;
  /** What the disk's calls are replaced by, to see what that would lead to. */
  readonly change: (io: JournalIo) => JournalIo;
  /** What a session says that it sends at once, where that is not the truth. */
  readonly limitSaid: number | undefined;
  readonly printed: Map<number, string>;
  /** Called whenever something has happened: a write, a sync, a request that was sent, an answer. */
  moment: () => void;
}

/** What a test may change, to see that it would be seen. */
export type Mutant = Partial<Pick<World, 'change' | 'limitSaid'>>;

/** Sends rows to the service of this world, until it is cut off. */
export function senderOf(world: World, cut: AbortSignal): Sender<Row, string> {
  let keys = 0;
  const session = world.random.whole(1e9);
  return {
    isRead: false,
    newKey: () => {
      keys += 1;
      return `key-${session}-${keys}`;
    },
    hashOf: ({ number }) => hashFor(number),
    begin: (row, key) => ({ attempt: () => (cut.aborted ? deadEnd : attempt(world, row, key ?? '')) }),
    toRecord: (_, id) => ({ id, etag: undefined }),
  };
}

/** What is dead sends nothing. */
const deadEnd = new Promise<never>(() => {});

/** One request; it stays in flight even if its sender is killed. */
async function attempt(world: World, row: Row, key: string): Promise<AttemptResult<string>> {
  const { service, random, honorsKeys } = world;
  const [luck, isApplied] = [random.next(), random.next() < 0.5];
  const isLost = luck < 0.03;
  world.moment();
  if (!isLost && luck < 0.06) return notDone('refused', 'throttled', 5);
  await turns(random.whole(6));
  const id = isLost && !isApplied ? undefined : service.create(row, key);
  world.moment();
  if (isLost || id === undefined) return notDone('unknown', 'unreachable', honorsKeys ? 5 : undefined);
  await turns(random.whole(6));
  return { isDone: true, outcome: 'applied', service: 'ok', tookMs: 1, value: id };
}

function notDone(
  outcome: 'refused' | 'unknown',
  service: 'throttled' | 'unreachable',
  waitMs: number | undefined,
): AttemptResult<string> {
  const failure = () =>
    outcome === 'unknown' ? new Failure('in-doubt', 'lost', { outcome }) : new Failure('unavailable', 'throttled');
  return {
    isDone: false,
    outcome,
    service,
    tookMs: 1,
    waitMs,
    isRetryAfter: service === 'throttled',
    scope: 'row',
    failure,
  };
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await new Promise(setImmediate);
}

/** Time that passes as fast as it is waited for; for a killed process it stops. */
export function hurriedClock(cut: AbortSignal): Clock {
  let passedMs = 0;
  return {
    now: () => Date.now(),
    monotonicMs: () => {
      passedMs += 0.05;
      return passedMs;
    },
    sleep: async (ms) => {
      const untilMs = passedMs + ms;
      await turns(1 + Math.min(10, Math.ceil(ms)));
      if (cut.aborted) return deadEnd;
      passedMs = Math.max(passedMs, untilMs);
      return undefined;
    },
    every: () => () => {},
  };
}
