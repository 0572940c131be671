/**
 * The rows N01 to N41 of the fault catalog (docs/faults.md), each through the whole program over a real socket, for
 * each of its transports. `npx vitest run --project command n01-n41` prints how many have passed.
 */
import { afterAll, expect, test } from 'vitest';
import { printRows, untestedRows } from '../../support/fault-rows.ts';
import './rows-responses.ts';
import './rows-connecting.ts';
import './rows-connections.ts';
import './rows-lost.ts';
import './rows-refused.ts';

test('every row is tested, or says where it is', () => {
  expect(untestedRows()).toEqual([]);
});

afterAll(printRows);
