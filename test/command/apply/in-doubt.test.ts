/** A create whose outcome is unknown: held, reported, resolved manually, or retried with a key that is honored. */
import { describe, expect } from 'vitest';
import { type ApplyWorld, a, b, type Fixtures, test } from './fixtures.ts';
import type { ItemService } from './item-service.ts';

/** Makes a list with `a`, and `b` in doubt: its create got a 500, and was carried out or not. */
async function leaveInDoubt(applies: boolean, { service, world }: Pick<Fixtures, 'service' | 'world'>) {
  world.manifest(a, b);
  service.script = ({ method, fields }) =>
    method === 'POST' && fields['Title'] === 'b' ? { status: 500, applies, body: { error: 'bad day' } } : undefined;
  const first = await world.apply('--init', '--yes', '-o', 'none', '--concurrency', '1', '--retries', '0');
  service.script = () => undefined;
  return first;
}

function createsOfB({ requests }: ItemService) {
  return requests.filter(({ method, fields }) => method === 'POST' && fields['Title'] === 'b');
}

function isInDoubt(world: ApplyWorld): boolean {
  return world.known().items['b']?.inDoubt !== undefined;
}

describe('a create without an answer', () => {
  test.for([true, false])('is in doubt: 8, with its key (carried out: %s)', async (applies, { service, world }) => {
    const first = await leaveInDoubt(applies, { service, world });

    expect([first.exitCode, createsOfB(service).length]).toEqual([8, 1]);
    expect(first.stderr).toContain('listctl state resolve manifest.yaml KEY=ID, or KEY=none');
    const { b: item, a: other } = world.known().items;
    expect(item).toMatchObject({
      fields: b,
      inDoubt: { idempotencyKey: JSON.parse(createsOfB(service)[0]?.key ?? '') },
    });
    expect([item?.id, other?.id]).toEqual([undefined, '1']);
  });

  test.for([
    ['no change', [a, b]],
    ['a change', [{ ...a, Note: 'new' }, b]],
  ] as const)('is 8 in a dry run with --detailed-exitcode, with %s', async ([_, items], { service, world }) => {
    await leaveInDoubt(true, { service, world });
    world.manifest(...items);

    const detailed = await world.apply('--dry-run', '--detailed-exitcode');

    expect([detailed.exitCode, (await world.apply('--dry-run')).exitCode]).toEqual([8, 0]);
    expect(detailed.stdout).toContain('? key "b", in doubt');
    expect(detailed.stderr).toContain('listctl state resolve manifest.yaml KEY=ID, or KEY=none');
  });

  test('is held by the next run: shown, nothing sent for it, 8; the others are done', async ({ service, world }) => {
    await leaveInDoubt(true, { service, world });
    world.manifest({ ...a, Note: 'new' }, b);

    const { exitCode, stdout, stderr } = await world.apply('--yes');

    expect([exitCode, createsOfB(service).length, service.items().get('1')?.['Note']]).toEqual([8, 1, 'new']);
    expect(stdout).toContain('? key "b", in doubt: skipped');
    expect(stderr).toContain('"b": in doubt since an earlier run');
    expect(isInDoubt(world)).toBe(true);
  });

  test('is held if nothing else is to do, and if the manifest changed', async ({ service, world }) => {
    service.honorsKeys = true;
    await leaveInDoubt(true, { service, world });

    const same = await world.apply();
    world.manifest(a, { ...b, Note: 'another' });
    const other = await world.apply('--yes', '--idempotency', 'honored');

    expect([same.exitCode, other.exitCode, createsOfB(service).length]).toEqual([8, 8, 1]);
  });

  test('is held though the manifest names it no longer, and --prune is there', async ({ service, world }) => {
    await leaveInDoubt(true, { service, world });
    world.manifest(a);

    const { exitCode } = await world.apply('--prune', '--yes');

    expect([exitCode, service.items().size, isInDoubt(world)]).toEqual([8, 2, true]);
  });

  test('is in the plan for machines', async ({ service, world }) => {
    await leaveInDoubt(true, { service, world });

    const { exitCode, stdout } = await world.apply('--dry-run', '-o', 'json');

    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { inDoubt: ['b'], counts: { inDoubt: 1 }, steps: [] }]);
  });

  test.for([true, false])(
    'is sent again if keys are honored (carried out: %s)',
    async (applies, { service, world }) => {
      service.honorsKeys = true;
      await leaveInDoubt(applies, { service, world });

      const { exitCode, stdout } = await world.apply('--yes', '--idempotency', 'honored');

      expect([exitCode, service.items().size, isInDoubt(world)]).toEqual([0, 2, false]);
      const [first, second] = createsOfB(service);
      expect([second?.key, second?.body]).toEqual([first?.key, first?.body]);
      expect(stdout).toContain('in doubt: will be retried with its key');
    },
  );

  test.for(['sentAt', 'serviceAt'])(
    'a key a day old by its %s is not sent again',
    async (moment, { service, world }) => {
      service.honorsKeys = true;
      await leaveInDoubt(true, { service, world });
      const text = world.text('manifest.yaml.state.json');
      const old = text.replace(new RegExp(`"${moment}":\\d+`), `"${moment}":${Date.now() - 24 * 3_600_000}`);
      expect(old).not.toBe(text);
      world.file('manifest.yaml.state.json', old);

      const { exitCode } = await world.apply('--yes', '--idempotency', 'honored');

      expect([exitCode, createsOfB(service).length]).toEqual([8, 1]);
    },
  );
});

