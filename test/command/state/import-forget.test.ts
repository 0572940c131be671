/** Items imported, and no longer managed (issue 6). */
import { describe, expect } from 'vitest';
import { a, b, test } from '../apply/fixtures.ts';

describe('state import', () => {
  test('takes over an item: no second one is made, and what differs is updated', async ({ service, world }) => {
    const id = await service.add({ Title: 'b', Note: 'old', Other: 'kept' });
    world.manifest(a, b);

    const { exitCode, stderr } = await world.state('import', `b=${id}`);
    const applied = await world.apply('--yes', '--concurrency', '1');

    expect([exitCode, applied.exitCode, service.writes()]).toEqual([0, 0, ['POST a', 'PATCH 1']]);
    expect(stderr).toContain('imported item 1 as "b"');
    expect(service.items().get('1')).toEqual({ ...b, Other: 'kept' });
  });

  test('creates a missing state file, so that apply needs no --init', async ({ service, world }) => {
    await service.add(a);
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

  test('a key may hold "="', async ({ service, world }) => {
    await service.add({ Title: 'x=y' });
    world.manifest({ Title: 'x=y' });

    const { exitCode } = await world.state('import', 'x=y=1');

    expect([exitCode, world.known().items['x=y']?.id]).toEqual([0, '1']);
  });

  test.for([
    ['an item that is not there', 'b=9', 4],
    ['a key that the manifest does not have', 'c=1', 2],
    ['a key that is known by another id', 'a=2', 2],
    ['an item that another key has', 'b=1', 2],
    ['no id', 'b', 2],
    ['neither a key nor a file', '--force', 2],
    ['an id that is a path', 'b=..', 2],
  ] as const)('%s is refused, and the state left as it is', async ([_, word, exit], { service, world }) => {
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

describe('state import --from', () => {
  const c = { Title: 'c', Note: 'z' };

  test.for([
    ['ids.csv', 'key,id,more\na,1,\n"b",2,x\n'],
    ['ids.jsonl', '{"key":"a","id":"1"}\n{"id":"2","key":"b","status":"done"}\n'],
    ['ids.json', '[{"key":"a","id":1},{"key":"b","id":2}]'],
  ] as const)('takes over every row of %s with one write of the state', async ([name, text], { service, world }) => {
    for (const item of [a, b]) await service.add(item);
    world.manifest(a, b);
    world.file(name, text);

    const { exitCode, stderr } = await world.state('import', '--from', name);
    const { items, serial } = world.known();

    expect([exitCode, stderr]).toEqual([0, 'imported 2 items\n']);
    expect([serial, items['a']?.id, items['b']?.id, service.requests.length]).toEqual([1, '1', '2', 2]);
    expect((await world.apply('--detailed-exitcode', '--dry-run')).exitCode).toBe(0);
  });

  test('what `state list` prints gives a lost state back', async ({ world }) => {
    await world.begin(a, b);
    world.file('ids.csv', (await world.state('list', '-o', 'csv')).stdout);
    const before = world.known().items;

    const { exitCode } = await world.state('import', '--from', 'ids.csv', '--state', 'new.json');

    expect([exitCode, JSON.parse(world.text('new.json')).items]).toEqual([0, before]);
  });

  test.for([
    ['a missing item', 'key,id\na,1\nb,9\n', 4, 'line 3: list "tasks" of site "home" has no item "9"'],
    ['no id', 'key,id\na,1\nb,\n', 2, 'line 3, column 2: no id'],
    ['no key', 'key,id\na,1\n,2\n', 2, 'line 3: no key'],
    ['a key that the manifest does not have', 'key,id\na,1\nd,2\n', 2, 'the manifest has no item with Title "d"'],
    ['a key that is given twice', 'key,id\na,1\na,2\n', 2, 'line 3: "a" is given twice'],
    ['an id that is given twice', 'key,id\na,1\nb,1\n', 2, 'line 3: item "1" already belongs to "a"'],
    ['an id that another key has', 'key,id\na,1\nb,3\n', 2, 'line 3: item "3" already belongs to "c"'],
    ['ids that are swapped', 'key,id\na,2\nb,1\n', 5, 'line 2: item "2" has the Title "b", not "a"'],
    ['no row', 'key,id\n', 2, 'ids.csv has no rows'],
    ['no such column', 'name,id\na,1\n', 2, 'no key'],
  ] as const)('%s: nothing is imported', async ([_, text, exit, message], { service, world }) => {
    for (const item of [a, b, c]) await service.add(item);
    world.manifest(a, b, c);
    await world.state('import', 'c=3');
    const state = world.text('manifest.yaml.state.json');
    world.file('ids.csv', text);

    const { exitCode, stderr } = await world.state('import', '--from', 'ids.csv');

    expect([exitCode, world.text('manifest.yaml.state.json')]).toEqual([exit, state]);
    expect(stderr).toContain(message);
  });

  test('--force imports items whose key field has another value', async ({ service, world }) => {
    await service.add({ Title: 'renamed', Note: 'x' });
    world.manifest(a);
    world.file('ids.csv', 'key,id\na,1\n');

    expect((await world.state('import', '--from', 'ids.csv', '--force')).exitCode).toBe(0);
    await world.apply('--yes');

    expect(service.items().get('1')).toEqual(a);
  });
});

test('state move: an item keeps its id, and gets its new key from the manifest', async ({ service, world }) => {
  await world.begin(a);
  const early = await world.state('move', 'a', 'z');
  world.manifest({ Title: 'z', Note: 'x' });

  const moved = await world.state('mv', 'a', 'z');
  await world.apply('--yes', '--prune');

  expect([early.exitCode, early.stderr]).toEqual([
    2,
    expect.stringContaining('the manifest has no item with Title "z"'),
  ]);
  expect([moved.exitCode, moved.stderr]).toEqual([0, '"z" is item 1, which was "a"\n']);
  expect([service.writes(), service.items().get('1')]).toEqual([['POST a', 'PATCH 1'], { Title: 'z', Note: 'x' }]);
});

describe('state list and show', () => {
  test('show what is managed, without manifest or service', async ({ service, world }) => {
    await world.begin(a, b);
    world.file('manifest.yaml', 'not a manifest');
    const reads = service.requests.length;

    const list = await world.state('ls');
    const shown = await world.state('show', 'b', '-o', 'json');
    const ids = await world.state('list', '-o', 'id');

    expect(list.stdout).toMatch(
      /^key +id +status +fingerprint\na +1 +managed +[0-9a-f]{16}\nb +2 +managed +[0-9a-f]{16}\n$/,
    );
    expect(JSON.parse(shown.stdout)).toMatchObject({ key: 'b', id: '2', status: 'managed', fields: b });
    expect([ids.stdout, service.requests.length]).toEqual(['1\n2\n', reads]);
  });

  test('a key in doubt has no id', async ({ service, world }) => {
    world.manifest(a);
    service.script = ({ method }) => (method === 'POST' ? { status: 500 } : undefined);
    await world.apply('--init', '--yes', '--retries', '0');

    const { stdout } = await world.state('list', '-o', 'jsonl');

    expect(JSON.parse(stdout)).toEqual({ key: 'a', status: 'in-doubt', fingerprint: expect.any(String) });
  });

  test('a key that is not known is 2, with the nearest one', async ({ world }) => {
    await world.begin({ Title: 'Buy milk' });

    const { exitCode, stderr } = await world.state('show', 'Buy mlik');

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('did you mean "Buy milk"?')]);
  });
});

test('the state remembers the key field: --key is needed once', async ({ service, world }) => {
  world.file('tasks.csv', 'Title,Note\na,x\n');
  const words = ['tasks.csv', '--yes'];
  const first = await world.run(['apply', ...words, '--init']);
  await world.run(['apply', ...words, '--init', '--key', 'Title']);
  world.file('tasks.csv', 'Title,Note\na,y\n');

  const again = await world.run(['apply', ...words]);
  const forgotten = await world.run(['state', 'rm', 'tasks.csv', 'a']);
  const other = await world.run(['apply', ...words, '--key', 'Note']);

  expect([first.exitCode, again.exitCode, forgotten.exitCode, other.exitCode]).toEqual([2, 0, 0, 2]);
  expect(first.stderr).toContain('no key field given for tasks.csv');
  expect(other.stderr).toContain('uses the key field "Title", not "Note"');
  expect(service.writes()).toEqual(['POST a', 'PATCH 1']);
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

test.for(['forget a', 'resolve a=1', 'export'])('%s without a state is 2', async (words, { service, world }) => {
  world.manifest(a);
  const [verb = '', ...more] = words.split(' ');

  const { exitCode, stderr } = await world.state(verb, ...more);

  expect([exitCode, service.requests, world.hasState()]).toEqual([2, [], false]);
  expect(stderr).toContain(`no state file at ${world.statePath}`);
});
