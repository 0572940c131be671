/** `items list --since last`: what changed since the last time. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { linesInMemoryMax } from '../../src/core/spool.ts';
import { main } from '../../src/main.ts';
import { type ScriptedAnswer, scriptedService } from '../support/scripted-service.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { run, testHost } from '../support/test-host.ts';

let directory: TemporaryDirectory;

beforeEach(async () => {
  directory = await temporaryDirectory();
  return () => directory[Symbol.asyncDispose]();
});

const envOf = (more: Readonly<Record<string, string>> = {}) => ({
  LISTCTL_BASE_URL: `local:${join(directory.path, 'items')}`,
  LISTCTL_SERVICE: 'graph',
  LISTCTL_SITE: 'root',
  LISTCTL_LIST: 'Books',
  LISTCTL_STATE_DIR: join(directory.path, 'state'),
  ...more,
});
const listctl = (words: string, stdin = '', env = envOf()) => run(words.split(' '), { stdin, env });
const since = (words: string) => listctl(`items list --since last ${words}`);
const marks = () => readdirSync(join(directory.path, 'state/marks')).filter((name) => name.endsWith('.json'));

async function create(...titles: readonly string[]): Promise<void> {
  const rows = titles.map((Title) => JSON.stringify({ Title })).join('\n');
  expect(await listctl('items create --from - -o none', rows)).toMatchObject({ exitCode: 0 });
}

test('lists everything the first time, and says so; then each changed item once, as it is now', async () => {
  await create('a', 'b', 'c');
  const first = await since('-o csv --select Title');
  expect(first).toMatchObject({ exitCode: 0, stdout: 'id,deleted,Title\n1,false,a\n2,false,b\n3,false,c\n' });
  expect(first.stderr).toContain('listing all items');

  expect(await since('-o jsonl')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });

  for (const title of ['B', 'BB']) await listctl(`items update 2 -f Title=${title}`);
  await listctl('items delete 3 --yes');
  await create('d');
  expect((await since('-o csv --select Title')).stdout).toBe('id,deleted,Title\n2,false,BB\n3,true,\n4,false,d\n');
  expect((await since('-o csv --select Title')).stdout).toBe('id,deleted,Title\n');
});

test.each([
  ['-o json --query [].id', '["1","2"]'],
  ['-o id', '2'],
  ['-o jsonl', /^\{"id":"1","deleted":\{"state":"deleted"\}\}\n\{"@odata.etag":.*"Title":"B".*\}$/],
  ['-o pretty --columns id,deleted,Title', 'id  deleted  Title\n1   true\n2   false    B'],
  ['-o none', ''],
])('prints deleted items with %s', async (words, printed) => {
  await create('a', 'b');
  await since('-o none');
  await listctl('items delete 1 --yes');
  await listctl('items update 2 -f Title=B');
  const { stdout } = await since(words);
  const text = words.includes('json ') ? JSON.stringify(JSON.parse(stdout)) : stdout.trimEnd();
  if (typeof printed === 'string') expect(text).toBe(printed);
  else expect(text).toMatch(printed);
});

test('each profile has a mark of its own', async () => {
  await create('a');
  for (const name of ['one', 'two']) {
    const env = { ...envOf({ LISTCTL_CONFIG_DIR: join(directory.path, 'config') }) };
    await listctl(`profile set ${name} --base-url ${env.LISTCTL_BASE_URL}`, '', env);
    const words = `items list --since last -o id -p ${name}`;
    expect((await listctl(words, '', env)).stdout).toBe('1\n');
    expect((await listctl(words, '', env)).stdout).toBe('');
  }
  expect(marks()).toHaveLength(2);
});

describe('the changes come again', () => {
  test.each([
    ['after a reader that closed', { isClosed: true }],
    [
      'after a failed write',
      {
        write: async () => {
          throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
        },
      },
    ],
  ])('%s', async (_, broken) => {
    await create('a');
    const host = testHost({ env: envOf() });
    const { stdout } = host;
    await main(['items', 'list', '--since', 'last', '-o', 'id'], { ...host, stdout: { ...stdout, ...broken } });
    expect(marks()).toEqual([]);
    expect((await since('-o id')).stdout).toBe('1\n');
  });

  test('after a failure to read the last page', async () => {
    let address = '';
    const page = () => JSON.stringify({ value: [], '@odata.nextLink': `${address}/next` });
    await using service = await scriptedService({ status: 200, body: page }, { status: 403, body: {} });
    address = service.url;
    const env = envOf({ LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', ...ids });
    expect((await listctl('items list --since last -o json', '', env)).exitCode).toBe(3);
    expect(marks()).toEqual([]);
  });
});

const ids = {
  LISTCTL_SITE: `contoso.sharepoint.com,${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)},${'1'.repeat(8)}-1111-1111-1111-${'1'.repeat(12)}`,
  LISTCTL_LIST: `${'2'.repeat(8)}-2222-2222-2222-${'2'.repeat(12)}`,
};
const path = `/v1.0/sites/${ids.LISTCTL_SITE}/lists/${ids.LISTCTL_LIST}/items/delta`;

describe('on the wire', () => {
  /** Runs `--since last` as often as there are lists of answers, which may have links to the service. */
  async function onWire(words: string, answers: (address: string) => readonly ScriptedAnswer[], times = 1) {
    let address = '';
    const lazy = answers('').map((_, at) => at);
    const made = lazy.map((at) => ({
      ...answers('')[at],
      status: answers('')[at]?.status ?? 200,
      body: () => JSON.stringify(answers(address)[at]?.body),
    }));
    await using service = await scriptedService(...made);
    address = service.url;
    const env = envOf({ LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', ...ids });
    const runs: Awaited<ReturnType<typeof run>>[] = [];
    for (let at = 0; at < times; at += 1) runs.push(await listctl(`items list --since last ${words}`, '', env));
    const paths = service.requests.map((request) => request.path);
    return { runs, paths: paths.filter((each) => !each.endsWith('/columns')) };
  }
  const item = (id: string, Title: string) => ({ id, fields: { Title } });
  const columns = { status: 200, body: { value: [{ name: 'Title', text: {} }] } };
  const end = (address: string, value: readonly object[], token = 'T1') => ({
    status: 200,
    body: { value, '@odata.deltaLink': `${address}${path.slice('/v1.0'.length)}?token=${token}` },
  });

  test('the link of the last time is followed, with the fields that are wanted now', async () => {
    const answers = (address: string) =>
      [end(address, [item('1', 'a')]), end(address, [], 'T2'), end(address, [])].flatMap((each) => [columns, each]);
    const { paths } = await onWire('-o id --select Title', answers, 3);
    expect(paths).toEqual([
      `${path}?$expand=fields($select=Title)&$top=1000`,
      `${path}?token=T1&$expand=fields($select=Title)&$top=1000`,
      `${path}?token=T2&$expand=fields($select=Title)&$top=1000`,
    ]);
  });

  test('an unknown name in --select is refused before the mark moves', async () => {
    const answers = (address: string) => [columns, columns, end(address, [item('1', 'a')])];
    const { runs, paths } = await onWire('--select Titel', answers);
    expect(runs).toMatchObject([{ exitCode: 2, stderr: expect.stringContaining('did you mean "Title"?') }]);
    expect({ paths, marks: marks() }).toEqual({ paths: [], marks: [] });
  });

  test('of an item that comes several times, the last counts', async () => {
    const deleted = { id: '2', deleted: { state: 'deleted' } };
    const answers = (address: string) => [
      columns,
      {
        status: 200,
        body: { value: [item('1', 'a'), item('2', 'b'), item('3', 'c')], '@odata.nextLink': `${address}/next` },
      },
      end(address, [item('1', 'A'), deleted]),
    ];
    const { runs } = await onWire('-o csv --select Title', answers);
    expect(runs[0]?.stdout).toBe('id,deleted,Title\n3,false,c\n1,false,A\n2,true,\n');
  });

  test.each([
    { status: 410, code: 'resyncChangesApplyDifferences' },
    { status: 400, code: 'syncStateNotFound' },
  ])('$status $code begins anew, and says so', async ({ status, code }) => {
    const gone = { status, headers: { location: 'https://evil.example/' }, body: { error: { code, message: 'Old.' } } };
    const answers = (address: string) => [end(address, [item('1', 'a')]), gone, end(address, [item('2', 'b')], 'T2')];
    const { runs, paths } = await onWire('-o id', answers, 2);
    expect(runs[1]).toMatchObject({ exitCode: 0, stdout: '2\n' });
    expect(runs[1]?.stderr).toContain('no longer knows what changed since');
    expect(paths.map((each) => each.replace(path, ''))).toEqual([
      '?$expand=fields&$top=1000',
      '?token=T1&$expand=fields&$top=1000',
      '?$expand=fields&$top=1000',
    ]);
  });

  test.each<[name: string, body: (address: string) => object, says: string]>([
    [
      'a link to another origin',
      () => ({ value: [], '@odata.deltaLink': 'https://evil.example/v1.0/x' }),
      'not followed',
    ],
    ['no link', () => ({ value: [] }), 'the last page has neither'],
    ['an item without fields', (address) => end(address, [{ id: '1' }]).body, 'an item has no \\"fields'],
  ])('%s is refused, and no mark is set', async (_, body, says) => {
    const { runs } = await onWire('-o json', (address) => [{ status: 200, body: body(address) }]);
    expect(runs[0]).toMatchObject({ exitCode: 1, stdout: '' });
    expect(runs[0]?.stderr).toContain(says);
    expect(marks()).toEqual([]);
  });

  test('more items than memory should hold', async () => {
    const count = 3 * linesInMemoryMax;
    const many = Array.from({ length: count }, (_, at) => item(String(at), 'x'));
    const { runs } = await onWire('-o id', (address) => [end(address, many)]);
    expect(runs[0]?.stdout.trimEnd().split('\n')).toEqual(many.map(({ id }) => id));
  });
});

