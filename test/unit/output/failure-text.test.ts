import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exitCodes, Failure, type FailureKind } from '../../../src/core/errors.ts';
import { failureJson, failureObject, failureText } from '../../../src/output/failure.ts';
import { loadStyle, plainStyle } from '../../../src/output/view.ts';

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
