/** `listctl runs undo`: what a run created is deleted, once, and only where it is as it was. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { decodeLine } from '../../src/bulk/journal-format.ts';
import { runLock } from '../../src/bulk/runs.ts';
import { takeLock } from '../../src/core/lock.ts';
import { main } from '../../src/main.ts';
import { environmentFor, type ScriptedService, scriptedService } from '../support/scripted-service.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { type Run, testHost, type World } from '../support/test-host.ts';
import { jsonLines } from './bulk/bulk-world.ts';
import { created, givenRun, type RunsWorld, test } from './runs-world.ts';

const gone = { status: 404, body: { error: 'there is no such item' } };
const deleted = { status: 204 };
const fields = { Title: 'a' };
const found = { status: 200, body: { id: '1', fields } };
const refused = { status: 400, body: { error: 'no' } };

/** Items with these ids and an entity tag, which needs no read before a delete. */
function tagged(...ids: readonly string[]) {
  return ids.map((id) => ({ id, etag: '"v"' }));
}

/** `runs undo`, over a service, one request after the other. */
function undo(world: RunsWorld, service: ScriptedService, more: readonly string[] = [], how: World = {}): Promise<Run> {
  const words = ['runs', 'undo', givenRun, '--yes', '--concurrency', '1', ...more];
  // The site and the list of the environment are others than those of the run.
  const env = { ...environmentFor(service), LISTCTL_SITE: 'elsewhere', LISTCTL_LIST: 'others' };
  return world.run(words, { ...how, env: { ...env, ...how.env } });
}

function sent({ requests }: ScriptedService): readonly string[] {
  return requests.map(({ method, path }) => `${method} ${path.slice('/v1.0/sites/home/lists/tasks/items/'.length)}`);
}

