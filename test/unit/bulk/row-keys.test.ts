import { expect, test } from 'vitest';
import { derivedKey, rowKeys } from '../../../src/bulk/keys.ts';

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
