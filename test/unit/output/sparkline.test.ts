import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sparkline } from '../../../src/output/runs.ts';

const levels = '▁▂▃▄▅▆▇█';

test.each([
  ['no number', [], '', 0],
  ['one', [7], '█', 7],
  ['each level', [1, 2, 3, 4, 5, 6, 7, 8], levels, 8],
  ['nothing but zeros', [0, 0, 0], '▁▁▁', 0],
  ['little beside much', [1, 1000, 0], '▁█▁', 1000],
  ['what is below zero', [-5, 8], '▁█', 8],
])('%s', (_name, numbers, bars, largest) => {
  expect(sparkline(numbers, [], 80)).toEqual({ bars, marks: '', largest });
});

test('marks are below the bars that they belong to', () => {
  expect(sparkline([8, 1, 1, 8, 4], [false, true, true], 80)).toEqual({ bars: '█▁▁█▄', marks: ' xx', largest: 8 });
});

test('what does not fit is drawn as means, and a stretch is marked where any of it is', () => {
  expect(sparkline([8, 8, 0, 0, 4, 4, 2, 6], [false, false, false, true], 4)).toEqual({
    ...{ bars: '█▁▄▄', marks: ' x', largest: 8 },
  });
});

test('there is a bar for every number that fits, in eight heights, the largest full', () => {
  const number = fc.double({ min: 0, max: 1e6, noNaN: true });

  fc.assert(
    fc.property(
      fc.array(fc.tuple(number, fc.boolean()), { maxLength: 300 }),
      fc.integer({ min: -3, max: 200 }),
      (pairs, width) => {
        const marked = pairs.map(([, mark]) => mark);
        const numbers = pairs.map(([value]) => value);
        const { bars, marks, largest } = sparkline(numbers, marked, width);

        expect(bars).toHaveLength(Math.min(pairs.length, Math.max(1, width)));
        expect([...bars].every((bar) => levels.includes(bar))).toBe(true);
        expect(bars.includes('█')).toBe(largest > 0);
        expect(largest).toBeLessThanOrEqual(Math.max(0, ...numbers) * (1 + 1e-9));
        expect(marks).toMatch(/^( *x)*$/);
        expect(marks.length).toBeLessThanOrEqual(bars.length);
        expect(marks !== '').toBe(marked.includes(true));
      },
    ),
  );
});

test('if everything fits a higher number has no lower bar, and each mark is below its bar', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(1000), fc.boolean()), { minLength: 2, maxLength: 60 }), (pairs) => {
      const { bars, marks } = sparkline(
        pairs.map(([value]) => value),
        pairs.map(([, mark]) => mark),
        60,
      );
      const sorted = [...pairs.keys()].sort((one, two) => (pairs[one]?.[0] ?? 0) - (pairs[two]?.[0] ?? 0));
      const heights = sorted.map((at) => levels.indexOf(bars.charAt(at)));

      expect(heights).toEqual(heights.toSorted((one, two) => one - two));
      expect(pairs.map((_, at) => marks[at] === 'x')).toEqual(pairs.map(([, mark]) => mark));
    }),
  );
});
