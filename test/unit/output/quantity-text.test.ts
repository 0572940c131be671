import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countOf, countText, rateText, roughTimeText, timeText } from '../../../src/core/text.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [12_000, '12,000'],
  [1_234_567, '1,234,567'],
])('the count %i is %s', (count, text) => {
  expect(countText(count)).toBe(text);
});

test('a count reads back as itself, in groups of three', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (count) => {
      expect(countText(count)).toMatch(/^\d{1,3}(,\d{3})*$/);
      expect(Number(countText(count).replaceAll(',', ''))).toBe(count);
    }),
  );
});

test('one is singular', () => {
  expect([0, 1, 2].map((count) => countOf(count, 'row'))).toEqual(['0 rows', '1 row', '2 rows']);
  expect([1, 2].map((count) => countOf(count, 'retry', 'retries'))).toEqual(['1 retry', '2 retries']);
});

test.each([
  [0, '0 rows/s'],
  [0.04, '0 rows/s'],
  [1, '1 row/s'],
  [4.21, '4.2 rows/s'],
  [9.94, '9.9 rows/s'],
  [9.96, '10 rows/s'],
  [811.6, '812 rows/s'],
  [12_345.6, '12,346 rows/s'],
])('a rate of %d is %s', (rate, text) => {
  expect(rateText(rate)).toBe(text);
});

test.each([
  [0, '0.0 s', '0 s'],
  [49, '0.0 s', '0 s'],
  [2000, '2.0 s', '2 s'],
  [12_345, '12.3 s', '12 s'],
  [59_940, '59.9 s', '1 min'],
  [59_960, '1 min', '1 min'],
  [60_000, '1 min', '1 min'],
  [108_000, '1 min 48 s', '1 min 48 s'],
  [3_599_400, '59 min 59 s', '59 min 59 s'],
  [3_599_600, '1 h', '1 h'],
  [7_500_000, '2 h 5 min', '2 h 5 min'],
  [86_390_000, '1 d', '1 d'],
  [273_600_000, '3 d 4 h', '3 d 4 h'],
])('%i ms are %s, and roughly %s', (ms, text, rough) => {
  expect(timeText(ms)).toBe(text);
  expect(roughTimeText(ms)).toBe(rough);
});

test('no time has sixty seconds or minutes, or 24 hours', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (ms) => {
      for (const text of [timeText(ms), roughTimeText(ms)]) expect(text).not.toMatch(/\b(60(\.0)? s|60 min|24 h)\b/);
    }),
    { numRuns: 150 },
  );
});
