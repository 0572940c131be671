import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  countOf,
  countText,
  cutText,
  hiddenCharacters,
  isAtMost,
  listNames,
  nearestName,
  printable,
  printableLines,
  quoted,
  rateText,
  roughTimeText,
  shellQuote,
  shellWord,
  timeText,
  widthAtMost,
} from '../../src/core/text.ts';

/** Every code point that O01, O02 and O04 name; written down here a second time, from the design and not the code. */
const forbiddenRanges = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x061c, 0x061c],
  [0x200e, 0x200f],
  [0x2028, 0x2029],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
  [0xfeff, 0xfeff],
  [0xd800, 0xdfff],
  [0xe0000, 0xe007f],
] as const;
const forbidden = forbiddenRanges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
const isForbidden = new Set(forbidden);

test.each([
  ['an escape sequence', '\x1b[2J', '\\x1b[2J'],
  ['a window title', '\x1b]0;owned\x07', '\\x1b]0;owned\\x07'],
  ['a C1 control sequence', '\x9b31m', '\\x9b31m'],
  ['backspace, delete and null', 'a\bb\x7fc\0', 'a\\x08b\\x7fc\\x00'],
  ['a newline', 'one\ntwo', 'one⏎two'],
  ['CRLF', 'one\r\ntwo', 'one⏎two'],
  ['two newlines', '\n\n', '⏎⏎'],
  ['a lone CR', 'one\rtwo', 'one\\x0dtwo'],
  ['a tab', 'a\tb', 'a\\tb'],
  ['the last of the controls, U+009F', 'a\x9fb', 'a\\x9fb'],
  ['next line, U+0085', 'a\x85b', 'a\\x85b'],
  ['a right-to-left override', 'exe\u202egpj', 'exe\\u{202e}gpj'],
  ['an isolate', '\u2066x\u2069', '\\u{2066}x\\u{2069}'],
  ['a byte order mark', '\ufeffid', '\\u{feff}id'],
  ['line and paragraph separators', 'a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
  ['tags', 'ok\u{e0061}\u{e007f}', 'ok\\u{e0061}\\u{e007f}'],
  ['half a character', 'a\ud83d!\udc00', 'a\\u{d83d}!\\u{dc00}'],
  ['a zero-width space', 'ad\u200bmin', 'ad\\u{200b}min'],
  ['a soft hyphen', 'ad\xadmin', 'ad\\u{ad}min'],
  ['a filler that looks like nothing', '\u3164', '\\u{3164}'],
  ['bytes smuggled in variation selectors', 'a!\u{e0101}\u{e0102}', 'a!\\u{e0101}\\u{e0102}'],
])('%s is shown as an escape', (_name, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test.each([
  ['plain text', 'Buy milk: 2 × 1.5 l (~3 €)'],
  ['nothing', ''],
  ['a backslash', 'C:\\new\\x1b'],
  ['Japanese', '日本語'],
  ['a name with a variation selector', '葛\u{e0100}城'],
  ['a family of emoji', '👨‍👩‍👧'],
  ['an emoji variation selector', '❤\ufe0f'],
  ['Persian with a ZWNJ', 'می\u200cخواهم'],
  ['Arabic and Hebrew letters', 'مرحبا שלום'],
  ['combining marks', 'e\u0301 กำ'],
])('%s stays as it is', (_name, text) => {
  expect(printable(text)).toBe(text);
});

test.each(forbiddenRanges)('no character from %i to %i gets through, and each is shown', (from, to) => {
  for (let code = from; code <= to; code += 1) {
    expect(printable(`a${String.fromCodePoint(code)}b`)).toMatch(/^a(⏎|\\t|\\x[0-9a-f]{2}|\\u\{[0-9a-f]{3,5}\})b$/);
  }
});

test('with lines and tabs allowed finds all other hidden characters, and of ASCII only DEL', () => {
  const text = 'one\n\ttwo\x1b\x7f three\u202e\u200b';

  expect(text.replace(hiddenCharacters(), '?')).toBe('one\n\ttwo\x1b? three??');
});

test('the lines of a text are its own, and one newline at its end begins none', () => {
  expect(printableLines('a\tb\r\nc\rd\n\n')).toEqual(['a\\tb', 'c\\x0dd', '']);
  expect(printableLines('a\nb\r\n')).toEqual(['a', 'b']);
  expect(printableLines('a\nb')).toEqual(['a', 'b']);
});

test('no text lets a forbidden character through, nor a second line', () => {
  const char = fc.oneof(
    fc.constantFrom(...forbidden).map((code) => String.fromCodePoint(code)),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\r\n', '\ud83d', '👨‍👩‍👧', 'e\u0301'),
  );

  fc.assert(
    fc.property(fc.array(char), (chars) => {
      const shown = printable(chars.join(''));

      expect(Array.from(shown).some((found) => isForbidden.has(found.codePointAt(0) ?? 0))).toBe(false);
    }),
  );
});

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
  ['Note=\n', "Note=$'\\n'"],
  ["it's\r\n::x\t\\", "$'it\\'s\\r\\n::x\\t\\\\'"],
  ['\u0000\u001b[1m\u007f\u0085', "$'\\x00\\x1b[1m\\x7f\\u0085'"],
  ['My note=a b', "'My note=a b'"],
])('in a shell %s is the word %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test('quotes are added where a word would need none', () => {
  expect(shellQuote('tasks')).toBe("'tasks'");
});

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

const names = ['prod', 'proj', 'staging', 'dev', 'staging.eu', 'by'];

test.each([
  { typed: 'prdo', nearest: 'prod', because: 'two letters swapped' },
  { typed: 'PROD', nearest: 'prod', because: 'other case' },
  { typed: 'stagin', nearest: 'staging', because: 'a letter is missing' },
  { typed: 'staging-eu', nearest: 'staging.eu', because: 'a letter is another' },
  { typed: 'deev', nearest: 'dev', because: 'a letter too many' },
  { typed: 'xdev', nearest: 'dev', because: 'the first letter is too many' },
  { typed: 'y', nearest: 'by', because: 'the first letter is missing' },
  { typed: 'stgaign', nearest: 'staging', because: 'two mistakes in seven letters' },
  { typed: 'prot', nearest: 'prod', because: 'the first of several is named' },
  { typed: 'prxy', nearest: undefined, because: 'two mistakes in four letters' },
  { typed: 'prxo', nearest: undefined, because: 'two mistakes, the first letter of a pair in the other place' },
  { typed: 'prdx', nearest: undefined, because: 'two mistakes, the second letter of a pair in the other place' },
  { typed: 'rpdo', nearest: undefined, because: 'two swaps are two mistakes' },
  { typed: 'production', nearest: undefined, because: 'too much is different' },
  { typed: 'x', nearest: undefined, because: 'nothing is left of it' },
  { typed: '', nearest: undefined, because: 'nothing was typed' },
])('suggests $nearest for $typed: $because', ({ typed, nearest }) => {
  expect(nearestName(typed, names)).toBe(nearest);
});

test('a text in a message is quoted, and cut after 100 characters', () => {
  expect(quoted('a "b"\n')).toBe('"a \\"b\\"\\n"');
  expect(quoted('x'.repeat(100))).toBe(`"${'x'.repeat(100)}"`);
  expect(quoted('x'.repeat(101))).toBe(`"${'x'.repeat(100)}…"`);
});
