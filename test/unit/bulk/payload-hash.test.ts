import fc from 'fast-check';
import { expect, test } from 'vitest';
import { payloadHash } from '../../../src/bulk/keys.ts';
import { isObject, objectFrom, parseJson } from '../../../src/core/json.ts';

function fieldsOf(text: string) {
  const value = parseJson(text);
  if (!isObject(value)) throw new Error('a test needs an object');
  return value;
}

test('is 16 hex digits', () => {
  expect(payloadHash(undefined, fieldsOf('{"Title":"a"}'))).toMatch(/^[0-9a-f]{16}$/);
});

test('does not depend on the order of members, at any depth', () => {
  const one = fieldsOf('{"a":1,"b":{"x":[{"p":1,"q":2}],"y":2},"c":"z"}');
  const other = fieldsOf('{"c":"z","b":{"y":2,"x":[{"q":2,"p":1}]},"a":1}');

  expect(payloadHash('17', one)).toBe(payloadHash('17', other));
});

test.each([
  ['{"a":1}', '{"a":2}'],
  ['{"a":1}', '{"a":1.0}'],
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":1}', '{"a":1,"b":null}'],
  ['{"a":[1,2]}', '{"a":[2,1]}'],
  ['{"a":12345678901234567890}', '{"a":12345678901234567891}'],
  ['{"a":"b"}', '{"b":"a"}'],
  ['{"a":{}}', '{"a":[]}'],
  ['{"__proto__":1}', '{}'],
])('distinguishes %s from %s', (one, other) => {
  expect(payloadHash(undefined, fieldsOf(one))).not.toBe(payloadHash(undefined, fieldsOf(other)));
});

test('the id counts; none is not the empty one', () => {
  const fields = fieldsOf('{"a":1}');

  expect(new Set([undefined, '', '1', '2'].map((id) => payloadHash(id, fields))).size).toBe(4);
});

test('any object, with its members in any order', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 8 }), (members) => {
      const entries = Object.entries(JSON.parse(JSON.stringify(members)));
      const [one, other] = [objectFrom(entries as never), objectFrom(entries.toReversed() as never)];
      expect(payloadHash('x', one)).toBe(payloadHash('x', other));
    }),
  );
});
