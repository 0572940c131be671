/** Rows whose outcome is unknown: held, sent again, or given up. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeLines } from '../../../src/bulk/journal-format.ts';
import { Stopped } from '../../../src/core/errors.ts';
import { create, jsonLines, type ManyWorld, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';
import type { Script } from './list-service.ts';

describe('rows in doubt', () => {
  const doubtful: Script = ({ title, nth }) => (title === 't3' && nth < 6 ? { status: 500 } : undefined);

  test('are held by default: named, not sent, 8; the others are sent', async () => {
    const { service, world, mend } = await listWorld({ t3: { status: 500 }, t4: { status: 401 } });
    const words = create(world.file('a.csv', titles(5)));

    await world.run([...words, '--concurrency', '1']);
    mend();
    const held = await world.run([...words, '--resume']);

    expect(held.exitCode).toBe(8);
    expect(jsonLines(held.stdout)).toMatchObject([
      {
        row: 3,
        status: 'in-doubt',
        error: { kind: 'in-doubt', message: 'in doubt since an earlier session; not sent again' },
      },
      { row: 4, status: 'done' },
      { row: 5, status: 'done' },
    ]);
    expect(service.requests.filter(({ title }) => title === 't3')).toHaveLength(1);
    expect(held.stderr).toMatch(/5 rows: 2 created, 2 before, 1 in doubt/);
    expect(held.stderr).toMatch(/runs show \S+ --in-doubt/);
  });

  test('--in-doubt retry sends them again, with their own key', async () => {
    const { service, world } = await listWorld(doubtful);
    const words = create(world.file('a.csv', titles(5)));

    await world.run(words);
    const { exitCode, stdout } = await world.run([...words, '--resume', '--in-doubt', 'retry']);

    expect(exitCode).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([{ row: 3, status: 'done' }]);
    const keys = service.requests.filter(({ title }) => title === 't3').map(({ key }) => key);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  });

  test('--in-doubt skip abandons them: neither sent nor reported again, 0', async () => {
    const { service, world } = await listWorld(doubtful);
    const words = create(world.file('a.csv', titles(5)));

    await world.run(words);
    const skipped = await world.run([...words, '--resume', '--in-doubt', 'skip']);
    const later = await world.run([...words, '--resume']);

    expect([skipped.exitCode, skipped.stdout, later.exitCode, later.stdout]).toEqual([0, '', 0, '']);
    expect(skipped.stderr).toContain('5 rows: 0 created, 4 before, 1 skipped');
    expect(service.requests).toHaveLength(5);
  });

  test('with an honored key they are sent again by themselves: one item', async () => {
    const { service, world, mend } = await listWorld({ t3: { status: 500, applies: true } }, true);
    const words = create(world.file('a.csv', titles(5)), '--idempotency', 'honored', '--retries', '0');

    const first = await world.run(words);
    mend();
    const second = await world.run([...words, '--resume']);

    expect([first.exitCode, second.exitCode, service.items.size]).toEqual([8, 0, 5]);
  });

  test('--in-doubt hold holds them even then', async () => {
    const { service, world } = await listWorld({ t3: { status: 500 } }, true);
    const words = create(world.file('a.csv', titles(5)), '--idempotency', 'honored', '--retries', '0');

    await world.run(words);
    const { exitCode } = await world.run([...words, '--resume', '--in-doubt', 'hold']);

    expect([exitCode, service.requests.length]).toEqual([8, 5]);
  });

  test.each([
    ['update', ['items', 'update', '-f', 'a=1']],
    ['delete', ['items', 'delete', '--yes']],
  ] as const)('of %s are sent again by default: they lead to the same', async (_, words) => {
    let isWell = false;
    const { world } = await listWorld(({ id }) =>
      id === '2' && !isWell ? { status: 500 } : { status: 200, body: { id, fields: {} } },
    );
    const all = [...words, '--from', world.file('ids.txt', '1\n2\n3\n'), '--retries', '0', '--concurrency', '1'];

    const first = await world.run(all);
    isWell = true;
    const second = await world.run([...all, '--resume']);

    expect([first.exitCode, second.exitCode]).toEqual([8, 0]);
    expect(jsonLines(second.stdout)).toMatchObject([{ row: 2, status: 'done', id: '2' }]);
  });

  test('of a delete that was done after all, 404 means done', async () => {
    const { service, world, mend } = await listWorld(({ id }) =>
      id === '2' ? { status: 0, cut: true, applies: true } : undefined,
    );
    for (const id of ['1', '2', '3']) service.items.set(id, {});
    const file = world.file('ids.txt', '1\n2\n3\n');
    const words = ['items', 'delete', '--yes', '--from', file, '--retries', '0', '--concurrency', '1'];

    const first = await world.run(words);
    mend();
    const second = await world.run([...words, '--resume']);

    expect([first.exitCode, second.exitCode, service.items.size]).toEqual([8, 0, 0]);
  });

  test('of an update that is then refused stay in doubt', async () => {
    let isWell = false;
    const { world } = await listWorld(({ id }) => {
      if (id !== '2') return { status: 200, body: { id, fields: {} } };
      return isWell ? { status: 400, body: { error: 'no' } } : { status: 500 };
    });
    const file = world.file('ids.txt', '1\n2\n3\n');
    const words = ['items', 'update', '-f', 'a=1', '--from', file, '--retries', '0', '--concurrency', '1'];

    await world.run(words);
    isWell = true;
    const { exitCode, stdout } = await world.run([...words, '--resume']);

    expect([exitCode, jsonLines(stdout).map(({ status }) => status)]).toEqual([8, ['in-doubt']]);
  });

  test('an intent without an outcome, which is what a kill leaves, is in doubt', async () => {
    const { world } = await listWorld(({ nth }) => (nth > 2 ? { status: 401 } : undefined));
    const words = create(world.file('a.csv', titles(4)));
    await world.run([...words, '--concurrency', '1']);
    cutAfter(world, (record) => record[0] === 'I' && record[1] === 3);

    const { exitCode, stdout } = await world.run([...words, '--resume']);

    expect(exitCode).toBe(8);
    expect(jsonLines(stdout)[0]).toMatchObject({ row: 3, status: 'in-doubt' });
  });
});

describe('rows that are reported without being sent', () => {
  test('a held row first, and one request at a time: the run ends', async () => {
    const { world, mend } = await listWorld({ t2: { status: 500 }, t3: { status: 401 } });
    const words = create(world.file('a.csv', titles(4)), '--concurrency', '1');
    await world.run(words);
    mend();

    expect(await ended(world, [...words, '--resume'])).toBe(8);
  });

  test('more rows left than the window has, for a rejects file: the run ends', async () => {
    const { world } = await listWorld(() => ({ status: 401 }));
    const words = create(world.file('a.csv', titles(20_000)), '-o', 'none', '--rejects', join(world.path, 'r.csv'));

    expect(await ended(world, words)).toBe(3);
  });
});

/** Lets the newest journal end behind the first record that fits, as a killed process leaves it. */
function cutAfter(world: ManyWorld, fits: (record: readonly unknown[]) => boolean): void {
  const journal = world.journals().at(-1) ?? '';
  const [header = ''] = readFileSync(journal, 'utf8').split('\n');
  const records = world.records(journal);
  const kept = records.slice(0, records.findIndex(fits) + 1);
  writeFileSync(
    journal,
    encodeLines(
      JSON.parse(header.slice(9)),
      kept.map((record, index) => [index, record]),
    ),
  );
}

/** The exit code, or undefined where the run does not end: it is stopped, and not waited for. */
async function ended(world: ManyWorld, words: readonly string[]): Promise<number | undefined> {
  const stopping = new AbortController();
  const running = world.run(words, { signal: stopping.signal }).then(({ exitCode }) => exitCode);
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 30_000).unref());
  const exitCode = await Promise.race([running, late]);
  if (exitCode === undefined) stopping.abort(new Stopped('SIGINT'));
  return exitCode;
}
