import { expect, test } from 'vitest';
import { toFailureScope, toServiceSignal } from '../../../src/api/outcome.ts';
import type { Attempt, Method } from '../../../src/api/transport.ts';

const answered = (status: number, headers = {}): Attempt => ({
  response: { status, headers, body: new Uint8Array() },
});
const html = { 'content-type': 'text/html; charset=utf-8' };
const lost = (kind: 'lost' | 'untrusted' | 'not-local'): Attempt => ({ error: { kind, reason: '' }, wasSent: true });

const failures: readonly (readonly [what: string, Method, Attempt, isUnusable: boolean, scope: string])[] = [
  ['N21: a token that is not accepted', 'GET', answered(401), false, 'run'],
  ['N19: a redirect', 'POST', answered(308), false, 'run'],
  ...[300, 399].map((status) => [`the redirect ${status}`, 'GET', answered(status), false, 'run'] as const),
  ['N15: a page for people', 'POST', answered(200, html), true, 'run'],
  ['N05: an untrusted server', 'POST', lost('untrusted'), false, 'run'],
  ['a server that is not the local one', 'GET', lost('not-local'), false, 'run'],
  ['N22: 403', 'PATCH', answered(403), false, 'run-until-first-success'],
  ['N22: a create without a list', 'POST', answered(404), false, 'run-until-first-success'],
  ['a create without a list any more', 'POST', answered(410), false, 'run-until-first-success'],
  ['an item that is not there', 'GET', answered(404), false, 'row'],
  ...[400, 422].map((status) => [`N23: the refusal ${status}`, 'POST', answered(status), false, 'row'] as const),
  ['N17: a create without an id', 'POST', answered(201), true, 'run-until-first-success'],
  ['a page where an item should be', 'GET', answered(404, html), false, 'run-until-first-success'],
  ['N06: a connection that broke', 'POST', lost('lost'), false, 'row'],
];

for (const [what, method, attempt, isUnusable, scope] of failures) {
  test(`${what} affects: ${scope}`, () => {
    expect(toFailureScope(method, attempt, isUnusable)).toBe(scope);
  });
}

test('a response that belongs to another create ends the run, one about another item does not', () => {
  const scopeOf = (method: Method) => toFailureScope(method, answered(200), true, true);

  expect([scopeOf('POST'), scopeOf('PATCH'), scopeOf('GET')]).toEqual(['run', 'row', 'row']);
});

test('no response and server errors count as unreachable', () => {
  expect([500, 502, 503, 504].map((status) => toServiceSignal(answered(status)))).toEqual(Array(4).fill('unreachable'));
  expect(toServiceSignal(lost('lost'))).toBe('unreachable');
  expect([200, 404, 501, 505].map((status) => toServiceSignal(answered(status)))).toEqual(Array(4).fill('ok'));
  expect(toServiceSignal(answered(429))).toBe('throttled');
  expect(toServiceSignal(answered(503, { 'retry-after': '1' }))).toBe('throttled');
  expect(toServiceSignal(answered(500, { 'retry-after': '1' }))).toBe('unreachable');
});
