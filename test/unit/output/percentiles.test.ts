import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPercentiles, timePercentiles } from '../../../src/output/runs.ts';

function percentilesOf(numbers: Iterable<number>) {
  const percentiles = openPercentiles();
  for (const number of numbers) percentiles.add(number);
  return percentiles;
}

/** The definition: the smallest number that at least this share of all are not above. */
function exactly(numbers: readonly number[], share: number): number {
  return numbers.toSorted((one, two) => one - two)[Math.max(1, Math.ceil(share * numbers.length)) - 1] ?? Number.NaN;
}

test('of no number there is no percentile', () => {
  expect(openPercentiles().at(0.5)).toBeUndefined();
  expect(timePercentiles(openPercentiles())).toBeUndefined();
});

test('of one number it is every percentile, as nearly as is promised', () => {
  const percentiles = percentilesOf([120]);

  expect(percentiles.count).toBe(1);
  for (const share of [0.01, 0.5, 1]) expect(Math.abs((percentiles.at(share) ?? 0) - 120)).toBeLessThanOrEqual(1.2);
});

test('a percentile is at most 1 % off, whatever the numbers', () => {
  const number = fc.oneof(
    fc.double({ min: 0.001, max: 1e9, noNaN: true }),
    fc.double({ min: 1, max: 100, noNaN: true }),
    fc.integer({ min: 1, max: 5000 }),
  );

  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 300 }), fc.double({ min: 0.001, max: 1 }), (all, part) => {
      fc.pre(!Number.isNaN(part));
      const percentiles = percentilesOf(all);
      for (const share of [0.5, 0.95, 0.99, 1, part]) {
        const exact = exactly(all, share);

        expect(Math.abs((percentiles.at(share) ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.01);
      }
    }),
  );
});

test('no number between the smallest and the largest is more than 1 % off', () => {
  for (let number = 0.001; number <= 1e9; number *= 1.00137) {
    const off = Math.abs((percentilesOf([number]).at(1) ?? 0) / number - 1);
    if (off > 0.01) expect.fail(`${number} is ${off} off`);
  }
  expect(percentilesOf([1e9]).at(1)).toBeGreaterThan(0.99e9);
});

test('a larger share is no smaller number', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 100 }), (numbers) => {
      const percentiles = percentilesOf(numbers);
      const found = [0.1, 0.5, 0.9, 1].map((share) => percentiles.at(share) ?? Number.NaN);

      expect(found).toEqual(found.toSorted((one, two) => one - two));
    }),
  );
});

test('what is too small counts as 0, and what is too large as the largest', () => {
  expect(percentilesOf([0, 0.0005, 0.0009]).at(1)).toBe(0);
  expect(percentilesOf([-1]).at(1)).toBe(0);
  expect(percentilesOf([1e12, Number.POSITIVE_INFINITY]).at(1)).toBe(percentilesOf([1e9]).at(1));
});

test('the usual three have three digits', () => {
  const times = percentilesOf(Array.from({ length: 1000 }, (_, at) => at + 1));
  const { p50Ms, p95Ms, p99Ms } = timePercentiles(times) ?? {};

  expect([p50Ms, p95Ms, p99Ms].every((ms) => ms === Number(ms?.toPrecision(3)))).toBe(true);
  expect(p50Ms).toBeCloseTo(500, -1);
  expect(p95Ms).toBeGreaterThan(930);
  expect(p99Ms).toBeLessThan(1010);
});
