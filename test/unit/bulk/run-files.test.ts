/** The journals of runs in their directory: found, listed, forgotten, shrunk. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { createJournal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import { fileIo } from '../../../src/bulk/journal-lines.ts';
import { readJournal } from '../../../src/bulk/journal-read.ts';
import {
  compactOldRuns,
  countUndone,
  findRun,
  isRunName,
  listRuns,
  newestRun,
  newRunId,
  removeRun,
  resolveRun,
  runLock,
  runPath,
} from '../../../src/bulk/runs.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { test } from '../../support/test-in-directory.ts';
import {
  doneOf,
  intentOf,
  readBegun,
  sampleHeader,
  sampleSession,
  sampleTotals,
  startedAt,
  writeSample,
} from './journal-samples.ts';

const here = { boot: 'here' };
const day = 24 * 3_600_000;
const later = startedAt + 31 * day;
const identity = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';
/** It begins as the other one does. */
const similar = 'a1b2c3d4e5f60718ffffffffffffffff';

const allDone: readonly (readonly JournalRecord[])[] = [[intentOf(1, 1)], [doneOf(1)], [['E', sampleTotals(1)]]];

/** Puts a run of one row into a directory; gives its path. */
async function put(directory: string, run: string, groups: readonly (readonly JournalRecord[])[], id = identity) {
  const path = runPath(directory, run, id);
  await writeSample(path, groups, fileIo, { header: sampleHeader(1, { run, identity: id }), session: sampleSession() });
  writtenAt(path, startedAt);
  return path;
}

/** Gives a file the time of a write. */
function writtenAt(path: string, ms: number): void {
  utimesSync(path, ms / 1000, ms / 1000);
}

describe('the id of a run', () => {
  test('is its time, in UTC, and four characters by chance', () => {
    expect(newRunId(startedAt, () => 0.999_999_9)).toBe('20261120-101530-00zz');
    expect(newRunId(startedAt + 999, () => 0)).toBe('20261120-101530-rr00');
  });

  test('sorts by time, and behind the run before it whatever became of the clock', () => {
    fc.assert(
      fc.property(fc.nat(4e12), fc.nat(4e12), fc.nat(), (one, other, seed) => {
        const random = () => (seed % 1000) / 1000;
        const first = newRunId(one, random);

        const next = newRunId(other, random, first);
        expect(next > first).toBe(true);
        expect(newRunId(other, random, next) > next).toBe(true);
        if (other > one) expect(newRunId(other, random) > first).toBe(true);
      }),
    );
  });
});

describe('finding a run', () => {
  test('the last one of the same identity, as the names of the journals have it', async ({ directory }) => {
    await put(directory.path, '20261120-101530-aaaa', allDone);
    const last = await put(directory.path, '20261120-101531-aaaa', allDone);
    await put(directory.path, '20261120-101533-aaaa', allDone, 'ffffffffffffffff');

    expect(findRun(directory.path, identity)).toMatchObject({ path: last, run: '20261120-101531-aaaa' });
    expect(findRun(directory.path, 'eeeeeeeeeeeeeeee')).toBeUndefined();
    expect(findRun(join(directory.path, 'none'), identity)).toBeUndefined();
  });

  test.each([
    { what: 'empty', damage: () => Buffer.alloc(0) },
    { what: 'cut short', damage: (bytes: Buffer) => bytes.subarray(0, 40) },
    { what: 'changed', damage: (bytes: Buffer) => bytes.fill('x', 20, 30) },
  ])('one that is damaged ($what) is found, so that its rows are not done again', async ({ damage }) => {
    await using directory = await temporaryDirectory();
    const whole = await put(directory.path, '20261120-101530-aaaa', allDone);
    const damaged = runPath(directory.path, '20261120-101532-aaaa', identity);
    writeFileSync(damaged, damage(readFileSync(whole)));

    expect(findRun(directory.path, identity)?.path).toBe(damaged);
    await expect(readJournal(damaged, here)).rejects.toMatchObject({ kind: 'local-file' });
  });

  test('by its id or by `last`; any other word is the path of a journal', async ({ directory }) => {
    const first = await put(directory.path, '20261120-101530-aaaa', allDone);
    const last = await put(directory.path, '20261120-101531-aaaa', allDone, similar);

    expect(resolveRun(directory.path, '20261120-101530-aaaa', later)).toBe(first);
    expect(resolveRun(directory.path, 'last', later)).toBe(last);
    expect(['last', '20261120-101530-bbbb', './last'].map(isRunName)).toEqual([true, true, false]);
    expect(() => resolveRun(directory.path, '20261120-101530-bbbb', later)).toThrow(
      expect.objectContaining({ kind: 'usage', message: `run 20261120-101530-bbbb not found in ${directory.path}` }),
    );
    removeRun(last);
    removeRun(last);
    expect(resolveRun(directory.path, 'last', later)).toBe(first);
    removeRun(first);
    expect(() => resolveRun(directory.path, 'last', later)).toThrow('no runs in');
  });

  describe('last', () => {
    const second = 1000;
    const older = '20261120-101530-aaaa';
    const newer = '20261120-101600-aaaa';
    const now = startedAt + 60 * second;

    test.each([
      ['the newest', { [older]: 10, [newer]: 40 }, newer],
      ['the one that was resumed since', { [older]: 50, [newer]: 40 }, older],
      ['the newest, where the clock was ahead when another one was written', { [older]: 3600, [newer]: 40 }, newer],
      ['the newest, where its own clock was behind', { [older]: 10, [newer]: -3600 }, newer],
      [
        'the newest, where it was named after one from the future',
        { [older]: 40, '20261121-101530-aaaa': 30 },
        '20261121-101530-aaaa',
      ],
      ['the newest, where its own clock was ahead', { [older]: 10, [newer]: 3600 }, newer],
    ])('is %s', async (_, writtenAfter, last) => {
      await using directory = await temporaryDirectory();
      for (const [run, seconds] of Object.entries(writtenAfter)) {
        writtenAt(await put(directory.path, run, allDone), startedAt + seconds * second);
      }

      expect(basename(resolveRun(directory.path, 'last', now))).toContain(last);
      expect(newestRun(directory.path)).toBe(Object.keys(writtenAfter).at(-1));
    });

    test('is not one that was only shrunk since', async ({ directory }) => {
      const old = await put(directory.path, older, allDone);
      await compactOldRuns(directory.path, later);
      const newest = await put(directory.path, '20261221-101530-aaaa', allDone);
      writtenAt(newest, later);
      writtenAt(old, later + second);

      expect(resolveRun(directory.path, 'last', later + 60 * second)).toBe(newest);
    });
  });

  test('ignores other files in the directory', async ({ directory }) => {
    const path = await put(directory.path, '20261120-101530-aaaa', allDone);
    for (const name of ['notes.txt', `${basename(path)}.tmp-listctl`, '20261120.a1b2c3d4e5f60718.journal']) {
      writeFileSync(join(directory.path, name), 'x');
    }
    mkdirSync(`${path}.lock`);

    expect(await listRuns(directory.path, here)).toHaveLength(1);
  });
});

