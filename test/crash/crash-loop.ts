/** Runs rounds until a number of processes were killed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceKind } from '../../src/settings/setting.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { serveDirectory } from '../support/served-directory.ts';
import { type Kills, sumOf, sumOfMaps } from './act.ts';
import type { Client } from './client.ts';
import type { RoundCounts } from './invariants.ts';
import type { RunTime } from './kills.ts';
import { columnsOf, isApplyMode, type ModeName, modesFor } from './modes.ts';
import { noRound, type RoundEnd, type RoundOptions, runRound } from './round.ts';

export interface LoopOptions {
  readonly seed: number;
  /** How many processes are to be killed, in all modes together. */
  readonly kills: number;
  readonly modes?: readonly ModeName[];
  /** The kind of service; the ordinary one, unless another is asked for. */
  readonly service?: ServiceKind;
  /** listctl, unless another one is to be looked at. */
  readonly client?: Client;
  readonly rows?: readonly [min: number, max: number];
  /** Does something to a list at the end of its round, to see whether that is seen. */
  readonly meddle?: RoundOptions['meddle'];
  /** Goes on after a round that breaks, to count how many do. */
  readonly goesOn?: boolean;
  /** Told what each mode came to. */
  readonly onEnd?: (end: LoopEnd) => void;
}

export interface LoopEnd {
  readonly mode: ModeName;
  readonly rounds: number;
  readonly sessions: number;
  readonly rows: number;
  /** Sessions of `apply` that began with a state whose run was at work. */
  readonly folded: number;
  readonly kills: Kills;
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
  const { modes = modesFor(options.service ?? 'list-item'), kills } = options;
  const ends: LoopEnd[] = [];
  for (const [at, mode] of modes.entries()) {
    const share = Math.floor((kills * (at + 1)) / modes.length) - Math.floor((kills * at) / modes.length);
    const end = await loopMode(mode, share, options);
    ends.push(end);
    options.onEnd?.(end);
  }
  return ends;
}

/** At least one in a few completed rounds has a kill; without this limit a loop without kills would never end. */
const roundsPerKill = 10;

async function loopMode(mode: ModeName, killsMax: number, options: LoopOptions): Promise<LoopEnd> {
  const { goesOn = false, service: kind = 'list-item' } = options;
  const startedAtMs = performance.now();
  const directory = await mkdtemp(join(tmpdir(), 'listctl-crash-'));
  const service = await serveDirectory(join(directory, 'items'), [
    '--service',
    kind,
    ...(await schemaFor(mode, directory)),
  ]);
  const times = quickestTimes();
  let end: LoopEnd = { ...nothing, mode };
  try {
    while (killsOf(end) < killsMax && (goesOn || end.broken.length === 0)) {
      if (end.rounds > killsMax * roundsPerKill) throw new Error(`${end.rounds} rounds: ${end.broken.join('\n')}`);
      const name = `${mode}-${end.rounds}`;
      const drawn = drawRound(mode, name, options);
      const kills = Math.min(killsMax - killsOf(end), drawn.killsMax);
      const round = await roundOrFault({
        ...{ ...drawn, ...placeOf(mode, kind, name), service, kind, mode, killsMax: kills },
        directory: join(directory, name),
        ...{ client: options.client, meddle: options.meddle },
        times: (act) => times.of(act, drawn),
      });
      for (const [act, time] of round.times.entries()) times.learn(act, drawn, time);
      end = added(end, round, name);
      if (round.broken.length === 0 || goesOn) await rm(join(directory, name), { recursive: true });
    }
  } finally {
    await service.kill();
    if (end.broken.length === 0 || goesOn) await rm(directory, { recursive: true });
  }
  const evidence = end.broken.length === 0 || goesOn ? undefined : directory;
  return { ...end, evidence, tookMs: performance.now() - startedAtMs };
}

/** The one list of a schema, which each site has. */
const keyedList = 'Rows';

async function schemaFor(mode: ModeName, directory: string): Promise<readonly string[]> {
  const columns = columnsOf(mode);
  if (columns === undefined) return [];
  const path = join(directory, 'schema.json');
  await writeFile(path, JSON.stringify({ lists: [{ title: keyedList, columns }] }));
  return ['--schema', path];
}

/** A list of its own for each round; sites of Microsoft Graph have names of their own form. */
function placeOf(mode: ModeName, kind: ServiceKind, name: string): Pick<RoundOptions, 'site' | 'list'> {
  const site = kind === 'graph' ? `lists.example:/sites/${name}` : 'crash';
  return { site, list: columnsOf(mode) === undefined ? name : keyedList };
}

/** A round; one that does not come to its end is broken. */
async function roundOrFault(options: RoundOptions): Promise<RoundEnd> {
  try {
    return await runRound(options);
  } catch (error) {
    return { ...noRound, broken: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
  }
}

function killsOf({ kills }: LoopEnd): number {
  return kills.client + kills.service;
}

type DrawnRound = Pick<RoundOptions, 'rows' | 'concurrency' | 'throttles' | 'killsMax' | 'random'>;

/** What a round is like; the same for the same seed, mode and number. */
function drawRound(mode: ModeName, name: string, { seed, rows: [min, max] = [200, 400] }: LoopOptions): DrawnRound {
  const random = seededRandom(seed).branch(name);
  const rows = min + random.whole(max - min + 1);
  const concurrency = 8 + random.whole(9);
  const throttles = random.next() < throttledShare && !isApplyMode(mode) && mode !== 'service';
  const killsMax = 2 + random.whole(7);
  // Each session of apply looks at every item first.
  return { rows: isApplyMode(mode) ? Math.ceil(rows / 4) : rows, concurrency, throttles, killsMax, random };
}

/** So many of the rounds are throttled: those take ten times as long. */
const throttledShare = 0.1;

/** How long runs take at least, for each act, throttled or not: undefined until one was seen to its end. */
function quickestTimes() {
  const known = new Map<string, { readonly startMs: number; readonly rowMs: number }>();
  const nameOf = (act: number, { throttles }: DrawnRound) => `${act} ${throttles}`;
  return {
    of: (act: number, drawn: DrawnRound): RunTime | undefined => {
      const time = known.get(nameOf(act, drawn));
      return time && { startMs: time.startMs, workMs: time.rowMs * drawn.rows };
    },
    learn: (act: number, drawn: DrawnRound, time: RunTime | undefined) => {
      const name = nameOf(act, drawn);
      const rowMs = time === undefined ? Number.POSITIVE_INFINITY : time.workMs / drawn.rows;
      if (time !== undefined && rowMs < (known.get(name)?.rowMs ?? Number.POSITIVE_INFINITY)) {
        known.set(name, { startMs: time.startMs, rowMs });
      }
    },
  };
}

const nothing: Omit<LoopEnd, 'mode'> = { ...noRound, rounds: 0, tookMs: 0, evidence: undefined };

function added(end: LoopEnd, round: RoundEnd, name: string): LoopEnd {
  return {
    ...end,
    rounds: end.rounds + 1,
    sessions: end.sessions + round.sessions,
    rows: end.rows + round.rows,
    folded: end.folded + round.folded,
    kills: sumOf(end.kills, round.kills),
    counts: sumOf(end.counts, round.counts),
    causes: sumOfMaps(end.causes, round.causes),
    broken: [...end.broken, ...round.broken.map((sentence) => `round ${name}: ${sentence}`)],
  };
}
