/** Runs over a service in memory that are killed, or whose power is cut, and are resumed. */
import { createJournal, type Journal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { SessionStart } from '../../../src/bulk/journal-format.ts';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import { journalRecords, type Replay, readJournal } from '../../../src/bulk/journal-read.ts';
import { Pace } from '../../../src/bulk/pace.ts';
import { Run } from '../../../src/bulk/runner.ts';
import type { Task } from '../../../src/bulk/task.ts';
import { Failure } from '../../../src/core/errors.ts';
import { type PowerLossDisk, powerLossDisk } from '../../support/power-loss.ts';
import { type SeededRandom, seededRandom } from '../../support/seeded-random.ts';
import { hurriedClock, type Mutant, type Row, Service, senderOf, type World } from './cut-world.ts';
import { sampleHeader, sampleSession } from './journal-samples.ts';

export const path = '/runs/a.journal';

/** What came of a run. */
export interface Outcome {
  readonly cuts: number;
  /** The journal was refused: nothing is sent, and the user gets an error. */
  readonly isRefused: boolean;
  readonly broken: readonly string[];
}

/** A run whose number of sessions follows from its seed, each but the last cut off. */
export async function runWithCuts(seed: number, { change = (io) => io, limitSaid }: Mutant = {}): Promise<Outcome> {
  const random = seededRandom(seed);
  const honorsKeys = random.next() < 0.3;
  const [rows, limit] = [5 + random.whole(60), 1 + random.whole(12)];
  const told = { printed: new Map<number, string>(), moment: () => {} };
  const world: World = {
    random,
    service: new Service(honorsKeys),
    honorsKeys,
    rows,
    limit,
    change,
    limitSaid,
    ...told,
  };
  let disk = powerLossDisk(512);
  let [cuts, boot] = [0, 1];
  for (let left = 1 + random.whole(4); ; left -= 1) {
    const replay = await readJournal(path, { boot: `boot-${boot}`, io: disk.io }).catch(refusal);
    if (replay === 'refused') return { cuts, isRefused: true, broken: twiceIn(world) };
    const broken = brokenIn(world, replay);
    if (broken.length > 0) return { cuts, isRefused: false, broken };
    // Of the same boot all that was written is there: a process was killed, and the system was not.
    const isKill = random.next() < 0.5;
    const end = cutAt(world, disk, left > 0 ? 1 + random.whole(4 * rows) : undefined, isKill);
    const session = sampleSession({ boot: `boot-${boot}`, limit: limitSaid ?? limit });
    const ended = runSession(world, journalOn(world, disk, replay, session), replay, end.signal);
    const after = await Promise.race([end.disk, ended]);
    if (after === 'done') break;
    if (after === 'stopped') continue;
    disk = after;
    cuts += 1;
    boot += isKill ? 0 : 1;
  }
  const end = await readJournal(path, { boot: `boot-${boot}`, io: disk.io });
  return { cuts, isRefused: false, broken: [...brokenIn(world, end), ...(await brokenAtEnd(world, end, disk.io))] };
}

function refusal(error: unknown): 'refused' {
  if (error instanceof Failure && error.kind === 'local-file') return 'refused';
  throw error;
}

/** Ends a session after a number of steps: its signal aborts then, and only what the disk has is left. */
function cutAt(world: World, disk: PowerLossDisk, cutAfter: number | undefined, isKill: boolean) {
  const cutting = new AbortController();
  let moments = 0;
  const kept = new Promise<PowerLossDisk>((resolve) => {
    world.moment = () => {
      moments += 1;
      if (moments !== cutAfter) return;
      cutting.abort();
      resolve(isKill ? afterKill(disk) : afterPowerCut(disk, world.random));
    };
  });
  disk.onChange = () => world.moment();
  return { signal: cutting.signal, disk: kept };
}

function afterPowerCut(disk: PowerLossDisk, random: SeededRandom): PowerLossDisk {
  const [after] = disk.afterPowerCut({ disksMax: 1, random: random.next });
  if (after === undefined) throw new Error('a power cut leaves some disk');
  return after;
}

function afterKill(disk: PowerLossDisk): PowerLossDisk {
  const after = powerLossDisk(512);
  const bytes = disk.bytesOf(path);
  if (bytes !== undefined) after.put(path, Buffer.from(bytes));
  return after;
}

/** Creates the journal of a run, or reopens it. */
export function journalOn(
  world: World,
  disk: Pick<PowerLossDisk, 'io'>,
  replay: Replay | undefined,
  session: SessionStart,
): Journal {
  const io = world.change(disk.io);
  if (replay !== undefined) return reopenJournal(path, replay, session, io);
  return createJournal(path, sampleHeader(world.rows, keysOf(world)), session, io);
}

function keysOf({ honorsKeys }: World) {
  return { idempotency: honorsKeys ? 'honored' : 'unknown' } as const;
}

/** Runs a session; it is stopped where its first request has no answer, and is to be resumed then. */
export async function runSession(
  world: World,
  journal: Journal,
  replay: Replay | undefined,
  cut: AbortSignal,
): Promise<'done' | 'stopped'> {
  const { rows, limit, printed, random } = world;
  const clock = hurriedClock(cut);
  const counts = replay?.counts ?? { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: rows };
  const running = new Run<Row, string>({
    tasks: tasksOf(world, replay),
    sender: senderOf(world, cut),
    journal,
    counts: { ...counts },
    nextSeq: replay?.nextSeq ?? 1,
    pace: new Pace({ limitMax: limit, maxWaitMs: 60_000 }, random.next),
    limitMax: limit,
    retries: 4,
    maxErrors: Number.POSITIVE_INFINITY,
    clock,
    signal: new AbortController().signal,
    reportLeft: false,
    onResult: async (result) => {
      if (!cut.aborted && result.status === 'done') printed.set(result.row.number, result.value);
    },
  });
  const { stoppedBy } = await running.ended;
  await journal.close();
  if (stoppedBy === undefined) return 'done';
  if (stoppedBy instanceof Failure && stoppedBy.kind === 'in-doubt') return 'stopped';
  throw stoppedBy;
}

/** As the command does: rows that are done are none, and a create in doubt is held, unless its key is honored. */
async function* tasksOf({ rows, honorsKeys }: World, replay: Replay | undefined): AsyncGenerator<Task<Row>[]> {
  for (let number = 1; number <= rows; number += 1) {
    const row = { number };
    const state = replay?.stateOf(number) ?? 'pending';
    const key = replay?.doubtOf(number)?.key ?? null;
    if (state === 'done') continue;
    if (state !== 'in-doubt') yield [{ kind: 'send', row, was: 'left' }];
    else if (honorsKeys) yield [{ kind: 'send', row, was: 'inDoubt', sent: { key, msAgo: () => 1 } }];
    else yield [{ kind: 'in-doubt', row, failure: new Failure('in-doubt', 'held', { outcome: 'unknown' }) }];
  }
}

/** Rows with more than one item (J2; with an honored key the same, J5). */
function twiceIn({ service }: World): string[] {
  const counts = new Map<number, number>();
  for (const { number } of service.items.values()) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([number, count]) => `J2 row ${number} has ${count} items`);
}

