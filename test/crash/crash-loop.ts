/** Rounds, one after the other, until so many processes were killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, listctlClient } from './client.ts';
import type { RoundCounts } from './invariants.ts';
import type { RunTime } from './kill-plan.ts';
import { type ModeName, modeNames } from './modes.ts';
import { type RoundEnd, runRound } from './round.ts';
import { seededRandom } from './seeded-random.ts';
import { serveFolder } from './served-folder.ts';

/** What a loop is asked for. */
export interface LoopOptions {
  readonly seed: number;
  /** How many processes are to be killed, in all modes together. */
  readonly kills: number;
  readonly modes?: readonly ModeName[];
  /** listctl, unless another one is to be looked at. */
  readonly client?: Client;
  /** The rows of a round: at least, and at most. */
  readonly rows?: readonly [min: number, max: number];
  /** Goes on after a round that breaks, to count how many do. */
  readonly goesOn?: boolean;
  /** Told what each mode came to. */
  readonly onEnd?: (end: LoopEnd) => void;
}

/** What the rounds of a mode came to. */
export interface LoopEnd {
  readonly mode: ModeName;
  readonly rounds: number;
  readonly sessions: number;
  readonly rows: number;
  readonly kills: { readonly client: number; readonly service: number };
  readonly counts: RoundCounts;
  readonly causes: ReadonlyMap<string, number>;
  readonly tookMs: number;
  /** What does not hold, with the round that it does not hold in; none where all is well. */
  readonly broken: readonly string[];
  /** What is left of a round that broke; undefined where none did. */
  readonly evidence: string | undefined;
}

/** Runs the loop, mode by mode; a mode ends with the first round that breaks. */
export async function crashLoop(options: LoopOptions): Promise<readonly LoopEnd[]> {
  const { modes = modeNames, kills } = options;
  const ends: LoopEnd[] = [];
  for (const [at, mode] of modes.entries()) {
    const share = Math.floor((kills * (at + 1)) / modes.length) - Math.floor((kills * at) / modes.length);
    const end = await loopMode(mode, share, options);
    ends.push(end);
    options.onEnd?.(end);
  }
  return ends;
}

async function loopMode(mode: ModeName, killsMax: number, options: LoopOptions): Promise<LoopEnd> {
  const { seed, client = listctlClient, rows: [rowsMin, rowsMax] = [200, 400], goesOn = false } = options;
  const startedAtMs = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'listctl-crash-'));
  const service = await serveFolder(join(folder, 'items'));
  const times = quickestTimes();
  let end: LoopEnd = { ...nothing, mode };
  try {
    while (end.kills.client + end.kills.service < killsMax && (goesOn || end.broken.length === 0)) {
      const name = `${mode}-${end.rounds}`;
      const random = seededRandom(seed).branch(name);
      const rows = rowsMin + random.whole(rowsMax - rowsMin + 1);
      const concurrency = 8 + random.whole(9);
      const throttles = random.next() < throttledShare;
      const left = killsMax - end.kills.client - end.kills.service;
      const round = await runRound({
        ...{ client, service, mode, rows, concurrency, throttles, random, list: name, folder: join(folder, name) },
        killsMax: Math.min(left, 2 + random.whole(7)),
        time: times.of(throttles, rows),
      });
      times.learn(throttles, rows, round.time);
      end = added(end, round, rows, name);
      if (round.broken.length === 0 || goesOn) await rm(join(folder, name), { recursive: true });
    }
  } finally {
    await service.kill();
    if (end.broken.length === 0 || goesOn) await rm(folder, { recursive: true });
  }
  const evidence = end.broken.length === 0 || goesOn ? undefined : folder;
  return { ...end, evidence, tookMs: performance.now() - startedAtMs };
}

/** So many of the rounds are throttled: those take ten times as long. */
const throttledShare = 0.1;

/** How long runs take at least, with and without being throttled: undefined until one was seen to its end. */
function quickestTimes() {
  const known = new Map<boolean, { readonly startMs: number; readonly rowMs: number }>();
  return {
    of: (throttles: boolean, rows: number): RunTime | undefined => {
      const time = known.get(throttles);
      return time && { startMs: time.startMs, workMs: time.rowMs * rows };
    },
    learn: (throttles: boolean, rows: number, time: RunTime | undefined) => {
      const rowMs = time === undefined ? Number.POSITIVE_INFINITY : time.workMs / rows;
      if (time !== undefined && rowMs < (known.get(throttles)?.rowMs ?? Number.POSITIVE_INFINITY)) {
        known.set(throttles, { startMs: time.startMs, rowMs });
      }
    },
  };
}

const nothing: Omit<LoopEnd, 'mode'> = {
  ...{ rounds: 0, sessions: 0, rows: 0, tookMs: 0, broken: [], evidence: undefined, causes: new Map() },
  kills: { client: 0, service: 0 },
  counts: { lost: 0, doubled: 0, phantom: 0, inDoubt: 0, inDoubtApplied: 0, unanswered: 0 },
};

function added(end: LoopEnd, round: RoundEnd, rows: number, name: string): LoopEnd {
  return {
    ...end,
    rounds: end.rounds + 1,
    sessions: end.sessions + round.sessions,
    rows: end.rows + rows,
    kills: sumOf(end.kills, round.kills),
    counts: sumOf(end.counts, round.counts),
    causes: new Map(Object.entries(sumOf(Object.fromEntries(end.causes), Object.fromEntries(round.causes)))),
    broken: [...end.broken, ...round.broken.map((sentence) => `round ${name}: ${sentence}`)],
  };
}

function sumOf<T extends object>(one: T, other: T): T {
  const sums: Record<string, number> = {};
  for (const [name, count] of [...Object.entries(one), ...Object.entries(other)]) {
    sums[name] = (sums[name] ?? 0) + count;
  }
  return sums as T;
}
