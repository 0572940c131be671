import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { truncateBoth, truncateMiddle, wrap, wrapMessage } from '../../../src/output/wrap.ts';
import { forbidden } from './printed.ts';

test.each([
  {
    line: 'listctl: item "99" of list "tasks" was not found (HTTP 404: there is no such item)',
    lines: ['listctl: item "99" of list "tasks" was', '  not found (HTTP 404: there is no such', '  item)'],
  },
  {
    line: '  set LISTCTL_TOKEN or run listctl auth login --with-token -p prod < token.txt; it has expired',
    lines: [
      '  set LISTCTL_TOKEN or run',
      '    listctl auth login --with-token -p prod < token.txt;',
      '    it has expired',
    ],
  },
  {
    line: '  for a long while you can also pass --row 150 or -f Title="Buy some milk"',
    lines: ['  for a long while you can also pass', '    --row 150 or', '    -f Title="Buy some milk"'],
  },
  {
    line: '  write strings in quotes: [?Count > `5` && Title == 1]',
    lines: ['  write strings in quotes:', '    [?Count > `5` && Title == 1]'],
  },
  {
    line: '  run listctl init, or pass --base-url <url> and set LISTCTL_TOKEN',
    lines: ['  run listctl init, or pass', '    --base-url <url> and set', '    LISTCTL_TOKEN'],
  },
  { line: `cannot read /${'long/'.repeat(10)}file`, lines: ['cannot read', `  /${'long/'.repeat(10)}file`] },
  {
    line: '\u001b[31mlistctl:\u001b[39m exactly forty visible ones up',
    lines: ['\u001b[31mlistctl:\u001b[39m exactly forty visible ones up'],
  },
  { line: '', lines: [''] },
])('on 40 columns "$line" wraps at blanks, and what is copied stays whole', ({ line, lines }) => {
  expect(wrapMessage(line, 40).split('\n')).toEqual(lines);
});

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

const alphabet = 'abcdefghijklmnopqrstuvwxyz';
const letters = alphabet.repeat(4);
const family = '👨‍👩‍👧';

test.each([
  ['what fits is whole', alphabet, 26, alphabet],
  ['both ends are kept, with blanks round the cut', letters, 25, 'abcdefghijk … pqrstuvwxyz'],
  ['where it is narrow, without', letters, 8, 'abcd…xyz'],
  ['a wide character is never withHalfRate', '漢'.repeat(20), 9, '漢漢…漢漢'],
  ['nor is a joined emoji', family.repeat(9), 27, `${family} … ${family}`],
  ['nor a flag, counted from its own start', '🇩🇪🇫🇷'.repeat(9), 20, '🇩🇪🇫🇷…🇩🇪🇫🇷'],
])('%s', (_name, text, width, cut) => {
  expect(truncateMiddle(text, width)).toBe(cut);
});

const at = (index: number, what: string) => letters.slice(0, index) + what + letters.slice(index + 1);

test.each([
  ['at the start', at(0, '1'), ['abcdefghijklmn … nopqrstuvwxyz', '1bcdefghijklmn … nopqrstuvwxyz']],
  ['in the middle', at(50, '1'), ['abcdef … uvwxyzabcdef … uvwxyz', 'abcdef … uvwx1zabcdef … uvwxyz']],
  ['just behind the head', at(16, '1'), ['abcdef … mnopqrstuvwx … uvwxyz', 'abcdef … mnop1rstuvwx … uvwxyz']],
  ['at the end', at(103, '1'), ['abcdefghijklmn … nopqrstuvwxyz', 'abcdefghijklmn … nopqrstuvwxy1']],
  ['behind the end of one', `${letters}1`, ['abcdefghijklmn … opqrstuvwxyz', 'abcdefghijklmn … opqrstuvwxyz1']],
])('two texts that differ %s show it in the same column', (_name, after, cut) => {
  expect(truncateBoth(letters, after, 30)).toEqual(cut);
});

test('keeps the end of the shorter one, even if the longer one continues for the length of a tail', () => {
  expect(truncateBoth(alphabet, `${alphabet}     `, 11)).toEqual(['ab…z', 'ab…z     ']);
});

/** A text of one part or several, so that two of them have long stretches in common. */
const pieces = fc.array(fc.oneof(fc.constantFrom(alphabet, 'a'.repeat(40), 'ab'), fc.string({ maxLength: 3 })), {
  maxLength: 6,
});
const graphemes = fc.string({ unit: 'grapheme', maxLength: 60 });

test('two different texts of ASCII never look the same, and keep both ends', () => {
  fc.assert(
    fc.property(pieces, pieces, pieces, fc.integer({ min: 8, max: 60 }), (common, ones, others, width) => {
      const one = [...common, ...ones, ...common].join('');
      const other = [...common, ...others, ...common].join('');
      fc.pre(one !== other);
      const cut = truncateBoth(one, other, width);

      expect(cut[0]).not.toBe(cut[1]);
      for (const [text, shown] of [[one, cut[0]] as const, [other, cut[1]] as const]) {
        expect(shown.length).toBeLessThanOrEqual(width);
        expect(shown.at(0)).toBe(text.at(0));
        expect(shown.at(-1)).toBe(text.at(-1));
        if (text.length <= width) expect(shown).toBe(text);
      }
    }),
    { numRuns: 150 },
  );
});

test('the first place where they differ is in both, in the same column', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), fc.nat(300), fc.integer({ min: 8, max: 80 }), (before, one, other, width) => {
      const common = 'abcdefghij'.repeat(30).slice(0, before);
      const [a, b] = truncateBoth(`${common}X${'-'.repeat(one)}`, `${common}Y${'-'.repeat(other)}`, width);
      fc.pre(a.includes('…') && b.includes('…'));

      expect(a.indexOf('X')).toBeGreaterThanOrEqual(0);
      expect(b.indexOf('Y')).toBe(a.indexOf('X'));
    }),
    { numRuns: 150 },
  );
});

test('no text is wider than it may be, and no character is taken apart', () => {
  fc.assert(
    fc.property(graphemes, graphemes, graphemes, fc.integer({ min: 8, max: 60 }), (common, one, other, width) => {
      for (const shown of [truncateMiddle(one + common, width), ...truncateBoth(common + one, common + other, width)]) {
        expect(stringWidth(shown)).toBeLessThanOrEqual(width);
        expect(shown).not.toMatch(/\p{Cs}/u);
        expect(shown).not.toMatch(forbidden);
      }
    }),
    { numRuns: 150 },
  );
});
