/** `--keep-before`: earlier values are on disk before a write, and `runs undo` puts them back. */
import { appendFileSync, cpSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scriptedService } from '../support/scripted-service.ts';
import type { World } from '../support/test-host.ts';
import { jsonLines, type ManyWorld, manyWorld } from './bulk/bulk-world.ts';
import { type ListRequest, listService, type Script } from './bulk/list-service.ts';
import { runsWorld } from './runs-world.ts';

type Stored = { readonly version: number; readonly fields: Readonly<Record<string, unknown>> };

/** A list with tags, of two items. */
class TaggedList {
  items = new Map<string, Stored>([
    ['1', { version: 1, fields: { Title: 'Milk', Count: 1 } }],
    ['2', { version: 1, fields: { Title: 'Bread' } }],
  ]);
  nextId = 3;

  readonly answer = ({ method, id = '', headers, body }: ListRequest): ReturnType<Script> => {
    const parsed = body === '' ? {} : JSON.parse(body);
    if (method === 'POST') return this.put(String(this.nextId++), { version: 1, fields: parsed.fields }, 201);
    const item = this.items.get(id);
    if (item === undefined) return { status: 404, body: { error: 'no such item' } };
    if (method === 'GET') return this.put(id, item);
    const tag = headers['if-match'];
    if (tag !== undefined && tag !== `"${id}-${item.version}"`) return { status: 412, body: { error: 'changed' } };
    if (method === 'PATCH') return this.put(id, { version: item.version + 1, fields: merged(item, parsed.fields) });
    this.items.delete(id);
    return { status: 204 };
  };

  put(id: string, item: Stored, status = 200): ReturnType<Script> {
    this.items.set(id, item);
    return { status, headers: { etag: `"${id}-${item.version}"` }, body: { id, fields: item.fields } };
  }

  get fields(): readonly unknown[] {
    return [...this.items.values()].map(({ fields }) => fields);
  }
}

function merged({ fields }: Stored, changes: Stored['fields']): Stored['fields'] {
  return Object.fromEntries(Object.entries({ ...fields, ...changes }).filter(([, value]) => value !== null));
}

const original = [{ Title: 'Milk', Count: 1 }, { Title: 'Bread' }];
const changed = {
  update: [
    { Title: 'MILK', Count: 1, Note: 'x' },
    { Title: 'BREAD', Note: 'x' },
  ],
  delete: [],
};
const actions = ['update', 'delete'] as const;

function words(action: (typeof actions)[number], world: ManyWorld, ...more: readonly string[]): readonly string[] {
  const from =
    action === 'update' ? world.file('a.csv', 'id,Title,Note\n1,MILK,x\n2,BREAD,x\n') : world.file('ids.txt', '1\n2\n');
  const yes = action === 'delete' ? ['--yes'] : [];
  return ['items', action, '--from', from, ...yes, '--concurrency', '1', '-o', 'jsonl', ...more];
}

const undo = ['runs', 'undo', 'last', '--yes', '--concurrency', '1', '-o', 'jsonl'];

