/** Microsoft Graph as the service: what is sent, and what the responses mean (docs/graph.md). */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { type ScriptedAnswer, type ScriptedService, scriptedGraph } from '../support/scripted-service.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { converse, run, testHost } from '../support/test-host.ts';

const site = 'contoso.sharepoint.com,2c712604-1370-44e7-a1f5-426573fda80a,2d2244c3-251a-49ea-93a8-39e1c3a060fe';
const list = '8f51b0d2-0fe7-4a2b-9c79-0c4f1a4c0b57';
const tag = '"583c2e3b-2c4b-4c36-8c0f-d4a07a4b1b5f,3"';
const item = {
  '@odata.context': 'https://graph.microsoft.com/v1.0/$metadata#…',
  '@odata.etag': tag,
  id: '36',
  eTag: tag,
  fields: { '@odata.etag': tag, id: '36', Title: 'Milk' },
};

const envOf = (service: ScriptedService, more = {}) => ({
  LISTCTL_BASE_URL: service.url,
  LISTCTL_TOKEN: 'test-token',
  LISTCTL_SERVICE: 'graph',
  LISTCTL_SITE: site,
  LISTCTL_LIST: list,
  ...more,
});

const path = `/v1.0/sites/${site}/lists/${list}`;

/** Runs a command with a service that gives these answers, and counts its requests. */
async function runWith(answers: readonly ScriptedAnswer[], words: string | readonly string[], given = {}) {
  await using service = await scriptedGraph(...answers);
  const typed = typeof words === 'string' ? words.split(' ') : words;
  const ended = await run(typed, { env: envOf(service, given), stdin: 'Title\nMilk\n' });
  return { ...ended, sent: service.requests.length, requests: service.requests, connections: service.connections() };
}

const itemAnswer = { status: 200, body: item };
const saying = (text: string) => expect.stringContaining(text);

