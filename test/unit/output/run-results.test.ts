import { expect, test } from 'vitest';
import type { RunTotals } from '../../../src/bulk/journal-format.ts';
import { Failure } from '../../../src/core/errors.ts';
import type { FailureGroup } from '../../../src/output/failure.ts';
import { type RowResultShown, rowResultView, runSummary } from '../../../src/output/runs.ts';
import { loadStyle, type PrintFormat } from '../../../src/output/view.ts';
import { forbidden, hostileTexts, pipe, printed } from './printed.ts';

const nothing: RunTotals = {
  ...{ done: 0, failed: 0, invalid: 0, inDoubt: 0, left: 0, skipped: 0 },
  ...{ ms: 0, sent: 0, retries: 0, throttledMs: 0 },
};
/** All of them by this session, unless some were done before. */
const results = (totals: Partial<RunTotals>, before = 0, groups: readonly FailureGroup[] = []) => {
  const { done = 0, failed = 0, inDoubt = 0 } = totals;
  const settled = { settled: done + failed + inDoubt - before, failed, inDoubt };
  return { totals: { ...nothing, ...totals }, settled, groups };
};
const place = { shard: null, target: 'prod (https://lists.example)' };
const summary = (totals: Partial<RunTotals>, action = 'create', groups: readonly FailureGroup[] = []) =>
  runSummary({ ...place, action }, results(totals, 0, groups), pipe).map((line) =>
    line.replace(/[;,] on prod \(https:\/\/lists.example\)$/, ''),
  );

test('ends with the profile and the service, and names the shard', () => {
  const totals = { ...nothing, done: 1, ms: 200, sent: 1 };
  expect(runSummary({ ...place, action: 'create', shard: '3/4' }, results(totals), pipe)).toEqual([
    '1 row of shard 3/4: 1 created; 0.2 s, 5 rows/s, on prod (https://lists.example)',
  ]);
  expect(runSummary({ ...place, action: 'create' }, results({}), pipe)).toEqual([
    '0 rows; on prod (https://lists.example)',
  ]);
});

test('shows every count, then the time taken and the rate', () => {
  expect(
    summary({
      ...{ done: 985, failed: 5, invalid: 3, inDoubt: 2, skipped: 1, left: 4 },
      ...{ ms: 12_340, sent: 1002, retries: 3, throttledMs: 2000, outageMs: 340 },
    }),
  ).toEqual([
    '1,000 rows: 985 created, 8 failed, 2 in doubt, 1 skipped, 4 remaining; 12.3 s, 100 rows/s, 3 retries, 2.0 s throttled, 0.3 s unreachable',
  ]);
});

test('tells what this session did from what was done before', () => {
  const totals = { done: 400, ms: 200, sent: 2 };
  expect(runSummary({ ...place, action: 'create' }, results(totals, 398), pipe)).toEqual([
    '400 rows: 2 created, 398 before; 0.2 s, 10 rows/s, on prod (https://lists.example)',
  ]);
});

test('what is zero is not worth a word, but for what was done', () => {
  expect(summary({ done: 1, ms: 200, sent: 1 })).toEqual(['1 row: 1 created; 0.2 s, 5 rows/s']);
  expect(summary({ failed: 2, ms: 1000, sent: 3, retries: 1 })).toEqual([
    '2 rows: 0 created, 2 failed; 1.0 s, 2 rows/s, 1 retry',
  ]);
});

test('apply counts what it did to items, zeros too', () => {
  const applied = { created: 3, updated: 1, deleted: 0, unchanged: 1200 };
  const of = { ...results({ done: 4, failed: 1, left: 2, ms: 1000, sent: 5 }), applied };

  expect(runSummary({ ...place, action: 'apply' }, of, pipe)).toEqual([
    '3 created, 1 updated, 0 deleted, 1,200 unchanged, 1 failed, 2 remaining; 1.0 s, 5 steps/s, on prod (https://lists.example)',
  ]);
});

test('I09: an empty file is 0 rows', () => {
  expect(summary({ ms: 12 })).toEqual(['0 rows']);
});

test('shows no rate if nothing was left to send', () => {
  expect(summary({ done: 5000, ms: 40 })).toEqual(['5,000 rows: 5,000 created; 0.0 s']);
});

test('shows no rate if no time passed', () => {
  expect(summary({ done: 1, sent: 1 })).toEqual(['1 row: 1 created']);
});

