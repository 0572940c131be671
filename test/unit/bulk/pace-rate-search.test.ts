import { expect, test } from 'vitest';
import { RateSearch } from '../../../src/bulk/rate-search.ts';

/** A search that was throttled once, with 25 requests a second as the first rate to try. */
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

test('the first rate is a quarter more than what was borne, the pause counted in', () => {
  expect(throttledSearch().rate).toBe(25);
});

test('a rate that is borne is raised ever more while no ceiling is known, then halved towards the ceiling', () => {
  const search = throttledSearch();
  answerFor(search, 25, 2000, 3100);
  expect(search.rate).toBe(37.5);
  answerFor(search, 37.5, 3100, 4300);
  expect(search.rate).toBe(75);
  search.throttled(4400, 5400);

  expect(search.rate).toBeCloseTo(Math.sqrt(37.5 * 75));
});

test('two throttles without a borne rate in between are taken down to half of the rate', () => {
  const search = throttledSearch();
  answerFor(search, 25, 2000, 3100);
  search.throttled(3300, 4300);
  answerFor(search, 30, 4300, 4400);
  search.throttled(4400, 5400);

  expect(search.rate).toBeCloseTo(Math.sqrt(25 * 37.5) / 2);
});

test('a rate that was not made use of counts as borne by nobody', () => {
  const search = throttledSearch();
  answerFor(search, 15, 2000, 30_000);

  expect(search.rate).toBe(25);
});

test('answers to what was sent before the rate was set are no proof of it', () => {
  const search = throttledSearch();
  answerFor(search, 25, 2000, 3100);
  for (let ms = 3100; ms < 10_000; ms += 1000 / 80) search.accepted(3000, ms);

  expect(search.rate).toBe(37.5);
});
