import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { splitWords, wrap } from '../../../src/output/wrap.ts';

const shout = (text: string) => `<${text}>`;

test('words go on in a line below where one is full, further in', () => {
  expect(wrap(splitWords('one two three four'), 10, 2)).toEqual(['one two', '  three', '  four']);
});

test('a part stays together, with its mark', () => {
  expect(wrap([{ text: 'Plan:' }, { text: '3 to create', mark: ',' }, { text: '1 in doubt' }], 14, 2)).toEqual([
    'Plan:',
    '  3 to create,',
    '  1 in doubt',
  ]);
});

test('a part that is wider than a line is broken at its blanks, and a word wherever that is', () => {
  expect(wrap([{ text: 'see https://lists.example', mark: '.' }], 12, 2)).toEqual([
    'see',
    '  https://l',
    '  ists.exam',
    '  ple.',
  ]);
});

test('words of one color on one line are one stretch, and the mark has none', () => {
  expect(wrap([...splitWords('changed outside apply', { paint: shout, mark: ',' }), { text: 'id 7' }], 16, 2)).toEqual([
    '<changed outside>',
    '  <apply>, id 7',
  ]);
});

test('nothing is one empty line', () => {
  expect(wrap([], 20, 2)).toEqual(['']);
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
