import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exitCodes, Failure, type FailureKind } from '../../../src/core/errors.ts';
import {
  FailureGroups,
  failureGroupLines,
  failureJson,
  failureObject,
  failureText,
} from '../../../src/output/failure.ts';
import { loadStyle, plainStyle } from '../../../src/output/view.ts';
import { forbidden, hostileTexts, pipe } from './printed.ts';

test.each([
  ['a message alone', new Failure('usage', 'no site'), 'listctl: no site\n'],
  ['a hint', new Failure('usage', 'no site', { hint: 'pass --site' }), 'listctl: no site\n  pass --site\n'],
  ['two lines of hint', new Failure('usage', 'no', { hint: 'one\ntwo' }), 'listctl: no\n  one\n  two\n'],
  ['no third line of hint', new Failure('usage', 'no', { hint: 'one\ntwo\nthree' }), 'listctl: no\n  one\n  two\n'],
  ['an empty hint', new Failure('usage', 'no', { hint: '' }), 'listctl: no\n'],
  ['a request id', new Failure('refused', 'no', { requestId: 'r-1' }), 'listctl: no (request r-1)\n'],
])('%s', (_name, failure, text) => {
  expect(failureText(failure, plainStyle)).toBe(text);
});

test('nothing in a failure can steer a terminal or forge a line', () => {
  const bad = '\x1b[2J\r\nlistctl: done\u202e';
  const shown = '\\x1b[2J⏎listctl: done\\u{202e}';
  const failure = new Failure('refused', bad, { hint: `see\x07 that`, requestId: bad });

  expect(failureText(failure, plainStyle)).toBe(`listctl: ${shown} (request ${shown})\n  see\\x07 that\n`);
});

test('in color only the name is painted', async () => {
  const failure = new Failure('usage', 'no site', { hint: 'pass --site' });

  expect(failureText(failure, await loadStyle(1))).toBe('\x1b[31mlistctl:\x1b[39m no site\n  pass --site\n');
});

test('a long message is cut, and the request id and the hint stay', () => {
  const failure = new Failure('refused', 'ä'.repeat(5_000), { hint: 'try this\nor that', requestId: 'r-1' });
  const text = failureText(failure, plainStyle);

  expect(text).toMatch(/^listctl: ä{400,}… \(request r-1\)\n {2}try this\n {2}or that\n$/);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
});

test('however long the parts are, the text is at most 1,000 bytes, of at most three whole lines', async () => {
  const style = await loadStyle(1);
  const part = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme', maxLength: 3 }).map((text) => text.repeat(2_000)),
  );

  fc.assert(
    fc.property(part, part, part, (message, hint, requestId) => {
      const text = failureText(new Failure('refused', message, { hint, requestId }), style);

      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
      expect(text.split('\n').length).toBeLessThanOrEqual(4);
      expect(text.endsWith('\n')).toBe(true);
      expect(text).not.toContain('\ufffd'.repeat(2));
      expect(text.replace('\x1b[31mlistctl:\x1b[39m', '')).not.toMatch(/[^\P{Cc}\n]/u);
    }),
  );
});

test('as JSON a failure is one line with every member that is known, in this order', () => {
  const failure = new Failure('not-found', 'no item 17', {
    idempotencyKey: 'k-1',
    requestId: 'r-1',
    serviceCode: 'itemNotFound',
    outcome: 'refused',
    status: 404,
    hint: 'check the id',
    cause: new Error('secret'),
  });

  expect(failureJson(failure)).toBe(
    '{"error":{"kind":"not-found","exit":4,"message":"no item 17","hint":"check the id","status":404,' +
      '"outcome":"refused","serviceCode":"itemNotFound","requestId":"r-1","idempotencyKey":"k-1"}}\n',
  );
});

test('as JSON a failure leaves out what is not known, and escapes what a terminal would obey', () => {
  expect(failureJson(new Failure('usage', 'a\n\x9b\u202e'))).toBe(
    '{"error":{"kind":"usage","exit":2,"message":"a\\n\\u009b\\u202e"}}\n',
  );
});

const { done: _done, bug: _bug, ...kinds } = exitCodes;

test.each(Object.entries(kinds) as [FailureKind, number][])('%s exits with %i in JSON, too', (kind, exit) => {
  expect(JSON.parse(failureJson(new Failure(kind, 'no')))).toEqual({ error: { kind, exit, message: 'no' } });
});

test('the object alone is what the line holds', () => {
  const failure = new Failure('not-found', 'gone', { status: 404, outcome: 'refused' });

  expect(failureObject(failure)).toEqual({
    ...{ kind: 'not-found', exit: 4, message: 'gone' },
    ...{ status: 404, outcome: 'refused' },
  });
  expect(JSON.parse(failureJson(failure))).toEqual({ error: failureObject(failure) });
});

const terminal = (columns: number) => ({ columns, style: plainStyle });

function notFound(id: string, serviceCode?: string): Failure {
  return new Failure('not-found', `there is no item "${id}"`, { status: 404, serviceCode });
}

