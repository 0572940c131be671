import { expect, test } from 'vitest';
import { type RunFacts, runSummary } from '../../../src/output/run-summary.ts';
import { loadStyle } from '../../../src/output/style.ts';
import { pipe } from './printed.ts';

const nothing: RunFacts = {
  action: 'create',
  ...{ rows: 0, done: 0, failed: 0, inDoubt: 0, left: 0, skipped: 0 },
  ...{ ms: 0, sent: 0, retries: 0, throttledMs: 0, groups: [] },
};
const summary = (facts: Partial<RunFacts>) => runSummary({ ...nothing, ...facts }, pipe);

test('every count is told, then how long it took and what that was', () => {
  expect(
    summary({
      ...{ rows: 1000, done: 985, failed: 8, inDoubt: 2, skipped: 1, left: 4 },
      ...{ ms: 12_340, sent: 1002, retries: 3, throttledMs: 2000 },
    }),
  ).toEqual([
    '1,000 rows: 985 created, 8 failed, 2 in doubt, 1 skipped, 4 remaining; 12.3 s, 81 rows/s, 3 retries, 2.0 s throttled',
  ]);
});

test('what is zero is not worth a word, but for what was done', () => {
  expect(summary({ rows: 1, done: 1, ms: 200, sent: 1 })).toEqual(['1 row: 1 created; 0.2 s, 5 rows/s']);
  expect(summary({ rows: 2, failed: 2, ms: 1000, sent: 3, retries: 1 })).toEqual([
    '2 rows: 0 created, 2 failed; 1.0 s, 2 rows/s, 1 retry',
  ]);
});

test('I09: an empty file is 0 rows', () => {
  expect(summary({ rows: 0, ms: 12 })).toEqual(['0 rows']);
});

test('where nothing was left to send there is no rate', () => {
  expect(summary({ rows: 5000, done: 5000, ms: 40 })).toEqual(['5,000 rows: 5,000 created; 0.0 s']);
});

test('where no time passed there is no rate either', () => {
  expect(summary({ rows: 1, done: 1, sent: 1 })).toEqual(['1 row: 1 created']);
});

test.each([
  ['create', 'created'],
  ['update', 'updated'],
  ['delete', 'deleted'],
  ['get', 'read'],
  ['undo', 'undone'],
  ['constructor', 'done'],
])('%s: a row that is done is %s', (action, word) => {
  expect(summary({ action, rows: 1, done: 1 })).toEqual([`1 row: 1 ${word}`]);
});

test('the sorts of failures come after, a line each', () => {
  const groups = [{ count: 8, kind: 'not-found', status: 404, row: 3, message: 'there is no item "x"' }];

  expect(summary({ rows: 8, failed: 8, groups })).toEqual([
    '8 rows: 0 created, 8 failed',
    '  8 × not-found, HTTP 404 (row 3: there is no item "x")',
  ]);
});

test('in color what failed is red, and what is in doubt yellow', async () => {
  const facts = { ...nothing, rows: 3, done: 1, failed: 1, inDoubt: 1 };

  expect(runSummary(facts, { columns: 80, style: await loadStyle(1) })).toEqual([
    '3 rows: 1 created, \x1b[31m1 failed\x1b[39m, \x1b[33m1 in doubt\x1b[39m',
  ]);
});
