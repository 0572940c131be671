/** A short part of the torture: `npm run test:torture` is the whole. */
import { expect, test } from 'vitest';
import { whyNoMount } from '../support/small-disk.ts';
import { largeRowsScenarios, rowsScenarios } from '../torture/rows-scenarios.ts';
import type { Scenario } from '../torture/scenario.ts';
import { settingsScenarios } from '../torture/settings-scenarios.ts';
import { stateScenarios } from '../torture/state-scenarios.ts';
import { whyNoStrace } from '../torture/strace.ts';
import { torture, tortureOnSmallDisk } from '../torture/torture.ts';

const [noStrace, noMount] = [whyNoStrace(), whyNoMount()];

const renames = ['rename', 'renameat', 'renameat2'];

test.skipIf(noStrace !== undefined).each([
  { what: 'sync', name: 'items create --from', calls: ['fdatasync'] },
  { what: 'rename', name: 'apply, over a state that is there', calls: renames },
  { what: 'sync or rename', name: 'profile set, over settings that are there', calls: ['fsync', ...renames] },
  { what: 'removal', name: 'auth login --with-token, over a token that is there', calls: ['unlink', 'unlinkat'] },
])(
  `whichever $what fails under «$name», nothing is lost, doubled or half written${because(noStrace)}`,
  { timeout: 120_000 },
  async ({ name, calls }) => {
    const { hits, broken } = await torture(named(name), { codes: ['EIO'], calls, lasts: false });

    expect(broken).toEqual([]);
    expect(hits).toBeGreaterThan(0);
  },
);

test
  .skipIf(noMount !== undefined)
  .each([
    'items create --from, 80 rows',
    'profile set, for the first time',
    'state import, over a state that is there',
  ])(
  `on a disk with less and less space, «%s» completes or reports the failure${because(noMount)}`,
  { timeout: 120_000 },
  async (name) => {
    const { hits, broken } = await tortureOnSmallDisk(named(name));

    expect(broken).toEqual([]);
    expect(hits).toBeGreaterThan(0);
  },
);

function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (skipped: ${reason})`;
}

function named(name: string): Scenario {
  const scenarios = [...settingsScenarios, ...rowsScenarios, ...largeRowsScenarios, ...stateScenarios];
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`there is no scenario «${name}»`);
  return found;
}
