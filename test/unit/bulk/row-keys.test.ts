import { expect, test } from 'vitest';
import { rowKeys } from '../../../src/bulk/row-keys.ts';

test('a key is 26 letters of base32, and never the same one twice, however many are drawn', () => {
  const key = rowKeys();
  const keys = Array.from({ length: 5000 }, key);

  expect(keys.every((each) => /^[a-z2-7]{26}$/.test(each))).toBe(true);
  expect(new Set(keys).size).toBe(5000);
});

test('two makers have nothing in common, and every letter stands at every place', () => {
  const [one, other] = [rowKeys(), rowKeys()];
  const keys = Array.from({ length: 2000 }, (_, index) => (index % 2 === 0 ? one() : other()));

  expect(new Set(keys).size).toBe(2000);
  for (let at = 0; at < 26; at += 1) expect(new Set(keys.map((key) => key[at])).size).toBe(32);
});
