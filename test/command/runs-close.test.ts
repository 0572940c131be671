/** `listctl runs close`: the rows that are not done are no longer sent. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { NewHeader } from '../../src/bulk/journal.ts';
import { runLock } from '../../src/bulk/runs.ts';
import { takeLock } from '../../src/core/lock.ts';
import { main } from '../../src/main.ts';
import { testHost } from '../support/test-host.ts';
import { create, titles } from './bulk/bulk-world.ts';
import { test as bulkTest, listWorld } from './bulk/fixtures.ts';
import { created, done, ended, givenRun, intent, test } from './runs-world.ts';

const title = { Title: 'a' };
/** Done, failed, invalid and remaining. */
const halfDone = (header: Partial<NewHeader> = {}) => ({
  ...{ header, rows: 4 },
  groups: [
    [intent(1, title), done(1, '1'), intent(2, title), ['F', 2, 'refused', 400, null, 3] as const],
    [['X', 3] as const],
    [ended({ done: 1, failed: 1, invalid: 1, left: 1 })],
  ],
});

describe('runs close', () => {
  test('skips every row that is not done; a second time has nothing to do', async ({ world }) => {
    const path = await world.journal(halfDone());

    const closed = await world.run(['runs', 'close', 'last', '--yes', '-o', 'json']);
    const [after, rows] = [
      readFileSync(path),
      await world.run(['runs', 'show', 'last', '--rows', '-q', '[].status', '--json']),
    ];
    const again = await world.run(['runs', 'close', givenRun, '--yes', '-o', 'json']);

    const summary = { run: givenRun, status: 'done', rows: 4, done: 1, failed: 0, inDoubt: 0, left: 0, skipped: 3 };
    for (const { exitCode, stdout } of [closed, again]) {
      expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining(summary)]);
    }
    expect(JSON.parse(rows.stdout)).toEqual(['done', 'skipped', 'skipped', 'skipped']);
    expect(JSON.parse((await world.run(['runs', 'list', '--json'])).stdout)).toEqual([
      expect.objectContaining(summary),
    ]);
    expect(readFileSync(path)).toEqual(after);
  });

  test('asks, and without an answer or --yes records nothing', async ({ world }) => {
    const path = await world.journal(halfDone());
    const before = readFileSync(path);
    const host = testHost({ env: world.env, terminal: 100, cwd: world.path });

    const unasked = await world.run(['runs', 'close', 'last']);
    const asked = main(['runs', 'close', 'last'], host);
    await host.answer('?', 'n\n');

    expect([unasked.exitCode, await asked]).toEqual([2, 2]);
    expect(unasked.stderr).toContain('pass --yes');
    expect(host.printed.stderr.replaceAll(/\s+/g, ' ')).toContain(`Skip 3 rows of run ${givenRun}`);
    expect(readFileSync(path)).toEqual(before);
  });

  test.for([
    { what: 'rows in doubt', run: created('https://lists.example', [{ id: '1' }, {}]), says: '1 row is in doubt' },
    { what: 'an undo', run: halfDone({ action: 'undo', of: '20261120-000000-aaaa' }), says: 'it is the undo of run' },
    { what: 'an apply', run: halfDone({ action: 'apply' }), says: 'it is of an apply' },
  ])('is refused for $what', async ({ run, says }, { world }) => {
    const path = await world.journal(run);
    const before = readFileSync(path);

    const { exitCode, stdout, stderr } = await world.run(['runs', 'close', 'last', '--yes']);

    expect([exitCode, stdout]).toEqual([2, '']);
    for (const text of [`cannot close run ${givenRun}: ${says}`, 'nothing was recorded'])
      expect(stderr).toContain(text);
    expect(readFileSync(path)).toEqual(before);
  });

  test('is refused while the run is in progress', async ({ world }) => {
    await world.journal(halfDone());
    const lock = await takeLock(runLock(world.runs, 'ab'.repeat(32)), { waitMs: 0 }, testHost());

    const { exitCode } = await world.run(['runs', 'close', 'last', '--yes']);
    lock.release();

    expect(exitCode).toBe(11);
  });

  test('is one of a shard alone, and of a journal by its path', async ({ world }) => {
    const own = join(world.path, 'own.journal');
    await world.journal(
      {
        header: { shard: '2/3', rows: 2, input: { bytes: 90, sha256: '0f'.repeat(32), rows: 7 } },
        rows: 2,
        groups: [[intent(2, title), done(2, '1')], [ended({ done: 1, left: 1 })]],
      },
      own,
    );

    const { exitCode, stdout } = await world.run(['runs', 'close', own, '--yes', '--json']);

    expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ done: 1, skipped: 1, left: 0 })]);
  });
});

bulkTest('after the rejects of a run were imported, it is closed: --resume has nothing to do', async () => {
  const { service, world } = await listWorld(({ title, nth }) =>
    title === 't3' && nth < 6 ? { status: 400, body: { error: 'no' } } : undefined,
  );
  const words = create(world.file('y.csv', titles(5)), '-o', 'none');
  const rejects = join(world.path, 'rejects.csv');
  await world.run([...words, '--rejects', rejects]);
  await world.run(create(rejects, '-o', 'none'));

  const refused = await world.run(words);
  const closing = /run "listctl (runs close \S+)"/.exec(refused.stderr)?.[1]?.split(' ') ?? [];
  const closed = await world.run([...closing, '--yes']);
  const resumed = await world.run([...words, '--resume']);
  const repeated = await world.run(words);

  expect([refused, closed, resumed, repeated].map(({ exitCode }) => exitCode)).toEqual([2, 0, 0, 2]);
  expect(repeated.stderr).toContain('also the 4 that exist');
  expect(service.items.size).toBe(5);
});
