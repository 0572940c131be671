import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { delayMs, retryAfterMs, toBudget } from '../../../src/api/outcome.ts';

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
