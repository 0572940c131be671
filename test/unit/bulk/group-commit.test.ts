/** Records in groups: one line for each turn, one sync for all that was written before it. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { GroupCommit, noJournal, type RunJournal } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import { Failure } from '../../../src/core/errors.ts';

const done = (row: number): JournalRecord => ['D', row, `id-${row}`, null, 1];

/** A journal whose syncs end when a test says so. */
function slowJournal() {
  const written: (readonly JournalRecord[])[] = [];
  const syncing: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  const journal: RunJournal = {
    write: (records) => written.push(records),
    sync: () => new Promise((resolve, reject) => syncing.push({ resolve, reject })),
    full: undefined,
  };
  return { journal, written, syncing };
}

function commitsOver(journal: RunJournal) {
  const durable: string[] = [];
  const failures: unknown[] = [];
  const commits = new GroupCommit<string>(
    journal,
    (entries) => durable.push(...entries),
    (error) => failures.push(error),
  );
  return { commits, durable, failures };
}

describe('records', () => {
  test('that are said in one turn are one line; nothing is said of them before the sync has ended', async () => {
    const { journal, written, syncing } = slowJournal();
    const { commits, durable } = commitsOver(journal);
    commits.add(done(1), 'one');
    commits.add(['T', 100]);
    commits.add(done(2), 'two');

    commits.write(0, 0);
    commits.sync(0, () => 0, 1, false);
    await setImmediate();
    expect([written, durable, commits.isIdle]).toEqual([[[done(1), ['T', 100], done(2)]], [], false]);
    syncing[0]?.resolve();
    await setImmediate();

    expect([durable, commits.isIdle]).toEqual([['one', 'two'], true]);
  });

  test('that are written while a sync is under way wait for the next one', async () => {
    const { journal, syncing } = slowJournal();
    const { commits, durable } = commitsOver(journal);
    commits.add(done(1), 'one');
    commits.write(0, 0);
    commits.sync(0, () => 0, 1, false);
    commits.add(done(2), 'two');
    commits.write(1, 1);

    expect(commits.sync(1, () => 1, 1, true)).toBe(Number.POSITIVE_INFINITY);
    expect(syncing).toHaveLength(1);
    syncing[0]?.resolve();
    await setImmediate();
    expect(durable).toEqual(['one']);
    commits.sync(2, () => 2, 1, true);
    syncing[1]?.resolve();
    await setImmediate();

    expect([durable, commits.isIdle]).toEqual([['one', 'two'], true]);
  });

  test('wait a moment for others, unless there are enough, or nothing else can be done', () => {
    const { journal, syncing } = slowJournal();
    const { commits } = commitsOver(journal);
    commits.add(done(1), 'one');
    commits.write(10, 0);

    const atMs = commits.sync(10, () => 10, 2, false);
    // C7: at most 100 ms where nothing else happens; where something does, it is looked at sooner.
    expect([atMs > 10, atMs < 110, syncing.length]).toEqual([true, true, 0]);
    expect([commits.sync(14, () => 14, 2, false), syncing.length]).toEqual([Number.POSITIVE_INFINITY, 1]);
  });

  test('that are enough, or all that there is to do, do not wait', () => {
    for (const [enough, isStarving] of [
      [1, false],
      [9, true],
    ] as const) {
      const { journal, syncing } = slowJournal();
      const { commits } = commitsOver(journal);
      commits.add(done(1), 'one');
      commits.write(10, 0);
      commits.sync(10, () => 10, enough, isStarving);
      expect(syncing).toHaveLength(1);
    }
  });
});

test('how long a sync takes is a mean of the last ones', async () => {
  const { journal, syncing } = slowJournal();
  const { commits } = commitsOver(journal);
  for (let times = 0; times < 60; times += 1) {
    commits.add(done(times + 1));
    commits.write(0, 0);
    commits.sync(0, () => 8, 0, true);
    syncing.at(-1)?.resolve();
    await setImmediate();
  }

  expect(commits.syncMs).toBeGreaterThan(7.9);
  expect(commits.syncMs).toBeLessThanOrEqual(8);
});

test('of a run that keeps no journal everything is durable at once', async () => {
  const { commits, durable } = commitsOver(noJournal);
  commits.add(done(1), 'one');
  commits.write(0, 0);
  commits.sync(0, () => 0, 0, true);
  await setImmediate();

  expect(durable).toEqual(['one']);
});

test('P08: a write that fails is reported; its records are never called durable', async () => {
  const full = new Failure('local-file', 'no space left');
  const write = () => {
    throw full;
  };
  const { commits, durable, failures } = commitsOver({ write, sync: async () => {}, full: undefined });
  commits.add(done(1), 'one');

  commits.write(0, 0);
  commits.sync(0, () => 0, 0, true);
  await setImmediate();

  expect([failures, durable]).toEqual([[full], []]);
});
