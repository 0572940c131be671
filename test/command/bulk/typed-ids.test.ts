/** An update or a delete of typed ids with `--keep-before`, which `runs undo` takes back. */
import { expect, test } from 'vitest';
import { listWorld } from './fixtures.ts';

async function filled() {
  const world = await listWorld();
  for (const id of ['1', '2', '3']) world.service.items.set(id, { Title: `t${id}`, Count: 1 });
  return world;
}

test('an update is undone: only the fields that it changed are put back', async () => {
  const { service, world } = await filled();

  const ran = await world.run(['items', 'update', '2', '3', '-f', 'Title=new', '--keep-before']);
  const changed = [...service.items.values()];
  service.items.set('3', { Title: 'new', Count: 5 });
  const undone = await world.run(['runs', 'undo', 'last', '--yes', '--force']);

  expect([ran.exitCode, undone.exitCode]).toEqual([0, 0]);
  expect(changed).toEqual([
    { Title: 't1', Count: 1 },
    { Title: 'new', Count: 1 },
    { Title: 'new', Count: 1 },
  ]);
  expect([...service.items.values()].slice(1)).toEqual([
    { Title: 't2', Count: 1 },
    { Title: 't3', Count: 5 },
  ]);
});

test('a delete is undone, with a new id', async () => {
  const { service, world } = await filled();

  const ran = await world.run(['items', 'delete', '2', '--keep-before', '--yes', '-o', 'json']);
  const left = [...service.items.keys()];
  const undone = await world.run(['runs', 'undo', 'last', '--yes']);

  expect([ran.exitCode, left, undone.exitCode]).toEqual([0, ['1', '3'], 0]);
  expect([...service.items.values()]).toContainEqual({ Title: 't2', Count: 1 });
});

test('a delete that is not confirmed deletes nothing, and a dry run shows the requests alone', async () => {
  const { service, world } = await filled();

  const refused = await world.run(['items', 'delete', '2', '--keep-before', '--no-input']);
  const dry = await world.run(['items', 'update', '2', '-f', 'Title=x', '--keep-before', '--dry-run']);

  expect([refused.exitCode, dry.exitCode, service.requests.length, world.journals()]).toEqual([2, 0, 0, []]);
});

test('what failed is resumed with the printed command', async () => {
  const { service, world, mend } = await listWorld(({ id, method }) =>
    id === '2' && method === 'PATCH' ? { status: 409, body: { error: 'busy' } } : undefined,
  );
  for (const id of ['1', '2']) service.items.set(id, { Title: 'old' });
  const words = ['items', 'update', '1', '2', '-f', 'Title=new', '--keep-before'];

  const first = await world.run(words);
  const [, run = ''] = /--resume=(\S+)/.exec(first.stderr) ?? [];
  mend();
  const second = await world.run([...words, `--resume=${run}`]);

  expect([first.exitCode, second.exitCode]).toEqual([9, 0]);
  expect([...service.items.values()]).toEqual([{ Title: 'new' }, { Title: 'new' }]);
});

test('a value from standard input is not taken for ids', async () => {
  const { service, world } = await filled();

  const { exitCode } = await world.run(['items', 'update', '1', '-f', 'Title@=-', '--keep-before'], { stdin: '3\n' });

  expect([exitCode, service.items.get('1'), service.items.get('3')]).toEqual([
    ...[0, { Title: '3\n', Count: 1 }, { Title: 't3', Count: 1 }],
  ]);
});
