/** One process at a time for one run. */
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { create, manyWorld, titles } from './bulk-world.ts';
import { test } from './fixtures.ts';
import { listService } from './list-service.ts';

describe('P23, P24: a run that another process holds', () => {
  test('P23: is 11, naming the holder, with 0 requests, whatever flag is passed', async () => {
    let second: readonly number[] = [];
    let text = '';
    await using world = await manyWorld({ url: '' });
    await using service = await listService(({ nth }) => {
      if (nth !== 1) return undefined;
      const others = async () => {
        const words = create(join(world.path, 'a.csv'));
        const env = { LISTCTL_BASE_URL: service.url };
        const runs = [
          await world.run(words, { env }),
          await world.run([...words, '--resume'], { env }),
          await world.run([...words, '--restart'], { env }),
          // Its journal by its path is the same run.
          await world.run([...words, '--resume', '--journal', world.journals()[0] ?? ''], { env }),
        ];
        second = runs.map(({ exitCode }) => exitCode);
        text = runs[0]?.stderr ?? '';
      };
      return { status: 201, body: { id: '1', fields: {} }, after: others() };
    });
    const file = world.file('a.csv', titles(1));

    const first = await world.run(create(file), { env: { LISTCTL_BASE_URL: service.url } });

    expect([first.exitCode, second, service.requests.length]).toEqual([0, [11, 11, 11, 11], 1]);
    expect(text).toMatch(
      new RegExp(
        `run \\d{8}-\\d{6}-\\w{4} of a\\.csv is in progress in process ${process.pid} on ${hostname()}, since `,
      ),
    );
    expect(text).toContain('pass --lock-timeout to wait');
  });

  test("P23: two runs of other inputs are not in each other's way", async ({ service, world }) => {
    const runs = await Promise.all(
      [20, 21, 22].map((rows) =>
        world.run(create(world.file(`${rows}.csv`, titles(rows)), '-f', `Of:=${rows}`, '-o', 'none')),
      ),
    );

    expect([runs.map(({ exitCode }) => exitCode), service.items.size]).toEqual([[0, 0, 0], 63]);
  });

  test('a journal with two hard links, each with a lock of its own, is 10 with 0 requests', async ({ world }) => {
    await using service = await listService(({ title }) => (title === 't2' ? { status: 400, body: {} } : undefined));
    const env = { LISTCTL_BASE_URL: service.url };
    const words = create(world.file('a.csv', titles(2)), '--journal');
    expect((await world.run([...words, 'j'], { env })).exitCode).toBe(9);
    linkSync(join(world.path, 'j'), join(world.path, 'k'));

    const refused = [
      await world.run([...words, 'j', '--resume'], { env }),
      await world.run([...words, 'k', '--resume'], { env }),
      await world.run(['runs', 'undo', './j', '--yes'], { env }),
    ];
    rmSync(join(world.path, 'k'));

    expect([refused.map(({ exitCode }) => exitCode), service.requests.length]).toEqual([[10, 10, 10], 2]);
    expect(refused[0]?.stderr).toContain('2 hard links');
    expect((await world.run([...words, 'j', '--resume'], { env })).exitCode).toBe(9);
  });

  test('P24: the lock of another host is 11 and names --break-lock, which takes it', async ({ service, world }) => {
    const journal = join(world.path, 'j');
    mkdirSync(`${journal}.lock`);
    // As a process of another machine left it: its name identifies the machine.
    await leaveForeignLock(`${journal}.lock`);
    const words = create(world.file('a.csv', titles(2)), '--journal', journal);

    const held = await world.run(words);
    const broken = await world.run([...words, '--break-lock']);

    expect([held.exitCode, broken.exitCode, service.items.size]).toEqual([11, 0, 2]);
    expect([held.stderr, broken.stderr]).toEqual([
      expect.stringContaining('--break-lock'),
      expect.stringContaining('warning: broke the lock held by'),
    ]);
  });

  test('--lock-timeout waits for it to be released', async ({ world }) => {
    const journal = join(world.path, 'j');
    mkdirSync(`${journal}.lock`);
    await leaveForeignLock(`${journal}.lock`);
    const words = create(world.file('a.csv', titles(2)), '--journal', journal, '--lock-timeout', '30');

    const waiting = await world.run(words);
    rmSync(`${journal}.lock`, { recursive: true });
    const free = await world.run(words);

    expect([waiting.exitCode, free.exitCode]).toEqual([11, 0]);
    expect(waiting.host.elapsedMs()).toBeGreaterThanOrEqual(30_000);
  });
});

/** An entry in a lock's directory, of a machine that is not this one. */
async function leaveForeignLock(directory: string): Promise<void> {
  const { entryOf, thisHolder } = await import('../../../src/core/lock.ts');
  const own = thisHolder({ own: process.pid, isRunning: () => true });
  writeFileSync(join(directory, entryOf({ ...own, domain: 'f'.repeat(16) })), '{"host":"elsewhere"}');
}
