/** Two at work on one state: nothing is doubled (P23, P24). */
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { entryOf, thisHolder } from '../../../src/core/lock.ts';
import type { Run } from '../../support/test-host.ts';
import { type ApplyWorld, applyWorld, test } from './fixtures.ts';
import { itemService } from './item-service.ts';

const [a, b] = [{ Title: 'a' }, { Title: 'b' }];

/** Leaves a lock as a process of another machine would. */
function leaveForeignLock({ statePath }: ApplyWorld): void {
  mkdirSync(`${statePath}.lock`);
  const own = thisHolder({ own: process.pid, isRunning: () => true });
  writeFileSync(join(`${statePath}.lock`, entryOf({ ...own, domain: 'f'.repeat(16) })), '{"host":"elsewhere"}');
}

/** Runs a command before an apply, which completes all the same, has the response to its first write. */
async function runMeanwhile(words: readonly string[]): Promise<Run | undefined> {
  await using service = await itemService();
  await using world = await applyWorld(service);
  world.manifest(a, b);
  let second: Run | undefined;
  service.script = ({ nth }) => {
    if (nth > 1) return undefined;
    const others = world.run(words).then((run) => {
      second = run;
    });
    return { status: 201, applies: true, body: { id: '1', fields: a }, after: others };
  };

  const first = await world.apply('--init', '--yes', '--concurrency', '1');

  expect([first.exitCode, service.writes()]).toEqual([0, ['POST a', 'POST b']]);
  return second;
}

describe('P23: while another run holds the lock', () => {
  test.each([
    ['apply', ['apply', 'manifest.yaml', '--init', '--yes']],
    ['state import', ['state', 'import', 'manifest.yaml', 'b=1']],
    ['state forget', ['state', 'forget', 'manifest.yaml', 'a']],
    ['state resolve', ['state', 'resolve', 'manifest.yaml', 'a=none']],
  ])('%s is 11: it names the other, and sends nothing', async (_, words) => {
    const second = await runMeanwhile(words);

    expect(second?.exitCode).toBe(11);
    expect(second?.stderr).toContain(`process ${process.pid} on ${hostname()}`);
  });

  test.each([
    ['apply --dry-run', ['apply', 'manifest.yaml', '--dry-run'], '? key "a", in doubt'],
    ['state export', ['state', 'export', 'manifest.yaml'], 'items: []'],
  ])('%s shows the current state, and says that a run is in progress', async (_, words, shown) => {
    const second = await runMeanwhile(words);

    expect(second?.exitCode).toBe(0);
    expect(second?.stdout).toContain(shown);
    expect(second?.stderr).toContain('is in progress or was interrupted');
  });

  test('--lock-timeout waits for it, and finds nothing left to do', async ({ service, world }) => {
    world.manifest(a, b);
    let second: Promise<Run> | undefined;
    service.script = ({ nth }) => {
      if (nth > 1) return undefined;
      second = world.patient(['apply', 'manifest.yaml', '--yes', '--lock-timeout', '60']);
      const whileItWaits = new Promise((resolve) => setTimeout(resolve, 300));
      return { status: 201, applies: true, body: { id: '1', fields: a }, after: whileItWaits };
    };

    const first = await world.apply('--init', '--yes', '--concurrency', '1');
    const waited = await second;

    expect([first.exitCode, waited?.exitCode, service.writes()]).toEqual([0, 0, ['POST a', 'POST b']]);
    expect(waited?.stdout).toContain('No changes: 2 items');
  });
});

test('a state with two hard links, each with a lock of its own, is 10 with 0 writes', async ({ service, world }) => {
  await world.begin(a);
  world.manifest(a, b);
  linkSync(world.statePath, join(world.path, 'k.json'));

  const refused = [
    await world.apply('--yes'),
    await world.apply('--yes', '--state', 'k.json'),
    await world.state('forget', 'a'),
  ];
  const planned = await world.apply('--dry-run');
  rmSync(join(world.path, 'k.json'));

  expect([refused.map(({ exitCode }) => exitCode), service.writes()]).toEqual([[10, 10, 10], ['POST a']]);
  expect(refused[0]?.stderr).toContain('2 hard links');
  expect(planned.exitCode).toBe(0);
  expect((await world.apply('--yes')).exitCode).toBe(0);
});

describe('P24: the lock of another host', () => {
  test('is 11 and names --break-lock, which takes it and warns', async ({ service, world }) => {
    world.manifest(a);
    leaveForeignLock(world);

    const held = await world.apply('--init', '--yes');
    const broken = await world.apply('--init', '--yes', '--break-lock');

    expect([held.exitCode, broken.exitCode, service.writes()]).toEqual([11, 0, ['POST a']]);
    expect(held.stderr).toContain('--break-lock');
    expect(broken.stderr).toContain('if that process is still running, stop one of the two');
  });

  test('is waited for up to --lock-timeout', async ({ world }) => {
    world.manifest(a);
    leaveForeignLock(world);

    const waited = await world.apply('--init', '--yes', '--lock-timeout', '30');
    rmSync(`${world.statePath}.lock`, { recursive: true });
    const free = await world.apply('--init', '--yes', '--lock-timeout', '30');

    expect([waited.exitCode, free.exitCode]).toEqual([11, 0]);
    expect(waited.host.elapsedMs()).toBeGreaterThanOrEqual(30_000);
  });
});
