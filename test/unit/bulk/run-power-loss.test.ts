/**
 * P07, E4: a run whose power is cut at any moment, or that is killed, and that is gone on with from whatever the disk
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
    expect(await doubledBy({ change: (io) => ({ ...io, syncData: async () => {} }) })).toBeGreaterThan(0);
  });

  test('that would be seen: where more are sent at once than the session says, rows are doubled', async () => {
    expect(await doubledBy({ limitSaid: 1 })).toBeGreaterThan(0);
  });
});

/** In how many of 200 runs a row has two items. */
async function doubledBy(mutant: Mutant): Promise<number> {
  let doubled = 0;
  for (let seed = 1; seed <= 200; seed += 1) {
    const { broken } = await runWithCuts(seed, mutant);
    if (broken.some((sentence) => /^J2/.test(sentence))) doubled += 1;
  }
  return doubled;
}