describe('over the built-in service', () => {
  test('deletes every item, and records it as a separate run', async ({ world }) => {
    const run = await world.create(['milk', 'bread', 'eggs']);

    const words = ['runs', 'undo', 'last', '--yes', ...world.local, '-o', 'jsonl'];
    const { exitCode, stdout, stderr } = await world.run(words);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: [1, 2, 3].map((row) => `{"row":${row},"action":"undo","status":"done","id":"${row}"}\n`).join(''),
    });
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      summary: { action: 'undo', total: { rows: 3, done: 3 } },
    });
    const get = await world.run(['items', 'get', '1', '2', '3', ...world.local, '-s', 'home', '-l', 'tasks']);
    expect(get.stdout).toBe('');
    const list = await world.run(['runs', 'list', '-q', '[].[action,file,status,done,undone]', '-o', 'csv']);
    expect(list.stdout).toMatch(new RegExp(`^undo,${run},done,3,\ncreate,.*,undone,3,3\n$`));
    const show = await world.run(['runs', 'show', run, '-q', '[status,undone]', '-o', 'json']);
    expect(JSON.parse(show.stdout)).toEqual(['undone', 3]);
  });

  test('a file with a journal of its own is not created anew without --restart, which says that it was undone', async ({
    world,
  }) => {
    const file = world.file('a.csv', 'Title\na\n');
    const list = [...world.local, '-s', 'home', '-l', 'tasks'];
    const words = ['items', 'create', '--from', file, '--journal', 'a.journal', ...list];
    await world.run(words);
    await world.run(['runs', 'undo', 'a.journal', '--yes', ...world.local]);
    const { exitCode, stderr } = await world.run(words);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('a.csv, and was undone') });
  });

  test('after a whole undo there is nothing to undo or to resume, and the file is created anew without a question', async ({
    world,
  }) => {
    const run = await world.create(['milk', 'bread']);
    await world.run(['runs', 'undo', run, '--yes', ...world.local]);
    const list = [...world.local, '-s', 'home', '-l', 'tasks', '-o', 'none'];

    const again = await world.run(['runs', 'undo', 'last', '--yes', ...world.local]);
    const resumed = await world.run(['items', 'create', '--from', 'tasks.csv', '--resume', ...list]);
    const created = await world.run(['items', 'create', '--from', 'tasks.csv', ...list]);

    expect([again.exitCode, resumed.exitCode, created.exitCode]).toEqual([2, 2, 0]);
    expect(again.stderr).toContain(
      `is the undo of run ${run}, and undid all of its 2 items: it created nothing to undo`,
    );
    expect(again.stderr).not.toContain('resume');
    expect(resumed.stderr).toContain(`cannot resume run ${run}: it was undone`);
    expect(created.stderr).toContain('2 rows: 2 created');
  });

  test('--max-delete refuses to delete more items than that, as a whole', async ({ world }) => {
    await world.create(['milk', 'bread', 'eggs']);
    const words = ['runs', 'undo', 'last', '--yes', ...world.local, '-o', 'id', '--max-delete'];

    const refused = await world.run([...words, '2']);
    const undone = await world.run([...words, '3']);

    expect([refused.exitCode, refused.stdout, undone.exitCode, undone.stdout]).toEqual([2, '', 0, '1\n2\n3\n']);
    expect(refused.stderr).toContain('cannot delete 3 items: --max-delete allows 2');
  });

  test('an item that changed since is left and named, exit 9, also the next time; --force deletes it', async ({
    world,
  }) => {
    const run = await world.create(['milk', 'bread']);
    const list = [...world.local, '-s', 'home', '-l', 'tasks'];
    await world.run(['items', 'update', '2', '-f', 'Title=rye', ...list]);
    const words = ['runs', 'undo', run, '--yes', ...world.local, '-o', 'jsonl'];

    const left = await world.run(words);
    const again = await world.run([...words, '--resume']);
    expect([left.exitCode, again.exitCode]).toEqual([9, 9]);
    const partly = ['runs', 'list', '-q', '[1].[status,undone]', '-o', 'json'];
    expect(JSON.parse((await world.run(partly)).stdout)).toEqual(['done', 1]);
    expect(JSON.parse(left.stdout.split('\n')[1] ?? '')).toMatchObject({
      ...{ row: 2, status: 'failed', id: '2' },
      error: { kind: 'conflict', message: expect.stringContaining('item "2" changed since') },
    });
    expect(again.stdout.split('\n')).toHaveLength(2);
    expect(jsonLines(again.stderr).at(-1)).toMatchObject({
      error: {
        hint: `check the items that changed; delete them anyway with: ${['listctl', ...words].join(' ')} --resume --force`,
      },
    });
    expect((await world.run(['items', 'get', '2', ...list, '-q', 'fields.Title'])).stdout).toBe('rye\n');

    expect((await world.run([...words, '--force'])).exitCode).toBe(0);
    expect((await world.run(['items', 'get', '2', ...list])).exitCode).toBe(4);
  });

  test('local: is where its directory is: from elsewhere nothing is deleted there', async ({ world }) => {
    await world.create(['milk'], ['--local']);
    const words = ['runs', 'undo', 'last', '--yes'];
    const elsewhere = join(world.path, 'elsewhere');

    const other = await world.run([...words, '--local'], { env: { LISTCTL_DATA_DIR: elsewhere } });
    const typed = await world.run([...words, '--base-url', 'local:data/local'], { cwd: elsewhere });
    const origin = `local:${join(world.path, 'data', 'local')}`;
    expect([other.exitCode, typed.exitCode]).toEqual([2, 2]);
    expect(other.stderr).toContain(`used ${origin}, but this command uses local:${join(elsewhere, 'local')}`);
    expect(typed.stderr).toContain(`used ${origin}, but this command uses local:${join(elsewhere, 'data', 'local')}`);

    expect((await world.run([...words, '--base-url', origin])).stderr).toContain('1 row: 1 undone');
  });

  test('what was created since is undone, too, when the run was resumed', async ({ world }) => {
    await using service = await scriptedService(
      { status: 201, body: { id: '1', fields }, headers: { etag: '"1"' } },
      refused,
      deleted,
      { status: 201, body: { id: '2', fields }, headers: { etag: '"2"' } },
      gone,
      deleted,
    );
    const env = environmentFor(service);
    const from = world.file('tasks.csv', 'Title\na\nb\n');
    const create = ['items', 'create', '--from', from, '--concurrency', '1'];
    await world.run(create, { env });
    const run = (await world.run(['runs', 'show', 'last', '-q', 'run'])).stdout.trim();
    const words = ['runs', 'undo', run, '--yes', '--concurrency', '1'];

    expect((await world.run(words, { env })).exitCode).toBe(0);
    expect((await world.run([...create, '--resume'], { env })).exitCode).toBe(0);
    expect((await world.run(words, { env })).exitCode).toBe(0);

    expect(sent(service).slice(4)).toEqual(['DELETE 1', 'DELETE 2']);
  });
});

