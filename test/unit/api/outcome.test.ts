import { expect, test } from 'vitest';
import { toOutcome } from '../../../src/api/outcome.ts';
import type { Attempt, Method } from '../../../src/api/transport.ts';

const answered = (status: number, headers = {}): Attempt => ({ response: { status, headers, body: new Uint8Array() } });
const failed = (wasSent: boolean): Attempt => ({ error: { kind: 'lost', reason: 'lost' }, wasSent });
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const methods: readonly Method[] = ['GET', 'POST', 'PATCH', 'DELETE'];

test.each([
  { because: 'no byte was written', attempts: [failed(false)], outcome: 'not-sent' },
  { because: 'there is no response', attempts: [failed(true)], outcome: 'unknown' },
  { because: 'a complete 2xx', attempts: range(200, 299).map((status) => answered(status)), outcome: 'applied' },
  {
    because: 'a complete no',
    attempts: [...range(400, 407), ...range(409, 499)].map((status) => answered(status)),
    outcome: 'refused',
  },
  {
    because: 'a complete no',
    attempts: [301, 307, 308, 501, 505].map((status) => answered(status)),
    outcome: 'refused',
  },
  { because: 'a throttle says for how long', attempts: [answered(503, { 'retry-after': '1' })], outcome: 'refused' },
  {
    because: 'a gateway may have lost it',
    attempts: [500, 502, 503, 504, 599].map((status) => answered(status)),
    outcome: 'unknown',
  },
  {
    because: 'it is not a final response',
    attempts: [100, 199, 300, 304].map((status) => answered(status)),
    outcome: 'unknown',
  },
] as const)('$outcome: $because', ({ attempts, outcome }) => {
  for (const method of methods)
    expect(attempts.map((attempt) => toOutcome(method, attempt))).toEqual(attempts.map(() => outcome));
});

test('a redirect that turns a write into a read leaves its outcome unknown', () => {
  const outcomes = methods.map((method) => [302, 303].map((status) => toOutcome(method, answered(status))));

  expect(outcomes).toEqual([
    ['refused', 'refused'],
    ['unknown', 'unknown'],
    ['unknown', 'unknown'],
    ['unknown', 'unknown'],
  ]);
});

test('a 408 refuses a read, and a write that was not fully written; the outcome of another write is unknown', () => {
  const early: Attempt = { response: { status: 408, headers: {}, body: new Uint8Array(), isEarly: true } };
  const outcomes = [answered(408), early].map((attempt) => methods.map((method) => toOutcome(method, attempt)));

  expect(outcomes).toEqual([
    ['refused', 'unknown', 'unknown', 'unknown'],
    ['refused', 'refused', 'refused', 'refused'],
  ]);
});
