/** Items imported, and no longer managed (issue 6). */
import { describe, expect } from 'vitest';
import { applyWorld } from '../apply/apply-world.ts';
import { test } from '../apply/fixtures.ts';
import { itemService } from '../apply/item-service.ts';

const [a, b] = [
  { Title: 'a', Note: 'x' },
  { Title: 'b', Note: 'y' },
];

describe('state import', () => {
  test('takes over an item that is there: no second one is made, and what differs is updated', async () => {
    await using service = await itemService();
    const id = await service.add({ Title: 'b', Note: 'old', Other: 'kept' });
    await using world = await applyWorld(service);
    world.manifest(a, b);

    const { exitCode, stderr } = await world.state('import', `b=${id}`);
    const applied = await world.apply('--yes', '--concurrency', '1');

    expect([exitCode, applied.exitCode, service.writes()]).toEqual([0, 0, ['POST a', 'PATCH 1']]);
    expect(stderr).toContain('imported item 1 as "b"');
    expect(service.items().get('1')).toEqual({ ...b, Other: 'kept' });
  });

  test('creates a missing state file, so that apply needs no --init', async () => {
    await using service = await itemService();
    await service.add(a);
    await using world = await applyWorld(service);
    world.manifest(a);

    await world.state('import', 'a=1');
    const { exitCode } = await world.apply();

    expect([exitCode, service.writes(), world.known().serial]).toEqual([0, [], 1]);
  });

  test('a second time changes nothing', async ({ world }) => {
    await world.begin(a);

    const { exitCode } = await world.state('import', 'a=1');

    expect([exitCode, world.known().items['a']?.id]).toEqual([0, '1']);
  });

  test('a key may hold "="', async () => {
    await using service = await itemService();
    await service.add({ Title: 'x=y' });
    await using world = await applyWorld(service);
    world.manifest({ Title: 'x=y' });

    const { exitCode } = await world.state('import', 'x=y=1');

    expect([exitCode, world.known().items['x=y']?.id]).toEqual([0, '1']);
  });

  test.each([
    ['an item that is not there', 'b=9', 4],
    ['a key that the manifest does not have', 'c=1', 2],
    ['a key that is known by another id', 'a=2', 2],
    ['an item that another key has', 'b=1', 2],
    ['no id', 'b', 2],
    ['an id that is a path', 'b=..', 2],
  ])('%s is refused, and the state left as it is', async (_, word, exit) => {
    await using service = await itemService();
    await using world = await applyWorld(service);
    await world.begin(a);
    await service.add(b);
    world.manifest(a, b);
    const state = world.text('manifest.yaml.state.json');

    const { exitCode } = await world.state('import', word);

    expect([exitCode, world.text('manifest.yaml.state.json'), service.writes()]).toEqual([exit, state, ['POST a']]);
  });

  test('that is refused makes no state', async ({ world }) => {
    world.manifest(a);

    const { exitCode } = await world.state('import', 'a=9');

    expect([exitCode, world.hasState()]).toEqual([4, false]);
  });
});

describe('state forget', () => {
  test('forgets an item without deleting it: --prune leaves it', async ({ service, world }) => {
    await world.begin(a, b);
    world.manifest(a);

    const { exitCode, stderr } = await world.state('forget', 'b');
    const applied = await world.apply('--prune', '--yes');

    expect([exitCode, applied.exitCode, service.writes()]).toEqual([0, 0, ['POST a', 'POST b']]);
    expect(stderr).toContain('stopped managing "b" (item 2)');
    expect([service.items().get('2'), Object.keys(world.known().items)]).toEqual([b, ['a']]);
  });

  test('a key that is not known is 2', async ({ world }) => {
    await world.begin(a);

    const { exitCode, stderr } = await world.state('forget', 'b');

    expect(exitCode).toBe(2);
    expect(stderr).toContain('the state has no item with the key "b"');
  });
});

test.for([['forget', 'a'], ['resolve', 'a=1'], ['export']])(
  'state %s without a state file is 2',
  async (words, { service, world }) => {
    world.manifest(a);
    const [verb = '', ...more] = words;

    const { exitCode, stderr } = await world.state(verb, ...more);

    expect([exitCode, service.requests, world.hasState()]).toEqual([2, [], false]);
    expect(stderr).toContain(`no state file at ${world.statePath}`);
  },
);