describe.each(actions)('a run of %s', (action) => {
  test('is taken back by runs undo, once; runs remove removes the values', async () => {
    const list = new TaggedList();
    await using service = await listService(list.answer);
    await using world = await manyWorld(service);

    const run = await world.run(words(action, world, '--keep-before'));
    const after = list.fields;
    const [kept = ''] = world.leftovers();
    const { mode } = statSync(join(world.runs, kept));
    const undone = await world.run(undo);
    const [undoRun] = jsonLines((await world.run(['runs', 'list', '-o', 'jsonl'])).stdout);
    const again = await world.run(['runs', 'undo', String(undoRun?.['file']), '--yes']);

    expect([run.exitCode, undone.exitCode, again.exitCode]).toEqual([0, 0, 0]);
    expect(after).toEqual(changed[action]);
    expect([kept.endsWith('.before'), mode & 0o777]).toEqual([true, 0o600]);
    expect(list.fields).toEqual(original);
    expect(again.stderr).toContain('nothing to undo');
    expect(service.requests.filter(({ method }) => method !== 'GET')).toHaveLength(4);

    await world.run(['runs', 'remove', String(undoRun?.['file'])]);
    expect(world.leftovers()).toEqual([]);
  });

  test('has the values on disk before the write, which is refused if the item changed in between', async () => {
    const list = new TaggedList();
    const seen: unknown[] = [];
    await using service = await listService((request) => {
      const { method, id, headers } = request;
      if (method !== 'GET') {
        const lines = jsonLines(readFileSync(join(world.runs, world.leftovers().find(isKept) ?? ''), 'utf8'));
        seen.push([id, headers['if-match'], lines.at(-1)?.['id']]);
        if (id === '2') list.put('2', { version: 9, fields: { Title: 'Rye' } });
      }
      return list.answer(request);
    });
    await using world = await manyWorld(service);

    const { exitCode, stdout } = await world.run(words(action, world, '--keep-before'));

    expect(exitCode).toBe(9);
    expect(seen).toEqual([
      ['1', '"1-1"', '1'],
      ['2', '"2-1"', '2'],
    ]);
    expect(jsonLines(stdout)[1]).toMatchObject({ row: 2, status: 'failed', error: { kind: 'conflict' } });
    expect((await world.run(undo)).exitCode).toBe(0);
    expect(list.fields).toContainEqual({ Title: 'Rye' });
    expect(list.fields).toContainEqual(original[0]);
  });

  test.each([
    { at: 'the read', is: ({ method }: ListRequest) => method === 'GET', applies: false },
    { at: 'the write, before the service has it', is: ({ method }: ListRequest) => method !== 'GET', applies: false },
    { at: 'the write, before its response', is: ({ method }: ListRequest) => method !== 'GET', applies: true },
  ])('that is killed at $at is resumed, and undone to what was first', async ({ is, applies }) => {
    const list = new TaggedList();
    let killed: TaggedList['items'] | undefined;
    await using service = await listService((request) => {
      const before = new Map(list.items);
      const answer = list.answer(request);
      if (killed === undefined && is(request)) {
        killed = applies ? new Map(list.items) : before;
        cpSync(world.runs, join(world.path, 'killed'), { recursive: true });
      }
      return answer;
    });
    await using world = await manyWorld(service);
    await world.run(words(action, world, '--keep-before'));
    rmSync(world.runs, { recursive: true });
    renameSync(join(world.path, 'killed'), world.runs);
    for (const name of readdirSync(world.runs))
      if (name.endsWith('.lock')) rmSync(join(world.runs, name), { recursive: true });
    list.items = killed ?? new Map();

    const resumed = await world.run(words(action, world, '--keep-before', '--resume'));
    const after = list.fields;
    const undone = await world.run(undo);

    expect([resumed.exitCode, undone.exitCode]).toEqual([0, 0]);
    expect(after).toEqual(changed[action]);
    expect(list.fields).toEqual(original);
  });

  test('cannot be resumed once a part of it was undone', async () => {
    const list = new TaggedList();
    let isFull = true;
    await using service = await listService((request) =>
      isFull && request.method !== 'GET' && request.id === '2' ? { status: 403 } : list.answer(request),
    );
    await using world = await manyWorld(service);
    await world.run(words(action, world, '--keep-before'));
    isFull = false;
    await world.run(undo);

    const resumed = await world.run(words(action, world, '--resume'));

    expect(resumed.exitCode).toBe(2);
    expect(resumed.stderr).toContain('it was undone');
  });
});

const isKept = (name: string) => name.endsWith('.before');

test.each([{ has: 'tags' }, { has: 'no tags' }])(
  'an item that changed since is kept and listed, where the service has $has; --force puts it back, too',
  async ({ has }) => {
    const list = new TaggedList();
    const isTagged = has === 'tags';
    await using service = await listService((request) => {
      const { headers = {}, ...answer } = list.answer(request) ?? { status: 500 };
      return isTagged ? { ...answer, headers } : answer;
    });
    await using world = await manyWorld(service);
    await world.run(words('update', world, '--keep-before'));
    list.put('2', { version: 9, fields: { Title: 'Rye', Note: 'x' } });

    const { exitCode, stdout, stderr } = await world.run(undo);

    expect(exitCode).toBe(9);
    expect(jsonLines(stdout)[1]).toMatchObject({
      error: { kind: 'conflict', message: expect.stringMatching(/item "2" .* run [-\w]+ updated it; not restored/) },
    });
    expect(stderr).toContain('restore them anyway with: listctl runs undo');
    expect(list.fields).toEqual([original[0], { Title: 'Rye', Note: 'x' }]);
    const runs = jsonLines((await world.run(['runs', 'list', '-o', 'jsonl'])).stdout);
    await world.run(['runs', 'undo', String(runs[1]?.['run']), '--yes', '--force']);
    expect(list.fields).toEqual(original);
  },
);