describe('a list of runs', () => {
  test('of a run that ended by itself reads the first and the last line alone', async ({ directory }) => {
    const path = runPath(directory.path, '20261120-101530-aaaa', identity);
    const journal = createJournal(path, sampleHeader(9000), sampleSession());
    for (let row = 1; row <= 9000; row += 1) journal.write([intentOf(row, row), doneOf(row)], row);
    journal.write([['E', sampleTotals(9000)]], 9001);
    await journal.close();
    let readBytes = 0;
    const io = {
      ...fileIo,
      read: (descriptor: number, into: Uint8Array, position: number) => {
        const bytes = fileIo.read(descriptor, into, position);
        readBytes += bytes;
        return bytes;
      },
    };

    expect(await listRuns(directory.path, { ...here, io })).toMatchObject([{ counts: { done: 9000, left: 0 } }]);

    expect(statSync(path).size).toBeGreaterThan(800_000);
    expect(readBytes).toBeLessThan(200_000);
  });

  test('does not read what was damaged before; the rows of an undo count only if every line is as written', async ({
    directory,
  }) => {
    const run = '20261120-101530-aaaa';
    const path = runPath(directory.path, run, identity);
    const header = sampleHeader(1, { run, action: 'undo', of: '20261120-101530-9999' });
    await writeSample(path, [...allDone.slice(0, 2), [['T', 1]], ...allDone.slice(2)], fileIo, {
      header,
      session: sampleSession(),
    });
    expect(await countUndone('20261120-101530-9999', undefined, directory.path)).toBe(1);

    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, lines.toSpliced(2, 1).join('\n'));

    expect(await listRuns(directory.path, here)).toMatchObject([{ counts: { done: 1 } }]);
    expect(await countUndone('20261120-101530-9999', undefined, directory.path)).toBe(0);
  });

  test('of a directory that cannot be read is an error with its path', async ({ directory }) => {
    const file = join(directory.path, 'file');
    writeFileSync(file, '');

    await expect(listRuns(file, here)).rejects.toMatchObject({
      kind: 'local-file',
      message: expect.stringContaining(`cannot list ${file}`),
    });
  });
});

