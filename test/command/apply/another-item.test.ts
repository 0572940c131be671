/** An id that belongs to another item by now: it is named, and neither set back nor deleted. */
import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import { jsonLines } from '../bulk/bulk-world.ts';
import { a, b, test as base, c, type Fixtures } from './fixtures.ts';

/** A list whose item 1, once `a`, is payroll by now; the manifest names `a` with another note, and `b`. */
const test = base.extend<{ readonly replaced: Pick<Fixtures, 'service' | 'world'> }>({
  replaced: async ({ service, world }, use) => {
    await world.begin(a, b);
    await service.change('1', { Title: 'payroll', Note: 'secret' });
    world.manifest({ ...a, Note: 'new' }, b);
    await use({ service, world });
  },
});

test('is not set back: 5, with id, key found and key expected; all else is done', async ({ replaced }) => {
  const { world, service } = replaced;
  world.manifest({ ...a, Note: 'new' }, { ...b, Note: 'new' }, c);

  const { exitCode, stdout, stderr } = await world.apply('--yes');

  expect([exitCode, service.writes().slice(2).sort()]).toEqual([5, ['PATCH 2', 'POST c']]);
  expect(service.items().get('1')).toEqual({ Title: 'payroll', Note: 'secret' });
  expect(stdout).toContain('! key "a", id 1 now belongs to another item: key "payroll"');
  expect(stdout).toContain('Plan: 1 to create, 1 to update, 1 in conflict');
  expect(stderr).toContain('item "1" is now a different item: its Title is "payroll", not "a"');
  expect(stderr).toContain('listctl state forget manifest.yaml a');
  expect(stderr).toContain('listctl state import manifest.yaml a=1');
});

test('the command that it prints finds the state and the key that were named by flags', async ({ replaced }) => {
  const { world } = replaced;
  world.file('m.csv', 'Title,Note\na,new\nb,y\n');
  const words = [
    'apply',
    'm.csv',
    '--key',
    'Title',
    '--state',
    'manifest.yaml.state.json',
    '-s',
    'home',
    '-l',
    'tasks',
  ];

  const { stderr } = await world.run([...words, '--yes']);
  const [, printed = ''] = /(state forget .*)/.exec(stderr) ?? [];
  const forgotten = await world.run(printed.split(' '));

  expect([forgotten.exitCode, forgotten.stderr]).toEqual([0, expect.stringContaining('"a" (item 1)')]);
});

test('is not deleted with --prune; left alone without it', async ({ replaced }) => {
  const { world, service } = replaced;
  world.manifest();

  const kept = await world.apply('--yes');
  const pruned = await world.apply('--prune', '--yes');

  expect([kept.exitCode, pruned.exitCode, service.writes().slice(2)]).toEqual([0, 5, ['DELETE 2']]);
  expect(pruned.stderr).toContain('"a"');
});

test('ids that were swapped in the state are noticed', async ({ service, world }) => {
  await world.begin(a, b);
  const swapped = world.text('manifest.yaml.state.json').replaceAll(/"id":"([12])"/g, (_, id) => `"id":"${3 - id}"`);
  world.file('manifest.yaml.state.json', swapped);

  const { exitCode } = await world.apply('--prune', '--yes');

  expect([exitCode, service.writes().length, [...service.items().values()]]).toEqual([5, 2, [a, b]]);
});

test('an item without its key field is another one too', async ({ service, world }) => {
  await world.begin(a);
  await service.change('1', { Title: null });

  const { exitCode, stdout } = await world.apply('--yes');

  expect([exitCode, service.writes().length]).toEqual([5, 1]);
  expect(stdout).toContain('id 1 now belongs to another item: no key');
});

