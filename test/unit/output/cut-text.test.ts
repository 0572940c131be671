import { expect, test } from 'vitest';
import { cutText } from '../../../src/core/text.ts';

/** One column a character, two where it is an emoji or Chinese. */
function widthOf(text: string): number {
  const characters = Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment);
  return characters.length + characters.filter((char) => /[\p{Emoji_Presentation}\p{Ideographic}]/u.test(char)).length;
}

test.each([
  ['text that fits', 'milk', 4, 'milk'],
  ['ASCII', 'buy milk', 4, 'buy…'],
  ['ASCII, to one column', 'buy milk', 1, '…'],
  ['a wide character that would not fit whole', '日本語', 4, '日…'],
  ['a wide character that fits exactly', '日本語', 5, '日本…'],
  ['wide text, to one column', '日本語', 1, '…'],
  ['a letter with its accents', 'e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
  ['a joined emoji', '👨‍👩‍👧👨‍👩‍👧', 3, '👨‍👩‍👧…'],
  ['a flag', '🇩🇪🇫🇷', 3, '🇩🇪…'],
  ['a skin tone', '👍🏽👍🏽', 3, '👍🏽…'],
])('%s is never cut inside a character', (_name, text, widthMax, cut) => {
  expect(cutText(text, widthMax, widthOf)).toBe(cut);
});
