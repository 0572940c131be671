import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonValue, parseJson, printJson } from '../../../src/core/json.ts';
import { jsonText } from '../../../src/output/layout.ts';

test.each([
  ['DEL', '\x7f', '"\\u007f"'],
  ['a C1 control', '\x9b31m', '"\\u009b31m"'],
  ['ESC', '\x1b[2J', '"\\u001b[2J"'],
  ['a newline', 'a\nb', '"a\\nb"'],
  ['a right-to-left override', '\u202e', '"\\u202e"'],
  ['an isolate', '\u2066', '"\\u2066"'],
  ['line and paragraph separators', '\u2028\u2029', '"\\u2028\\u2029"'],
  ['a byte order mark', '\ufeff', '"\\ufeff"'],
  ['a tag', '\u{e0041}', '"\\udb40\\udc41"'],
  ['half a character', '\ud800', '"\\ud800"'],
  ['an override after a backslash', '\\\u202e', '"\\\\\\u202e"'],
])('%s in a string is an escape', (_name, value, text) => {
  expect(jsonText(value)).toBe(text);
  expect(JSON.parse(text)).toBe(value);
});

test('readable text stays readable', () => {
  expect(jsonText('日本語 👨‍👩‍👧 é')).toBe('"日本語 👨‍👩‍👧 é"');
});

test('a member name is escaped as a string is', () => {
  expect(jsonText({ 'a\u202eb': 1 })).toBe('{"a\\u202eb":1}');
});

test('numbers keep the digits they came with', () => {
  const text = '{"big":12345678901234567890,"price":1.10,"huge":1e400}';

  expect(jsonText(parseJson(text))).toBe(text);
});

test('an indent puts every member on a separate line', () => {
  expect(jsonText({ id: '7', fields: { Title: '\x9b' }, tags: [] }, 2)).toBe(
    '{\n  "id": "7",\n  "fields": {\n    "Title": "\\u009b"\n  },\n  "tags": []\n}',
  );
});

test('whatever the value is, it parses back equal, and is harmless on a terminal', () => {
  const units = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\x1b', '\x7f', '\x9b', '\u202e', '\u2028', '\ufeff', '\u{e0041}', '\u200f', '\\', '"', '\ud800'),
  );
  const strings = fc.array(units).map((parts) => parts.join(''));
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      strings,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(strings, tie('value'), { noNullPrototype: true }),
    ),
  }));

  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (any, indent) => {
      const text = jsonText(any, indent);

      expect(JSON.parse(text)).toEqual(JSON.parse(printJson(any)));
      expect(text).not.toMatch(/[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u);
      expect(indent === 0 && text.includes('\n')).toBe(false);
    }),
  );
});
