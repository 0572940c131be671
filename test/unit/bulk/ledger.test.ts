/** What is said of rows: on disk first, then told; and the counts, which are all of the run's rows at any time. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import { Ledger } from '../../../src/bulk/ledger.ts';
import type { RowResult, RunningCounts, Sender, SendTask } from '../../../src/bulk/outcome.ts';
import { Failure } from '../../../src/core/errors.ts';
import type { TestRow } from './runner-world.ts';

const hash = 'aaaaaaaaaaaaaaaa';

const sender: Sender<TestRow, string> = {
  isRead: false,
  newKey: () => 'a-new-key',
  hashOf: () => hash,
  begin: () => ({ attempt: () => Promise.reject(new Error('nothing is sent here')) }),
  toRecord: (_, id) => ({ id, etag: '"1"' }),
};

/** A ledger of three rows, and all that it says. */
function watchedLedger(counts: Partial<RunningCounts> = { left: 3 }) {
  const records: JournalRecord[] = [];
  const results: RowResult<TestRow, string>[] = [];
  const intended: number[] = [];
  const all: RunningCounts = { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0, ...counts };
  const ledger = new Ledger<TestRow, string>(
    {
      ...{ sender, counts: all, nextSeq: 7 },
      journal: { write: (group) => records.push(...group), sync: async () => {} },
      onResult: (result) => {
        results.push(result);
        return undefined;
      },
    },
    {
      ready: (entries) => intended.push(...entries.map(({ task }) => task.row.number)),
      progress: () => {},
      failure: () => {},
    },
  );
  /** Writes and syncs what was said, and hands on what is known. */
  const settle = async () => {
    ledger.commit.write(0, 0);
    ledger.commit.sync(0, () => 0, 0, true);
    await setImmediate();
    ledger.results.pump();
  };
  return { ledger, records, results, intended, counts: all, settle };
}

function rowTask(number: number, more: Partial<SendTask<TestRow>> = {}): SendTask<TestRow> {
  return { kind: 'send', row: { number }, was: 'left', ...more };
}

const refused = new Failure('refused', 'no', { status: 400, serviceCode: 'badField' });
const doubt = new Failure('in-doubt', 'who knows', { status: 502 });

describe('an intent', () => {
  test('names row, send, attempt, key and payload; the row may go once it is on disk', async () => {
    const { ledger, records, intended, settle } = watchedLedger();

    ledger.open(rowTask(1));
    ledger.open(rowTask(2, { was: 'inDoubt', sent: { key: 'an-old-key', msAgo: () => 5 } }));
    expect([intended, ledger.intended, ledger.isIdle]).toEqual([[], 2, false]);
    await settle();

    expect(records).toEqual([
      ['I', 1, 7, 1, 'a-new-key', hash],
      ['I', 2, 8, 1, 'an-old-key', hash],
    ]);
    expect([intended, ledger.intended]).toEqual([[1, 2], 0]);
  });

  test('of a row that is sent again has the same key, and the number of its attempt', async () => {
    const { ledger, records, settle } = watchedLedger();
    const entry = ledger.open(rowTask(1));
    await settle();
    entry.attempts += 1;
    ledger.requeue(entry);
    ledger.intend(entry);
    await settle();

    expect(records.slice(1)).toEqual([
      ['N', 1],
      ['I', 1, 8, 2, 'a-new-key', hash],
    ]);
  });
});

describe('an outcome', () => {
  test.each([
    { what: 'done', record: ['D', 1, '42', '"1"', 12], counts: { done: 1, left: 2 } },
    { what: 'failed', record: ['F', 1, 'refused', 400, 'badField', 12], counts: { failed: 1, left: 2 } },
    { what: 'in doubt', record: ['U', 1, 'HTTP 502', 12], counts: { inDoubt: 1, left: 2 } },
  ])('$what is told, and counted, once it is on disk', async ({ what, record, counts }) => {
    const watched = watchedLedger();
    const { ledger, records, results, settle } = watched;
    const entry = ledger.open(rowTask(1));
    await settle();

    if (what === 'done') ledger.done(entry, '42', 12.4);
    else if (what === 'failed') ledger.fail(entry, refused, 12.4);
    else ledger.doubt(entry, doubt, 12.4);
    ledger.results.pump();
    expect([results, watched.counts]).toMatchObject([[], { left: 3 }]);
    await settle();

    expect(records.at(-1)).toEqual(record);
    expect(watched.counts).toMatchObject(counts);
    expect([results.length, ledger.isIdle]).toEqual([1, true]);
  });

  test('what the service said is in no journal: neither a message nor a cause', async () => {
    const { ledger, records, settle } = watchedLedger();
    const secret = new Failure('in-doubt', 'secret', { hint: 'secret', requestId: 'secret' });
    ledger.doubt(ledger.open(rowTask(1)), secret, null);
    ledger.fail(ledger.open(rowTask(2)), new Failure('refused', 'secret'), 1);
    await settle();

    expect(JSON.stringify(records)).not.toContain('secret');
  });
});

