/** What is remembered of a run's rows. */
import { describe, expect, test } from 'vitest';
import type { IntentRecord } from '../../../src/bulk/journal-format.ts';
import { RunRows } from '../../../src/bulk/journal-read.ts';
import { hashFor } from './journal-samples.ts';

const intended = (row: number, seq: number, key: string | null = null): IntentRecord => {
  return ['I', row, seq, 1, key, hashFor(row)];
};

describe('a doubt', () => {
  test('is as old as the last attempt, where no key makes it one with those before', () => {
    const rows = new RunRows(5);
    rows.take(intended(1, 1), 100);
    rows.take(['U', 1, 'no response', 1], 200);
    rows.take(intended(1, 2), 300);
    rows.take(['U', 1, 'no response', 1], 400);

    expect(rows.doubtOf(1)).toMatchObject({ sentAt: 300 });
  });

  test('is as old as the first attempt with its key', () => {
    const rows = new RunRows(5);
    rows.take(intended(1, 1, 'k'), 100);
    rows.take(['U', 1, 'no response', 1], 200);
    rows.take(intended(1, 2, 'k'), 300);
    rows.take(['U', 1, 'no response', 1], 400);

    expect(rows.doubtOf(1)).toMatchObject({ sentAt: 100 });
  });
});

describe('the moment of a doubt by the clock of the service', () => {
  const session = (at: number) => ({ boot: 'here', limit: 9, tool: '0.1.0', at });

  test('is known of what its session sent, before or after the service said its time', () => {
    const rows = new RunRows(5);
    rows.begin(session(1000));
    rows.take(intended(1, 1, 'a'), 1001);
    rows.take(intended(2, 2, 'b'), 1002);
    rows.take(['U', 2, 'no response', 1], 1003);
    rows.setServiceClock(-500);
    rows.take(intended(3, 3, 'c'), 1004);
    rows.setServiceClock(90_000);
    rows.take(intended(4, 4, 'd'), 1005);
    rows.endSession(session(1000), '');

    expect([1, 2, 3, 4].map((row) => rows.doubtOf(row)?.serviceAt)).toEqual([501, 502, 504, 91_005]);
  });

  test('is of the session that first sent the key', () => {
    const rows = new RunRows(5);
    rows.begin(session(1000));
    rows.take(intended(1, 1, 'a'), 1001);
    rows.endSession(session(1000), '');
    rows.begin(session(2000));
    rows.take(intended(2, 2, 'b'), 2001);
    rows.setServiceClock(10);
    rows.take(intended(1, 3, 'a'), 2002);
    rows.endSession(session(2000), '');

    expect(rows.doubtOf(1)).toMatchObject({ sentAt: 1001, serviceAt: undefined, session: { at: 1000 } });
    expect(rows.doubtOf(2)).toMatchObject({ sentAt: 2001, serviceAt: 2011, session: { at: 2000 } });
  });
});

test.each([1, 1023, 1024, 1025, 2048, 2049, 5000])('row %i is remembered, whichever came before', (row) => {
  const rows = new RunRows(5000);
  rows.take(intended(1, 1), 0);
  rows.take(['X', 2], 0);
  rows.take(intended(row, 2), 0);
  rows.endSession({ boot: '', limit: 2, tool: '0.1.0', at: 0 }, '');

  expect([rows.stateOf(1), rows.stateOf(2), rows.stateOf(row)]).toEqual(['in-doubt', 'invalid', 'in-doubt']);
  expect([rows.hashOf(1), rows.hashOf(row)]).toEqual([hashFor(1), hashFor(row)]);
  expect(rows.counts(5000)).toMatchObject({ inDoubt: row === 1 ? 1 : 2, invalid: 1 });
});

test('a hash is given back with its zeros', () => {
  const rows = new RunRows(5);
  rows.take(['I', 1, 1, 1, null, '0000000a00000b00'], 0);

  expect(rows.hashOf(1)).toBe('0000000a00000b00');
});

test('of a run over very many rows only those that were begun take memory', () => {
  const before = process.memoryUsage().arrayBuffers;
  const rows = new RunRows(50_000_000);
  for (let row = 1; row <= 10_000; row += 1) rows.take(intended(row, row), 0);
  rows.take(intended(49_999_999, 10_001), 0);

  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4_000_000);
  expect(rows.stateOf(50_000_000)).toBe('pending');
  rows.endSession({ boot: '', limit: 9, tool: '0.1.0', at: 0 }, '');
  expect(rows.counts(50_000_000)).toMatchObject({ inDoubt: 10_001, left: 49_989_999 });
});