describe('shrinking', () => {
  const run = '20261120-101530-aaaa';

  test('a run that did every row, 30 days ago, keeps its first and last line, and is still known as done', async ({
    directory,
  }) => {
    const path = await put(directory.path, run, allDone);
    const before = await listRuns(directory.path, here);

    expect(await compactOldRuns(directory.path, startedAt + 29 * day)).toEqual([]);
    writtenAt(path, later - day);
    expect(await compactOldRuns(directory.path, later)).toEqual([]);
    writtenAt(path, startedAt);
    expect(await compactOldRuns(directory.path, later)).toEqual([run]);
    expect(await compactOldRuns(directory.path, later)).toEqual([]);

    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(3);
    const replay = await readJournal(path, here);
    expect(replay).toMatchObject({ header: { isShrunk: true }, counts: { done: 1, left: 0 }, ended: sampleTotals(1) });
    expect([replay?.stateOf(1), replay?.lastAt]).toEqual(['done', startedAt + 3]);
    expect(findRun(directory.path, identity)?.path).toBe(path);
    const after = await listRuns(directory.path, here);
    expect(after.map(({ counts }) => counts)).toEqual(before.map(({ counts }) => counts));
    expect(readdirSync(directory.path)).toEqual([basename(path)]);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each<[string, readonly (readonly JournalRecord[])[]]>([
    ['in doubt', [[intentOf(1, 1)], [['E', sampleTotals(0, { inDoubt: 1 })]]]],
    ['failed', [[['F', 1, 'refused', 400, null, 5]], [['E', sampleTotals(0, { failed: 1 })]]]],
    ['left', [[['E', sampleTotals(0, { left: 1 })]]]],
    ['done, but that it ended is not said', [[intentOf(1, 1)], [doneOf(1)]]],
    ['said to be done, and is not', [[['E', sampleTotals(1)]]]],
  ])('not a run with a row that is %s', async (_, groups) => {
    await using directory = await temporaryDirectory();
    const path = await put(directory.path, run, groups);
    const before = readFileSync(path);

    expect(await compactOldRuns(directory.path, later)).toEqual([]);

    expect(readFileSync(path)).toEqual(before);
  });

  test('skips a run that is locked, damaged, or ended recently', async ({ directory }) => {
    const other = identity.replace('a', 'b');
    await put(directory.path, run, allDone);
    mkdirSync(runLock(directory.path, identity));
    appendFileSync(await put(directory.path, '20261120-101531-aaaa', allDone, other), 'x\n');
    const lately = await put(directory.path, '20261120-101532-aaaa', allDone, other);
    const replay = await readBegun(lately);
    const journal = reopenJournal(lately, replay, sampleSession({ at: later - day }));
    journal.write([['E', sampleTotals(1)]], 5);
    await journal.close();

    expect(await compactOldRuns(directory.path, later)).toEqual([]);
  });

  test('looks at no file that is young by its name', async () => {
    const disk = powerLossDisk();
    await writeSample(runPath('/runs', run, identity), allDone, disk.io, { header: sampleHeader(1) });
    let opened = 0;
    const open: typeof fileIo.open = (path, flags) => {
      opened += 1;
      return disk.io.open(path, flags);
    };

    expect(await compactOldRuns('/runs', startedAt + 29 * day, { ...disk.io, open })).toEqual([]);

    expect(opened).toBe(0);
  });

  test('leaves at any moment the old file or the new one, also after a power cut, and no other', async () => {
    const path = runPath('/runs', run, identity);
    const disk = powerLossDisk();
    await writeSample(path, allDone, disk.io, { header: sampleHeader(1) });
    const whole = disk.bytesOf(path)?.toString();
    const found = new Set<string | undefined>();
    disk.onChange = () => {
      for (const after of disk.afterPowerCut({ disksMax: 200, random: Math.random })) {
        found.add(after.bytesOf(path)?.toString());
      }
    };

    expect(await compactOldRuns('/runs', later, disk.io)).toEqual([run]);

    expect(found).toEqual(new Set([whole, disk.bytesOf(path)?.toString()]));
    expect(disk.io.list('/runs')).toEqual([basename(path)]);
  });

  test('that fails leaves the old file, and nothing beside it', async () => {
    for (const call of ['write', 'sync', 'rename'] as const) {
      const path = runPath('/runs', run, identity);
      const disk = powerLossDisk();
      await writeSample(path, allDone, disk.io, { header: sampleHeader(1) });
      const before = disk.bytesOf(path);
      const broken = () => {
        throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
      };

      expect(await compactOldRuns('/runs', later, { ...disk.io, [call]: broken })).toEqual([]);

      expect(disk.bytesOf(path)).toBe(before);
      expect(disk.io.list('/runs')).toEqual([basename(path)]);
    }
  });

  test('a shrunk journal can be resumed, though there is nothing to do', async ({ directory }) => {
    const path = await put(directory.path, run, allDone);
    await compactOldRuns(directory.path, later);
    const replay = await readBegun(path);

    const journal = reopenJournal(path, replay, sampleSession({ at: later }));
    journal.write([['E', sampleTotals(1, { sent: 0 })]], 2);
    await journal.close();

    expect(await readJournal(path, here)).toMatchObject({ counts: { done: 1, left: 0 } });
  });
});
