/** `listctl runs list`, `show` and `remove`: read from journals, without a service. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { NewHeader } from '../../src/bulk/journal.ts';
import type { JournalRecord } from '../../src/bulk/journal-format.ts';
import { runLock } from '../../src/bulk/runs.ts';
import { takeLock } from '../../src/core/lock.ts';
import { main } from '../../src/main.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { testHost } from '../support/test-host.ts';
import { jsonLines, manyWorld } from './bulk/bulk-world.ts';
import { listService } from './bulk/list-service.ts';
import { created, done, ended, givenRun, intent, test } from './runs-world.ts';

const title = { Title: 'a' };
const other = { run: '20261121-000000-aaaa', identity: 'cd'.repeat(32) };

describe('runs list', () => {
  test('that no run is recorded is an answer', async ({ world }) => {
    expect(await world.run(['runs', 'list', '-o', 'json'])).toMatchObject({ exitCode: 0, stdout: '[]\n', stderr: '' });
    expect(await world.run(['runs', 'list'])).toMatchObject({ exitCode: 0, stdout: '' });
    const nowhere = { env: { LISTCTL_STATE_DIR: join(world.path, 'nowhere') } };
    expect(await world.run(['runs', 'ls', '--json'], nowhere)).toMatchObject({ exitCode: 0, stdout: '[]\n' });
  });

  test('every run, newest first, with the members of the contract; neither address nor token is needed', async ({
    world,
  }) => {
    await world.journal({
      rows: 3,
      groups: [[intent(1, title), done(1, '1')], [['X', 2]], [ended({ done: 1, invalid: 1, left: 1 })]],
    });
    await world.journal({ header: other, rows: 1, groups: [[intent(1, title), done(1, '9')], [ended({ done: 1 })]] });

    const { exitCode, stdout, stderr } = await world.run(['runs', 'list', '-o', 'jsonl']);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const shared = {
      ...{ action: 'create', service: 'https://lists.example/v1.0', site: 'home', list: 'tasks' },
      ...{ file: '/data/tasks.csv', startedAt: '2026-11-20T10:15:30.000Z' },
    };
    expect(stdout).toBe(
      [
        { run: other.run, ...shared, status: 'done', rows: 1, done: 1, failed: 0, inDoubt: 0, left: 0 },
        { run: givenRun, ...shared, status: 'incomplete', rows: 3, done: 1, failed: 1, inDoubt: 0, left: 1 },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
    expect((await world.run(['runs', 'list', '-o', 'id'])).stdout).toBe(`${other.run}\n${givenRun}\n`);
    expect((await world.run(['runs', 'list', '-o', 'csv'])).stdout).toMatch(
      /^run,action,service,profile,site,list,file,startedAt,status,/,
    );
    expect((await world.run(['runs', 'list'])).stdout).toContain(givenRun);
  });

  test('a run, its summary and its question name the profile, unless the service is another one', async () => {
    await using service = await listService();
    await using settings = await settingsDirectory(keptFor(service));
    await using world = await manyWorld(service);
    const env = { ...settings.env, LISTCTL_BASE_URL: '' };
    const words = ['items', 'create', '--from', world.file('tasks.csv', 'Title\nmilk\n'), '-o', 'none'];

    const own = await world.run(words, { env });
    const other = await world.run([...words, '--local'], { env });
    const { stdout } = await world.run(['runs', 'list', '-q', '[].[profile,service]', '-o', 'json']);
    const host = testHost({ env: { ...world.env, ...env }, terminal: 200, cwd: world.path });
    const undoing = main(['runs', 'undo', (await world.run(['runs', 'list', '-q', '[1].run'])).stdout.trim()], host);
    await host.answer('?', 'n\n');

    const target = `on prod (${new URL(service.url).origin})`;
    expect(own.stderr.trimEnd().endsWith(target)).toBe(true);
    expect(other.stderr).toMatch(/on local:\n$/);
    expect(JSON.parse(stdout)).toEqual([
      [null, `local:${join(world.path, 'data', 'local')}`],
      ['prod', service.url],
    ]);
    expect(await undoing).toBe(2);
    expect(host.printed.stderr.replaceAll(/\n */g, '')).toContain(`of site "home" ${target}?`);
  });

  test('a row that was sent without an outcome is in doubt, and a damaged journal is shown as what it is', async ({
    world,
  }) => {
    await world.journal({ rows: 1, groups: [[intent(1, title)]] });
    const damaged = await world.journal({ header: other, rows: 1, groups: [[intent(1, title)], [done(1, '1')]] });
    writeFileSync(damaged, readFileSync(damaged, 'latin1').replace('["I"', '["J"'), 'latin1');

    const { exitCode, stdout, stderr } = await world.run(['runs', 'list', '-q', '[].[run,status]', '-o', 'csv']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${other.run},damaged\n${givenRun},in-doubt\n` });
    expect(stderr).toContain(`${damaged} is damaged at byte`);
  });

  test('a run is running while its lock is held: of the runs of one input only the last', async ({ world }) => {
    const end = [[intent(1, title), done(1, '1')], [ended({ done: 1 })]];
    await world.journal({ rows: 1, groups: end });
    await world.journal({
      header: { run: other.run },
      rows: 2,
      groups: [[intent(1, title), done(1, '1'), intent(2, title)]],
    });
    await world.journal({ header: { ...other, run: '20261122-000000-bbbb' }, rows: 1, groups: end });
    const lock = await takeLock(runLock(world.runs, 'ab'.repeat(32)), { waitMs: 0 }, testHost());

    const words = ['runs', 'list', '-q', '[].[run,status]', '-o', 'csv'];
    const held = await world.run(words);
    const shown = await world.run(['runs', 'show', other.run, '-q', 'status']);
    const before = await world.run(['runs', 'show', givenRun, '-q', 'status']);
    const counted = await world.run(['runs', 'show', other.run, '-q', '[inDoubt,left]', '--json']);
    lock.release();
    const after = await world.run(words);

    const line = (status: string) => `20261122-000000-bbbb,done\n${other.run},${status}\n${givenRun},done\n`;
    expect(held.stdout).toBe(line('running'));
    expect([shown.stdout, before.stdout]).toEqual(['running\n', 'done\n']);
    // What is in flight is not in doubt.
    expect(JSON.parse(counted.stdout)).toEqual([0, 1]);
    expect(after.stdout).toBe(line('in-doubt'));
  });
});

describe('runs list --limit and --since', () => {
  const runs = ['20260801-000000-aaaa', '20261118-120000-bbbb', '20261120-101530-cccc'];
  const nowMs = Date.UTC(2026, 10, 20, 12);

  test.for([
    { flags: ['--limit', '2'], listed: ['cccc', 'bbbb'] },
    { flags: ['--since', '2h'], listed: ['cccc'] },
    { flags: ['--since', '3d'], listed: ['cccc', 'bbbb'] },
    { flags: ['--since', '3d', '--limit', '1'], listed: ['cccc'] },
    { flags: ['--since', '2026-11-01'], listed: ['cccc', 'bbbb'] },
    { flags: ['--since', '2026-11-18T12:00:01Z'], listed: ['cccc'] },
    { flags: ['--since', '1m'], listed: [] },
  ])('$flags', async ({ flags, listed }, { world }) => {
    for (const run of runs) await world.journal({ header: { run }, rows: 1, groups: [] });

    const { stdout } = await world.run(['runs', 'list', '-o', 'id', ...flags], { now: () => nowMs });

    expect(stdout.match(/\w{4}(?=\n)/g) ?? []).toEqual(listed);
  });

  test.for([
    ['--limit', '0'],
    ['--limit', 'x'],
    ['--since', 'yesterday'],
    ['--since', '7'],
    ['--since', '2026-99-99'],
  ])('%s %s is invalid usage', async (flags, { world }) => {
    expect(await world.run(['runs', 'list', ...flags])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});

describe('an abbreviated run id', () => {
  test.for(['20261120', '20261120-1015', '20261120-101530-k', 'k3f9'])('%s names its run', async (word, { world }) => {
    await world.journal({ rows: 1, groups: [] });
    await world.journal({ header: other, rows: 1, groups: [] });

    expect((await world.run(['runs', 'show', word, '-q', 'run'])).stdout).toBe(`${givenRun}\n`);
  });

  test('of several runs is refused with their ids; a journal of that name comes first', async ({ world }) => {
    await world.journal({ rows: 1, groups: [] });
    await world.journal({ header: other, rows: 1, groups: [] });

    const several = await world.run(['runs', 'remove', '202611', '--yes']);
    const none = await world.run(['runs', 'remove']);
    await world.journal({ header: { run: '20261122-000000-bbbb' }, rows: 1, groups: [] }, join(world.path, '202611'));
    const file = await world.run(['runs', 'show', '202611', '-q', 'run']);

    expect(several).toMatchObject({ exitCode: 2, stdout: '' });
    expect(several.stderr).toContain(`202611 is the abbreviation of several runs: ${other.run}, ${givenRun}`);
    expect(file.stdout).toBe('20261122-000000-bbbb\n');
    // As xargs does without input.
    expect(none).toMatchObject({ exitCode: 0, stdout: '', stderr: 'no runs to remove\n' });
  });
});

describe('runs prune', () => {
  const end = [[intent(1, title), done(1, '1')], [ended({ done: 1 })]];
  const nowMs = Date.UTC(2026, 11, 25);
  const named = (run: string, more: Partial<NewHeader> = {}, at = Date.UTC(2026, 10, 1)) => {
    const header = { run, identity: run.slice(-2).repeat(32), ...more };
    return { header, session: { at }, rows: 1 };
  };

  test('removes completed runs that ended before, and says which; others and undos of others stay', async ({
    world,
  }) => {
    await world.journal({ ...named('20261101-000000-00a1'), groups: end });
    await world.journal({ ...named('20261101-000000-00a2'), groups: end.slice(0, 0) });
    const undo = { action: 'undo', file: null } as const;
    await world.journal({ ...named('20261102-000000-00a3', { ...undo, of: '20261101-000000-00a1' }), groups: end });
    await world.journal({ ...named('20261102-000000-00a4', { ...undo, of: '20261101-000000-00a2' }), groups: end });
    await world.journal({ ...named('20261103-000000-00a5', {}, Date.UTC(2026, 11, 24)), groups: end });
    const words = ['runs', 'prune', '--older-than', '30d'];

    const refused = await world.run(words, { now: () => nowMs });
    const pruned = await world.run([...words, '--yes'], { now: () => nowMs });
    const again = await world.run([...words, '--yes'], { now: () => nowMs });

    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain('2 completed runs older than 30d were not removed');
    expect(pruned.exitCode).toBe(0);
    expect(pruned.stdout.split('\n').map((line) => line.split(' (')[0])).toEqual([
      'removed run 20261101-000000-00a1',
      'removed run 20261102-000000-00a3',
      '',
    ]);
    const left = (await world.run(['runs', 'list', '-o', 'id'])).stdout.split('\n').map((run) => run.slice(-2));
    expect(left).toEqual(['a5', 'a4', 'a2', '']);
    expect(again).toMatchObject({ exitCode: 0, stdout: '', stderr: 'no completed runs are older than 30d\n' });
  });

  test('needs the age', async ({ world }) => {
    expect(await world.run(['runs', 'prune', '--yes'])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});

test('a file without rows is not recorded', async ({ world }) => {
  const from = world.file('empty.csv', 'Title\n');

  const words = ['items', 'create', '--from', from, '-s', 'home', '-l', 'tasks', '-o', 'none', ...world.local];
  const { exitCode, stderr } = await world.run(words);

  expect([exitCode, stderr.split(';')[0], world.names()]).toEqual([0, '0 rows', []]);
});

describe('runs show', () => {
  test('a run by its id, as the last one, and by the path of a journal', async ({ world }) => {
    const run = await world.create(['milk', 'bread']);
    const own = join(world.path, 'own.journal');
    await world.create(['eggs'], ['--journal', own]);

    const byId = await world.run(['runs', 'show', run, '-o', 'json']);
    const last = await world.run(['runs', 'show', 'last', '-o', 'json']);
    const byPath = await world.run(['runs', 'show', 'own.journal', '-o', 'json']);

    expect(byId).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(byId.stdout)).toMatchObject({
      ...{ run, action: 'create', status: 'done', rows: 2, done: 2, sessions: 1, sent: 2, retries: 0, throttledMs: 0 },
      answerTimes: { p50Ms: expect.any(Number), p95Ms: expect.any(Number), p99Ms: expect.any(Number) },
    });
    expect(last.stdout).toBe(byId.stdout);
    expect(JSON.parse(byPath.stdout)).toMatchObject({ rows: 1, done: 1 });
    expect((await world.run(['runs', 'show', 'last'])).stdout).toMatch(/latency +p50 /);
  });

  test('shows the total time of its sessions; of a killed one up to its last record', async ({ world }) => {
    const path = await world.journal({
      rows: 5,
      apartMs: 1000,
      groups: [
        [intent(1, title), intent(2, title)],
        [done(1, '1', null, 10), ['N', 2]],
        [['T', 1500], intent(2, title, 2)],
        [done(2, '2', null, 30)],
        // Killed here. Somebody looked at its rows in doubt, then it was resumed.
        [['B', { boot: 'here', limit: 0, tool: '0.1.0', at: 1 }], ended({ done: 2, left: 3, ms: 0 })],
        [['B', { boot: 'here', limit: 4, tool: '0.1.0', at: 1 }]],
        [intent(3, title), done(3, '3', null, 20)],
        [ended({ done: 3, left: 2, ms: 7500, sent: 9, retries: 4, throttledMs: 250 })],
      ],
    });

    const { stdout } = await world.run(['runs', 'show', path, '-o', 'json']);

    const shown = JSON.parse(stdout);
    expect(shown).toMatchObject({ sessions: 2, sent: 3 + 9, retries: 1 + 4, throttledMs: 1000 + 250 });
    expect(shown.answerTimes.p50Ms).toBeGreaterThan(19);
    expect(shown.answerTimes.p50Ms).toBeLessThan(21);
    expect(shown.ratePerSecond.filter((rate: number) => rate > 0)).toHaveLength(3);
    expect(shown.ratePerSecond).toHaveLength(shown.throttled.length);
    // From 3 s on; the session was killed at 4 s, before that pause was over.
    const stepMs = (shown.seconds * 1000) / shown.throttled.length;
    const marked = shown.throttled.flatMap((isMarked: boolean, at: number) => (isMarked ? [at * stepMs] : []));
    expect(marked[0]).toBeGreaterThan(2700);
    expect(marked.at(-1)).toBeLessThan(4100);
  });

  test('shows a long run in no more steps than fit the screen', async ({ world }) => {
    const groups = Array.from({ length: 300 }, (_, at) => [intent(at + 1, title), done(at + 1, String(at))]);
    const path = await world.journal({ rows: 300, apartMs: 60_000, groups });

    const shown = JSON.parse((await world.run(['runs', 'show', path, '-o', 'json'])).stdout);

    expect(shown.seconds).toBe(18_000);
    expect(shown.ratePerSecond.length).toBeGreaterThan(50);
    expect(shown.ratePerSecond.length).toBeLessThanOrEqual(120);
    const rows = shown.ratePerSecond.reduce((sum: number, rate: number) => sum + rate, 0);
    expect((rows * 18_000) / shown.ratePerSecond.length).toBeGreaterThan(290);
    expect((rows * 18_000) / shown.ratePerSecond.length).toBeLessThan(330);
  });

  test('-o id lists what it created, in the order of the rows, settled ones included', async ({ world }) => {
    const path = await world.journal({
      rows: 4,
      groups: [
        [intent(1, title), intent(2, title), intent(3, title)],
        [done(2, 'b')],
        [done(1, 'a')],
        [['R', 3, 'applied', 'c']],
        [['F', 4, 'refused', 400, null, 3]],
      ],
    });

    expect(await world.run(['runs', 'show', path, '-o', 'id'])).toMatchObject({ exitCode: 0, stdout: 'a\nb\nc\n' });
  });

  test('--rows lists every row, in the order of the input, after any number of sessions', async ({ world }) => {
    const begin: JournalRecord = ['B', { boot: 'here', limit: 4, tool: '0.1.0', at: Date.UTC(2026, 10, 21) }];
    const path = await world.journal({
      rows: 9,
      groups: [
        [intent(1, title), intent(2, title), intent(3, title), intent(4, title)],
        [
          done(2, 'b'),
          ['F', 1, 'refused', 400, 'bad', 3],
          ['U', 3, 'HTTP 500', 9],
          ['U', 4, 'no complete response', 9],
        ],
        [
          ['X', 6],
          ['R', 3, 'applied', 'c'],
          ['R', 4, 'skipped'],
        ],
        [begin],
        [
          ['I', 1, 9, 1, 'key-1', '0123456789abcdef'],
          ['I', 5, 10, 1, 'key-5', '0123456789abcdef'],
        ],
        [done(1, 'a'), ['F', 5, 'conflict', 409, null, 3]],
        [['I', 7, 11, 1, 'key-7', '0123456789abcdef']],
        [['U', 7, 'HTTP 500', 9]],
        [['I', 8, 12, 1, 'key-8', '0123456789abcdef']],
        [['F', 8, 'unreachable', null, null, 3]],
      ],
    });
    const show = async (...more: readonly string[]) =>
      (await world.run(['runs', 'show', path, '--rows', ...more])).stdout;

    expect(jsonLines(await show('-o', 'jsonl'))).toMatchObject([
      { row: 1, action: 'create', status: 'done', id: 'a' },
      { row: 2, action: 'create', status: 'done', id: 'b' },
      { row: 3, action: 'create', status: 'done', id: 'c' },
      { row: 4, action: 'create', status: 'skipped' },
      { row: 5, status: 'failed', error: { kind: 'conflict', row: 5, status: 409, message: 'conflict: HTTP 409' } },
      { row: 6, status: 'failed', error: { kind: 'usage', row: 6, outcome: 'not-sent' } },
      { row: 7, status: 'in-doubt', error: { kind: 'in-doubt', row: 7, idempotencyKey: 'key-7', message: 'HTTP 500' } },
      { row: 8, status: 'failed', error: { kind: 'unreachable', row: 8, message: 'unreachable', exit: 7 } },
      { row: 9, action: 'create', status: 'left' },
    ]);
    expect(jsonLines(await show('-o', 'jsonl'))[7]).not.toHaveProperty('error.outcome');
    expect((await show('-o', 'csv')).split('\n').slice(0, 2)).toEqual([
      'row,action,status,id,error',
      '1,create,done,a,',
    ]);
    expect((await show('-o', 'pretty')).split('\n')).toMatchObject({ 0: 'row 1 created: a', 8: 'row 9 remaining' });
    expect(await show('-o', 'id')).toBe('a\nb\nc\n');
  });

  test('--rows of a shard lists its rows only', async ({ world }) => {
    const header = { shard: '2/3', input: { bytes: 12, sha256: '0f'.repeat(32), rows: 8 } };
    const path = await world.journal({ header, rows: 3, groups: [[intent(5, title), done(5, 'b')]] });

    const { stdout } = await world.run(['runs', 'show', path, '--rows', '-o', 'csv']);

    expect(stdout.split('\n').slice(1, -1)).toEqual(['2,create,left,,', '5,create,done,b,', '8,create,left,,']);
  });

  test('an id that no command could name is not listed, and that is said', async ({ world }) => {
    await world.journal(created('https://lists.example/v1.0', [{ id: 'a\n17' }, { id: 'b' }]));

    const { exitCode, stdout, stderr } = await world.run(['runs', 'show', 'last', '-o', 'id']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 9, stdout: 'b\n' });
    expect(stderr).toContain('row 1: the item id has control characters');
  });

  test('the ids of a compacted run are missing: exit 2; the rest is shown with a note', async ({ world }) => {
    const path = await world.journal({ rows: 2, groups: [[ended({ done: 2, sent: 2 })]] });
    const [header = '', ...lines] = readFileSync(path, 'utf8').split('\n');
    const { encodeLines } = await import('../../src/bulk/journal-format.ts');
    const groups = lines.slice(0, -1).map((line) => JSON.parse(line.slice(9)));
    writeFileSync(path, encodeLines({ ...JSON.parse(header.slice(9)), isShrunk: true }, groups));

    const ids = await world.run(['runs', 'show', 'last', '-o', 'id']);
    const all = await world.run(['runs', 'show', 'last', '-o', 'json']);
    const undo = await world.run(['runs', 'undo', 'last', '--yes', '--base-url', 'https://lists.example/v1.0']);

    expect(ids).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ids.stderr).toContain('completed more than 30 days ago; its ids');
    expect(all.exitCode).toBe(0);
    expect(JSON.parse(all.stdout)).toMatchObject({ status: 'done', rows: 2, done: 2, ratePerSecond: [] });
    expect(all.stderr).toContain('more than 30 days ago');
    expect(undo).toMatchObject({ exitCode: 2, stdout: '' });
    expect(undo.stderr).toContain('more than 30 days ago');
  });

  test('--in-doubt lists the rows whose outcome is unknown, in their order', async ({ world }) => {
    await world.journal({
      rows: 9,
      groups: [[intent(7, title), intent(2, title)], [['U', 7, 'HTTP 500', 40]], [intent(3, title), done(3, '1')]],
    });

    const json = await world.run(['runs', 'show', 'last', '--in-doubt', '-o', 'json']);

    const hash = expect.stringMatching(/^[0-9a-f]{16}$/);
    const since = '2026-11-20T10:15:30.001Z';
    expect(json.exitCode).toBe(0);
    expect(JSON.parse(json.stdout)).toEqual([
      { row: 2, key: 'key-2', hash, since, cause: 'listctl ended before the response arrived' },
      { row: 7, key: 'key-7', hash, since, cause: 'HTTP 500' },
    ]);
    // Creates have no ids before their outcome is known.
    expect((await world.run(['runs', 'show', 'last', '--in-doubt', '-o', 'id'])).stdout).toBe('');
    const pretty = await world.run(['runs', 'show', 'last', '--in-doubt']);
    expect(pretty.stdout).toContain('key-7');
    expect(pretty.stderr).toContain('rows are not shown: the run was recorded by an earlier version');
  });

  test.each([
    { action: 'create', content: 'Name;Count:number\nt1;1\nt2;2\n', more: ['--rename', 'Name=Title', '-f', 'Note=n'] },
    {
      action: 'update',
      content: 'id;Name;Count:number\n1;t1;1\n2;t2;2\n',
      more: ['--rename', 'Name=Title', '-f', 'Note=n'],
    },
    { action: 'delete', content: 'id\n1\n2\n', more: ['--yes'] },
  ])('--in-doubt shows the fields of a row of a $action, from its input', async ({ action, content, more }) => {
    await using service = await listService(({ title, id, method }) =>
      method !== 'GET' && (title === 't2' || id === '2') ? { status: 500 } : undefined,
    );
    service.items.set('1', {}).set('2', {});
    await using world = await manyWorld(service);
    const words = ['--from', world.file('tasks.csv', content), '-o', 'none', '--retries', '0', ...more];
    expect((await world.run(['items', action, ...words])).exitCode).toBe(8);
    const show = async (...flags: string[]) => world.run(['runs', 'show', 'last', '--in-doubt', ...flags]);

    const fields = action === 'delete' ? {} : { fields: { Title: 't2', Count: 2 } };
    const id = action === 'create' ? {} : { id: '2' };
    expect(JSON.parse((await show('-o', 'json')).stdout)).toMatchObject([{ row: 2, line: 3, ...id, ...fields }]);
    expect((await show('-o', 'id')).stdout).toBe(action === 'create' ? '' : '2\n');
    const table = (await show('-o', 'pretty')).stdout;
    expect(table.split(/ {2,}|\n/).slice(0, 3)).toEqual(
      { create: ['row', 'Title', 'Count'], update: ['row', 'id', 'Title'], delete: ['row', 'id', 'since'] }[action],
    );

    world.file('tasks.csv', content.replaceAll('2', '9'));
    const changed = await show('-o', 'json');
    expect(JSON.parse(changed.stdout)[0]).not.toHaveProperty('line');
    expect(changed.stderr).toContain('the fields of 1 row are not shown');
    rmSync(join(world.path, 'tasks.csv'));
    expect((await show('-o', 'json')).stderr).toMatch(/the fields of these rows are not shown: .*no such file/);
  });

  test('--in-doubt of an undo shows the ids of the items', async ({ world }) => {
    await world.journal(created('https://lists.example/v1.0', [{ id: 'a' }, { id: 'b' }]));
    const header = { ...other, action: 'undo', of: givenRun, file: null } as const;
    await world.journal({ header, rows: 2, groups: [[intent(2, title)]] });

    expect((await world.run(['runs', 'show', other.run, '--in-doubt', '-o', 'id'])).stdout).toBe('b\n');
  });

  test('that no row is in doubt is an answer', async ({ world }) => {
    await world.journal({ rows: 1, groups: [] });

    expect(await world.run(['runs', 'show', 'last', '--in-doubt', '--json'])).toMatchObject({
      exitCode: 0,
      stdout: '[]\n',
    });
  });

  test.for([
    { word: 'last', says: 'no runs in' },
    { word: givenRun, says: `run ${givenRun} not found in` },
    { word: 'nowhere/at.all', says: 'no run is recorded in' },
  ])('an unknown run: $word', async ({ word, says }, { world }) => {
    for (const verb of [['show'], ['undo', '--yes'], ['resolve', '--all', '--not-applied'], ['remove', '--yes']]) {
      const { exitCode, stdout, stderr } = await world.run(['runs', ...verb, word]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(says);
      expect(stderr).toContain('listctl runs list');
    }
  });

  test('P15: a damaged journal is exit 10 with its byte, for every command', async ({ world }) => {
    const path = await world.journal({ rows: 2, groups: [[intent(1, title)], [done(1, '1')]] });
    writeFileSync(path, readFileSync(path, 'latin1').replace('["I"', '["J"'), 'latin1');

    for (const verb of [['show'], ['undo', '--yes'], ['resolve', '--all', '--not-applied']]) {
      const { exitCode, stdout, stderr } = await world.run(['runs', ...verb, givenRun]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 10, stdout: '' });
      expect(stderr).toContain('is damaged at byte');
    }
  });
});

describe('runs remove', () => {
  const whole = [[intent(1, title), done(1, '1')], [ended({ done: 1 })]];
  const half = [[intent(1, title), done(1, '1')], [ended({ done: 1, left: 1 })]];

  test('a completed run is removed without confirmation', async ({ world }) => {
    await world.journal({ rows: 1, groups: whole });
    const own = await world.journal({ rows: 1, groups: whole }, join(world.path, 'own.journal'));

    const { exitCode, stdout } = await world.run(['runs', 'remove', 'last', own, '-o', 'id']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${givenRun}\n${givenRun}\n` });
    expect(world.names()).toEqual([]);
    expect(existsSync(own)).toBe(false);
  });

  test('an incomplete run requires --yes if prompting is impossible; then none of several is removed', async ({
    world,
  }) => {
    await world.journal({ rows: 2, groups: half });
    await world.journal({ header: other, rows: 1, groups: whole });
    const words = ['runs', 'remove', other.run, givenRun];

    const refused = await world.run(words);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain(`${givenRun} (incomplete)`);
    expect(refused.stderr).toContain('--yes');
    expect(world.names()).toHaveLength(2);

    expect((await world.run([...words, '--yes'])).exitCode).toBe(0);
    expect(world.names()).toEqual([]);
  });

  test.for([
    { typed: 'y\n', exit: 0, left: 0 },
    { typed: 'n\n', exit: 2, left: 1 },
    { typed: '\n', exit: 2, left: 1 },
    { typed: '\u0003', exit: 130, left: 1 },
  ])('on a terminal it asks, naming the run: $typed', async ({ typed, exit, left }, { world }) => {
    await world.journal({ rows: 2, groups: half });
    const host = testHost({ env: world.env, terminal: 200, cwd: world.path });

    const running = main(['runs', 'remove', 'last'], host);
    await host.answer('?', typed);

    expect(await running).toBe(exit);
    expect(host.printed.stderr).toContain(`Remove run ${givenRun}`);
    expect(world.names().filter((name) => name.endsWith('.journal'))).toHaveLength(left);
  });

  test('P23: a run that another process holds is not removed, with any confirmation', async ({ world }) => {
    await world.journal({ rows: 1, groups: whole });
    await takeLock(runLock(world.runs, 'ab'.repeat(32)), { waitMs: 0 }, testHost());

    const { exitCode, stderr } = await world.run(['runs', 'remove', 'last', '--yes']);

    expect(exitCode).toBe(11);
    expect(stderr).toContain(`process ${process.pid}`);
    expect(world.names().filter((name) => name.endsWith('.journal'))).toHaveLength(1);
  });

  test('two runs of one input share a lock, and are removed together', async ({ world }) => {
    await world.journal({ rows: 1, groups: whole });
    await world.journal({ header: { run: other.run }, rows: 1, groups: whole });

    expect((await world.run(['runs', 'rm', givenRun, other.run])).exitCode).toBe(0);
    expect(world.names()).toEqual([]);
  });

  test('a damaged journal is removed if confirmed; a file that is not a journal never', async ({ world }) => {
    const path = await world.journal({ rows: 1, groups: whole });
    writeFileSync(path, `x${readFileSync(path, 'latin1')}`, 'latin1');
    const notes = world.file('notes.txt', 'mine\n');

    const foreign = await world.run(['runs', 'remove', notes, '--yes']);
    const damaged = await world.run(['runs', 'remove', givenRun]);
    expect(foreign.exitCode).toBe(10);
    expect(damaged.exitCode).toBe(2);
    expect(damaged.stderr).toContain(`${givenRun} (damaged)`);
    expect([existsSync(notes), existsSync(path)]).toEqual([true, true]);

    expect(await world.run(['runs', 'remove', givenRun, '--yes', '-o', 'id'])).toMatchObject({
      exitCode: 0,
      stdout: `${givenRun}\n`,
    });
    expect(existsSync(path)).toBe(false);

    const own = await world.journal({ rows: 1, groups: whole }, join(world.path, 'own.journal'));
    writeFileSync(own, readFileSync(own, 'latin1').replace('["I"', '["J"'), 'latin1');
    expect((await world.run(['runs', 'remove', own])).exitCode).toBe(2);
    expect(await world.run(['runs', 'remove', own, '--yes', '-o', 'id'])).toMatchObject({ stdout: `${givenRun}\n` });
    expect(existsSync(own)).toBe(false);
  });
});