test.each([
  {
    words: 'items create -f Title=Milk',
    answer: { status: 201, body: item },
    sent: { method: 'POST', path: `${path}/items`, body: '{"fields":{"Title":"Milk"}}' },
    printed: item,
  },
  {
    words: 'items get 36',
    answer: { status: 200, body: item },
    sent: { method: 'GET', path: `${path}/items/36?$expand=fields`, body: '' },
    printed: item,
  },
  {
    words: 'items update 36 -f Title=Milk --unset Note',
    answer: { status: 200, body: { '@odata.etag': tag, Title: 'Milk' } },
    sent: { method: 'PATCH', path: `${path}/items/36/fields`, body: '{"Title":"Milk","Note":null}' },
    printed: { id: '36', fields: { '@odata.etag': tag, Title: 'Milk' } },
  },
  {
    words: 'items delete 36 --yes',
    answer: { status: 204, body: '' },
    sent: { method: 'DELETE', path: `${path}/items/36`, body: '' },
    printed: { id: '36' },
  },
])('$words', async ({ words, answer, sent, printed }) => {
  const { exitCode, stdout, requests } = await runWith([answer], `${words} -o json`);

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject(printed);
  expect(requests).toMatchObject([sent]);
  const headers = requests[0]?.headers ?? {};
  expect(headers['user-agent']).toMatch(/^NONISV\|listctl\|listctl\/\d/);
  expect(headers['client-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers['idempotency-key']).toBeUndefined();
});

test('the ordinary service gets none of this', async () => {
  const { requests } = await runWith([itemAnswer], 'items get 36', { LISTCTL_SERVICE: '' });
  expect(requests[0]?.path).toBe(`${path}/items/36`);
  expect(requests[0]?.headers['client-request-id']).toBeUndefined();
});

test('the entity tag of the body is that of a conditional update', async () => {
  await using directory = await temporaryDirectory();
  const manifest = join(directory.path, 'books.jsonl');
  writeFileSync(manifest, '{"fields":{"Title":"Dune","Year":1965}}\n');
  const answer = { status: 201, body: { ...item, id: '1', fields: { Title: 'Dune', Year: 1965 } } };
  const changed = { status: 200, body: { ...item, id: '1', fields: { Title: 'Dune', Year: 1964 } } };
  const updated = { status: 200, body: { '@odata.etag': tag, Year: 1965 } };
  // The items of the list and the create; then the item and the update.
  const none = { status: 200, body: { value: [] } };
  await using service = await scriptedGraph(none, answer, changed, updated);
  const world = { env: envOf(service, { LISTCTL_STATE_DIR: directory.path }) };

  await run(['apply', manifest, '--key', 'Title', '--init', '--yes'], world);
  await run(['apply', manifest, '--key', 'Title', '--yes'], world);

  const last = service.requests.at(-1);
  expect(last).toMatchObject({ method: 'PATCH', path: `${path}/items/1/fields`, body: '{"Year":1965}' });
  expect(last?.headers['if-match']).toBe(tag);
});

const error = (code: string, inner = {}) => ({
  error: {
    code,
    message: 'What Graph says.',
    innerError: { 'request-id': 'r-1', 'client-request-id': 'c-1', ...inner },
  },
});

test('the columns and the item take one connection', async () => {
  const created = await runWith([{ status: 201, body: item }], 'items create -f Title=Milk');
  expect(created).toMatchObject({ sent: 1, connections: 1 });
});

describe('errors', () => {
  test.each<{ name: string; words: string; answers: ScriptedAnswer[]; exit: number; sent: number; says: string }>([
    {
      name: 'a collision of two writers is tried again',
      words: 'items update 36 -f Title=x',
      answers: [
        { status: 409, body: error('resourceModified') },
        { status: 200, body: { Title: 'x' } },
      ],
      exit: 0,
      sent: 2,
      says: '',
    },
    {
      name: 'another conflict is not',
      words: 'items update 36 -f Title=x',
      answers: [{ status: 409, body: error('nameAlreadyExists') }],
      exit: 5,
      sent: 1,
      says: '"serviceCode":"nameAlreadyExists"',
    },
    {
      name: '509 is throttling',
      words: 'items create -f Title=x',
      answers: [
        { status: 509, headers: { 'retry-after': '1' }, body: error('activityLimitReached') },
        { status: 201, body: item },
      ],
      exit: 0,
      sent: 2,
      says: '',
    },
    {
      name: '509 after each attempt',
      words: 'items create -f Title=x --retries 0',
      answers: [{ status: 509, headers: { 'retry-after': '1' }, body: error('activityLimitReached') }],
      exit: 6,
      sent: 1,
      says: '"kind":"unavailable"',
    },
    {
      name: 'a create is never repeated after a 504',
      words: 'items create -f Title=x',
      answers: [{ status: 504, body: error('gatewayTimeout') }],
      exit: 8,
      sent: 1,
      says: '"clientRequestId":"c-1"',
    },
    {
      name: 'a value of the wrong shape',
      words: 'items create -f Title=x',
      answers: [{ status: 500, body: error('generalException') }],
      exit: 8,
      sent: 1,
      says: '"requestId":"r-1"',
    },
    {
      name: 'a scope that is missing is named',
      words: 'items get 36',
      answers: [{ status: 403, body: error('accessDenied') }],
      exit: 3,
      sent: 1,
      says: 'Sites.ReadWrite.All',
    },
  ])('$name', async ({ words, answers, exit, sent, says }) => {
    const ended = await runWith(answers, `${words} -o json`);
    expect(ended).toMatchObject({ exitCode: exit, sent, stderr: saying(says) });
  });
});

test.each([
  ['--idempotency-key', 'abc', '-f', 'Title=x'],
  ['--idempotency', 'honored', '-f', 'Title=x'],
  ['--idempotency-key-from', 'row', '--from', '-', '--input-format', 'csv', '--journal', 'none'],
])('there are no idempotency keys: %s', async (...words) => {
  const ended = await runWith([{ status: 201, body: item }], ['items', 'create', ...words]);
  expect(ended).toMatchObject({ exitCode: 2, sent: 0, stderr: saying('Microsoft Graph') });
});

test('after a 503 another connection is used', async () => {
  const unavailable = { status: 503, headers: { 'retry-after': '1' }, body: error('serviceNotAvailable') };
  const { exitCode, requests } = await runWith([unavailable, itemAnswer], 'items get 36');
  expect(exitCode).toBe(0);
  expect(requests.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'close']);
});

describe('a list by its address in the browser, or by names', () => {
  const siteAnswer = { status: 200, body: { id: site } };
  const lists = [
    { id: 'aaaaaaaa-0000-0000-0000-000000000000', webUrl: 'https://contoso.sharepoint.com/sites/x/Lists/Books2' },
    { id: list, displayName: 'All books', webUrl: 'https://contoso.sharepoint.com/sites/x/Lists/My%20Books' },
  ];

  test.each([
    {
      given: {
        LISTCTL_LIST: 'https://contoso.sharepoint.com/sites/x/Lists/My%20Books/AllItems.aspx?viewid=1',
        LISTCTL_SITE: '',
      },
      asked: [
        `/v1.0/sites/contoso.sharepoint.com:/sites/x?$select=id`,
        `/v1.0/sites/${site}/lists?$select=id,displayName,webUrl&$top=200`,
      ],
      answers: [siteAnswer, { status: 200, body: { value: lists } }],
    },
    {
      given: { LISTCTL_SITE: 'contoso.sharepoint.com:/sites/x', LISTCTL_LIST: 'All books' },
      asked: [
        `/v1.0/sites/contoso.sharepoint.com:/sites/x?$select=id`,
        `/v1.0/sites/${site}/lists/All%20books?$select=id`,
      ],
      answers: [siteAnswer, { status: 200, body: { id: list } }],
    },
  ])('$given.LISTCTL_LIST is resolved once, and the ids are recorded', async ({ given, asked, answers }) => {
    await using service = await scriptedGraph(...answers, { status: 201, body: item });
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'rows.csv');
    writeFileSync(file, 'Title\nMilk\n');
    const world = { env: envOf(service, { ...given, LISTCTL_STATE_DIR: directory.path }) };

    const { exitCode } = await run(['items', 'create', '--from', file, '-o', 'none'], world);
    const shown = await run(['runs', 'show', 'last', '-o', 'json'], world);

    expect(exitCode).toBe(0);
    expect(service.requests.map(({ path: each }) => each)).toEqual([...asked, `${path}/items`]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ site, list });
  });

  test('an address with HTTPS in capitals is one, too', async () => {
    const answers = [siteAnswer, { status: 200, body: { value: lists } }, itemAnswer];
    const given = { LISTCTL_LIST: 'HTTPS://contoso.sharepoint.com/sites/x/Lists/My%20Books', LISTCTL_SITE: '' };
    expect(await runWith(answers, 'items get 36', given)).toMatchObject({ exitCode: 0 });
  });

  test('names go as they are where nothing is recorded', async () => {
    const given = { LISTCTL_SITE: 'contoso.sharepoint.com:/sites/x', LISTCTL_LIST: 'All books' };
    const { requests } = await runWith([itemAnswer], 'items get 36', given);
    expect(requests.map(({ path: each }) => each)).toEqual([
      '/v1.0/sites/contoso.sharepoint.com:/sites/x:/lists/All%20books/items/36?$expand=fields',
    ]);
  });

  test.each([
    'https://contoso.sharepoint.com/:l:/s/x/FIq',
    'https://contoso.sharepoint.com/sites/x/SitePages/Home.aspx',
  ])('%s is no address of a list', async (address) => {
    const ended = await runWith([itemAnswer], 'items get 36', { LISTCTL_LIST: address, LISTCTL_SITE: '' });
    const says = saying('open the list in the browser and copy its address');
    expect(ended).toMatchObject({ exitCode: 2, sent: 0, stderr: says });
  });

  test('a next page at another origin is not followed', async () => {
    const page = { value: [], '@odata.nextLink': 'https://evil.example/v1.0/sites/x/lists?$skiptoken=1' };
    const given = { LISTCTL_LIST: 'https://contoso.sharepoint.com/sites/x/Lists/Books', LISTCTL_SITE: '' };
    const ended = await runWith([siteAnswer, { status: 200, body: page }], 'items get 36', given);
    expect(ended).toMatchObject({ exitCode: 1, sent: 2, stderr: saying('not followed') });
  });
});

