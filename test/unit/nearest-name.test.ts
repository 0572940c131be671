import { expect, test } from 'vitest';
import { nearestName } from '../../src/core/text.ts';

const names = ['prod', 'proj', 'staging', 'dev', 'staging.eu', 'by'];

test.each([
  { typed: 'prdo', nearest: 'prod', because: 'two letters swapped' },
  { typed: 'PROD', nearest: 'prod', because: 'other case' },
  { typed: 'stagin', nearest: 'staging', because: 'a letter is missing' },
  { typed: 'staging-eu', nearest: 'staging.eu', because: 'a letter is another' },
  { typed: 'deev', nearest: 'dev', because: 'a letter too many' },
  { typed: 'xdev', nearest: 'dev', because: 'the first letter is too many' },
  { typed: 'y', nearest: 'by', because: 'the first letter is missing' },
  { typed: 'stgaign', nearest: 'staging', because: 'two mistakes in seven letters' },
  { typed: 'prot', nearest: 'prod', because: 'the first of several is named' },
  { typed: 'prxy', nearest: undefined, because: 'two mistakes in four letters' },
  { typed: 'prxo', nearest: undefined, because: 'two mistakes, the first letter of a pair in the other place' },
  { typed: 'prdx', nearest: undefined, because: 'two mistakes, the second letter of a pair in the other place' },
  { typed: 'rpdo', nearest: undefined, because: 'two swaps are two mistakes' },
  { typed: 'production', nearest: undefined, because: 'too much is different' },
  { typed: 'x', nearest: undefined, because: 'nothing is left of it' },
  { typed: '', nearest: undefined, because: 'nothing was typed' },
])('suggests $nearest for $typed: $because', ({ typed, nearest }) => {
  expect(nearestName(typed, names)).toBe(nearest);
});