test.each(['--filter x', '--where a=b', '--limit 5', '--non-indexed'])('%s cannot be combined', async (words) => {
  const { exitCode, stderr } = await since(words);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 2 });
  expect(stderr).toContain(`'--since <when>' cannot be used with option '${words.split(' ')[0]}`);
});

test('a second one at the same time is refused', async () => {
  await create('a');
  let waiting: Promise<unknown> | undefined;
  const { stdout, ...host } = testHost({ env: envOf() });
  const write = async () => {
    waiting ??= since('-o id').then((second) => {
      expect(second).toMatchObject({ exitCode: 11, stdout: '' });
      expect(second.stderr).toContain('is held by process');
    });
    await waiting;
  };
  expect(await main(['items', 'list', '--since', 'last', '-o', 'id'], { ...host, stdout: { ...stdout, write } })).toBe(
    0,
  );
  expect(waiting).toBeDefined();
});

test('a damaged mark is named, and nothing is sent', async () => {
  await create('a');
  await since('-o id');
  const file = join(directory.path, 'state/marks', marks()[0] ?? '');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: 1, path: expect.stringContaining('token=') });
  writeFileSync(file, '{"version":1,"path":"https://evil.example/"');
  const { exitCode, stderr } = await since('-o id');
  expect(exitCode).toBe(10);
  expect(stderr).toContain('remove it to list all items again');
});

test('ids on stdin need no --input-format', async () => {
  await create('a', 'b');
  const { stdout } = await since('-o id');
  expect(await listctl('items delete --from - --yes -o none', stdout)).toMatchObject({ exitCode: 0 });
  expect((await listctl('items list -o id')).stdout).toBe('');
});