test('doctor says that an address of Graph needs its service', async () => {
  const words = ['doctor', '--base-url', 'https://graph.microsoft.com/v1.0', '--timeout', '0.1', '-o', 'jsonl'];
  const { stdout } = await run(words, {});
  const findings = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(findings.find(({ check }) => check === 'service')).toMatchObject({
    status: 'warning',
    hint: expect.stringContaining('--service graph'),
  });
});

describe('init with the address of a list', () => {
  const address = 'https://contoso.sharepoint.com/sites/x/Lists/Books/AllItems.aspx?viewid=1';
  const answers = [
    { status: 200, body: { id: site } },
    { status: 200, body: { value: [{ id: list, webUrl: 'https://contoso.sharepoint.com/sites/x/Lists/Books' }] } },
  ];

  test('asks nothing with a token in the environment, and saves ids', async () => {
    await using service = await scriptedGraph(...answers);
    await using directory = await settingsDirectory();
    const env = { ...directory.env, LISTCTL_TOKEN: 'test-token' };
    const world = { env, terminal: 120 };
    const { exitCode, stderr } = await run(['init', address, '-p', 'books', '--base-url', service.url], world);
    expect({ exitCode, sent: service.requests.length }).toEqual({ exitCode: 0, sent: 2 });
    expect(stderr).toMatch(/^next: listctl items list -p books --limit 5$|^next: listctl items list --limit 5$/m);
    expect(directory.read()).toMatchObject({
      profiles: { books: { service: 'graph', baseUrl: service.url, site, list } },
    });
    expect(existsSync(directory.credentials)).toBe(false);
  });

  test('is a question where the URL is that of Graph', async () => {
    await using directory = await settingsDirectory();
    const host = testHost({ ...directory, terminal: 120 });
    const running = main(['init', '-p', 'books'], host);
    await host.answer('Service URL', 'https://graph.microsoft.com/v1.0\r');
    await host.answer('URL of the list', 'Books\r');
    await host.answer('is not the address of a list', '\u0003');
    expect(await running).not.toBe(0);
  });

  test('without a token, off a terminal, it says where to get one', async () => {
    await using directory = await settingsDirectory();
    const ended = await run(['init', address], { env: directory.env });
    expect(ended).toMatchObject({ exitCode: 3, stderr: saying('LISTCTL_TOKEN_COMMAND') });
  });

  test('may be typed where the URL of the service is asked for', async () => {
    await using directory = await settingsDirectory();
    const host = testHost({ ...directory, terminal: 120 });
    const running = main(['init', '-p', 'books'], host);
    await host.answer('Service URL', 'https://contoso.sharepoint.com/sites/x\r');
    await host.answer('is not the address of a list', '/Lists/Books\r');
    await host.answer('Token for https://graph.microsoft.com/v1.0', '\u0003');
    expect(await running).toBe(130);
  });

  test.each(['contoso.sharepoint.cn', 'contoso.sharepoint.us', 'contoso.sharepoint-mil.us'])(
    'in a national cloud gets no token without a question or --base-url: %s',
    async (host) => {
      await using directory = await settingsDirectory();
      const words = ['init', `https://${host}/sites/x/Lists/Books`];
      const env = { ...directory.env, LISTCTL_TOKEN: 'test-token' };
      const script = await run(words, { env });
      const person = await converse(words, { [`${host} is in a national cloud`]: '' }, { env });
      for (const { exitCode, stderr } of [script, person]) {
        expect(exitCode).toBe(2);
        expect(stderr).toMatch(
          /refusing to send the token to https:\S+.*\n {2}if this is your cloud, pass --base-url https/,
        );
      }
      expect(existsSync(directory.config)).toBe(false);
    },
  );

  test('a list that is not there saves nothing', async () => {
    await using service = await scriptedGraph(
      { status: 200, body: { id: site } },
      { status: 200, body: { value: [] } },
    );
    await using directory = await settingsDirectory();
    const env = { ...directory.env, LISTCTL_TOKEN: 'test-token' };
    const { exitCode, stderr } = await run(['init', address, '--base-url', service.url], { env });
    expect(exitCode).toBe(4);
    expect(stderr).toContain('has no list at /sites/x/Lists/Books');
    expect(existsSync(directory.config)).toBe(false);
  });

  test('another host needs the URL of Graph', async () => {
    const env = { LISTCTL_TOKEN: 'test-token' };
    const ended = await run(['init', 'https://lists.example/sites/x/Lists/Books'], { env });
    expect(ended).toMatchObject({ exitCode: 2, stderr: saying('--base-url') });
  });
});

