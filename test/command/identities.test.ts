/**
 * What runs, states and marks are found by: a list keeps its origin, site and list however it is named, or a run that
 * continues under another name would create its rows again.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { graphServer } from '../support/graph-server.ts';
import { run } from '../support/test-host.ts';
import { create, manyWorld, titles } from './bulk/bulk-world.ts';
import { listService } from './bulk/list-service.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function headerOf(journal: string): Record<string, unknown> {
  return JSON.parse(readFileSync(journal, 'utf8').split('\n')[0]?.slice(9) ?? '');
}

function newestJournal(directory: string): string {
  const names = readdirSync(directory).filter((name) => name.endsWith('.journal'));
  return join(directory, names.sort().at(-1) ?? '');
}

test('a run of the list item service is found by action, origin, site, list, shard and the content of its input', async () => {
  await using service = await listService();
  await using world = await manyWorld(service);
  const input = titles(3);
  const file = world.file('a.csv', input);
  const origin = service.url;

  await world.run(create(file));
  const header = headerOf(world.journals().at(-1) ?? '');

  expect(header).toMatchObject({ origin, site: 'home', list: 'tasks', shard: null });
  expect(header['identity']).toBe(sha256(JSON.stringify(['create', origin, 'home', 'tasks', null, sha256(input)])));
  expect(world.journals().at(-1)).toContain(String(header['identity']).slice(0, 16));
  for (const spelling of [`${origin}/`, origin.replace('127.0.0.1', 'localhost'), origin.replace('/v1.0', '//v1.0')]) {
    const again = await world.run(create(file, '--resume'), { env: { LISTCTL_BASE_URL: spelling } });
    expect([again.exitCode, again.stderr]).toEqual([0, expect.stringContaining('nothing to do')]);
  }
  expect(service.requests).toHaveLength(3);
});

test('a shard has its own identity', async () => {
  await using service = await listService();
  await using world = await manyWorld(service);
  const input = titles(4);

  await world.run(create(world.file('a.csv', input), '--shard', '2/2'));

  expect(headerOf(world.journals().at(-1) ?? '')['identity']).toBe(
    sha256(JSON.stringify(['create', service.url, 'home', 'tasks', '2/2', sha256(input)])),
  );
});

const ways = [
  { name: 'the path of the site and the title of the list', env: {} },
  { name: 'their ids', env: 'ids' },
  {
    name: 'the address of the list',
    env: { LISTCTL_SITE: '', LISTCTL_LIST: 'https://contoso.sharepoint.com/sites/team/Lists/Books' },
  },
] as const;

test('a list of Microsoft Graph is the same by names, by ids and by its address: runs, states and marks', async () => {
  await using server = await graphServer({ Books: [{ name: 'Title', text: {} }] });
  const input = 'Title\na\nb\n';
  const file = server.file('a.csv', input);
  const manifest = server.file('books.yaml', 'key: Title\nitems:\n  - Title: one\n');
  const origin = `graph+${server.env['LISTCTL_BASE_URL']}`;

  const first = await server.listctl(['items', 'create', '--from', file]);
  const header = headerOf(newestJournal(join(server.path, 'runs')));
  const { site, list } = header as { readonly site: string; readonly list: string };
  expect([first.exitCode, header['origin']]).toEqual([0, origin]);
  expect(site).toMatch(/^contoso\.sharepoint\.com,[0-9a-f-]{36},[0-9a-f-]{36}$/);
  expect(list).toMatch(/^[0-9a-f-]{36}$/);
  expect(header['identity']).toBe(sha256(JSON.stringify(['create', origin, site, list, null, sha256(input)])));
  const listing = await server.listctl('items list --since last');
  const marks = () => readdirSync(join(server.path, 'marks'));
  const before = marks();
  const applied = await server.listctl(['apply', manifest, '--init', '--yes']);
  const state = JSON.parse(readFileSync(`${manifest}.state.json`, 'utf8'));
  expect([listing.exitCode, applied.exitCode]).toEqual([0, 0]);
  expect(state).toMatchObject({ origin, site, list });

  for (const way of ways) {
    const env = way.env === 'ids' ? { LISTCTL_SITE: site, LISTCTL_LIST: list } : way.env;
    const resumed = await server.listctl(['items', 'create', '--from', file, '--resume'], { env });
    expect([way.name, resumed.exitCode, resumed.stderr]).toEqual([
      way.name,
      0,
      expect.stringContaining('nothing to do'),
    ]);
    const planned = await server.listctl(['plan', manifest, '--detailed-exitcode'], { env });
    expect([way.name, planned.exitCode]).toEqual([way.name, 0]);
    await server.listctl('items list --since last', { env });
    expect([way.name, marks()]).toEqual([way.name, before]);
  }
});

test('the built-in service includes its directory, so that a run is not found from another one', async () => {
  await using service = await listService();
  await using world = await manyWorld(service);
  const env = { LISTCTL_BASE_URL: 'local:', LISTCTL_TOKEN: '' };
  const file = world.file('a.csv', titles(1));

  const first = await run(create(file), { cwd: world.path, env: { ...world.env, ...env } });

  expect(first.exitCode).toBe(0);
  const data = world.env['LISTCTL_DATA_DIR'] ?? '';
  expect(headerOf(world.journals().at(-1) ?? '')['origin']).toMatch(new RegExp(`^local:${data}`));
});
