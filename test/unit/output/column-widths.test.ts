import fc from 'fast-check';
import { expect, test } from 'vitest';
import { columnWidths, gapWidth } from '../../../src/output/table.ts';

/** Needs, the first of them whole, as the id is. */
const needs = (...widths: number[]) => widths.map((width, at) => ({ width, isWhole: at === 0 }));

test.each([
  { name: 'everything fits', widths: [2, 5, 9], widthMax: 20, fitted: [2, 5, 9] },
  { name: 'the widest gives way', widths: [2, 5, 90], widthMax: 40, fitted: [2, 5, 29] },
  { name: 'the wide ones share what is left', widths: [2, 50, 5, 90], widthMax: 40, fitted: [2, 14, 5, 13] },
  { name: 'the last ones are left out', widths: [2, 50, 50, 50], widthMax: 20, fitted: [2, 7, 7] },
  {
    name: 'narrow ones are not left out for being many',
    widths: [2, 1, 1, 1, 1],
    widthMax: 14,
    fitted: [2, 1, 1, 1, 1],
  },
  { name: 'the id stays whole beside a narrow one', widths: [36, 50], widthMax: 44, fitted: [36, 6] },
  { name: 'the id stays whole alone', widths: [36, 50], widthMax: 43, fitted: [36] },
  { name: 'an id wider than the terminal is cut as anything else', widths: [36, 50], widthMax: 20, fitted: [9, 9] },
  { name: 'one column always stays', widths: [36, 50], widthMax: 1, fitted: [1] },
])('$name', ({ widths, widthMax, fitted }) => {
  expect(columnWidths(needs(...widths), widthMax)).toEqual(fitted);
});

test('columns that must stay get at least one place each', () => {
  expect(columnWidths(needs(10, 10), 3, 2)).toEqual([1, 1]);
});

test('no line is wider than the terminal, no column wider than it needs, and no place is wasted', () => {
  const widths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });

  fc.assert(
    fc.property(widths, fc.integer({ min: 1, max: 300 }), (natural, widthMax) => {
      const fitted = columnWidths(needs(...natural), widthMax);
      const total = fitted.reduce((sum, width) => sum + width, gapWidth * (fitted.length - 1));
      const isCut = fitted.some((width, at) => width < (natural[at] ?? 0));

      expect(fitted.length).toBeGreaterThan(0);
      expect(fitted.every((width, at) => width >= 1 && width <= (natural[at] ?? 0))).toBe(true);
      expect(total).toBeLessThanOrEqual(widthMax);
      if (isCut) expect(total).toBe(widthMax);
    }),
  );
});
