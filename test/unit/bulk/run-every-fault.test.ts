/** A run whose n-th call to the file system fails, for every n until none is hit (P08, P10). */
import { expect, test } from 'vitest';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import { type Replay, readJournal } from '../../../src/bulk/journal-read.ts';
import { type PowerLossDisk, powerLossDisk } from '../../support/power-loss.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { Service, type World } from './cut-world.ts';
import { sampleSession } from './journal-samples.ts';
import { brokenAtEnd, brokenIn, journalOn, path, runSession } from './run-with-cuts.ts';

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
    expect({ nth, failure, broken: brokenIn(world, replay) }).toEqual({ nth, failure: 'done', broken: [] });
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
  try {
    const journal = journalOn(world, { io }, replay, sampleSession({ limit }));
    return await runSession(world, journal, replay, new AbortController().signal);
  } catch (error) {
    return error;
  }
}

/** What must hold when the run was resumed on a disk that is well again. */
async function brokenInTheEnd(world: World, disk: PowerLossDisk): Promise<readonly string[]> {
  const read = () => readJournal(path, { boot: 'here', io: disk.io });
  for (let left = 5; left > 0; left -= 1) {
    const ended = await runOnce(world, disk.io, await read());
    if (ended === 'done') break;
    if (ended !== 'stopped') return [`it ended in ${ended}`];
  }
  const replay = await read();
  return [...brokenIn(world, replay), ...(await brokenAtEnd(world, replay, disk.io))];
}
