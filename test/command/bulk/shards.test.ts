/** `--shard I/N`: jobs side by side. */
import { describe, expect } from 'vitest';
import { create, jsonLines, numbered, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';

describe('--shard', () => {
  test('assigns every row to exactly one shard, each with a separate run', async ({ service, world }) => {
    const file = world.file('a.csv', titles(31));

    const runs = await Promise.all(['1/3', '2/3', '3/3'].map((shard) => world.run(create(file, '--shard', shard))));

    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(runs.map(({ stdout }) => jsonLines(stdout).map(({ row }) => row))).toEqual(
      [1, 2, 3].map((first) => Array.from({ length: first === 1 ? 11 : 10 }, (_, index) => first + 3 * index)),
    );
    expect([...service.about()].sort()).toEqual([...numbered(31)].sort());
    expect(world.journals()).toHaveLength(3);
    expect(runs[0]?.stderr).toContain('11 rows of shard 1/3: 11 created');
  });

  test('each share is resumed by itself', async () => {
    const { service, world, mend } = await listWorld({ t5: { status: 401 } });
    const words = create(world.file('a.csv', titles(9)), '--concurrency', '1', '--shard');

    const first = [await world.run([...words, '1/2']), await world.run([...words, '2/2'])];
    mend();
    const second = [await world.run([...words, '1/2', '--resume']), await world.run([...words, '2/2', '--resume'])];

    expect(first.map(({ exitCode }) => exitCode)).toEqual([3, 0]);
    expect(second.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(service.items.size).toBe(9);
    expect(jsonLines(second[0]?.stdout ?? '').map(({ row }) => row)).toEqual([5, 7, 9]);
  });

  test('every job reports an invalid row in any shard, and sends nothing', async ({ service, world }) => {
    const file = world.file('a.csv', 'Title,Note\nt1,a\nt2\nt3,c\n');

    for (const shard of ['1/2', '2/2']) expect((await world.run(create(file, '--shard', shard))).exitCode).toBe(2);
    const skipping = [
      await world.run(create(file, '--skip-invalid', '--shard', '1/2')),
      await world.run(create(file, '--skip-invalid', '--shard', '2/2')),
    ];

    expect(skipping.map(({ exitCode }) => exitCode)).toEqual([0, 9]);
    expect([...service.about()].sort()).toEqual(['t1', 't3']);
  });

  test.for(['0/3', '4/3', '1', '1/0', 'a/b', '-1/3'])(
    '--shard %s is wrong usage',
    async (shard, { service, world }) => {
      const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), `--shard=${shard}`));

      expect([exitCode, service.requests]).toEqual([2, []]);
    },
  );
});