describe('an item that changed since', () => {
  test('is kept by If-Match where its tag is known; one that is not there is done', async ({ world }) => {
    await using service = await scriptedService(deleted, gone, { status: 412, body: { error: 'changed' } }, found);
    // It was changed and changed back, or in something that is no field: that is for its owner to judge.
    const items = ['1', '2', '3'].map((id) => ({ id, fields, etag: `"v${id}"` }));
    await world.journal(created(service.url, items));

    const { exitCode, stdout } = await undo(world, service, ['-o', 'csv', '--columns', 'row,status,id,error']);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 9,
      stdout: expect.stringMatching(
        /^row,status,id,error\n1,done,1,\n2,done,2,\n3,failed,3,"item ""3"" changed since run [-\w]+ created it; not deleted"\n$/,
      ),
    });
    expect(sent(service)).toEqual(['DELETE 1', 'DELETE 2', 'DELETE 3', 'GET 3']);
    expect(service.requests.slice(0, 3).map(({ headers }) => headers['if-match'])).toEqual(['"v1"', '"v2"', '"v3"']);
  });

  test('does not include a deleted item that the service answers with 412', async ({ world }) => {
    await using service = await scriptedService({ status: 412 }, gone);
    await world.journal(created(service.url, tagged('1')));

    expect((await undo(world, service)).exitCode).toBe(0);
  });

  test.for([
    { etag: undefined, because: 'there is no tag' },
    { etag: 'W/"v1"', because: 'If-Match never takes a weak one' },
  ])('is found by reading it where $because', async ({ etag }, { world }) => {
    const tag = etag === undefined ? {} : { etag };
    await using service = await scriptedService(
      { ...found, headers: { etag: '"now"' } },
      deleted,
      { status: 200, body: { id: '2', fields: { Title: 'other' } } },
      gone,
    );
    const items = ['1', '2', '3'].map((id) => ({ id, fields, ...tag }));
    await world.journal(created(service.url, items));

    const { exitCode, stderr } = await undo(world, service);

    expect(exitCode).toBe(9);
    expect(sent(service)).toEqual(['GET 1', 'DELETE 1', 'GET 2', 'GET 3']);
    expect(service.requests[1]?.headers['if-match']).toBe('"now"');
    expect(stderr).toContain('item "2" does not have the fields that it had when');
    expect(stderr).toContain('--force');
  });

  test('is deleted with --force, without reading its current state', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await world.journal(created(service.url, [{ id: '1', etag: '"v1"' }, { id: '2' }]));

    expect((await undo(world, service, ['--force'])).exitCode).toBe(0);
    expect(sent(service)).toEqual(['DELETE 1', 'DELETE 2']);
    expect(service.requests.map(({ headers }) => headers['if-match'])).toEqual([undefined, undefined]);
  });

  test("that can not be read is that row's failure, and nothing is deleted", async ({ world }) => {
    await using service = await scriptedService(refused);
    await world.journal(created(service.url, [{ id: '1' }, { id: '2' }]));

    expect((await undo(world, service)).exitCode).toBe(9);
    expect(sent(service)).toEqual(['GET 1', 'GET 2']);
  });
});

