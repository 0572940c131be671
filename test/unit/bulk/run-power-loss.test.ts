/**
 * P07, E4: a run whose power is cut at any moment, or that is killed, and that is resumed from whatever the disk
 * kept: J1 to J5 and J7 hold. `LISTCTL_POWER_LOSS_SEEDS=10000` looks at more; a seed that fails is named, and `LISTCTL_POWER_LOSS_FIRST` begins there.
 */
import { env } from 'node:process';
import { describe, expect, test } from 'vitest';
import type { Mutant } from './cut-world.ts';
import { runWithCuts } from './run-with-cuts.ts';

const seeds = Number(env['LISTCTL_POWER_LOSS_SEEDS'] ?? 200);
const firstSeed = Number(env['LISTCTL_POWER_LOSS_FIRST'] ?? 1);

describe('P05 and P07: a run that is killed, or whose power is cut, again and again', () => {
  test(`comes to its end with no row lost, doubled or unknown: ${seeds} seeds`, async () => {
    const found = { cuts: 0, refused: 0 };
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      const { broken, cuts, isRefused } = await runWithCuts(seed);
      expect({ seed, broken }).toEqual({ seed, broken: [] });
      found.cuts += cuts;
      found.refused += isRefused ? 1 : 0;
    }
    expect(found.cuts).toBeGreaterThan(seeds);
    expect(found.refused).toBeLessThan(seeds / 2);
  }, 600_000);

  test('that would be seen: without the sync of intents rows are doubled', async () => {
    expect(await brokenBy({ change: (io) => ({ ...io, syncData: async () => {} }) }, 'J2')).toBeGreaterThan(0);
  });

  test('that would be seen: without the sync of the directory a journal is lost, and its rows look unsent', async () => {
    const change: Mutant['change'] = (io) => ({ ...io, syncDirectory: () => {} });
    expect(await brokenBy({ change }, 'J4')).toBeGreaterThan(0);
  });

  test('that would be seen: where more are sent at once than the session says, rows are doubled', async () => {
    expect(await brokenBy({ limitSaid: 1 }, 'J2')).toBeGreaterThan(0);
  });
});

/** In how many of 60 runs an invariant is broken: J2 where a row has two items, J4 where one was sent and is pending. */
async function brokenBy(mutant: Mutant, invariant: 'J2' | 'J4'): Promise<number> {
  let count = 0;
  for (let seed = 1; seed <= 60; seed += 1) {
    const { broken } = await runWithCuts(seed, mutant);
    if (broken.some((sentence) => sentence.startsWith(invariant))) count += 1;
  }
  return count;
}