describe('regressions', () => {
  const address = 'https://contoso.sharepoint.com/sites/x/Lists/Books';

  test("init does not run another service's token command", async () => {
    await using service = await scriptedGraph({ status: 200, body: { id: site } });
    await using directory = await settingsDirectory({
      current: 'work',
      profiles: { work: { baseUrl: 'https://lists.example/v1.0', tokenCommand: 'echo another-token' } },
    });
    const { exitCode, stderr } = await run(['init', address, '--base-url', service.url], directory);
    expect({ exitCode, sent: service.requests.length }).toEqual({ exitCode: 3, sent: 0 });
    expect(stderr).toContain('no token');
  });

  test.each([
    ['http://192.0.2.2/v1.0', 'refusing to send the token over plain http'],
    ['nonsense', 'invalid --base-url'],
  ])('init sends nothing to --base-url %s', async (url, says) => {
    const ended = await run(['init', address, '--base-url', url], { env: { LISTCTL_TOKEN: 'test-token' } });
    expect(ended).toMatchObject({ exitCode: 2, stderr: saying(says) });
  });

  test('an update whose response is about another item is in doubt', async () => {
    const other = { status: 200, body: { '@odata.etag': tag, id: '8', Title: 'x' } };
    const ended = await runWith([other], 'items update 7 -f Title=x');
    expect(ended).toMatchObject({ exitCode: 8, stderr: saying('about item "8"') });
  });

  test.each([
    { given: { LISTCTL_LIST: list.toUpperCase() }, why: 'ids in capitals are the same list', exit: 2 },
    { given: { LISTCTL_SERVICE: 'list-item' }, why: 'rows of the other service are not created again', exit: 2 },
  ])('$why', async ({ given, exit }) => {
    await using service = await scriptedGraph({ status: 201, body: item });
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'rows.csv');
    writeFileSync(file, 'Title\nMilk\n');
    const env = envOf(service, { LISTCTL_STATE_DIR: directory.path });
    const words = ['items', 'create', '--from', file, '-o', 'none'];
    expect(await run(words, { env })).toMatchObject({ exitCode: 0 });
    expect(await run(words, { env: { ...env, ...given } })).toMatchObject({ exitCode: exit });
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    [['-s', 'other.sharepoint.com:/sites/y', '-l', address], '--site cannot be used when --list is a URL'],
    [['-s', 'https://contoso.sharepoint.com/sites/x', '-l', 'Books'], '--site contoso.sharepoint.com:/sites/x'],
  ])('%s is refused', async (flags, says) => {
    const ended = await runWith([itemAnswer], ['items', 'get', '1', ...flags]);
    expect(ended).toMatchObject({ exitCode: 2, sent: 0, stderr: saying(says) });
  });

  test('an invalid service ends only what needs it', async () => {
    await using directory = await temporaryDirectory();
    const env = { LISTCTL_SERVICE: 'grph', LISTCTL_STATE_DIR: directory.path };
    expect(await run(['runs', 'list'], { env })).toMatchObject({ exitCode: 0 });
    expect(await run(['profile', 'list'], { env })).toMatchObject({ exitCode: 0 });
  });

  test('a run is undone with the names that it was typed with', async () => {
    const located = [site, list].map((id) => ({ status: 200, body: { id } }));
    const [created, deleted] = [{ status: 201, body: item }, { status: 204 }];
    await using service = await scriptedGraph(...located, created, ...located, deleted);
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'rows.csv');
    writeFileSync(file, 'Title\nMilk\n');
    const env = envOf(service, { LISTCTL_STATE_DIR: directory.path });
    const names = ['-s', 'contoso.sharepoint.com:/sites/x', '-l', 'Books', '-o', 'none'];
    expect(await run(['items', 'create', '--from', file, ...names], { env })).toMatchObject({ exitCode: 0 });
    expect(await run(['runs', 'undo', 'last', '--yes', ...names], { env })).toMatchObject({ exitCode: 0 });
    expect(service.requests.at(-1)).toMatchObject({ method: 'DELETE', path: `${path}/items/36` });
  });

  test('auth login keeps the service', async () => {
    await using service = await scriptedGraph({ status: 200, body: { id: list } });
    await using directory = await settingsDirectory();
    const words = `auth login --with-token --service graph --base-url ${service.url} -s ${site} -l ${list}`;
    expect(await run(words.split(' '), { ...directory, stdin: 'test-token\n' })).toMatchObject({ exitCode: 0 });
    expect(directory.read().profiles['default']).toMatchObject({ service: 'graph', baseUrl: service.url });
  });
});

test('a run of one service is not resumed on the other', async () => {
  await using service = await scriptedGraph(
    { status: 201, body: item },
    { status: 401, body: error('InvalidAuthenticationToken') },
  );
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'rows.csv');
  writeFileSync(file, 'Title\nMilk\nBread\n');
  const env = envOf(service, { LISTCTL_STATE_DIR: directory.path });
  const words = ['items', 'create', '--from', file, '--concurrency', '1', '-o', 'none'];
  expect(await run(words, { env })).toMatchObject({ exitCode: 3 });
  const before = service.requests.length;

  const { exitCode, stderr } = await run([...words, '--resume'], { env: { ...env, LISTCTL_SERVICE: 'list-item' } });

  expect({ exitCode, sent: service.requests.length - before }).toEqual({ exitCode: 2, sent: 0 });
  expect(stderr).toContain('--service graph');
});
