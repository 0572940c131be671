import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { oneLine } from '../../../src/core/text.ts';
import { forbidden, hostileTexts } from './hostile-text.ts';

test.each([
  ['what fits', 'Buy milk', 8, 'Buy milk'],
  ['what does not', 'Buy milk', 7, 'Buy mi…'],
  ['wide characters', '漢字漢字', 5, '漢字…'],
  ['two lines', 'a\nb', 80, 'a⏎b'],
])('%s', (_name, text, width, line) => {
  expect(oneLine(text, width)).toBe(line);
});

test.each(hostileTexts)('O01, O02, O04: %s is visible, and no half of an escape steers anything', (_name, text) => {
  for (let width = 1; width < 40; width += 1) expect(oneLine(text, width)).not.toMatch(forbidden);
});

test('no line is wider than it may be', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 1, max: 80 }), (text, width) => {
      expect(stringWidth(oneLine(text, width))).toBeLessThanOrEqual(width);
    }),
    { numRuns: 150 },
  );
});
