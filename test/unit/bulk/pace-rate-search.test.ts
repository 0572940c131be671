import { describe, expect, test } from 'vitest';
import { RateSearch } from '../../../src/bulk/rate-search.ts';

/** A search that was throttled once: 20 a second were borne, and 18 are checked. */
function throttledSearch(): RateSearch {
  const search = new RateSearch(Number.POSITIVE_INFINITY);
  for (let ms = 0; ms < 1000; ms += 25) answer(search, ms);
  search.throttled(1000, 2000);
  return search;
}

function answer(search: RateSearch, nowMs: number, tripMs = 20): void {
  search.started(nowMs);
  search.accepted(nowMs, nowMs + tripMs);
}

/** Answers so many a second, from one time to another. */
function answerFor(search: RateSearch, perSecond: number, fromMs: number, toMs: number): void {
  for (let ms = fromMs; ms < toMs; ms += 1000 / perSecond) answer(search, ms);
}

test('the first rate is a little less than what was borne, the pause counted in', () => {
  expect(throttledSearch().rate).toBeCloseTo(18);
});

test('a rate that is borne is raised ever more while no ceiling is known, then halved towards the ceiling', () => {
  const search = throttledSearch();
  answerFor(search, 18, 2000, 3650);
  expect(search.rate).toBeCloseTo(18 * 1.6);
  answerFor(search, 18 * 1.6, 3650, 4850);
  expect(search.rate).toBeCloseTo(18 * 1.6 * 2);
  search.throttled(5000, 6000);

  expect(search.rate).toBeCloseTo(18 * 1.6 * Math.SQRT2);
});

test('two throttles without a borne rate in between are taken down to half of the rate', () => {
  const search = throttledSearch();
  answerFor(search, 18, 2000, 3650);
  search.throttled(3800, 4800);
  const failed = search.rate;
  answerFor(search, failed, 4800, 4900);
  search.throttled(4900, 5900);

  expect(search.rate).toBeCloseTo(failed / 2);
});

test('a rate that was not made use of counts as borne by nobody', () => {
  const search = throttledSearch();
  answerFor(search, 12, 2000, 30_000);

  expect(search.rate).toBeCloseTo(18);
});

test('answers to what was sent before the rate was set are no proof of it', () => {
  const search = throttledSearch();
  answerFor(search, 18, 2000, 3650);
  for (let ms = 3650; ms < 10_000; ms += 1000 / 80) search.accepted(3500, ms);

  expect(search.rate).toBeCloseTo(18 * 1.6);
});

describe('a check', () => {
  test('shows throttles to be strays that stay at the lower rate', () => {
    const search = throttledSearch();
    answerFor(search, 18, 2000, 2500);

    expect([2500, 2550, 2600].map((ms) => search.strayed(ms))).toEqual([false, false, true]);
  });

  test('shows a limit where they do not: the next one that is throttled ends a rate', () => {
    const search = throttledSearch();
    answerFor(search, 18, 2000, 3650);

    expect([search.isChecking, search.strayed(3700), search.strayed(3750), search.strayed(3800)]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  test('takes known strays for what they are', () => {
    const search = throttledSearch();
    search.stray = 0.2;
    answerFor(search, 18, 2000, 2700);

    expect([2700, 2750, 2800].map((ms) => search.strayed(ms))).toEqual([false, false, false]);
  });
});