describe('resumed', () => {
  test('by the same command, with --resume or without: what was deleted is not sent again', async ({ world }) => {
    await using service = await scriptedService(deleted, refused, deleted);
    await world.journal(created(service.url, tagged('1', '2', '3')));

    const first = await undo(world, service, ['--fail-fast']);
    expect(first.exitCode).toBe(9);
    expect(first.stderr).toContain(`resume with: listctl runs undo ${givenRun} --yes`);
    expect((await undo(world, service, ['--resume'])).exitCode).toBe(0);
    const after = await undo(world, service);

    expect(after).toMatchObject({ exitCode: 0, stdout: '' });
    expect(after.stderr).toContain('undid it');
    expect(sent(service)).toEqual(['DELETE 1', 'DELETE 2', 'DELETE 2', 'DELETE 3']);
  });

  test('"last" is replaced by the run id, also in the resume command', async ({ world }) => {
    await using service = await scriptedService(refused);
    await world.journal(created(service.url, tagged('1')));
    const env = environmentFor(service);

    const { stderr } = await world.run(['runs', 'undo', 'last', '--yes'], { env });
    const again = await world.run(['runs', 'undo', 'last', '--yes'], { env });

    expect(stderr).toContain(
      `undoing run ${givenRun} (started 2026-11-20T10:15:30.000Z): 1 item in list "tasks" of site "home"\n`,
    );
    expect(stderr).toContain(`resume with: listctl runs undo ${givenRun} --yes`);
    expect(again.exitCode).toBe(2);
    expect(again.stderr).toContain(`listctl runs undo ${givenRun}" to resume it`);
  });

  test('D10: last is the run that was written last, though the clock was a day ahead before', async ({ world }) => {
    const list = [...world.local, '-s', 'home', '-l', 'tasks'];
    const from = (name: string) => ['items', 'create', ...list, '--from', world.file(name, `Title\n${name}\n`)];

    const ahead = await world.run(from('a.csv'), { now: () => Date.now() + 86_400_000 });
    const right = await world.run(from('b.csv'));
    const undone = await world.run(['runs', 'undo', 'last', '--yes', ...world.local]);

    expect([ahead, right, undone].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const titles = await world.run(['items', 'get', '1', ...list, '-q', 'fields.Title', '-o', 'json']);
    expect(titles.stdout).toBe('"a.csv"\n');
    expect((await world.run(['items', 'get', '2', ...list])).exitCode).toBe(4);
  });

  test('a deletion in doubt that then finds nothing was done', async ({ world }) => {
    await using service = await scriptedService({ status: 204, cut: true }, gone);
    await world.journal(created(service.url, tagged('1')));

    expect((await undo(world, service, ['--retries', '0'])).exitCode).toBe(8);
    expect((await undo(world, service)).exitCode).toBe(0);
    expect(sent(service)).toEqual(['DELETE 1', 'DELETE 1']);
  });

  test('a lost answer to a read leaves nothing in doubt, a deletion before it does', async ({ world }) => {
    await using service = await scriptedService(
      refused,
      { status: 200, cut: true },
      { ...found, body: { id: '2', fields } },
      { status: 204, cut: true },
      refused,
      gone,
    );
    await world.journal(created(service.url, [...tagged('1'), { id: '2', fields }]));

    expect((await undo(world, service, ['--retries', '0'])).exitCode).toBe(9);
    expect(sent(service)).toEqual(['DELETE 1', 'GET 2']);
    await world.run(['runs', 'remove', 'last', '--yes']);
    await world.run(['runs', 'remove', givenRun, '--yes']);
    await world.journal(created(service.url, [{ id: '2', fields }]));
    expect((await undo(world, service, ['--retries', '0'])).exitCode).toBe(8);
    // It cannot be read now, and may be gone.
    expect((await undo(world, service, ['--retries', '0'])).exitCode).toBe(8);
    expect((await undo(world, service)).exitCode).toBe(0);
    expect(sent(service).slice(2)).toEqual(['GET 2', 'DELETE 2', 'GET 2', 'GET 2']);
  });
});

test.for([
  { of: 'a deletion', known: { etag: '"v"' }, requests: ['DELETE 1'] },
  { of: 'the look before one', known: { fields }, requests: ['GET 1'] },
])('a 404 with an HTML page to $of does not mean that the item is missing', async ({ known, requests }, { world }) => {
  const page = { status: 404, body: '<html>not here</html>', headers: { 'content-type': 'text/html' } };
  await using service = await scriptedService(page);
  const items = ['1', '2'].map((id) => ({ id, ...known }));
  await world.journal(created(service.url, items));

  const { exitCode, stderr } = await undo(world, service);

  expect(exitCode).toBe(4);
  expect(stderr).toContain('0 undone, 2 remaining');
  expect(sent(service)).toEqual(requests);
});

test('a row that was only read when the run stopped is remaining, and not in doubt', async ({ world }) => {
  await using service = await scriptedService(deleted, { status: 200, cut: true }, refused);
  const items = [{ id: '0', etag: '"v"' }, { id: '1' }, { id: '2', etag: '"v"' }];
  await world.journal(created(service.url, items));

  const { exitCode, stderr } = await undo(world, service, ['--fail-fast']);

  expect(sent(service)).toEqual(['DELETE 0', 'GET 1', 'DELETE 2']);
  expect(exitCode).toBe(9);
  expect(stderr).toContain('1 remaining');
});

describe('nothing is sent', () => {
  test.for(['update', 'delete', 'get', 'apply', 'undo'] as const)('of a run of %s', async (action, { world }) => {
    await using service = await scriptedService(deleted);
    const { rows, groups } = created(service.url, [{ id: '1' }]);
    await world.journal({ rows, groups, header: { origin: service.url, action, of: '20261120-000000-aaaa' } });

    const { exitCode, stdout } = await undo(world, service);

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
  });

  test('at another service than that of the run: both are named', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await using other = await scriptedService(deleted);
    await world.journal(created(other.url, tagged('1')));

    const { exitCode, stderr } = await undo(world, service);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(`used ${other.url}, but this command uses ${service.url}`);
    expect([...service.requests, ...other.requests]).toEqual([]);
  });

  test('where a flag names another site or list', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await world.journal(created(service.url, tagged('1')));

    expect((await undo(world, service, ['-s', 'prod'])).stderr).toContain('used site "home", but --site is "prod"');
    expect((await undo(world, service, ['-l', 'prod'])).exitCode).toBe(2);
    expect(service.requests).toEqual([]);
    expect((await undo(world, service, ['-s', 'home', '-l', 'tasks'])).exitCode).toBe(0);
  });

  test('where it cannot ask and --yes was not typed', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await world.journal(created(service.url, tagged('1', '2')));

    const { exitCode, stderr } = await world.run(['runs', 'undo', 'last'], { env: environmentFor(service) });

    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      `none of the 2 items that run ${givenRun} (started 2026-11-20T10:15:30.000Z) created in list "tasks" was deleted`,
    );
    expect(stderr).toContain('--yes');
    expect(service.requests).toEqual([]);
    expect(world.names()).toHaveLength(1);
  });

  test('I01: of an id that would lead elsewhere: that row is invalid, the others are undone', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await world.journal(created(service.url, tagged('..', 'a\nb', '7')));

    const { exitCode, stderr } = await undo(world, service);

    expect(exitCode).toBe(9);
    expect(stderr).toContain('the item id is ".."');
    expect(sent(service)).toEqual(['DELETE 7']);
  });

  test.for(['site', 'list'] as const)('of a journal with a %s that would lead elsewhere', async (name, { world }) => {
    await using service = await scriptedService(deleted);
    const { rows, groups } = created(service.url, tagged('1'));
    await world.journal({ rows, groups, header: { origin: service.url, [name]: '..' } });

    expect((await undo(world, service)).exitCode).toBe(2);
    expect(service.requests).toEqual([]);
    expect(world.names()).toHaveLength(1);
  });

  test('through a protected profile without confirmation', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await using settings = await settingsDirectory({
      profiles: { prod: { baseUrl: service.url, protected: true } },
      tokens: { prod: { origin: new URL(service.url).origin, token: 'stored-token' } },
    });
    await world.journal(created(service.url, tagged('1')));
    const words = ['runs', 'undo', 'last', '--yes', '-p', 'prod'];

    const refused = await world.run(words, { env: settings.env });
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain(`list "tasks" of site "home" at ${service.url}`);
    expect(service.requests).toEqual([]);

    expect((await world.run([...words, '--confirm', 'prod'], { env: settings.env })).exitCode).toBe(0);
  });

  test('P23: while another process holds the run', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await world.journal(created(service.url, tagged('1')));
    await takeLock(runLock(world.runs, 'ab'.repeat(32)), { waitMs: 0 }, testHost());

    expect((await undo(world, service)).exitCode).toBe(11);
    expect(service.requests).toEqual([]);
  });

  test('of a run that created nothing', async ({ world }) => {
    await using service = await scriptedService(deleted);
    await world.journal(created(service.url, [{}]));

    const { exitCode, stderr } = await undo(world, service);

    expect({ exitCode, requests: service.requests }).toEqual({ exitCode: 0, requests: [] });
    expect(stderr).toContain('1 row of run');
    expect(stderr).toContain('in doubt: items that they may have created are not deleted');
    expect(stderr).toContain('it created nothing');
  });
});

