import { describe, expect, test } from 'vitest';
import { defaultRetries, delayMs, isRetryable, toOutcome } from '../../../src/api/outcome.ts';
import type { Attempt, Method, TransportError } from '../../../src/api/transport.ts';

const answered = (status: number, headers = {}): Attempt => ({ response: { status, headers, body: new Uint8Array() } });
const failed = (kind: TransportError['kind'], wasSent = true): Attempt => ({ error: { kind, reason: kind }, wasSent });

const early408: Attempt = { response: { status: 408, headers: {}, body: new Uint8Array(), isEarly: true } };

/** The table of retries-1. */
const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'not sent': [failed('unreachable', false), failed('timeout', false), failed('lost', false)],
  throttled: [answered(429), early408, answered(425), answered(503, { 'retry-after': '1' })],
  broken: [408, 500, 502, 503, 504].map((status) => answered(status)),
  'no response': [failed('lost'), failed('timeout'), failed('unusable')],
  refused: [400, 401, 403, 404, 409, 412, 422, 501, 505, 301, 307].map((status) => answered(status)),
  hopeless: [failed('untrusted', false), failed('too-large'), failed('stopped')],
};

const again: Readonly<Record<string, string>> = {
  GET: 'not sent, throttled, broken, no response',
  DELETE: 'not sent, throttled, broken, no response',
  PATCH: 'not sent, throttled, broken, no response',
  POST: 'not sent, throttled',
  'POST, key honored': 'not sent, throttled, broken, no response',
};

test.each(Object.entries(again))('%s is retried after: %s', (name, expected) => {
  const method = name.split(',')[0] as Method;
  const isRepeatable = name.includes('honored');
  const mayBe = (attempt: Attempt) =>
    isRetryable({ method, attempt, outcome: toOutcome(method, attempt), isRepeatable });

  const verdicts = Object.entries(attempts).map(([kind, each]) => [kind, [...new Set(each.map(mayBe))]]);

  expect(verdicts).toEqual(Object.keys(attempts).map((kind) => [kind, [expected.split(', ').includes(kind)]]));
});

test('a redirect of a write, and an unknown status, are not retried', () => {
  for (const status of [199, 300, 302, 303, 304, 507, 599]) {
    const attempt = answered(status);
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const outcome = toOutcome(method, attempt);
      expect(isRetryable({ method, attempt, outcome, isRepeatable: false })).toBe(false);
    }
  }
});

test.each([200, 201, 204, 299])('a %i with an unusable body is retried where that is safe', (status) => {
  const judged = { attempt: answered(status), outcome: 'unknown' } as const;
  const mayBe = (method: Method, isRepeatable: boolean) => isRetryable({ ...judged, method, isRepeatable });

  expect([mayBe('GET', false), mayBe('PATCH', false), mayBe('POST', true)]).toEqual([true, true, true]);
  expect(mayBe('POST', false)).toBe(false);
});

test('by default there are five attempts, and no wait of more than three minutes', () => {
  expect(defaultRetries).toEqual({ retries: 4, maxWaitMs: 180_000 });
});

describe('the wait', () => {
  const bounds = (wasThrottled: boolean, random: () => number) =>
    [1, 2, 3, 4, 5, 6, 7, 20].map((attempt) => delayMs(attempt, { wasThrottled, requestedMs: undefined }, random));

  test('is random below a bound that doubles to 20 s, and at least 100 ms', () => {
    expect(bounds(false, () => 1)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]);
    expect(bounds(true, () => 1)).toEqual([1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000]);
    expect(bounds(false, () => 0.5)).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    expect(new Set(bounds(false, () => 0))).toEqual(new Set([100]));
  });

  test('is the requested one, and up to a tenth or a second more', () => {
    const wait = (requestedMs: number, random: () => number) => delayMs(4, { wasThrottled: true, requestedMs }, random);

    expect([wait(2000, () => 0), wait(2000, () => 1)]).toEqual([2000, 2200]);
    expect([wait(60_000, () => 0), wait(60_000, () => 1)]).toEqual([60_000, 61_000]);
    expect(wait(1, () => 0)).toBe(100);
  });
});