/** What must hold between any two sessions. */
export function brokenIn(world: World, replay: Replay | undefined): string[] {
  const { service, printed } = world;
  const stateOf = (number: number) => replay?.stateOf(number) ?? 'pending';
  const forgotten = [...service.items.values()].filter(({ number }) => !['done', 'in-doubt'].includes(stateOf(number)));
  const taken = [...printed.keys()].filter((number) => stateOf(number) !== 'done');
  return [
    ...twiceIn(world),
    ...forgotten.map(({ number }) => `J4 row ${number} was applied, and is ${stateOf(number)}`),
    ...taken.map((number) => `J7 row ${number} was printed, and is ${stateOf(number)}`),
  ];
}

/** What must hold beside that when the run is at its end. */
export async function brokenAtEnd(world: World, replay: Replay | undefined, io: JournalIo): Promise<string[]> {
  const broken: string[] = [];
  for (let number = 1; number <= world.rows; number += 1) {
    const state = replay?.stateOf(number) ?? 'pending';
    const isSettled = state === 'done' || (state === 'in-doubt' && !world.honorsKeys);
    if (!isSettled) broken.push(`${world.honorsKeys ? 'J5' : 'J1'} row ${number} is ${state}`);
  }
  for await (const { record } of journalRecords(path, io)) {
    if (record[0] !== 'D') continue;
    const [, number, id] = record;
    if (world.service.items.get(id)?.number !== number)
      broken.push(`J3 row ${number} is done as ${id}, which is not its item`);
  }
  return broken;
}