describe('is settled', () => {
  test.for([
    ['forget', 'a', 'payroll'],
    ['forget', '-a', 'payroll'],
    ['import', 'a', 'a'],
    ['import', "it's", "it's"],
  ] as const)('by the command that is printed: state %s of %s', async ([action, key, title], { service, world }) => {
    const flags = ['--key', 'Title', '--state', 'mine.json', '--delimiter', ';', '--rename', 'Name=Title'];
    const apply = (note: string, ...more: string[]) => {
      world.file('rows.csv', `Name;Note\n${key};${note}\n`);
      return world.run(['apply', 'rows.csv', ...flags, '--yes', ...more]);
    };
    await apply('x', '--init');
    await service.change('1', { Title: 'payroll' });
    const { stderr } = await apply('new');
    const printed = new RegExp(`listctl (state ${action} .*)`).exec(stderr)?.[1] ?? '';
    // As a shell takes it apart.
    const words = execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${printed}`], { encoding: 'utf8' });

    const settled = await world.run(words.trimEnd().split('\n'));
    const again = await apply('new');

    expect([settled.exitCode, again.exitCode, service.items().get('1')?.['Title']]).toEqual([0, 0, title]);
  });

  test('by state forget: the next apply creates the item', async ({ replaced }) => {
    const { world, service } = replaced;

    const forgotten = await world.state('forget', 'a');
    const again = await world.apply('--yes');

    expect([forgotten.exitCode, again.exitCode, service.items().get('3')?.['Title']]).toEqual([0, 0, 'a']);
    expect(service.items().get('1')?.['Title']).toBe('payroll');
  });

  test('by state import: it is the same item, and is set back', async ({ replaced }) => {
    const { world, service } = replaced;

    const imported = await world.state('import', 'a=1');
    const again = await world.apply('--yes');

    expect([imported.exitCode, again.exitCode, service.items().get('1')]).toEqual([0, 0, { ...a, Note: 'new' }]);
  });
});

test('the plan for programs lists it, --detailed-exitcode counts it, and nothing is sent', async ({ replaced }) => {
  const { world, service } = replaced;

  const { exitCode, stdout } = await world.apply('--dry-run', '--detailed-exitcode', '-o', 'json');

  expect([exitCode, service.writes().length]).toEqual([12, 2]);
  expect(JSON.parse(stdout)).toMatchObject({
    counts: { conflict: 1, unchanged: 1, update: 0 },
    conflicts: [{ key: 'a', id: '1', action: 'update', found: 'payroll' }],
    steps: [],
  });
});

test('a saved plan of which an item became another one is overtaken', async ({ service, world }) => {
  await world.begin(a);
  world.manifest({ ...a, Note: 'new' });
  await world.apply('--out', 'plan.json');
  await service.change('1', { Title: 'payroll' });

  const { exitCode } = await world.run(['apply', 'plan.json']);

  expect([exitCode, service.writes().slice(1)]).toEqual([5, []]);
});

test('a key that the service formats differently is the same one', async ({ service, world }) => {
  world.file('manifest.yaml', 'key: Code\nitems:\n- {Code: 1.10, Note: x}\n- {Code: "7", Note: x}\n');
  await world.apply('--init', '--yes');
  await service.change('1', { Code: 1.1, Note: 'y' });
  await service.change('2', { Code: 7 });

  const { exitCode } = await world.apply('--yes');

  expect([exitCode, service.items().get('1')?.['Note']]).toEqual([0, 'x']);
});

test('its result is failed with a conflict, and a refused step beside it is 9', async ({ replaced }) => {
  const { world, service } = replaced;
  world.manifest({ ...a, Note: 'new' }, { ...b, Note: 'new' });
  service.script = ({ method }) => (method === 'PATCH' ? { status: 400, body: { error: 'no' } } : undefined);

  const { exitCode, stdout } = await world.apply('--yes', '-o', 'jsonl');

  expect(exitCode).toBe(9);
  expect(jsonLines(stdout)).toMatchObject([
    { key: 'a', action: 'update', status: 'failed', id: '1', error: { kind: 'conflict', exit: 5 } },
    { key: 'b', action: 'update', status: 'failed', id: '2', error: { kind: 'refused' } },
  ]);
});

test('is not taken for the id of a created item: 8, and its key is in doubt', async ({ service, world }) => {
  await world.begin(a, b);
  world.manifest(a, b, c);
  service.script = ({ method }) =>
    method === 'POST' ? { status: 201, body: { id: '2', fields: {} }, applies: true } : undefined;

  const { exitCode, stdout } = await world.apply('--yes', '-o', 'jsonl');

  expect(exitCode).toBe(8);
  expect(jsonLines(stdout)).toMatchObject([{ key: 'c', action: 'create', status: 'in-doubt' }]);
  expect((await world.apply('--dry-run')).stdout).toContain('in doubt');
});
