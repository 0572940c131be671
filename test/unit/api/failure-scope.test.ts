import { expect, test } from 'vitest';
import { toFailureScope, toServiceSignal } from '../../../src/api/outcome.ts';
import type { Attempt, Method } from '../../../src/api/transport.ts';

const answered = (status: number, headers = {}): Attempt => ({
  response: { status, headers, body: new Uint8Array() },
});
const html = { 'content-type': 'text/html; charset=utf-8' };
const lost = (kind: 'lost' | 'untrusted'): Attempt => ({ error: { kind, reason: '' }, wasSent: true });

const concerns: readonly (readonly [what: string, Method, Attempt, isUnusable: boolean, concern: string])[] = [
  ['N21: a token that is not accepted', 'GET', answered(401), false, 'every'],
  ['N19: a redirect', 'POST', answered(308), false, 'every'],
  ['N15: a page for people', 'POST', answered(200, html), true, 'every'],
  ['N05: somebody else', 'POST', lost('untrusted'), false, 'every'],
  ['N22: 403', 'PATCH', answered(403), false, 'every-until-done'],
  ['N22: a create without a list', 'POST', answered(404), false, 'every-until-done'],
  ['an item that is not there', 'GET', answered(404), false, 'itself'],
  ['N23: a refusal', 'POST', answered(422), false, 'itself'],
  ['N17: a create without an id', 'POST', answered(201), true, 'every-until-done'],
  ['a page where an item should be', 'GET', answered(404, html), false, 'every-until-done'],
  ['N06: a connection that broke', 'POST', lost('lost'), false, 'itself'],
];

for (const [what, method, attempt, isUnusable, concern] of concerns) {
  test(`${what} concerns ${concern}`, () => {
    expect(toFailureScope(method, attempt, isUnusable)).toBe(concern);
  });
}

test('a service that says nothing, or only that it can not, gives no sign of itself', () => {
  expect([500, 502, 503, 504].map((status) => toServiceSignal(answered(status)))).toEqual(Array(4).fill('silent'));
  expect(toServiceSignal(lost('lost'))).toBe('silent');
  expect([200, 404, 501, 505].map((status) => toServiceSignal(answered(status)))).toEqual(Array(4).fill('answered'));
  expect(toServiceSignal(answered(429))).toBe('throttled');
  expect(toServiceSignal(answered(503, { 'retry-after': '1' }))).toBe('throttled');
});
