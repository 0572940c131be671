import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { wrap } from '../../../src/output/wrap.ts';

test('a part that is wider than a line is broken at its blanks, and a word wherever that is', () => {
  expect(wrap([{ text: 'see https://lists.example', mark: '.' }], 12, 2)).toEqual([
    'see',
    '  https://l',
    '  ists.exam',
    '  ple.',
  ]);
});

test('no line is wider than it may be, and nothing is lost but blanks', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 50 }), { maxLength: 5 });

  fc.assert(
    fc.property(texts, fc.integer({ min: 20, max: 60 }), (all, width) => {
      const parts = all.map((text) => ({ text, mark: ',' as const }));
      const lines = wrap(parts, width, 4);

      for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
      const shown = lines.join('').replaceAll(' ', '');
      expect(shown.replaceAll(',', '')).toBe(all.join('').replaceAll(/[ ,]/g, ''));
    }),
    { numRuns: 150 },
  );
});
