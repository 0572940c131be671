/** The decision tables of an attempt: its outcome, its retry, and the rows of a run that it affects. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  defaultRetries,
  delayMs,
  isRetryable,
  retryAfterMs,
  toBudget,
  toFailureScope,
  toOutcome,
  toServiceSignal,
} from '../../../src/api/outcome.ts';
import type { Attempt, Method, TransportError } from '../../../src/api/transport.ts';

const answered = (status: number, headers = {}): Attempt => ({ response: { status, headers, body: new Uint8Array() } });
const failed = (kind: TransportError['kind'], wasSent = true): Attempt => ({ error: { kind, reason: kind }, wasSent });
const early408: Attempt = { response: { status: 408, headers: {}, body: new Uint8Array(), isEarly: true } };
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const methods: readonly Method[] = ['GET', 'POST', 'PATCH', 'DELETE'];

test.each([
  { because: 'no byte was written', attempts: [failed('lost', false)], outcome: 'not-sent' },
  { because: 'there is no response', attempts: [failed('lost')], outcome: 'unknown' },
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
  const outcomes = [answered(408), early408].map((attempt) => methods.map((method) => toOutcome(method, attempt)));

  expect(outcomes).toEqual([
    ['refused', 'unknown', 'unknown', 'unknown'],
    ['refused', 'refused', 'refused', 'refused'],
  ]);
});

/** The table of retries-1. */
const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'not sent': [failed('unreachable', false), failed('timeout', false), failed('lost', false)],
  throttled: [answered(429), early408, answered(425), answered(503, { 'retry-after': '1' })],
  broken: [408, 500, 502, 503, 504].map((status) => answered(status)),
  'no response': [failed('lost'), failed('timeout'), failed('unusable')],
  refused: [400, 401, 403, 404, 409, 412, 422, 501, 505, 301, 307].map((status) => answered(status)),
  hopeless: [failed('untrusted', false), failed('too-large'), failed('stopped'), failed('not-local', false)],
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

const nowMs = Date.UTC(2026, 0, 1);
const requested = (headers: Record<string, string>) => retryAfterMs({ status: 429, headers }, nowMs, true);
const respondedAt = 'Thu, 01 Jan 2026 00:00:00 GMT';

test.each([
  { header: '2', ms: 2000 },
  { header: '2.128', ms: 2128 },
  { header: '0.0001', ms: 1 },
  { header: '86400', ms: 86_400_000 },
  { header: '9'.repeat(400), ms: Number.MAX_SAFE_INTEGER },
  { header: '2, 7', ms: 7000 },
  { header: 'soon, 7', ms: 7000 },
  { header: 'Thu, 01 Jan 2026 00:00:09 GMT', ms: 9000 },
  { header: 'Thursday, 01-Jan-26 00:00:09 GMT', ms: 9000 },
  { header: 'Thu Jan  1 00:00:09 2026', ms: 9000 },
  { header: 'Thu, 01 Jan 2026 00:00:09 GMT, 4', ms: 9000 },
  { header: 'Fri, 31 Dec 9999 23:59:59 GMT', ms: Date.UTC(9999, 11, 31, 23, 59, 59) - nowMs },
])('Retry-After: $header requests $ms ms', ({ header, ms }) => {
  expect(requested({ 'retry-after': header })).toBe(ms);
});

test.each(['0', '', 'soon', '-5', '0x10', '1e3', '+3', ' ', '2.', '.5', 'Thu, 01 Jan 2020 00:00:00 GMT', '2026-01-02'])(
  'Retry-After: "%s" asks for nothing',
  (header) => {
    expect(requested({ 'retry-after': header })).toBeUndefined();
  },
);

