/** P07: what a power cut leaves, whatever it keeps, loses or tears of what was not synced. */
import { describe, expect, test } from 'vitest';
import { createJournal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import { type Replay, readJournal } from '../../../src/bulk/journal-read.ts';
import { Failure } from '../../../src/core/errors.ts';
import { type PowerLossDisk, powerLossDisk } from '../../support/power-loss.ts';
import { doneOf, intentOf, sampleHeader, sampleSession } from './journal-samples.ts';

const path = '/runs/a.journal';

/** What the world knows at some moment, and the disks that a power cut may leave then. */
interface Moment {
  readonly sent: readonly number[];
  readonly printed: readonly number[];
  readonly disks: readonly PowerLossDisk[];
}

/**
 * A run of two sessions, two requests at once, intents ahead; what is sent is what was synced, what is printed too.
 *
 * @param change of the disk that it runs on, to see what that would lead to
 */
async function momentsOf(change: (io: JournalIo) => JournalIo = (io) => io): Promise<readonly Moment[]> {
  const disk = powerLossDisk(64);
  const random = seeded(20_261_120);
  const moments: Moment[] = [];
  const [sent, printed]: [number[], number[]] = [[], []];
  disk.onChange = () => {
    moments.push({ sent: [...sent], printed: [...printed], disks: disk.afterPowerCut({ disksMax: 60, random }) });
  };
  const io = change(disk.io);

  const first = createJournal(path, sampleHeader(20), sampleSession(), io);
  first.write([intentOf(1, 1), intentOf(2, 2), intentOf(3, 3)], 1);
  await first.sync();
  sent.push(1, 2);
  first.write([doneOf(1), intentOf(4, 4)], 2);
  sent.push(3);
  await first.sync();
  printed.push(1);
  first.write([['U', 2, 'the connection was closed before the answer was there', 12]], 3);
  sent.push(4);
  first.write([doneOf(3), intentOf(5, 5), intentOf(6, 6)], 4);
  await first.sync();
  printed.push(3);
  sent.push(5);
  // Killed here, with its last words torn; and gone on with.
  first.write([doneOf(4)], 5);
  const whole = disk.bytesOf(path) ?? Buffer.alloc(0);
  const torn = io.open(path, 'r+');
  io.write(torn, whole.subarray(0, 20), 0, whole.length);
  const replay = await readJournal(path, { boot: 'here', io: disk.io });
  if (replay === undefined) throw new Error('it was begun');
  expect([...replay.doubts()]).toEqual([2, 5, 6]);
  const second = reopenJournal(path, replay, sampleSession(), io);
  second.write([intentOf(7, 7), intentOf(8, 8)], 1);
  await second.sync();
  sent.push(7, 8);
  second.write([doneOf(7), doneOf(8)], 2);
  await second.close();
  printed.push(7, 8);
  disk.onChange();
  return moments;
}

/** What must never be, of all that a power cut may leave at these moments; and how often a journal was refused. */
async function lossesIn(moments: readonly Moment[]) {
  const found = { disks: 0, damaged: 0, forgotten: 0, unprinted: 0 };
  for (const { sent, printed, disks } of moments) {
    for (const disk of disks) {
      found.disks += 1;
      const replay = await readAfter(disk.io);
      if (replay === 'damaged') {
        found.damaged += 1;
        continue;
      }
      found.forgotten += sent.filter((row) => (replay?.stateOf(row) ?? 'pending') === 'pending').length;
      found.unprinted += printed.filter((row) => replay?.stateOf(row) !== 'done').length;
    }
  }
  return found;
}

/** What is read on another boot. A journal that is refused forgets nothing: nothing is sent, and the user is asked. */
function readAfter(io: JournalIo): Promise<Replay | undefined | 'damaged'> {
  return readJournal(path, { boot: 'after', io }).catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'local-file') return 'damaged' as const;
    throw error;
  });
}

describe('P07: after a power cut at any moment', () => {
  test('no request was sent that has no intent, and no result was printed that is not there', async () => {
    const found = await lossesIn(await momentsOf());

    expect(found).toMatchObject({ forgotten: 0, unprinted: 0 });
    expect(found.disks).toBeGreaterThan(300);
    // Where a block is lost in the midst of others, the file is refused; that is not the rule.
    expect(found.damaged).toBeLessThan(found.disks / 2);
  });

  test('that would be seen: without the sync of intents rows are forgotten', async () => {
    const found = await lossesIn(await momentsOf((io) => ({ ...io, syncData: async () => {} })));

    expect(found.forgotten).toBeGreaterThan(0);
    expect(found.unprinted).toBeGreaterThan(0);
  });

  test('that would be seen: without the sync of the directory the whole journal is', async () => {
    const found = await lossesIn(await momentsOf((io) => ({ ...io, syncDirectory: () => {} })));

    expect(found.forgotten).toBeGreaterThan(0);
  });

  test('that would be seen: a session that is not synced lets a verdict that was acted on change', async () => {
    const verdicts = async (change: (io: JournalIo) => JournalIo) => {
      const disk = powerLossDisk(64);
      const io = change(disk.io);
      const first = createJournal(path, sampleHeader(20), sampleSession({ limit: 1 }), disk.io);
      first.write([intentOf(1, 1), intentOf(2, 2)], 1);
      await first.sync();
      const replay = await readJournal(path, { boot: 'here', io });
      if (replay === undefined) throw new Error('it was begun');
      // Row 2 was not sent: so the second session tells its user.
      expect([...replay.doubts()]).toEqual([1]);
      reopenJournal(path, replay, sampleSession(), io);
      const random = seeded(1);
      const disks = disk.afterPowerCut({ disksMax: 100, random });
      const left = await Promise.all(disks.map((after) => readAfter(after.io)));
      return new Set(left.map((after) => (after === 'damaged' ? after : after?.stateOf(2))));
    };

    expect(await verdicts((io) => io)).toEqual(new Set(['pending']));
    expect(await verdicts((io) => ({ ...io, sync: () => {} }))).toContain('in-doubt');
  });
});

/** Numbers from 0 up to 1, the same ones each time (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
