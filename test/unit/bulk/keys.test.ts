/** Idempotency keys, and the hashes of payloads. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { derivedKey, payloadHash, rowKeys } from '../../../src/bulk/keys.ts';
import { isObject, objectFrom, parseJson } from '../../../src/core/json.ts';

test('a key is 26 letters of base32, and never the same one twice, however many are drawn', () => {
  const key = rowKeys();
  const keys = Array.from({ length: 5000 }, key);

  expect(keys.every((each) => /^[a-z2-7]{26}$/.test(each))).toBe(true);
  expect(new Set(keys).size).toBe(5000);
});

test('two makers share no keys, and every letter occurs at every position', () => {
  const [one, other] = [rowKeys(), rowKeys()];
  const keys = Array.from({ length: 2000 }, (_, index) => (index % 2 === 0 ? one() : other()));

  expect(new Set(keys).size).toBe(2000);
  for (let at = 0; at < 26; at += 1) expect(new Set(keys.map((key) => key[at])).size).toBe(32);
});

const tasks = { origin: 'https://lists.example/v1.0', site: 'home', list: 'tasks' };

test('a derived key has the same shape, and is the same on every machine', () => {
  expect(derivedKey(tasks, 'row', 1, 'abc')).toBe(derivedKey({ ...tasks }, 'row', 1, 'abc'));
  expect(derivedKey(tasks, 'row', 1, 'abc')).toMatch(/^[a-z2-7]{26}$/);
});

test('each part of it makes another key, wherever one part ends', () => {
  const keys = [
    derivedKey(tasks, 'row', 1, 'abc'),
    derivedKey(tasks, 'row', 2, 'abc'),
    derivedKey(tasks, 'row', '1', 'abc'),
    derivedKey(tasks, 'content', 'abc'),
    derivedKey(tasks, 'row', 1, 'ab', 'c'),
    ...[{ origin: 'https://other.example/v1.0' }, { site: 'away' }, { list: 'others' }].map((other) =>
      derivedKey({ ...tasks, ...other }, 'row', 1, 'abc'),
    ),
  ];

  expect(new Set(keys).size).toBe(keys.length);
});

function fieldsOf(text: string) {
  const value = parseJson(text);
  if (!isObject(value)) throw new Error('a test needs an object');
  return value;
}

describe('the hash of a payload', () => {
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
});
