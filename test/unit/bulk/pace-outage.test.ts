import { describe, expect, test } from 'vitest';
import { Pace, type PaceEnd } from '../../../src/bulk/pace.ts';
import { type Service, simulate, steady } from './pace-simulation.ts';

const maxWaitMs = 900_000;

/** A pace that was answered once, and then so often not, the last time at `nowMs`. */
function failedPace(failures: number, nowMs = 1000, more: { maxWaitMs?: number } = {}): Pace {
  const pace = new Pace({ limitMax: 32, maxWaitMs, ...more }, () => 0.5);
  pace.ended(pace.started(0), 'accepted', 1);
  fail(pace, failures, nowMs);
  return pace;
}

function fail(pace: Pace, times: number, nowMs: number): void {
  for (let left = times; left > 0; left -= 1) pace.ended(pace.started(nowMs - 1), 'no-response', nowMs);
}

describe('an outage', () => {
  test('begins with the eighth attempt in a row without an answer', () => {
    expect(failedPace(7).outage).toBe('none');

    const pace = failedPace(8);

    expect([pace.outage, pace.outageSinceMs, pace.waitMs(1000)]).toEqual(['probing', 1000, 5000]);
  });

  test.each<[PaceEnd, 'none' | 'probing']>([
    ['accepted', 'none'],
    ['throttled', 'none'],
    ['aborted', 'probing'],
  ])('after seven, one that ended as %s, and one more, it is: %s', (end, outage) => {
    const pace = failedPace(7);
    pace.ended(pace.started(1000), end, 1001, 100);
    fail(pace, 1, 1002);

    expect(pace.outage).toBe(outage);
  });

  test('never begins before the first answer of a run: the retries of the rows decide', () => {
    const pace = new Pace({ limitMax: 32, maxWaitMs }, () => 0.5);
    fail(pace, 100, 1000);

    expect([pace.outage, pace.waitMs(1000)]).toEqual(['none', 0]);
  });

  test('lets one probe through at a time, after 5, 10, 20, 40, 60 and 60 s', () => {
    const pace = failedPace(8, 0);
    let nowMs = 0;

    const waits = [5, 10, 20, 40, 60, 60].map(() => {
      const waitMs = pace.waitMs(nowMs);
      nowMs += waitMs;
      const probe = pace.started(nowMs);
      expect(pace.waitMs(nowMs)).toBe(Number.POSITIVE_INFINITY);
      nowMs += 100;
      pace.ended(probe, 'no-response', nowMs);
      return waitMs / 1000;
    });

    expect(waits).toEqual([5, 10, 20, 40, 60, 60]);
  });

  test('takes no notice of what was sent before it and fails late', () => {
    const pace = failedPace(7);
    const late = [1, 2].map(() => pace.started(1000));
    fail(pace, 1, 1001);
    const probe = pace.started(6001);
    for (const stamp of late) pace.ended(stamp, 'no-response', 6002);

    expect(pace.waitMs(6002)).toBe(Number.POSITIVE_INFINITY);
    pace.ended(probe, 'no-response', 6003);
    expect(pace.waitMs(6003)).toBe(10_000);
  });

  test.each(['accepted', 'throttled'] as const)('ends with the first other answer: %s', (end) => {
    const pace = failedPace(8);
    pace.ended(pace.started(6000), end, 6001, 500);

    expect([pace.outage, pace.outageSinceMs]).toEqual(['none', undefined]);
    expect(pace.waitMs(6001)).toBe(0);
  });

  test('ends with a slow answer, too, but for one to what was sent before the first that failed', () => {
    const pace = new Pace({ limitMax: 32, maxWaitMs }, () => 0.5);
    pace.ended(pace.started(0), 'accepted', 1);
    const before = pace.started(10);
    const failing = Array.from({ length: 8 }, (_, at) => pace.started(20 + at));
    const between = pace.started(30);
    for (const stamp of failing) pace.ended(stamp, 'no-response', 40);
    pace.ended(before, 'accepted', 2000);
    expect(pace.outage).toBe('probing');
    pace.ended(between, 'accepted', 3000);

    expect([pace.outage, pace.waitMs(3000)]).toEqual(['none', 0]);
  });

  test('N41: begins though slow answers of before still come in', () => {
    const service: Service = (nowMs) => (nowMs < 10_000 ? { ms: 2000 } : { ms: 1, isLost: true });

    expect(simulate({ service, untilMs: 11_900 }).losses.length).toBeLessThanOrEqual(64);
  });

  test('that is over does not come back by failures from within it', () => {
    const pace = failedPace(7);
    const late = Array.from({ length: 8 }, () => pace.started(1000));
    fail(pace, 1, 1001);
    pace.ended(pace.started(6001), 'accepted', 6002);
    for (const stamp of late) pace.ended(stamp, 'no-response', 7000);

    expect(pace.outage).toBe('none');
  });

  test('starts its probes from 5 s again the next time', () => {
    const pace = failedPace(8);
    pace.ended(pace.started(6000), 'no-response', 6000);
    pace.ended(pace.started(16_000), 'accepted', 16_000);
    fail(pace, 8, 17_000);

    expect(pace.waitMs(17_000)).toBe(5000);
  });

  test('a probe that was broken off leaves its place to another', () => {
    const pace = failedPace(8);
    pace.ended(pace.started(6000), 'aborted', 6001);

    expect(pace.waitMs(6001)).toBe(0);
  });
});

describe('giving up', () => {
  const gone: Service = (nowMs) => (nowMs < 10_000 ? { ms: 20 } : { ms: 1, isLost: true });

  test.each([0, 2000, 5000, 36_000, 180_000, 900_000])(
    'comes %d ms after the first failure, at most 5 s later',
    (ms) => {
      const { endedMs, pace, losses } = simulate({ service: gone, untilMs: 2_000_000, maxWaitMs: ms });

      expect(pace.outage).toBe('gave-up');
      expect(endedMs - (losses[0] ?? 0)).toBeGreaterThanOrEqual(ms);
      expect(endedMs - (losses[0] ?? 0)).toBeLessThanOrEqual(ms + 5010);
    },
  );

  test('is for good', () => {
    const pace = failedPace(8, 1000, { maxWaitMs: 0 });

    expect([pace.outage, pace.waitMs(1000), pace.waitMs(1e9)]).toEqual([
      'gave-up',
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ]);
    pace.ended(pace.started(2000), 'accepted', 2001);
    expect(pace.outage).toBe('gave-up');
  });
});

test('N41: a service that is down for 60 s gets one probe for each 5 s or more, and the run resumes by itself', () => {
  const up = steady(20, 0.3);
  const service: Service = (nowMs, inside, random) =>
    nowMs > 10_000 && nowMs < 70_000 ? { ms: 1, isLost: true } : up(nowMs, inside, random);

  const { starts, ends, losses } = simulate({ service, untilMs: 120_000 });

  const probes = starts.filter((ms) => ms > 11_000 && ms < 80_000 && ms <= (ends.find((end) => end > 70_000) ?? 0));
  const gaps = probes.slice(1).map((ms, at) => ms - (probes[at] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5000);
  expect(losses.length).toBeLessThanOrEqual(64 + probes.length);
  expect(ends.filter((ms) => ms > 90_000).length).toBeGreaterThan(0.95 * 3200 * 30);
});
