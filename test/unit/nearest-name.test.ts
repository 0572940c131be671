import { expect, test } from 'vitest';
import { nearestName } from '../../src/core/text.ts';

const names = ['prod', 'staging', 'dev', 'staging.eu'];

test.each([
  { typed: 'prdo', nearest: 'prod', because: 'two letters swapped' },
  { typed: 'PROD', nearest: 'prod', because: 'other case' },
  { typed: 'stagin', nearest: 'staging', because: 'a letter is missing' },
  { typed: 'staging-eu', nearest: 'staging.eu', because: 'a letter is another' },
  { typed: 'deev', nearest: 'dev', because: 'a letter too many' },
  { typed: 'production', nearest: undefined, because: 'too much is different' },
  { typed: 'x', nearest: undefined, because: 'nothing is left of it' },
  { typed: '', nearest: undefined, because: 'nothing was typed' },
])('suggests $nearest for $typed: $because', ({ typed, nearest }) => {
  expect(nearestName(typed, names)).toBe(nearest);
});
