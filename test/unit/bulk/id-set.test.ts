import { expect, test } from 'vitest';
import { IdSet } from '../../../src/bulk/keys.ts';

test.each([
  ['numbers', (index: number) => String(index)],
  ['GUIDs', (index: number) => `0f8fad5b-d9cb-469f-a165-${String(index).padStart(12, '0')}`],
  ['long ids', (index: number) => `${'é'.repeat(50)}${index}`],
])('%s are told apart, each is added once', (_, idOf) => {
  const ids = Array.from({ length: 20_000 }, (__, index) => idOf(index));
  const set = new IdSet();

  expect(ids.filter((id) => !set.add(id))).toEqual([]);
  expect(ids.filter((id) => set.add(id))).toEqual([]);
  expect(set.add('')).toBe(true);
});
