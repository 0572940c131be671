/** What a manifest may be, and what it may not say (I15). */
import { describe, expect } from 'vitest';
import { test } from './fixtures.ts';

const items = [
  { Title: 'a', Note: 'x, "y"' },
  { Title: 'b', Note: '007' },
];

describe('a manifest is read by its name', () => {
  test.for([
    ['manifest.csv', 'Title,Note\na,"x, ""y"""\nb,007\n', ['--key', 'Title']],
    ['manifest.tsv', 'Title\tNote\na\t"x, ""y"""\nb\t007\n', ['--key', 'Title']],
    ['manifest.json', JSON.stringify(items), ['--key', 'Title']],
    ['manifest.json', JSON.stringify({ site: 'home', list: 'tasks', key: 'Title', items }), []],
    ['manifest.jsonl', items.map((item) => `${JSON.stringify(item)}\n`).join(''), ['--key', 'Title']],
    ['manifest.yaml', 'key: Title\nitems:\n- Title: a\n  Note: x, "y"\n- Title: b\n  Note: "007"\n', []],
    ['manifest.yml', '- Title: a\n  Note: x, "y"\n- Title: b\n  Note: "007"\n', ['--key', 'Title']],
    [
      'manifest',
      'key: Title\nitems:\n- Title: a\n  Note: x, "y"\n- Title: b\n  Note: "007"\n',
      ['--input-format', 'yaml'],
    ],
    ['manifest', 'Title;Note\na;"x, ""y"""\nb;007\n', ['--key', 'Title', '--input-format', 'csv', '--delimiter', ';']],
  ] as const)('%s', async ([name, content, flags], { service, world }) => {
    world.file(name, content);

    const { exitCode } = await world.run(['apply', name, ...flags, '--init', '--yes']);
    const again = await world.run(['apply', name, ...flags, '--dry-run', '--detailed-exitcode']);

    expect([exitCode, again.exitCode, [...service.items().values()]]).toEqual([0, 0, items]);
    expect(JSON.parse(world.text(`${name}.state.json`)).key).toBe('Title');
  });

  test('--type, --empty and --rename say what cells mean', async ({ service, world }) => {
    world.file('manifest.csv', 'Name,Count,Note\na,1.10,\n');
    const flags = ['--key', 'Title', '--rename', 'Name=Title', '--type', 'Count=number', '--empty', 'null'];

    const { exitCode } = await world.run(['apply', 'manifest.csv', ...flags, '--init', '--yes']);

    expect([exitCode, service.requests[0]?.body]).toEqual([0, '{"fields":{"Title":"a","Count":1.10,"Note":null}}']);
  });
});

describe('site, list and key at the top of a manifest', () => {
  const text = 'site: other\nlist: things\nkey: Title\nitems:\n- Title: a\n';

  test('name the destination if no flag does', async ({ service, world }) => {
    world.file('manifest.yaml', text);

    const env = { LISTCTL_SITE: '', LISTCTL_LIST: '' };
    const { exitCode } = await world.run(['apply', 'manifest.yaml', '--init', '--yes'], { env });

    expect([exitCode, service.requests[0]?.path]).toEqual([0, '/v1.0/sites/other/lists/things/items']);
  });

  test.for([
    ['--site', 'home'],
    ['--list', 'tasks'],
    ['--key', 'Name'],
  ] as const)('%s that says another is 2, nothing sent, no state', async ([flag, value], { service, world }) => {
    world.file('manifest.yaml', text);

    const { exitCode, stderr } = await world.apply(flag, value, '--init', '--yes');

    expect([exitCode, service.requests, world.hasState()]).toEqual([2, [], false]);
    expect(stderr).toContain(flag);
  });
});

describe('a manifest that cannot be used is 2: nothing sent, no state', () => {
  test.for([
    [
      'I15: a key that stands twice, with both lines',
      'key: Title\nitems:\n- Title: a\n- Title: a\n',
      'already used in line 3',
    ],
    ['nobody says which field the key is', 'items:\n- Title: a\n', '--key <field>'],
    ['D: an address', 'baseUrl: https://evil.example\nkey: Title\nitems: []\n', 'unknown member "baseUrl"'],
    ['I01: a list that leads elsewhere', 'list: ..\nkey: Title\nitems: []\n', 'line 1'],
    ['broken YAML, with line and column', 'key: Title\nitems: [\n', 'line'],
  ] as const)('%s', async ([_, content, said], { service, world }) => {
    world.file('manifest.yaml', content);

    const { exitCode, stdout, stderr } = await world.apply('--init', '--yes');

    expect([exitCode, stdout, service.requests, world.hasState()]).toEqual([2, '', [], false]);
    expect(stderr).toContain(said);
  });

  test('reports several problems, each with its line', async ({ world }) => {
    world.file('manifest.csv', 'Title,Note\na,x\na,y\n,z\n');

    const { exitCode, stderr } = await world.run(['apply', 'manifest.csv', '--key', 'Title', '--init', '--yes']);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('line 3: ');
    expect(stderr).toContain('line 4: ');
  });
});

test('D: a value that begins with @ names no file: it is sent unchanged', async ({ service, world }) => {
  await world.begin({ Title: 'a', Note: '@/etc/hostname' });

  expect(service.items().get('1')).toEqual({ Title: 'a', Note: '@/etc/hostname' });
});

test('I06: names that every object inherits are fields and keys like any other', async ({ service, world }) => {
  world.file(
    'manifest.json',
    '{"key":"Title","items":[{"Title":"__proto__","__proto__":"x"},{"Title":"constructor"}]}',
  );

  const first = await world.run(['apply', 'manifest.json', '--init', '--yes']);
  const again = await world.run(['apply', 'manifest.json', '--dry-run', '--detailed-exitcode']);

  expect([first.exitCode, again.exitCode]).toEqual([0, 0]);
  expect(service.requests[0]?.body).toBe('{"fields":{"Title":"__proto__","__proto__":"x"}}');
  expect(world.text('manifest.json.state.json')).toContain('"__proto__":{"id":"1"');
});
