import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isObject, type JsonValue, NumberToken, objectFrom, parseJson, printJson } from '../../src/core/json.ts';

test.each(['12345678901234567890', '1.10', '1e400', '-0', '1E5', '0.1', '7', '-1.50e+10', '9007199254740993'])(
  'the number %s is printed as it was read, alone and inside',
  (digits) => {
    expect(printJson(parseJson(digits))).toBe(digits);
    expect(printJson(parseJson(`{"a": [${digits}]}`))).toBe(`{"a":[${digits}]}`);
  },
);

test('a number that a double holds exactly is a plain one', () => {
  expect(parseJson('{"a": 5, "b": 1.5}')).toEqual({ a: 5, b: 1.5 });
  expect(parseJson('1.50')).toEqual(new NumberToken('1.50'));
});

test('names of the language are ordinary names, and change nothing else', () => {
  const text =
    '{"__proto__":{"polluted":1.0},"constructor":{"prototype":{"x":1}},"toString":"s","isLosslessNumber":true}';

  const value = parseJson(text) as Record<string, JsonValue>;

  expect(printJson(value)).toBe(text);
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString', 'isLosslessNumber']);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(printJson(objectFrom([['__proto__', 1]]))).toBe('{"__proto__":1}');
});

test('invalid, ambiguous, too deep or too wide JSON is refused', () => {
  const bad = ['', '{', '{"a":1,}', '01', '{"a":1,"a":2}', "{'a':1}", '\u00a01', 'NaN', '"\n"', '1 2'];
  const deep = `${'['.repeat(129)}1.0${']'.repeat(129)}`;
  const wide = `{${Array.from({ length: 10_001 }, (_, index) => `"k${index}":1`).join()}}`;

  for (const text of [...bad, deep, wide]) expect(() => parseJson(text)).toThrow(SyntaxError);
});

test('depth and width are counted outside strings', () => {
  const text = JSON.stringify({ a: '[{:"'.repeat(20_000), b: '\\'.repeat(301), c: [[1]] });

  expect(printJson(parseJson(text))).toBe(text);
  expect(() => parseJson(`${'['.repeat(128)}${']'.repeat(128)}`)).not.toThrow();
});

test('any JSON text is printed equal to what was read', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      expect(JSON.parse(printJson(parseJson(text)))).toEqual(JSON.parse(text));
      expect(JSON.parse(printJson(parseJson(text), 2))).toEqual(JSON.parse(text));
    }),
  );
});

test('number tokens survive reading and printing, whatever their digits', () => {
  const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?$/);

  fc.assert(fc.property(digits, (token) => printJson(parseJson(`[${token}]`)) === `[${token}]`));
});

test('indented text is that of JSON.stringify', () => {
  const value = { a: [1, { b: 'c' }], empty: {}, none: [] };

  expect(printJson(value, 2)).toBe(JSON.stringify(value, undefined, 2));
});

test('an object is distinguished from other values of type object', () => {
  expect([{}, { a: 1 }].every((value) => isObject(value))).toBe(true);
  expect([null, [], new NumberToken('1.0'), 'a', 1, undefined].some((value) => isObject(value))).toBe(false);
});