test.each([
  ['create', 'created'],
  ['update', 'updated'],
  ['delete', 'deleted'],
  ['get', 'read'],
  ['undo', 'undone'],
  ['constructor', 'done'],
])('%s: a row that is done is %s', (action, word) => {
  expect(summary({ done: 1 }, action)).toEqual([`1 row: 1 ${word}`]);
});

test('the sorts of failures come after, a line each', () => {
  const groups = [{ count: 8, kind: 'not-found', status: 404, row: 3, message: 'there is no item "x"' }];

  expect(summary({ failed: 8 }, 'create', groups)).toEqual([
    '8 rows: 0 created, 8 failed',
    '  8 × not-found, HTTP 404 (row 3: there is no item "x")',
  ]);
});

test('in color what failed is red, and what is in doubt yellow', async () => {
  const totals = { ...nothing, done: 1, failed: 1, inDoubt: 1 };

  const screen = { columns: 80, style: await loadStyle(1) };
  expect(runSummary({ ...place, action: 'create' }, results(totals), screen)).toEqual([
    '3 rows: 1 created, \x1b[31m1 failed\x1b[39m, \x1b[33m1 in doubt\x1b[39m; on prod (https://lists.example)',
  ]);
});

const show = (format: PrintFormat, ...results: RowResultShown[]) => printed(rowResultView, results, { format });

const done: RowResultShown = { row: 3, action: 'create', status: 'done', id: '17' };
const failed: RowResultShown = {
  ...{ row: 4, action: 'update', status: 'failed', id: '18' },
  failure: new Failure('not-found', 'there is no item "18"', { status: 404, outcome: 'refused', requestId: 'r-1' }),
};
const inDoubt: RowResultShown = {
  ...{ row: 5, action: 'create', status: 'in-doubt' },
  failure: new Failure('in-doubt', 'no answer', { outcome: 'unknown', idempotencyKey: 'k-1' }),
};

test('as JSON what is not done has its failure as stderr would have it', async () => {
  expect(await show('jsonl', failed, inDoubt)).toBe(
    '{"row":4,"action":"update","status":"failed","id":"18","error":{"kind":"not-found","exit":4,' +
      '"message":"there is no item \\"18\\"","status":404,"outcome":"refused","requestId":"r-1"}}\n' +
      '{"row":5,"action":"create","status":"in-doubt","error":{"kind":"in-doubt","exit":8,"message":"no answer",' +
      '"outcome":"unknown","idempotencyKey":"k-1"}}\n',
  );
});

test('on a terminal each row is one line', async () => {
  expect(await show('pretty', failed, inDoubt, done, { row: 6, action: 'apply', status: 'done' })).toBe(
    [
      'row 4 failed: there is no item "18" (request r-1)',
      'row 5 in doubt: no answer',
      'row 3 created: 17',
      'row 6 applied',
      '',
    ].join('\n'),
  );
});

test('highlights failures in color', async () => {
  const screen = { columns: 80, style: await loadStyle(1) };

  expect(await rowResultView.pretty([failed, inDoubt], screen)).toBe(
    'row 4 \x1b[31mfailed\x1b[39m: there is no item "18" (request r-1)\nrow 5 \x1b[33min doubt\x1b[39m: no answer',
  );
});

test('a result that says no more than it must is shown, too', async () => {
  expect(await show('pretty', { row: 1, action: 'create', status: 'in-doubt' })).toBe('row 1 in doubt\n');
});

test.each(hostileTexts)(
  'O01, O02, O04: %s in an id, a message or a request id stays on its line',
  async (_name, text) => {
    const failure = new Failure('refused', text, { requestId: text });
    const results: RowResultShown[] = [
      { ...done, id: text },
      { ...failed, failure },
      { ...inDoubt, failure },
    ];

    const lines = (await show('pretty', ...results)).split('\n');

    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).not.toMatch(forbidden);
  },
);

test.each(hostileTexts)('O03: %s comes back equal from JSON, and steers nothing on its way', async (_name, text) => {
  const json = await show('jsonl', { ...failed, id: text, failure: new Failure('refused', text) });

  expect(json.slice(0, -1)).not.toMatch(forbidden);
  expect(JSON.parse(json)).toMatchObject({ id: text, error: { message: text } });
});

test('a message of a service that never ends is cut, and the request id stays', async () => {
  const failure = new Failure('refused', 'ä'.repeat(50_000), { requestId: 'r-1' });

  expect(await show('pretty', { ...failed, failure })).toMatch(/^row 4 failed: ä{700,900}… \(request r-1\)\n$/);
});
