import { expect, test } from 'vitest';
import { cutText, isAtMost, listNames, shellQuote, shellWord, widthAtMost } from '../../../src/core/text.ts';

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

test.each([
  ['milk', 4],
  ['日本', 4],
  ['a日b', 4],
  ['é…█', 3],
  ['👍', 2],
  ['ก\u1100\u2070\u25a0\uffee', 9],
])('%s takes at most %i columns', (text, columns) => {
  expect(widthAtMost(text)).toBe(columns);
  expect([columns - 1, columns].map((widthMax) => isAtMost(text, widthMax))).toEqual([false, true]);
});

test('of a list only the first names are said, and how many more there are', () => {
  const names = ['a', 'b', 'c', 'd'];

  expect([5, 4, 3].map((max) => listNames(names, max))).toEqual(['a, b, c, d', 'a, b, c, d', 'a, b, c and 1 more']);
  expect(listNames(names, 2, 90)).toBe('a, b and 88 more');
});

test.each([
  ['tasks', 'tasks'],
  ['-p', '-p'],
  ['contoso.example,guid', 'contoso.example,guid'],
  ['/runs/a:b@c+d%20-e=f', '/runs/a:b@c+d%20-e=f'],
  ['Buy milk', "'Buy milk'"],
  ["it's", "'it'\\''s'"],
  ["''", "''\\'''\\'''"],
  ['', "''"],
  ['~', "'~'"],
  ['a$b', "'a$b'"],
  ['=x', "'=x'"],
  ['Title=', 'Title='],
  ['Title=Buy milk', "Title='Buy milk'"],
  ['My-Note.2:=[1]', "My-Note.2:='[1]'"],
  ['N:=5', 'N:=5'],
  ['Note@=a b', "Note@='a b'"],
  ['Note:@=a b', "Note:@='a b'"],
  ['Note=@b', "Note='@b'"],
  ['Note=\n', "Note='\n'"],
  ['My note=a b', "'My note=a b'"],
])('in a shell %s is the word %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test('quotes are added where a word would need none', () => {
  expect(shellQuote('tasks')).toBe("'tasks'");
});
