/** A service that gives one id to two creates: one of the two responses belongs to another request. */
import { expect, test } from 'vitest';
import { create, jsonLines, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

test('a create whose id the run was given before is in doubt, and ends the run', async () => {
  const { service, world } = await listWorld(({ nth }) =>
    nth === 3 ? { status: 201, body: { id: '2', fields: {} }, applies: true } : undefined,
  );

  const words = create(world.file('a.csv', titles(5)), '--concurrency', '1');
  const { exitCode, stdout, stderr } = await world.run(words);

  expect(exitCode).toBe(8);
  expect(jsonLines(stdout)).toMatchObject([
    { row: 1, status: 'done', id: '1' },
    { row: 2, status: 'done', id: '2' },
    { row: 3, status: 'in-doubt', error: { message: expect.stringContaining('which belongs to another item') } },
  ]);
  expect(stderr).toContain('the run stopped');
  expect(service.requests).toHaveLength(3);
});

test('a resumed run knows the ids of the sessions before', async () => {
  let isUp = false;
  const { world } = await listWorld(({ title }) => {
    if (title !== 't3') return undefined;
    return isUp ? { status: 201, body: { id: 1, fields: {} } } : { status: 401 };
  });
  const words = create(world.file('a.csv', titles(4)), '--concurrency', '1');

  const first = await world.run(words);
  isUp = true;
  const second = await world.run([...words, '--resume']);

  expect([first.exitCode, second.exitCode]).toEqual([3, 8]);
  expect(jsonLines(second.stdout)).toMatchObject([{ row: 3, status: 'in-doubt' }]);
});

test('another run may be given the same ids, and so may an update', async () => {
  const { world } = await listWorld(({ method }) => ({
    status: 200,
    body: method === 'POST' ? { id: '1', fields: {} } : { fields: {} },
  }));
  const words = create(world.file('a.csv', titles(1)));

  const runs = [
    await world.run(words),
    await world.run([...words, '--restart']),
    await world.run(['items', 'update', '-f', 'a=1', '--from', world.file('ids.txt', '1\n1\n')]),
  ];

  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
});

test('creates a row once with an honored key: the next session gets its id', async () => {
  const { service, world } = await listWorld(
    ({ nth }) => (nth === 2 ? { status: 201, body: { id: '1', fields: {} }, applies: true } : undefined),
    true,
  );
  const words = create(world.file('a.csv', titles(3)), '--concurrency', '1', '--idempotency', 'honored');

  const first = await world.run(words);
  const second = await world.run([...words, '--resume']);

  expect([first.exitCode, second.exitCode, service.items.size]).toEqual([8, 0, 3]);
});
