/** Keys that the service honors, and clocks that are wrong: no create is sent again whose key may have expired. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { create, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

const hour = 3_600_000;
const start = Date.UTC(2026, 10, 20);

/** When the run is resumed, in hours since it began, by the service's clock and by ours, and what ours said at first. */
interface Clocks {
  readonly what: string;
  readonly service: number | 'none';
  readonly first?: number;
  readonly second: number;
  readonly isSent: boolean;
}

const clocks: readonly Clocks[] = [
  { what: 'both are right, within the window', service: 2, second: 2, isSent: true },
  { what: 'both are right, after it', service: 26, second: 26, isSent: false },
  { what: 'ours stood still', service: 26, second: 0, isSent: false },
  { what: 'ours was ten days ahead at first', service: 48, first: 240, second: 48, isSent: false },
  { what: 'ours was ten days ahead at first, within the window', service: 2, first: 240, second: 2, isSent: true },
  { what: 'ours is in 1970, after it', service: 26, second: -start / hour, isSent: false },
  { what: 'ours is in 1970, within it', service: 2, second: -start / hour, isSent: true },
  { what: 'that of the service stood still', service: 0, second: 26, isSent: false },
  { what: 'the service tells no time', service: 'none', second: 2, isSent: false },
];

describe.each([
  ['one row in doubt', (title: string | undefined) => title === 't3'],
  ['every row in doubt', () => true],
])('D4: %s', (_, isDoubtful) => {
  test.each(clocks)('where $what: sent again $isSent', async ({ service: hours, first = 0, second, isSent }) => {
    const { service, world, mend } = await listWorld(
      ({ title, method }) => (method === 'POST' && isDoubtful(title) ? { status: 500, applies: true } : undefined),
      true,
    );
    const words = create(world.file('a.csv', titles(4)), '--idempotency', 'honored', '--retries', '0');
    service.time = hours === 'none' ? 'none' : () => start;
    const lost = await world.run(words, { now: () => start + first * hour });
    mend();
    if (hours !== 'none') service.time = () => start + hours * hour;

    const resumed = await world.run([...words, '--resume'], { now: () => start + second * hour });

    expect([lost.exitCode, resumed.exitCode]).toEqual([8, isSent ? 0 : 8]);
    const titled = [...service.items.values()].map(({ Title }) => Title);
    expect(new Set(titled).size).toBe(titled.length);
    if (isSent) expect(titled).toHaveLength(4);
  });
});

test('D4: where the service cannot be reached its time is not known, and nothing is sent', async () => {
  const { service, world } = await listWorld(({ nth }) => (nth === 1 ? { status: 500 } : undefined), true);
  const words = create(world.file('a.csv', titles(1)), '--idempotency', 'honored', '--retries', '0');
  expect((await world.run(words)).exitCode).toBe(8);
  await service.goDown();

  const { exitCode, stderr } = await world.run([...words, '--resume']);

  expect([exitCode, service.requests.length]).toEqual([7, 1]);
  expect(stderr).toContain('cannot read');
});

test('a token command is run once, although the time is requested on a separate connection', async () => {
  const { service, world } = await listWorld(({ nth }) => (nth === 1 ? { status: 500 } : undefined), true);
  const words = create(world.file('a.csv', titles(1)), '--idempotency', 'honored', '--retries', '0');
  await world.run(words);
  const runs = join(world.path, 'token-runs');
  const env = {
    ...{ LISTCTL_TOKEN: '', PATH: process.env['PATH'] ?? '' },
    LISTCTL_TOKEN_COMMAND: `echo run >> '${runs}'; echo printed-token`,
  };

  const { exitCode } = await world.run([...words, '--resume'], { env });

  expect([exitCode, service.requests.length, readFileSync(runs, 'utf8')]).toEqual([0, 3, 'run\n']);
});
