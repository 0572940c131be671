import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { splitWords, wrap } from '../../../src/output/wrap.ts';

const shout = (text: string) => `<${text}>`;

test('words of one color on one line are one stretch, and the mark has none', () => {
  expect(wrap([...splitWords('changed outside apply', { paint: shout, mark: ',' }), { text: 'id 7' }], 16, 2)).toEqual([
    '<changed outside>',
    '  <apply>, id 7',
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
