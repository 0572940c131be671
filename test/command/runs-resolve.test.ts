/** `listctl runs resolve`: manual resolution of rows in doubt. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readJournal } from '../../src/bulk/journal-read.ts';
import { payloadHash } from '../../src/bulk/keys.ts';
import { runLock } from '../../src/bulk/runs.ts';
import { objectFrom } from '../../src/core/json.ts';
import { takeLock } from '../../src/core/lock.ts';
import { scriptedService } from '../support/scripted-service.ts';
import { type Run, testHost } from '../support/test-host.ts';
import { created, done, givenRun, intent, type RunsWorld, test } from './runs-world.ts';

const milk = { id: '17', fields: { Title: 'milk', Count: 5 } };
const token = { LISTCTL_TOKEN: 'test-token' };

/** `runs resolve last`. */
function resolve(world: RunsWorld, ...words: readonly string[]): Promise<Run> {
  return world.run(['runs', 'resolve', 'last', ...words], { env: token });
}

describe('--applied ID', () => {
  test('reads the item of the run, and records the row as done where its fields are what was sent', async ({
    world,
  }) => {
    const body = { id: '17', fields: { Count: 5, Title: 'milk' } };
    await using service = await scriptedService({ status: 200, body });
    const path = await world.journal(created(service.url, [{ id: '16' }, { fields: milk.fields }]));

    const words = ['runs', 'resolve', 'last', '--row', '2', '--applied', '17', '--base-url', service.url, '-o', 'json'];
    const { exitCode, stdout, stderr } = await world.run(words, { env: { ...token, LISTCTL_SITE: 'elsewhere' } });

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ run: givenRun, status: 'done', done: 2, inDoubt: 0, left: 0 });
    expect(service.requests.map(({ method, path: at }) => `${method} ${at}`)).toEqual([
      'GET /v1.0/sites/home/lists/tasks/items/17',
    ]);
    expect((await world.run(['runs', 'show', path, '-o', 'id'])).stdout).toBe('16\n17\n');
    const replay = await readJournal(path, { boot: '' });
    expect(replay?.sessions.at(-1)).toMatchObject({ limit: 0 });
    expect(replay?.stateOf(2)).toBe('done');
  });

  test('an item with other fields is a conflict, nothing recorded; --force takes it', async ({ world }) => {
    const body = { ...milk, fields: { ...milk.fields, By: 'x' } };
    await using service = await scriptedService({ status: 200, body });
    const path = await world.journal(created(service.url, [{ fields: milk.fields }]));
    const before = readFileSync(path);
    const words = ['--row', '1', '--applied', '17', '--base-url', service.url];

    const refused = await resolve(world, ...words);
    expect(refused).toMatchObject({ exitCode: 5, stdout: '' });
    expect(refused.stderr).toContain('fields that the service added');
    expect(refused.stderr).toContain('--force');
    expect(readFileSync(path)).toEqual(before);

    expect((await resolve(world, ...words, '--force')).exitCode).toBe(0);
    expect((await readJournal(path, { boot: '' }))?.counts).toMatchObject({ done: 1, inDoubt: 0 });
  });

  test('an item that is not there is exit 4, with --force too', async ({ world }) => {
    await using service = await scriptedService({ status: 404, body: { error: 'gone' } });
    const path = await world.journal(created(service.url, [{}]));
    const before = readFileSync(path);

    for (const force of [[], ['--force']]) {
      const words = ['--row', '1', '--applied', '17', '--base-url', service.url, ...force];
      expect((await resolve(world, ...words)).exitCode).toBe(4);
    }
    expect(readFileSync(path)).toEqual(before);
  });

  test('at another address nothing is read: both are named', async ({ world }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await world.journal(created('https://lists.example/v1.0', [{}]));

    const { exitCode, stderr } = await resolve(world, '--row', '1', '--applied', '17', '--base-url', service.url);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('https://lists.example/v1.0');
    expect(stderr).toContain(service.url);
    expect(service.requests).toEqual([]);
  });

  test('of an update its id counts, too', async ({ world }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    const given = (id: string) => ({
      header: { origin: service.url, action: 'update' as const, run: `20261120-101530-000${id.length}` },
      rows: 1,
      groups: [[['I', 1, 1, 1, null, payloadHash(id, milk.fields)] as const]],
    });
    await world.journal(given('17'));
    await world.journal(given('018'));
    const settle = (run: string) =>
      world.run(['runs', 'resolve', run, '--row', '1', '--applied', '17', '--base-url', service.url], { env: token });

    expect((await settle('20261120-101530-0003')).exitCode).toBe(5);
    expect((await settle('20261120-101530-0002')).exitCode).toBe(0);
  });

  test('requires for a delete the id of the row, and sends no request', async ({ world }) => {
    await world.journal({
      header: { action: 'delete' },
      rows: 2,
      groups: [[1, 2].map((row) => ['I', row, row, 1, null, payloadHash(`1${row}`, objectFrom([]))] as const)],
    });

    expect((await resolve(world, '--row', '1', '--applied', '12')).exitCode).toBe(5);
    expect((await resolve(world, '--row', '1', '--applied', '11')).exitCode).toBe(0);
    expect((await resolve(world, '--row', '2', '--applied')).exitCode).toBe(0);
    expect((await world.run(['runs', 'show', 'last', '-o', 'id'])).stdout).toBe('11\n');
    expect((await world.run(['runs', 'show', 'last', '-q', 'status'])).stdout).toBe('done\n');
  });
});

