/** A run whose n-th call to the file system fails, for every n until none is hit (P08, P10). */
import { expect, test } from 'vitest';
import { createJournal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import { type Replay, readJournal } from '../../../src/bulk/journal-read.ts';
import type { Task } from '../../../src/bulk/outcome.ts';
import { Pace } from '../../../src/bulk/pace.ts';
import { Run } from '../../../src/bulk/runner.ts';
import { Failure } from '../../../src/core/errors.ts';
import { type PowerLossDisk, powerLossDisk } from '../../support/power-loss.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { hurriedClock, type Row, Service, senderOf, type World } from './cut-world.ts';
import { sampleHeader, sampleSession } from './journal-samples.ts';

const path = '/runs/a.journal';
const [rows, limit] = [12, 3];

const calls = ['open', 'write', 'sync', 'syncData', 'syncDirectory', 'makeDirectory'] as const;
const codes = ['ENOSPC', 'EIO'] as const;

test.each(calls.flatMap((call) => codes.map((code) => ({ call, code }))))(
  'whichever $call fails with $code, no row is sent without its intent, and the run is resumed',
  async ({ call, code }) => {
    let nth = 1;
    for (; ; nth += 1) {
      const [world, disk] = [newWorld(), powerLossDisk(512)];
      const fault = failingAt(disk.io, call, nth, code);

      const failure = await runOnce(world, fault.io, undefined);

      if (!fault.wasHit()) break;
      const replay = await readJournal(path, { boot: 'here', io: disk.io });
      expect({ nth, failure }).toMatchObject({ failure: { kind: 'local-file' } });
      expect({ nth, broken: brokenIn(world, replay) }).toEqual({ nth, broken: [] });
      expect({ nth, broken: await brokenInTheEnd(world, disk) }).toEqual({ nth, broken: [] });
    }
    expect(nth).toBeGreaterThan(1);
  },
);

test('completes any write that is cut short, without another effect', async () => {
  let nth = 1;
  for (; ; nth += 1) {
    const [world, disk] = [newWorld(), powerLossDisk(512)];
    const fault = cutShortAt(disk.io, nth);

    const failure = await runOnce(world, fault.io, undefined);

    if (!fault.wasHit()) break;
    const replay = await readJournal(path, { boot: 'here', io: disk.io });
    expect({ nth, failure, broken: brokenIn(world, replay) }).toEqual({ nth, failure: undefined, broken: [] });
  }
  expect(nth).toBeGreaterThan(3);
});

function newWorld(): World {
  return {
    ...{ random: seededRandom(20), service: new Service(false), honorsKeys: false, rows, limit },
    ...{ change: (io: JournalIo) => io, limitSaid: undefined, printed: new Map(), moment: () => {} },
  };
}

function failingAt(io: JournalIo, call: (typeof calls)[number], nth: number, code: string) {
  let count = 0;
  const failing = (...words: readonly unknown[]) => {
    count += 1;
    const error = Object.assign(new Error(code), { code });
    if (count !== nth) return (io[call] as (...given: readonly unknown[]) => unknown)(...words);
    if (call === 'syncData') return Promise.reject(error);
    throw error;
  };
  return { io: { ...io, [call]: failing } as JournalIo, wasHit: () => count >= nth };
}

function cutShortAt(io: JournalIo, nth: number) {
  let count = 0;
  const write: JournalIo['write'] = (descriptor, bytes, offset, position) => {
    count += 1;
    if (count !== nth) return io.write(descriptor, bytes, offset, position);
    return io.write(descriptor, bytes.subarray(0, offset + Math.ceil((bytes.length - offset) / 2)), offset, position);
  };
  return { io: { ...io, write }, wasHit: () => count >= nth };
}

/** One session; gives what it ended in. */
async function runOnce(world: World, io: JournalIo, replay: Replay | undefined): Promise<unknown> {
  const never = new AbortController().signal;
  try {
    const session = sampleSession({ limit });
    const journal =
      replay === undefined
        ? createJournal(path, sampleHeader(rows), session, io)
        : reopenJournal(path, replay, session, io);
    const { ended } = new Run<Row, string>({
      tasks: tasksOf(replay),
      sender: senderOf(world, never),
      journal,
      counts: { ...(replay?.counts ?? { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: rows }) },
      nextSeq: replay?.nextSeq ?? 1,
      pace: new Pace({ limitMax: limit, maxWaitMs: 60_000 }, world.random.next),
      limitMax: limit,
      retries: 4,
      maxErrors: Number.POSITIVE_INFINITY,
      clock: hurriedClock(never),
      signal: never,
      reportLeft: false,
      onResult: async (result) => {
        if (result.status === 'done') world.printed.set(result.row.number, result.value);
      },
    });
    const { stoppedBy } = await ended;
    await journal.close();
    return stoppedBy;
  } catch (error) {
    return error;
  }
}

async function* tasksOf(replay: Replay | undefined): AsyncGenerator<readonly Task<Row>[]> {
  for (let number = 1; number <= rows; number += 1) {
    const state = replay?.stateOf(number) ?? 'pending';
    const row = { number };
    if (state === 'pending') yield [{ kind: 'send', row, was: 'left' }];
    if (state === 'in-doubt') {
      yield [{ kind: 'in-doubt', row, failure: new Failure('in-doubt', 'held', { outcome: 'unknown' }) }];
    }
  }
}

/** What must hold whatever has failed (J2, J4, J7). */
function brokenIn({ service, printed }: World, replay: Replay | undefined): readonly string[] {
  const stateOf = (number: number) => replay?.stateOf(number) ?? 'pending';
  const numbers = [...service.items.values()].map(({ number }) => number);
  return [
    ...numbers
      .filter((number, at) => numbers.indexOf(number) !== at)
      .map((number) => `row ${number} was applied twice`),
    ...numbers
      .filter((number) => !['done', 'in-doubt'].includes(stateOf(number)))
      .map((number) => `row ${number} was applied, and is ${stateOf(number)}`),
    ...[...printed.keys()]
      .filter((number) => stateOf(number) !== 'done')
      .map((number) => `row ${number} was printed, and is ${stateOf(number)}`),
  ];
}

/** The same, and that every row is settled (J1), when the run was resumed on a disk that is well again. */
async function brokenInTheEnd(world: World, disk: PowerLossDisk): Promise<readonly string[]> {
  const read = () => readJournal(path, { boot: 'here', io: disk.io });
  // Where the first request of a session has no answer, the run ends, and is to be resumed.
  for (let left = 5; left > 0; left -= 1) {
    const stoppedBy = await runOnce(world, disk.io, await read());
    if (stoppedBy === undefined) break;
    if (!(stoppedBy instanceof Failure) || stoppedBy.kind !== 'in-doubt') return [`it ended in ${stoppedBy}`];
  }
  const replay = await read();
  const open = Array.from({ length: rows }, (_, at) => at + 1).filter(
    (number) => !['done', 'in-doubt'].includes(replay?.stateOf(number) ?? 'pending'),
  );
  return [...brokenIn(world, replay), ...open.map((number) => `row ${number} is not settled`)];
}
