/** The idempotency keys of creates are derived from what is created: they need no state, and identify one body each. */
import { rmSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { type ApplyWorld, a, b, test as base, type Fixtures } from './fixtures.ts';
import type { ItemService } from './item-service.ts';

/** A test with a service that honors keys, and is known to. */
const test = base.extend<{ readonly honoring: Honoring }>({
  honoring: async ({ service, world }, use) => {
    service.honorsKeys = true;
    const apply = (...words: readonly string[]) => world.apply('--yes', '--idempotency', 'honored', ...words);
    const loseState = () => {
      for (const more of ['', '.bak']) rmSync(`${world.statePath}${more}`, { force: true });
    };
    await use({ service, world, apply, loseState });
  },
});

interface Honoring extends Pick<Fixtures, 'service' | 'world'> {
  readonly apply: ApplyWorld['apply'];
  readonly loseState: () => void;
}

function keysOf({ requests }: ItemService) {
  const creates = requests.filter(({ method }) => method === 'POST');
  return creates.map(({ fields, key }) => [fields['Title'], key] as const);
}

function titlesIn({ items }: ItemService) {
  return [...items().values()].map(({ Title }) => Title).sort();
}

test('a state that is lost leads to the same keys: nothing is doubled', async ({ honoring: world }) => {
  world.world.manifest(a, b);

  await world.apply('--init', '--concurrency', '1');
  world.loseState();
  const { exitCode } = await world.apply('--init', '--concurrency', '1');

  const keys = keysOf(world.service);
  expect([exitCode, titlesIn(world.service)]).toEqual([0, ['a', 'b']]);
  expect([keys.length, keys.slice(2)]).toEqual([4, keys.slice(0, 2)]);
  expect(new Set(keys.map(([, key]) => key)).size).toBe(2);
  expect(keys[0]?.[1]).toMatch(/^"[a-z2-7]{26}"$/);
});

describe('an item that two manifests have', () => {
  const [germany, france, italy] = ['DE', 'FR', 'IT'].map((Code) => ({ Code }));
  const written = (items: readonly unknown[], more = {}) => JSON.stringify({ ...more, key: 'Code', items });

  test('is created for each of them, and --prune of one leaves that of the other', async ({ honoring }) => {
    const { service, world } = honoring;
    const apply = (name: string, ...more: readonly string[]) =>
      world.run(['apply', name, '--yes', '--idempotency', 'honored', ...more]);
    world.file('countries.yaml', written([germany, france]));
    world.file('seed.yaml', written([germany, italy]));

    await apply('countries.yaml', '--init', '--concurrency', '1');
    await apply('seed.yaml', '--init', '--concurrency', '1');
    const both = [...service.items().values()];
    world.file('seed.yaml', written([italy]));
    const { exitCode } = await apply('seed.yaml', '--prune');

    expect(both).toEqual([germany, france, germany, italy]);
    expect([exitCode, [...service.items()]]).toEqual([
      0,
      [
        ['1', germany],
        ['2', france],
        ['4', italy],
      ],
    ]);
  });

  test.for([
    ['the file has another name', {}, 2],
    ['the file has another name, and the manifest the same', { name: 'countries' }, 1],
  ] as const)(
    'where the state is lost and %s',
    async ([, more, count], { honoring: { service, world, loseState } }) => {
      const content = written([germany], more);
      const words = ['--init', '--yes', '--idempotency', 'honored', '--state', world.statePath];
      for (const name of ['countries.yaml', 'seed.yaml']) {
        loseState();
        world.file(name, content);
        await world.run(['apply', name, ...words]);
      }

      expect(service.items().size).toBe(count);
    },
  );

  test('a manifest in another directory leads to the same keys', async ({
    honoring: { service, world, loseState },
  }) => {
    world.file('manifest.yaml', written([germany]));
    const words = ['--init', '--yes', '--idempotency', 'honored'];

    await world.run(['apply', 'manifest.yaml', ...words]);
    loseState();
    await world.run(['apply', `${world.path}/manifest.yaml`, ...words], { cwd: '/' });

    expect(service.items().size).toBe(1);
  });
});

test('another body has another key: what was refused is fixed and sent', async ({ honoring: world }) => {
  world.world.manifest(a);
  world.service.script = () => ({ status: 400, body: { error: 'no' } });

  await world.apply('--init');
  world.service.script = () => undefined;
  world.world.manifest({ ...a, Note: 'fixed' });
  const { exitCode } = await world.apply();

  const [[, first] = [], [, second] = []] = keysOf(world.service);
  expect([exitCode, titlesIn(world.service), first === second]).toEqual([0, ['a'], false]);
});

describe('an item that is recreated while the service remembers its key', () => {
  test.for<[string, (of: Honoring) => Promise<unknown>]>([
    [
      'was deleted by --prune',
      async ({ world, apply }) => {
        world.manifest(b);
        await apply('--prune');
        world.manifest(a, b);
      },
    ],
    ['was removed by a person', ({ service }) => service.remove('1')],
    [
      'was removed, and left out of the manifest meanwhile',
      async ({ world, service, apply }) => {
        await service.remove('1');
        world.manifest(b);
        await apply();
        world.manifest(a, b);
      },
    ],
    [
      'was forgotten and removed',
      async ({ world, service }) => {
        await world.state('forget', 'a');
        await service.remove('1');
      },
    ],
  ])('since it %s: is there again, twice over', async ([, lose], { honoring: world }) => {
    world.world.manifest(a, b);
    await world.apply('--init', '--concurrency', '1');

    await lose(world);
    const first = await world.apply();
    const again = [...world.service.items()].find(([, { Title }]) => Title === 'a');
    await world.service.remove(again?.[0] ?? '');
    const second = await world.apply();

    expect([first.exitCode, again?.[1], second.exitCode, titlesIn(world.service)]).toEqual([0, a, 0, ['a', 'b']]);
  });

  test('and a state that is lost after that: two applies find it, none doubles it', async ({ honoring: world }) => {
    world.world.manifest(a);
    await world.apply('--init');
    await world.service.remove('1');
    await world.apply();

    world.loseState();
    await world.apply('--init');
    const { exitCode } = await world.apply();
    const same = await world.apply('--detailed-exitcode', '--dry-run');

    expect([exitCode, same.exitCode, [...world.service.items()]]).toEqual([0, 0, [['2', a]]]);
  });
});

test('a create resolved as not made is sent with another key', async ({ honoring: world }) => {
  world.world.manifest(a);
  world.service.script = () => ({ status: 500, body: { error: 'bad day' } });
  const words = ['apply', 'manifest.yaml', '--yes', '--retries', '0'];

  await world.world.run([...words, '--init']);
  await world.world.state('resolve', 'a=none');
  world.service.script = () => undefined;
  const { exitCode } = await world.world.run(words);

  const [[, first] = [], [, second] = []] = keysOf(world.service);
  expect([exitCode, titlesIn(world.service), first === second]).toEqual([0, ['a'], false]);
});