test.for([
  { typed: 'y\n', exit: 0, requests: 2 },
  { typed: 'n\n', exit: 2, requests: 0 },
  { typed: '\n', exit: 2, requests: 0 },
  { typed: '\u0003', exit: 130, requests: 0 },
])('on a terminal it asks, with the count and the list: $typed', async ({ typed, exit, requests }, { world }) => {
  await using service = await scriptedService(deleted);
  await world.journal(created(service.url, tagged('1', '2')));
  const host = testHost({ env: { ...world.env, ...environmentFor(service) }, terminal: 200, cwd: world.path });

  const running = main(['runs', 'undo', 'last'], host);
  await host.answer('?', typed);

  expect(await running).toBe(exit);
  expect(host.printed.stderr.replaceAll(/\n */g, '')).toContain(
    `Delete the 2 items that run ${givenRun} (started 2026-11-20T10:15:30.000Z) created in list "tasks" of site "home" on http://127.0.0.1:`,
  );
  expect(service.requests).toHaveLength(requests);
});

test('what was not undone is kept in --rejects, as rows that items delete takes', async ({ world }) => {
  await using service = await scriptedService(deleted, refused, deleted);
  await world.journal(created(service.url, tagged('1', '2', '3')));

  expect((await undo(world, service, ['--rejects', 'left.jsonl', '--fail-fast'])).exitCode).toBe(9);

  const rows = readFileSync(join(world.path, 'left.jsonl'), 'utf8').trimEnd().split('\n');
  expect(rows.map((row) => JSON.parse(row))).toEqual([
    { row: 2, id: '2', 'listctl:error': expect.stringContaining('HTTP 400') },
    { row: 3, id: '3', 'listctl:error': expect.stringContaining('not sent') },
  ]);
  const remove = ['items', 'delete', '--from', join(world.path, 'left.jsonl'), '--yes', '-s', 'home', '-l', 'tasks'];
  expect(await world.run(remove, { env: environmentFor(service) })).toMatchObject({ exitCode: 0 });
  expect(sent(service).slice(2).sort()).toEqual(['DELETE 2', 'DELETE 3']);
});