describe('state resolve', () => {
  test('KEY=ID takes the item that it made, once a GET shows what was sent', async ({ service, world }) => {
    await leaveInDoubt(true, { service, world });

    const { exitCode } = await world.state('resolve', 'b=2');
    const again = await world.apply();

    expect([exitCode, again.exitCode, createsOfB(service).length]).toEqual([0, 0, 1]);
    expect(world.known().items['b']).toMatchObject({ id: '2', fields: b, etag: expect.any(String) });
  });

  test('KEY=ID of another item is 5, and nothing is changed, but with --force', async ({ service, world }) => {
    await leaveInDoubt(true, { service, world });
    const id = await service.add({ Title: 'of somebody' });

    const refused = await world.state('resolve', `b=${id}`);
    const wasInDoubt = isInDoubt(world);
    const forced = await world.state('resolve', `b=${id}`, '--force');

    expect([refused.exitCode, wasInDoubt, forced.exitCode, world.known().items['b']?.id]).toEqual([5, true, 0, id]);
  });

  test('KEY=ID of an item that is not there is 4', async ({ service, world }) => {
    await leaveInDoubt(false, { service, world });

    const { exitCode } = await world.state('resolve', 'b=99');

    expect([exitCode, isInDoubt(world)]).toEqual([4, true]);
  });

  test('KEY=ID of an item that another key has is 2', async ({ service, world }) => {
    await leaveInDoubt(true, { service, world });

    const { exitCode } = await world.state('resolve', 'b=1', '--force');

    expect([exitCode, isInDoubt(world)]).toEqual([2, true]);
  });

  test('KEY=none: the next apply creates it', async ({ service, world }) => {
    await leaveInDoubt(false, { service, world });

    const { exitCode, stderr } = await world.state('resolve', 'b=none');
    const again = await world.apply('--yes');

    expect([exitCode, again.exitCode, service.items().size]).toEqual([0, 0, 2]);
    expect(stderr).toContain('"b" was not created');
  });

  test.for(['a=1', 'a=none', 'c=1', 'b', '=1', 'b=', 'b=..'])('%s is 2', async (word, { service, world }) => {
    await leaveInDoubt(true, { service, world });
    const [state, sent] = [world.text('manifest.yaml.state.json'), service.requests.length];

    const { exitCode, stderr } = await world.state('resolve', word);

    expect([exitCode, world.text('manifest.yaml.state.json'), service.requests.length]).toEqual([2, state, sent]);
    expect(stderr).not.toContain('was not created');
  });
});

test.for([
  ['an update', [{ ...a, Note: 'new' }], []],
  ['a delete', [], ['--prune']],
] as const)('%s without an answer is 8; the next run does it', async ([_, items, flags], { service, world }) => {
  await world.begin(a);
  world.manifest(...items);
  service.script = ({ method }) => (method === 'GET' ? undefined : { status: 500, applies: true });

  const first = await world.apply('--yes', '--retries', '0', ...flags);
  service.script = () => undefined;
  const second = await world.apply('--yes', ...flags);

  expect([first.exitCode, second.exitCode, [...service.items().values()]]).toEqual([8, 0, items]);
  expect(Object.keys(world.known().items)).toEqual(items.map(({ Title }) => Title));
});
