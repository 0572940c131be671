/** `items list --run`: the items that a run made, also on a service without query. */
import { expect, test } from 'vitest';
import { create, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

const list = (...more: readonly string[]) => ['items', 'list', '--run', 'last', ...more];

test('prints the items of a create or an update, as items get does', async () => {
  const { service, world } = await listWorld();
  await world.run(create(world.file('a.csv', titles(3)), '--concurrency', '1'));
  service.items.set('9', { Title: 'other' });

  const { exitCode, stdout } = await world.run(list('-o', 'csv', '--columns', 'id,Title'));

  expect([exitCode, stdout]).toEqual([0, 'id,Title\n1,t1\n2,t2\n3,t3\n']);
});

test('items that are no longer there are named, and the others printed', async () => {
  const { service, world } = await listWorld();
  await world.run(create(world.file('a.csv', titles(3)), '--concurrency', '1'));
  service.items.delete('2');

  const { exitCode, stdout, stderr } = await world.run(list('-o', 'id'));

  expect([exitCode, stdout]).toEqual([9, '1\n3\n']);
  expect(stderr).toContain('item "2"');
});

test.each([
  { more: ['--list', 'others'], says: '--list is "others"' },
  { more: ['--limit', '3'], says: "cannot be used with option '--limit" },
])('is refused with $more', async ({ more, says }) => {
  const { service, world } = await listWorld();
  await world.run(create(world.file('a.csv', titles(1))));

  const { exitCode, stderr } = await world.run(list(...more));

  expect([exitCode, stderr, service.requests.length]).toEqual([2, expect.stringContaining(says), 1]);
});

test('a list of the environment must be that of the run', async () => {
  const { service, world } = await listWorld();
  await world.run(create(world.file('a.csv', titles(1))));

  const { exitCode, stderr } = await world.run(list(), { env: { LISTCTL_LIST: 'others' } });

  expect([exitCode, service.requests.length]).toEqual([2, 1]);
  expect(stderr).toContain('pass -s home -l tasks');
});

test('a run that deleted its items has none', async () => {
  const { service, world } = await listWorld();
  service.items.set('1', {});
  await world.run(['items', 'delete', '--from', world.file('ids.txt', '1\n'), '--yes']);

  expect(await world.run(list())).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('it deleted its items'),
  });
});