test('--rate is of requests: two for an item that has to be read make it half as many items', async ({ world }) => {
  await using service = await scriptedService(...Array.from({ length: 10 }, () => [found, deleted]).flat());
  const items = Array.from({ length: 10 }, () => ({ id: '1', fields }));
  await world.journal(created(service.url, items));

  const { host, exitCode } = await undo(world, service, ['--rate', '10/s']);

  expect(exitCode).toBe(0);
  // 20 requests, at most 10 a second: the waits of 9 items.
  expect(host.elapsedMs()).toBeGreaterThan(1500);
});

test('its journal names the run that it undoes, and holds neither fields nor the token', async ({ world }) => {
  await using service = await scriptedService(deleted);
  const of = await world.journal(created(service.url, tagged('1')));
  const before = readFileSync(of);
  await undo(world, service);

  const [name = ''] = world.names().filter((each) => !each.startsWith(givenRun));
  const text = readFileSync(join(world.runs, name), 'utf8');
  const header = decodeLine(Buffer.from(text.split('\n')[0] ?? ''), 0);
  const place = { origin: service.url, site: 'home', list: 'tasks' };
  expect(header).toMatchObject({ action: 'undo', of: givenRun, ...place, rows: 1 });
  expect(text).not.toContain('test-token');
  expect(readFileSync(of)).toEqual(before);
});

test('a run with --journal is undone by that path', async ({ world }) => {
  await using service = await scriptedService(deleted);
  const path = join(world.path, 'ci.journal');
  await world.journal(created(service.url, tagged('1')), path);
  writeFileSync(join(world.path, 'empty.journal'), '');
  const env = environmentFor(service);

  expect((await world.run(['runs', 'undo', 'empty.journal', '--yes'], { env })).exitCode).toBe(10);
  expect((await world.run(['runs', 'undo', 'ci.journal', '--yes'], { env })).exitCode).toBe(0);
  expect((await world.run(['runs', 'undo', 'ci.journal', '--yes'], { env })).exitCode).toBe(0);
  expect(sent(service)).toEqual(['DELETE 1']);
});
