/** `listctl state export`: the manifest, written back from what the service has. */
import { expect } from 'vitest';
import { a, b, c, test } from '../apply/fixtures.ts';

test('writes the current values of the managed fields, without missing items', async ({ service, world }) => {
  await world.begin(a, b, c);
  await service.change('1', { Note: 'changed', Other: 'of somebody' });
  await service.remove('2');
  await service.add({ Title: 'of somebody' });

  const { exitCode, stdout } = await world.state('export');
  world.file('manifest.yaml', stdout);
  const again = await world.apply('--dry-run', '--detailed-exitcode');

  expect([exitCode, again.exitCode]).toEqual([0, 0]);
  expect(stdout).toBe(`site: home
list: tasks
key: Title
items:
  - Title: a
    Note: changed
  - Title: c
    Note: z
`);
});

test('keeps the name of the manifest', async ({ world }) => {
  world.file('manifest.yaml', 'name: seed\nkey: Title\nitems:\n- Title: a\n');
  await world.apply('--init', '--yes');

  expect((await world.state('export')).stdout).toMatch(/^name: seed\nsite: home\n/);
});

test.for(['csv', 'tsv', 'jsonl', 'json', 'yaml'])('-o %s is a manifest too, ids and all', async (format, { world }) => {
  await world.begin(a, b);

  const { exitCode, stdout } = await world.state('export', '-o', format);
  world.file(`now.${format}`, stdout);
  const flags = ['--key', 'Title', '--state', 'manifest.yaml.state.json', '--dry-run', '--detailed-exitcode'];
  const again = await world.run(['apply', `now.${format}`, ...flags]);

  expect([exitCode, again.exitCode]).toEqual([0, 0]);
  expect(again.stdout).toContain('No changes: 2 items');
  expect(stdout).toMatch(/^\W*id\b/);
});

test('has the ids of the items: -o json beside their fields, -o id alone', async ({ world }) => {
  await world.begin(a, b);

  const json = await world.state('export', '-o', 'json');
  const ids = await world.state('export', '-o', 'id');

  expect(JSON.parse(json.stdout)).toEqual([
    { id: '1', fields: a },
    { id: '2', fields: b },
  ]);
  expect(ids.stdout).toBe('1\n2\n');
});

test('leaves out an item that is another one by now, and says so', async ({ service, world }) => {
  await world.begin(a, b);
  await service.change('1', { Title: 'payroll' });

  const { stdout, stderr } = await world.state('export', '-o', 'id');

  expect([stdout, stderr]).toEqual(['2\n', '1 of 2 items are omitted: missing, in doubt or replaced\n']);
});

test('a field that was cleared outside apply is null', async ({ service, world }) => {
  await world.begin(a);
  await service.change('1', { Note: null });

  const { stdout } = await world.state('export', '-o', 'jsonl');

  expect(JSON.parse(stdout)).toEqual({ id: '1', fields: { Title: 'a', Note: null } });
});

test('texts that YAML would take for something else come back as they were', async ({ world }) => {
  const texts = [
    ...['yes', 'null', '007', '1e3', '~', '', ' x ', '- a'],
    ...['a: b', '#x', 'two\nlines', '\u2028', '@x', '2026-11-20'],
  ];
  const items = texts.map((Note, at) => ({ Title: `t${at}`, Note }));
  await world.begin(...items);

  const { stdout } = await world.state('export');
  world.file('manifest.yaml', stdout);
  const again = await world.apply('--dry-run', '--detailed-exitcode');

  expect([again.exitCode, again.stdout]).toEqual([0, expect.stringContaining(`No changes: ${texts.length} items`)]);
});

test('reads, and changes nothing: neither the list nor the state', async ({ service, world }) => {
  await world.begin(a);
  await service.change('1', { Note: 'changed' });
  const state = world.text('manifest.yaml.state.json');

  await world.state('export');

  expect([service.writes(), world.text('manifest.yaml.state.json')]).toEqual([['POST a'], state]);
});
