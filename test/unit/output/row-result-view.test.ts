import { expect, test } from 'vitest';
import { Failure } from '../../../src/core/errors.ts';
import { type RowResultShown, rowResultView } from '../../../src/output/runs.ts';
import { loadStyle, type PrintFormat } from '../../../src/output/view.ts';
import { forbidden, hostileTexts, printed } from './printed.ts';

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
