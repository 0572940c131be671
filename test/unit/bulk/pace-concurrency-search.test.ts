import { expect, test } from 'vitest';
import { ConcurrencySearch } from '../../../src/bulk/concurrency-search.ts';

/** Gives the limit after two rounds of four at once, 40 ms each: 100 answers a second. */
function limitAfter(allowed: number, isHeldBack = false): number {
  const search = new ConcurrencySearch(64);
  for (const roundMs of [0, 40]) {
    for (const underWay of [1, 2, 3, 4]) search.started(underWay, roundMs);
    if (isHeldBack) search.heldBack();
    for (const ms of [10, 20, 30, 40]) search.accepted(roundMs + ms, allowed);
  }
  return search.limit;
}

test('a round that was full doubles the limit', () => {
  expect(limitAfter(Number.POSITIVE_INFINITY)).toBe(8);
});

test('a round that did nearly all that the rate allows says nothing of the limit', () => {
  expect(limitAfter(110)).toBe(4);
  expect(limitAfter(130)).toBe(8);
});

test('a round with a pause in it says nothing of the limit', () => {
  expect(limitAfter(Number.POSITIVE_INFINITY, true)).toBe(4);
});