describe('a row that is not sent after all', () => {
  test('is as it was: remaining, told as left', async () => {
    const watched = watchedLedger();
    const entry = watched.ledger.open(rowTask(1));
    await watched.settle();
    watched.ledger.abandon(entry);
    await watched.settle();

    expect(watched.records.at(-1)).toEqual(['N', 1]);
    expect(watched.results).toEqual([{ status: 'left', row: { number: 1 } }]);
    expect(watched.counts.left).toBe(3);
  });

  test('that failed before is remaining: its intent has taken the place of its failure', async () => {
    const watched = watchedLedger({ failed: 1 });
    const entry = watched.ledger.open(rowTask(1, { was: 'failed' }));
    await watched.settle();
    watched.ledger.abandon(entry);
    await watched.settle();

    expect(watched.counts).toMatchObject({ failed: 0, left: 1 });
  });

  test('but may have been done, is in doubt, with the reason that is known', async () => {
    const watched = watchedLedger();
    const entry = watched.ledger.open(rowTask(1));
    await watched.settle();
    Object.assign(entry, { isDoubtful: true, failure: () => doubt });
    watched.ledger.abandon(entry);
    await watched.settle();

    expect(watched.records.at(-1)?.[0]).toBe('U');
    expect(watched.results).toEqual([{ status: 'in-doubt', row: { number: 1 }, failure: doubt }]);
    expect(watched.counts).toMatchObject({ inDoubt: 1, left: 2 });
  });

  test('of an earlier doubt stays in doubt when it is undone, and is told so', async () => {
    const watched = watchedLedger({ inDoubt: 1 });
    const entry = watched.ledger.open(rowTask(1, { was: 'inDoubt', sent: { key: 'k', msAgo: () => 1 } }));
    await watched.settle();
    watched.ledger.requeue(entry);
    await watched.settle();
    expect([watched.records.at(-1)?.[0], watched.counts.inDoubt, watched.results]).toEqual(['U', 1, []]);

    watched.ledger.abandonRequeued(entry);
    watched.ledger.results.pump();

    expect(watched.results).toMatchObject([{ status: 'in-doubt', failure: { kind: 'in-doubt' } }]);
  });
});

describe('rows without a request', () => {
  test('a bad one is recorded and counted, a held one is neither; both are told in their place', async () => {
    const watched = watchedLedger({ left: 1, inDoubt: 1 });
    const { ledger } = watched;

    ledger.recordUnsent({ kind: 'in-doubt', row: { number: 1 }, failure: doubt });
    ledger.recordUnsent({ kind: 'invalid', row: { number: 2 }, was: 'left', failure: refused });
    ledger.recordLeft({ number: 3 });
    await watched.settle();

    expect(watched.records).toEqual([['X', 2]]);
    expect(watched.results.map(({ row, status }) => [row.number, status])).toEqual([
      [1, 'in-doubt'],
      [2, 'failed'],
      [3, 'left'],
    ]);
    expect(watched.counts).toMatchObject({ inDoubt: 1, invalid: 1, left: 0 });
  });
});

test('P10: what waited for the disk when it failed is counted as in doubt', async () => {
  const watched = watchedLedger();
  const entry = watched.ledger.open(rowTask(1));
  await watched.settle();
  watched.ledger.done(entry, '42', 1);

  watched.ledger.markUnsyncedInDoubt();

  expect(watched.counts).toMatchObject({ done: 0, inDoubt: 1, left: 2 });
});
