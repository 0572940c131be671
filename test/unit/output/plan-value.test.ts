import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonValue, parseJson, printJson } from '../../../src/core/json.ts';
import { exactText, idText, looksSame, nameText, valueText } from '../../../src/output/plan.ts';

test.each(['Buy milk', '2026-01-01', '1.2.3', 'a: b', 'it is true', '007a', 'Grüße', '日本語', 'x="1"', '-'])(
  '%s is text without quotes',
  (text) => {
    expect(valueText(text)).toBe(text);
  },
);

test.each([
  ...'true·Null·5·-1.50·007·+1·.5·1e9·"a"·[1·{·none·cleared·a → b'.split('·'),
  ...['', ' ', ' a', 'a ', 'a\u00a0'],
])('"%s" could be mistaken, so that it is in quotes', (text) => {
  expect(valueText(text)).toBe(JSON.stringify(text));
});

test.each(['null', 'true', '12345678901234567890', '1.10', '1e400', '-0', '["a",{"b":1.0}]'])(
  '%s is JSON with the digits that it came with',
  (json) => {
    expect(valueText(parseJson(json))).toBe(json);
  },
);

test('a newline and the sign for one do not look the same', () => {
  expect(valueText('a\nb')).toBe('"a\\nb"');
  expect(valueText('a⏎b')).toBe('a⏎b');
});

test('different values are different texts', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.jsonValue().map((json) => printJson(json as JsonValue)),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.constantFrom('⏎', '\n', '\\n', '"\\n"'),
  ) as fc.Arbitrary<JsonValue>;

  fc.assert(
    fc.property(value, value, (one, other) => {
      expect(valueText(one) === valueText(other)).toBe(printJson(one) === printJson(other));
      expect(exactText(one)).toMatch(/^[ -~]*$/);
      expect(parseJson(exactText(one))).toEqual(parseJson(printJson(one)));
    }),
    { numRuns: 150 },
  );
});

test.each([
  ['accents put together in another way', 'caf\u00e9', 'cafe\u0301', true],
  ['a blank that does not break', 'a b', 'a\u00a0b', true],
  ['the same', 'a', 'a', true],
  ['another letter', 'a', 'b', false],
])('looks the same: %s', (_name, one, other, isSame) => {
  expect(looksSame(one, other)).toBe(isSame);
});

test.each([
  ['Title', 'Title'],
  ['7', '7'],
  ['Due date', 'Due date'],
  ['__proto__', '__proto__'],
  ['', '""'],
  ['a: b', '"a: b"'],
  [' a', '" a"'],
])('a field called "%s" is %s', (name, shown) => {
  expect(nameText(name)).toBe(shown);
});

test.each([
  ['17', '17'],
  ['3f2504e0-4f89-11d3', '3f2504e0-4f89-11d3'],
  ['17, missing: will be recreated', '"17, missing: will be recreated"'],
])('an item with the id "%s" is %s', (id, shown) => {
  expect(idText(id)).toBe(shown);
});
