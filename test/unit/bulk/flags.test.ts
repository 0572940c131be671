/** The flags of `--from`: words in, checked options out. */
import { describe, expect, test } from 'vitest';
import { type BulkFlags, parseBulkFlags } from '../../../src/bulk/flags.ts';

test('without a flag everything has its default', () => {
  expect(parseBulkFlags({})).toEqual({
    ...{ format: undefined, delimiter: undefined, encoding: undefined, only: undefined, idColumn: 'id' },
    ...{ rename: new Map(), types: new Map(), empty: 'omit', rows: 'auto', skipInvalid: false },
    ...{ concurrency: 32, ratePerSecond: undefined, maxErrors: Number.POSITIVE_INFINITY, rejects: undefined },
    ...{ lockWaitMs: 0, breakLock: false, resume: false, restart: false, journal: undefined },
    ...{ inDoubt: undefined, shard: undefined, hasJournal: true, keepBefore: false, keysFrom: undefined },
    ...{ maxDelete: undefined, summaryJson: undefined, reports: [] },
  });
});

test.each<[BulkFlags, object]>([
  [{ inputFormat: 'ndjson' }, { format: 'jsonl' }],
  [{ inputFormat: 'ids' }, { format: 'ids' }],
  [
    { rename: ['a=b', 'c=d=e'] },
    {
      rename: new Map([
        ['a', 'b'],
        ['c=d', 'e'],
      ]),
    },
  ],
  [
    { type: ['a=number', '*=auto'] },
    {
      types: new Map([
        ['a', 'number'],
        ['*', 'auto'],
      ]),
    },
  ],
  [
    { type: ['a,b=number,c=auto', 'd=json'] },
    {
      types: new Map([
        ['a,b', 'number'],
        ['c', 'auto'],
        ['d', 'json'],
      ]),
    },
  ],
  [{ only: 'a,b' }, { only: ['a', 'b'] }],
  [{ concurrency: '1024' }, { concurrency: 1024 }],
  [{ rate: '10' }, { ratePerSecond: 10 }],
  [{ rate: '10/s' }, { ratePerSecond: 10 }],
  [{ rate: '600/m' }, { ratePerSecond: 10 }],
  [{ maxErrors: '5' }, { maxErrors: 5 }],
  [{ failFast: true }, { maxErrors: 1 }],
  [{ failFast: true, maxErrors: '5' }, { maxErrors: 1 }],
  [{ lockTimeout: '1.5' }, { lockWaitMs: 1500 }],
  [{ lockTimeout: '5m' }, { lockWaitMs: 300_000 }],
  [{ lockTimeout: '0' }, { lockWaitMs: 0 }],
  [{ shard: '2/4' }, { shard: { index: 2, count: 4 } }],
  [{ shard: '1/1' }, { shard: undefined }],
  [{ inDoubt: 'skip' }, { inDoubt: 'skip' }],
])('%o is %o', (flags, options) => {
  expect(parseBulkFlags(flags)).toMatchObject(options);
});

describe('what is wrong is named', () => {
  test.each<[BulkFlags, string]>([
    [{ inputFormat: 'xlsx' }, '--input-format'],
    [{ empty: 'keep' }, '--empty'],
    [{ decimal: ';' }, '--decimal'],
    [{ rows: 'all' }, '--rows'],
    [{ inDoubt: 'guess' }, '--in-doubt'],
    [{ idColumn: '' }, '--id-column'],
    [{ only: ',' }, '--only'],
    [{ only: 'a,a' }, '--only'],
    [{ rename: ['a'] }, '--rename'],
    [{ rename: ['=b'] }, '--rename'],
    [{ rename: ['a='] }, '--rename'],
    [{ rename: ['a=b', 'a=c'] }, 'given twice'],
    [{ type: ['a=date'] }, '--type'],
    [{ concurrency: '0' }, '--concurrency'],
    [{ concurrency: '1025' }, '--concurrency'],
    [{ concurrency: '1.5' }, '--concurrency'],
    [{ concurrency: '0x10' }, '--concurrency'],
    [{ rate: '0' }, '--rate'],
    [{ rate: '10/h' }, '--rate'],
    [{ rate: '-1' }, '--rate'],
    [{ maxErrors: '0' }, '--max-errors'],
    [{ maxErrors: 'none' }, '--max-errors'],
    [{ lockTimeout: '-1' }, '--lock-timeout'],
    [{ lockTimeout: '1e3' }, '--lock-timeout'],
    [{ shard: '0/4' }, '--shard'],
    [{ shard: '5/4' }, '--shard'],
    [{ shard: '1/0' }, '--shard'],
    [{ shard: '1' }, '--shard'],
    [{ resume: true, restart: true }, '--restart'],
  ])('%o: %s', (flags, says) => {
    expect(() => parseBulkFlags(flags)).toThrow(says);
    expect(() => parseBulkFlags(flags)).toThrow(expect.objectContaining({ kind: 'usage' }));
  });
});
