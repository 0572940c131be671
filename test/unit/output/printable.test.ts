import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hiddenCharacters, printable, printableLines } from '../../../src/core/text.ts';

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