describe('--not-applied', () => {
  test('needs no address and no token, and --resume then sends that row and no other', async ({ world }) => {
    await using service = await scriptedService(
      { status: 201, body: { id: '1', fields: { Title: 'a' } } },
      { status: 201, cut: true },
      { status: 201, body: { id: '3', fields: { Title: 'b' } } },
    );
    const from = world.file('tasks.csv', 'Title\na\nb\n');
    const words = ['items', 'create', '--from', from, '-s', 'home', '-l', 'tasks', '--base-url', service.url];
    expect((await world.run([...words, '--concurrency', '1'], { env: token })).exitCode).toBe(8);
    expect((await world.run([...words, '--resume'], { env: token })).exitCode).toBe(8);
    expect(service.requests).toHaveLength(2);

    const settled = await resolve(world, '--row', '2', '--not-applied', '-q', '[status,left]', '--json');
    expect(settled).toMatchObject({ exitCode: 0, stdout: '[\n  "incomplete",\n  1\n]\n' });

    expect((await world.run([...words, '--resume'], { env: token })).exitCode).toBe(0);
    expect(service.requests.map(({ body }) => body)).toEqual([
      '{"fields":{"Title":"a"}}',
      '{"fields":{"Title":"b"}}',
      '{"fields":{"Title":"b"}}',
    ]);
  });

  test('--all settles every row in doubt, and none that is not', async ({ world }) => {
    const rows = Array.from({ length: 2500 }, (_, at) => (at % 10 === 0 ? { id: String(at) } : {}));
    const path = await world.journal(created('https://lists.example/v1.0', rows));

    const { exitCode, stdout } = await world.run(['runs', 'resolve', 'last', '--all', '--not-applied', '--json']);

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'incomplete', done: 250, inDoubt: 0, left: 2250 });
    const replay = await readJournal(path, { boot: '' });
    expect(replay?.counts).toMatchObject({ done: 250, inDoubt: 0, left: 2250 });
    expect(replay?.ended).toMatchObject({ done: 250, inDoubt: 0, left: 2250 });
    const again = await world.run(['runs', 'resolve', 'last', '--all', '--not-applied', '-q', 'inDoubt']);
    expect(again).toMatchObject({ exitCode: 0, stdout: '0\n' });
  });

  test('a run with --journal is resolved by that path', async ({ world }) => {
    const own = await world.journal(created('https://lists.example/v1.0', [{}]), join(world.path, 'own.journal'));

    expect((await world.run(['runs', 'resolve', 'own.journal', '--row', '1', '--not-applied'])).exitCode).toBe(0);
    expect((await readJournal(own, { boot: '' }))?.counts).toMatchObject({ inDoubt: 0, left: 1 });
  });
});