test('an item in doubt is not created a second time', async () => {
  const list = new TaggedList();
  await using service = await listService((request) => {
    const answer = list.answer(request);
    return request.method === 'POST' && list.nextId === 4 ? { status: 0, cut: true } : answer;
  });
  await using world = await manyWorld(service);
  await world.run(words('delete', world, '--keep-before'));
  const [{ run } = {}] = jsonLines((await world.run(['runs', 'list', '-o', 'jsonl'])).stdout);
  const again = ['runs', 'undo', String(run), '--yes', '--concurrency', '1'];

  const exits = [(await world.run(again)).exitCode, (await world.run(again)).exitCode];
  const shown = await world.run(['runs', 'show', 'last', '--in-doubt', '-o', 'jsonl']);
  expect(jsonLines(shown.stdout)).toMatchObject([{ row: 1, fields: original[0] }]);
  const resolved = await world.run(['runs', 'resolve', 'last', '--row', '1', '--applied', '3']);
  expect([resolved.exitCode, resolved.stderr]).toEqual([0, '']);

  expect([...exits, (await world.run(again)).exitCode]).toEqual([8, 8, 0]);
  expect(list.fields).toEqual(original);
});

test('on Microsoft Graph, what it sets itself is left out of an item that is created anew', async () => {
  const etag = '"583c2e3b-2c4b-4c36-8c0f-d4a07a4b1b5f,3"';
  const own = { Title: 'Milk', OwnerLookupId: '6', Link: { Url: 'https://example.com' } };
  const columns = [
    { name: 'Title', text: {} },
    { name: 'Owner', personOrGroup: {} },
    { name: 'Link', hyperlinkOrPicture: {} },
  ];
  const system = { '@odata.etag': etag, id: '36', _UIVersionString: '1.0', LinkTitleNoMenu: 'Milk', Edit: '' };
  const fields = { ...system, AuthorLookupId: '6', AppEditorLookupId: '6', ItemChildCount: '0', ...own };
  const item = { '@odata.etag': etag, id: '36', fields };
  await using service = await scriptedService(
    { status: 200, body: item },
    { status: 204, body: '' },
    { status: 200, body: { value: columns } },
    { status: 201, body: { ...item, id: '37' } },
  );
  await using world = await manyWorld(service);
  const guid = '2c712604-1370-44e7-a1f5-426573fda80a';
  const site = `contoso.sharepoint.com,${guid},${guid}`;
  const graph: World = { env: { LISTCTL_SERVICE: 'graph', LISTCTL_SITE: site, LISTCTL_LIST: guid } };

  const deletion = ['items', 'delete', '--from', world.file('ids.txt', '36\n'), '--yes', '--keep-before'];
  const deleted = await world.run(deletion, graph);
  const undone = await world.run(undo, graph);

  expect([deleted.exitCode, undone.exitCode]).toEqual([0, 0]);
  expect(undone.stderr).toContain('fields that Microsoft Graph cannot write are not restored: Link');
  expect(service.requests.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'GET', 'POST']);
  expect(JSON.parse(service.requests[3]?.body ?? '')).toEqual({ fields: { Title: 'Milk', OwnerLookupId: 6 } });
});

describe('is refused', () => {
  test.each([
    { flags: ['--journal', 'none'], says: '--keep-before cannot be used with --journal none' },
    { flags: ['--id-column', 'same'], says: 'rows 1 and 2 (lines 2 and 3) have the same id' },
  ])('with $flags', async ({ flags, says }) => {
    await using world = await runsWorld();
    const from = world.file('a.csv', 'id,same,Title\n1,1,a\n2,1,b\n');
    const update = ['items', 'update', '--from', from, '--keep-before', ...world.local, '-s', 'home', '-l', 'tasks'];

    const { exitCode, stderr } = await world.run([...update, ...flags]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(says)]);
  });

  test('for the rest of a run without it, which cannot be undone', async () => {
    const list = new TaggedList();
    await using service = await listService((request) => (request.id === '2' ? { status: 403 } : list.answer(request)));
    await using world = await manyWorld(service);
    await world.run(words('update', world));

    const resumed = await world.run(words('update', world, '--keep-before', '--resume'));
    const undone = await world.run(undo);

    expect([resumed.exitCode, undone.exitCode]).toEqual([2, 2]);
    expect(resumed.stderr).toContain('does not keep earlier values');
    expect(undone.stderr).toContain('it is an update without --keep-before');
  });
});

test.each([
  { how: 'removed', harm: (path: string) => rmSync(path), says: 'it was removed' },
  { how: 'damaged', harm: (path: string) => appendFileSync(path, '{"kept":"0"}\n'), says: 'is damaged at byte' },
])('nothing is undone with values that were $how', async ({ harm, says }) => {
  const list = new TaggedList();
  await using service = await listService(list.answer);
  await using world = await manyWorld(service);
  await world.run(words('update', world, '--keep-before'));
  harm(join(world.runs, world.leftovers()[0] ?? ''));

  const { exitCode, stderr } = await world.run(undo);

  expect([exitCode, stderr]).toEqual([10, expect.stringContaining(says)]);
  expect(list.fields).toEqual(changed.update);
});