function grouped(...failures: Failure[]) {
  const groups = new FailureGroups();
  for (const [at, failure] of failures.entries()) groups.add(at + 1, failure);
  return groups.list();
}

test('failures are grouped by kind, HTTP status and code, not by message', () => {
  const groups = grouped(
    new Failure('refused', 'no', { status: 400 }),
    notFound('7'),
    notFound('8'),
    notFound('9', 'itemNotFound'),
    new Failure('refused', 'no', { status: 422 }),
    new Failure('in-doubt', 'no response'),
  );

  expect(groups.map(({ count, kind, status, serviceCode, row }) => [count, kind, status, serviceCode, row])).toEqual([
    [2, 'not-found', 404, undefined, 2],
    [1, 'refused', 400, undefined, 1],
    [1, 'not-found', 404, 'itemNotFound', 4],
    [1, 'refused', 422, undefined, 5],
    [1, 'in-doubt', undefined, undefined, 6],
  ]);
});

test('a code that looks like another kind of failure is a separate group', () => {
  expect(
    grouped(
      new Failure('refused', 'a', { serviceCode: '400' }),
      new Failure('refused', 'b', { status: 400 }),
      new Failure('refused', 'c', { status: 400, serviceCode: '' }),
    ),
  ).toHaveLength(3);
});

test('a line shows the count, the kind, and the first of them', () => {
  const many = Array.from({ length: 1200 }, (_, at) => notFound(String(at), 'itemNotFound'));

  expect(failureGroupLines(grouped(new Failure('usage', 'Count is no number'), ...many), pipe)).toEqual([
    '  1,200 × not-found, HTTP 404, itemNotFound (row 2: there is no item "0")',
    '      1 × usage (row 1: Count is no number)',
  ]);
});

test.each([
  { columns: 40, length: 160 },
  { columns: 200, length: 200 },
])('a line is cut at $length columns on a terminal of $columns, which wraps it', ({ columns, length }) => {
  const [line = ''] = failureGroupLines(grouped(new Failure('refused', 'ab '.repeat(100))), terminal(columns));

  expect(line).toHaveLength(length);
  expect(line).toMatch(/^ {2}1 × refused \(row 1: ab .*…$/);
});

test('without a terminal a line has 160 columns at most, and so has one of unknown width', () => {
  const groups = grouped(new Failure('refused', 'ab '.repeat(100)));

  expect(failureGroupLines(groups, pipe)[0]).toHaveLength(160);
  expect(failureGroupLines(groups, terminal(0))[0]).toHaveLength(160);
});

test.each(hostileTexts)('O01, O02, O04: %s in a message or a code stays on its line', (_name, text) => {
  const groups = grouped(new Failure('refused', text, { serviceCode: text }));

  for (const line of failureGroupLines(groups, pipe)) expect(line).not.toMatch(forbidden);
});

test('a service that makes up a code for each answer gets 50 groups, and one for the rest', () => {
  const groups = grouped(...Array.from({ length: 1000 }, (_, at) => notFound(String(at), `code-${at}`)));

  expect(groups).toHaveLength(51);
  expect(groups.at(-1)).toMatchObject({ count: 950, kind: 'other', row: 51, message: 'there is no item "50"' });
  expect(failureGroupLines(groups, pipe).at(-1)).toBe('  950 × other (row 51: there is no item "50")');
});

test('a group that is known counts on when there are 50', () => {
  const codes = Array.from({ length: 60 }, (_, at) => notFound(String(at), `code-${at}`));

  expect(grouped(...codes, notFound('x', 'code-3'))[0]).toMatchObject({ count: 2, serviceCode: 'code-3', row: 4 });
});

test('of a message or a code without end little is kept', () => {
  const [group] = grouped(new Failure('refused', 'x'.repeat(1e6), { serviceCode: 'y'.repeat(1e6) }));

  expect(group?.message.length).toBeLessThanOrEqual(1000);
  expect(group?.serviceCode?.length).toBeLessThanOrEqual(100);
});

test('every failure is in exactly one group, whatever they are', () => {
  const failure = fc
    .record({
      kind: fc.constantFrom('refused' as const, 'not-found' as const),
      status: fc.option(fc.integer({ min: 400, max: 599 }), { nil: undefined }),
      serviceCode: fc.option(fc.string({ maxLength: 2 }), { nil: undefined }),
    })
    .map(({ kind, status, serviceCode }) => new Failure(kind, 'no', { status, serviceCode }));

  fc.assert(
    fc.property(fc.array(failure, { maxLength: 200 }), (failures) => {
      const groups = grouped(...failures);

      expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(failures.length);
      expect(groups.length).toBeLessThanOrEqual(51);
    }),
  );
});

test('a line has room for the reason: it does not name the list, which the whole run has', () => {
  const task = 'cannot create an item in list "89580f6e-0000" of site "contoso.sharepoint.com,79b2d699,0"';
  const groups = grouped(new Failure('refused', `${task} (HTTP 400: The value is taken)`));
  expect(failureGroupLines(groups, pipe)).toEqual([
    '  1 × refused (row 1: cannot create an item (HTTP 400: The value is taken))',
  ]);
});
