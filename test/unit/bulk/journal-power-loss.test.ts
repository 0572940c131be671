/** P07: what a power cut leaves, whatever it keeps, loses or tears of what was not synced. */
import { describe, expect, test } from 'vitest';
import { createJournal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import { type Replay, readJournal } from '../../../src/bulk/journal-read.ts';
import { Failure } from '../../../src/core/errors.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { intentOf, readBegun, sampleHeader, sampleSession } from './journal-samples.ts';

const path = '/runs/a.journal';

/** What is read on another boot. A journal that is refused forgets nothing: nothing is sent, and the user is asked. */
function readAfter(io: JournalIo): Promise<Replay | undefined | 'damaged'> {
  return readJournal(path, { boot: 'after', io }).catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'local-file') return 'damaged' as const;
    throw error;
  });
}

describe('P07: after a power cut at any moment', () => {
  test('that would be seen: a session that is not synced lets a verdict that was acted on change', async () => {
    const verdicts = async (change: (io: JournalIo) => JournalIo) => {
      const disk = powerLossDisk(64);
      const io = change(disk.io);
      const first = createJournal(path, sampleHeader(20), sampleSession({ limit: 1 }), disk.io);
      first.write([intentOf(1, 1), intentOf(2, 2)], 1);
      await first.sync();
      const replay = await readBegun(path, io);
      // Row 2 was not sent: the second session reports that to its user.
      expect([...replay.doubts()]).toEqual([1]);
      reopenJournal(path, replay, sampleSession(), io);
      const disks = disk.afterPowerCut({ disksMax: 100, random: seededRandom(1).next });
      const left = await Promise.all(disks.map((after) => readAfter(after.io)));
      return new Set(left.map((after) => (after === 'damaged' ? after : after?.stateOf(2))));
    };

    expect(await verdicts((io) => io)).toEqual(new Set(['pending']));
    expect(await verdicts((io) => ({ ...io, sync: () => {} }))).toContain('in-doubt');
  });
});