describe('a date counts from the Date of the response, not from the local clock', () => {
  test.each([-86_400_000, 0, 86_400_000])('which is off by %i ms', (offMs) => {
    const headers = { date: respondedAt, 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' };

    expect(retryAfterMs({ status: 503, headers }, nowMs + offMs, true)).toBe(5000);
  });
});

test('a date without a time zone is GMT in any time zone', () => {
  vi.stubEnv('TZ', 'America/New_York');

  expect(requested({ 'retry-after': 'Thu Jan  1 00:00:09 2026' })).toBe(9000);
  expect(requested({ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' })).toBe(9000);
  vi.unstubAllEnvs();
});

test('the longer of Retry-After and RateLimit-Reset counts; a point in time in the latter is ignored', () => {
  expect(requested({ 'retry-after': '2', 'ratelimit-reset': '30' })).toBe(30_000);
  expect(requested({ 'retry-after': '40', 'ratelimit-reset': '30' })).toBe(40_000);
  expect(requested({ 'retry-after': '2', 'ratelimit-reset': '1767225600' })).toBe(2000);
  expect(requested({ 'ratelimit-reset': '999999999' })).toBe(999_999_999_000);
  expect(requested({ 'ratelimit-reset': '1000000000' })).toBeUndefined();
  expect(requested({ 'ratelimit-reset': 'soon' })).toBeUndefined();
});

test('RateLimit-Reset counts only with a throttle, and only where nothing remains', () => {
  const reset = { 'ratelimit-reset': '30' };
  expect(requested({ ...reset, 'ratelimit-remaining': '0' })).toBe(30_000);
  expect(requested({ ...reset, 'ratelimit-remaining': '40', 'retry-after': '2' })).toBe(2000);
  expect(retryAfterMs({ status: 500, headers: reset }, nowMs, false)).toBeUndefined();
  expect(retryAfterMs({ status: 500, headers: { ...reset, 'retry-after': '2' } }, nowMs, false)).toBe(2000);
});

test.each([
  ['40', '30', { remaining: 40, resetMs: 30_000 }],
  ['0', '0.5', { remaining: 0, resetMs: 500 }],
  ['9'.repeat(15), '1', { remaining: 999_999_999_999_999, resetMs: 1000 }],
  ['9'.repeat(16), '1', undefined],
  ['40', '0', undefined],
  ['40', '1767225600', undefined],
  ['40', 'soon', undefined],
  ['40', undefined, undefined],
  [undefined, '30', undefined],
  ['', '30', undefined],
  ['-1', '30', undefined],
  ['1.5', '30', undefined],
  ['40;w=60', '30', undefined],
])('RateLimit-Remaining: %s with RateLimit-Reset: %s is the budget %j', (remaining, reset, budget) => {
  const sent = Object.entries({ 'ratelimit-remaining': remaining, 'ratelimit-reset': reset });
  const headers = Object.fromEntries(sent.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

  expect(toBudget({ status: 200, headers })).toEqual(budget);
});

test('for any header the wait is a number: never too early, never under 100 ms', () => {
  const seconds = fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value.toFixed(4));
  fc.assert(
    fc.property(
      fc.oneof(seconds, fc.string()),
      fc.nat(8),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (...drawn) => {
        const [header, attempt, random] = drawn;
        const requestedMs = requested({ 'retry-after': header });
        const ms = delayMs(attempt + 1, { wasThrottled: true, requestedMs }, () => random);

        expect(Number.isSafeInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(100);
        if (!/^\d+(\.\d+)?$/.test(header)) return;
        const wantedMs = Number(header) * 1000;
        expect(ms).toBeGreaterThanOrEqual(wantedMs);
        // The upper bound holds for requested waits only; others have the usual wait.
        if (wantedMs >= 1000) expect(ms).toBeLessThanOrEqual(wantedMs + Math.min(wantedMs / 10, 1000) + 2);
      },
    ),
  );
});

const html = { 'content-type': 'text/html; charset=utf-8' };

const failures: readonly (readonly [what: string, Method, Attempt, isUnusable: boolean, scope: string])[] = [
  ['N21: a token that is not accepted', 'GET', answered(401), false, 'run'],
  ['N19: a redirect', 'POST', answered(308), false, 'run'],
  ...[300, 399].map((status) => [`the redirect ${status}`, 'GET', answered(status), false, 'run'] as const),
  ['N15: a page for people', 'POST', answered(200, html), true, 'run'],
  ['N05: an untrusted server', 'POST', failed('untrusted'), false, 'run'],
  ['a server that is not the local one', 'GET', failed('not-local'), false, 'run'],
  ['N22: 403', 'PATCH', answered(403), false, 'run-until-first-success'],
  ['N23: a locked list or item', 'POST', answered(423), false, 'run-until-first-success'],
  ['N22: a create without a list', 'POST', answered(404), false, 'run-until-first-success'],
  ['a create without a list any more', 'POST', answered(410), false, 'run-until-first-success'],
  ['an item that is not there', 'GET', answered(404), false, 'row'],
  ...[400, 422].map((status) => [`N23: the refusal ${status}`, 'POST', answered(status), false, 'row'] as const),
  ['N17: a create without an id', 'POST', answered(201), true, 'run-until-first-success'],
  ['a page where an item should be', 'GET', answered(404, html), false, 'run-until-first-success'],
  ['N06: a connection that broke', 'POST', failed('lost'), false, 'row'],
];

test.each(failures)('%s', (_, method, attempt, isUnusable, scope) => {
  expect(toFailureScope(method, attempt, isUnusable)).toBe(scope);
});

test('a response that belongs to another create ends the run, one about another item does not', () => {
  const scopeOf = (method: Method) => toFailureScope(method, answered(200), true, true);

  expect([scopeOf('POST'), scopeOf('PATCH'), scopeOf('GET')]).toEqual(['run', 'row', 'row']);
});

test('no response and server errors count as unreachable', () => {
  expect([500, 502, 503, 504].map((status) => toServiceSignal(answered(status)))).toEqual(Array(4).fill('unreachable'));
  expect(toServiceSignal(failed('lost'))).toBe('unreachable');
  expect([200, 404, 501, 505].map((status) => toServiceSignal(answered(status)))).toEqual(Array(4).fill('ok'));
  expect(toServiceSignal(answered(429))).toBe('throttled');
  expect(toServiceSignal(answered(503, { 'retry-after': '1' }))).toBe('throttled');
  expect(toServiceSignal(answered(500, { 'retry-after': '1' }))).toBe('unreachable');
});