test.for([
  { words: ['--not-applied'], says: '--row, --all, --auto or --from is required' },
  { words: ['--row', '1', '--all', '--not-applied'], says: '--row, --all, --auto or --from is required' },
  { words: ['--row', '1'], says: '--applied or --not-applied is required' },
  { words: ['--row', '1', '--applied', '17', '--not-applied'], says: '--applied or --not-applied is required' },
  { words: ['--all', '--applied', '17'], says: '--all cannot be used with --applied' },
  { words: ['--row', '1', '--applied'], says: 'the item that row 1 created' },
  { words: ['--row', '1', '--applied', '..'], says: 'the item id is ".."' },
  { words: ['--row', '0', '--not-applied'], says: 'expected a row number' },
  { words: ['--row', '1e1', '--not-applied'], says: 'expected a row number' },
  { words: ['--row', '2', '--not-applied'], says: 'not in doubt: it is done' },
  { words: ['--row', '3', '--not-applied'], says: 'not in doubt: it is remaining' },
  { words: ['--row', '4', '--not-applied'], says: 'not in doubt: the input has 3 rows' },
])('$words is wrong, and nothing is recorded: $says', async ({ words, says }, { world }) => {
  const path = await world.journal({
    rows: 3,
    groups: [[intent(1, milk.fields)], [intent(2, milk.fields), done(2, '2')]],
  });
  const before = readFileSync(path);

  const { exitCode, stdout, stderr } = await world.run(['runs', 'resolve', 'last', ...words]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(says);
  expect(readFileSync(path)).toEqual(before);
});

test('P23: a run that another process holds is not resolved, by its id or by its path', async ({ world }) => {
  const path = await world.journal(created('https://lists.example/v1.0', [{}]));
  const own = await world.journal(created('https://lists.example/v1.0', [{}]), join(world.path, 'own.journal'));
  const before = readFileSync(path);
  await takeLock(runLock(world.runs, 'ab'.repeat(32)), { waitMs: 0 }, testHost());
  await takeLock(`${own}.lock`, { waitMs: 0 }, testHost());

  for (const word of [givenRun, path, own]) {
    expect((await world.run(['runs', 'resolve', word, '--all', '--not-applied'])).exitCode).toBe(11);
  }
  expect([readFileSync(path), readFileSync(own)]).toEqual([before, before]);
});

describe('--from', () => {
  const three = [{ fields: milk.fields }, { fields: { Title: 'bread' } }, { id: '3' }, { fields: { Title: 'rye' } }];
  const found = { status: 200, body: milk };

  test.for([
    ['outcomes.csv', 'row,outcome,id,cause\n1,applied,17,x\n2,not-applied,,x\n4,not-applied,,x\n'],
    ['outcomes.jsonl', '{"row":1,"id":17}\n{"row":2,"outcome":"not-applied"}\n{"row":"4","outcome":"not-applied"}\n'],
  ] as const)('%s resolves all of its rows', async ([name, content], { world }) => {
    await using service = await scriptedService(found);
    await world.journal(created(service.url, three));

    const words = ['--from', world.file(name, content), '--base-url', service.url, '-o', 'json'];
    const { exitCode, stdout, stderr } = await resolve(world, ...words);

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ done: 2, inDoubt: 0, left: 2 });
    expect(service.requests).toHaveLength(1);
  });

  test.for([
    { rows: '1,applied,17\n3,not-applied,', exit: 2, says: /csv: line 3: row 3 of run .* is not in doubt: it is done/ },
    { rows: '1,applied,17\n1,not-applied,', exit: 2, says: /line 3: row 1 is resolved twice/ },
    { rows: '1,applied,17\n2,applied,17', exit: 2, says: /line 3: item "17" is named for two rows/ },
    { rows: '2,applied,17', exit: 5, says: /line 2: item "17" does not match row 2/ },
    {
      rows: '1,applied,17\n2,applied,',
      exit: 2,
      says: /line 3: --applied needs the id of the item that row 2 created/,
    },
    { rows: '1,applied,17\n2,,', exit: 2, says: /line 3: invalid outcome of row 2: expected applied or not-applied/ },
    { rows: '1,applied,17\nx,applied,', exit: 2, says: /line 3: invalid row "x"/ },
    { rows: '3,not-applied,\n9,not-applied,', exit: 2, says: /line 2: .*\n.*\n.*line 3: .*\n.*\n.*2 rows of 2 cannot/ },
  ])('$rows is refused as a whole: $says', async ({ rows, exit, says }, { world }) => {
    await using service = await scriptedService(found, found);
    const path = await world.journal(created(service.url, three));
    const before = readFileSync(path);
    const from = world.file('outcomes.csv', `row,outcome,id\n${rows}\n`);

    const { exitCode, stdout, stderr } = await resolve(world, '--from', from, '--base-url', service.url);

    expect([exitCode, stdout]).toEqual([exit, '']);
    expect(stderr).toMatch(says);
    expect(readFileSync(path)).toEqual(before);
  });

  test('cannot be used with the flags for one row', async ({ world }) => {
    const { exitCode, stderr } = await world.run(['runs', 'resolve', 'last', '--from', 'x.csv', '--row', '1']);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--from cannot be used with --row')]);
  });
});
