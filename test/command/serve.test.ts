import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sendHttp } from '../support/send-http.ts';
import { type Serving, serving } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const token = 'the-token-of-these-tests';
const path = '/sites/home/lists/tasks/items';

const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });

describe('what it prints', () => {
  test('is its address and example commands; a generated token is printed once, on stderr only', async () => {
    await using server = await serving([]);
    const { stdout, stderr } = server.host.printed;

    const made = /^export LISTCTL_TOKEN=(?<token>[\w-]{43})\n$/.exec(stderr)?.groups?.['token'] ?? '';
    expect(stdout).not.toContain(made);
    expect(stdout.split('\n')).toEqual([
      server.url,
      '',
      `export LISTCTL_BASE_URL=${server.url}`,
      'listctl items create -s home -l tasks -f Title="Buy milk"',
      expect.stringMatching(/^curl .*"Authorization: Bearer \$LISTCTL_TOKEN".*'{"fields":{"Title":"Buy milk"}}'$/),
      '',
    ]);
    expect((await sendHttp(server.url + path, { fields: {}, ...bearer(made) })).status).toBe(201);
    expect((await sendHttp(server.url + path, { fields: {}, ...bearer('wrong') })).status).toBe(401);
    expect(server.host.printed).toEqual({ stdout, stderr });
  });

  test.each(['json', 'jsonl'])('with -o %s is one line of JSON', async (format) => {
    await using server = await serving(['-o', format]);

    expect(server.host.printed.stdout).toBe(`${JSON.stringify({ url: server.url })}\n`);
    expect(JSON.parse(server.host.printed.stderr)).toEqual({ token: expect.stringMatching(/^[\w-]{43}$/) });
  });

  test('is another token every time', async () => {
    await using one = await serving([]);
    await using other = await serving([]);

    expect(one.host.printed.stderr).not.toBe(other.host.printed.stderr);
  });
});

describe('the token', () => {
  test('is LISTCTL_TOKEN, and then it is not printed', async () => {
    await using server = await serving([], { LISTCTL_TOKEN: token });

    expect((await sendHttp(`${server.url}${path}/1`, bearer(token))).status).toBe(404);
    expect((await sendHttp(`${server.url}${path}/1`, bearer('wrong'))).status).toBe(401);
    expect(JSON.stringify(server.host.printed)).not.toContain(token);
    expect(server.host.printed.stderr).toBe('');
  });

  test('is that of --token-file before it, and the lines read it from there', async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, "it's the token");
    writeFileSync(file, `${token}\n`);
    await using server = await serving(['--token-file', file], { LISTCTL_TOKEN: 'another-token' });

    expect((await sendHttp(`${server.url}${path}/1`, bearer(token))).status).toBe(404);
    expect((await sendHttp(`${server.url}${path}/1`, bearer('another'))).status).toBe(401);
    const quoted = `'${file.replace("'", "'\\''")}'`;
    expect(server.host.printed.stdout).toContain(`\nexport LISTCTL_TOKEN="$(cat ${quoted})"\n`);
    expect(JSON.stringify(server.host.printed)).not.toContain(token);
  });

  test('of fewer than 8 characters is wrong usage, and not repeated', async () => {
    const { exitCode, stderr } = await run(['serve', '--port', '0'], { env: { LISTCTL_TOKEN: 'canary7' } });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('is shorter than 8 characters')]);
    expect(stderr).not.toContain('canary');
  });

  test('is what stdin holds, with --token-file -', async () => {
    await using server = await serving(['--token-file', '-'], {}, { stdin: `${token}\n` });

    expect((await sendHttp(`${server.url}${path}/1`, bearer(token))).status).toBe(404);
    expect((await sendHttp(`${server.url}${path}/1`, bearer('another'))).status).toBe(401);
    expect(JSON.stringify(server.host.printed)).not.toContain(token);
  });

  test.each(['', 'two words', 'secret\nsecret', 'sécret'])('%j is invalid, and is not repeated', async (text) => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'token');
    writeFileSync(file, text);

    const { exitCode, stdout, stderr } = await run(['serve', '--port', '0', '--token-file', file]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('the token from --token-file');
    expect(stderr).not.toMatch(/two words|s.cret\b/);
  });
});

describe('its items', () => {
  test('are where --data says, and there when it is started again', async () => {
    await using directory = await temporaryDirectory();
    const data = join(directory.path, 'items');
    const env = { LISTCTL_TOKEN: token };
    const first = await serving(['--data', data], env);
    const created = await sendHttp(first.url + path, { fields: { Title: 'Buy milk' }, ...bearer(token) });

    expect(await first.stop()).toBe(143);
    await using second = await serving(['--data', data], env);

    expect(await sendHttp(`${second.url}${path}/1`, bearer(token))).toMatchObject({ status: 200, body: created.body });
  });

  test('are beside the token, where listctl was started, for paths that say so', async () => {
    await using directory = await temporaryDirectory();
    const cwd = directory.path;
    writeFileSync(join(cwd, 'token'), token);
    await using server = await serving(['--data', 'items', '--token-file', 'token'], {}, { cwd });
    await sendHttp(server.url + path, { fields: { Title: 'Buy milk' }, ...bearer(token) });
    await server.stop();

    const words = ['items', 'get', '1', '-s', 'home', '-l', 'tasks', '--base-url', 'local:items', '-q', 'fields.Title'];
    expect(await run(words, { cwd })).toMatchObject({ exitCode: 0, stdout: 'Buy milk\n' });
    expect(existsSync('/items')).toBe(false);
  });

  test('are those of local: otherwise', async () => {
    await using directory = await temporaryDirectory();
    const env = { LISTCTL_DATA_DIR: directory.path, LISTCTL_TOKEN: token };
    const world = { env: { ...env, LISTCTL_BASE_URL: 'local:', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' } };
    await using server = await serving([], env);
    await sendHttp(server.url + path, { fields: { Title: 'Buy milk' }, ...bearer(token) });

    expect(await run(['items', 'get', '1', '-o', 'jsonl'], world)).toMatchObject({
      exitCode: 0,
      stdout: '{"id":"1","fields":{"Title":"Buy milk"}}\n',
    });
  });
});

describe('fault injection', () => {
  test('is as slow, as throttled and as faulty as its flags say', async () => {
    const env = { LISTCTL_TOKEN: token };
    await using slow = await serving(['--latency', '250ms'], env);
    await using throttled = await serving(['--throttle', '1/m'], env);
    await using broken = await serving(['--fail-rate', '1', '--seed', '5'], env);
    const statusOf = async ({ url }: Serving) => {
      const answer = await sendHttp(url + path, { fields: {}, ...bearer(token) }).catch(() => undefined);
      return answer?.status;
    };

    expect([await statusOf(slow), slow.host.sleptMs]).toEqual([201, [250]]);
    expect([await statusOf(throttled), await statusOf(throttled)]).toEqual([201, 429]);
    const failed = [await statusOf(broken), await statusOf(broken), await statusOf(broken), await statusOf(broken)];
    expect([500, 503, 504, undefined]).toEqual(expect.arrayContaining(failed));
  });
});

describe('with --service graph', () => {
  const lists = [
    { title: 'My Books', columns: [{ name: 'Tags', choice: { choices: ['a'], displayAs: 'checkBoxes' } }] },
  ];
  const env = { LISTCTL_TOKEN: token };

  test.each([
    [['--service', 'graph'], {}],
    [[], { LISTCTL_SERVICE: 'graph' }],
  ] as const)('typed as %j, with %j, it speaks Microsoft Graph', async (args, variables) => {
    await using server = await serving(args, { ...env, ...variables });

    expect(server.host.printed.stdout.split('\n')).toEqual([
      server.url,
      '',
      `export LISTCTL_BASE_URL=${server.url}`,
      'export LISTCTL_SERVICE=graph',
      'listctl items create -s root -l tasks -f Title="Buy milk"',
      expect.stringMatching(/^curl .*\/sites\/root\/lists\/tasks\/items/),
      '',
    ]);
    const refused = await sendHttp(`${server.url}/sites/root`, bearer('wrong'));
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'InvalidAuthenticationToken' } });
  });

  test('it has the lists of --schema, and its limits', async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'lists.json');
    writeFileSync(file, JSON.stringify({ lists }));
    const limits = ['--units-per-minute', '6', '--view-threshold', '1', '--fail-rate', '0'];
    await using server = await serving(['--service', 'graph', '--schema', file, ...limits], env);
    const books = `${server.url}/sites/root/lists/My%20Books/items`;

    // Not a create: a column of the schema may be required.
    expect(server.host.printed.stdout).toContain(`\nlistctl items list -s root -l 'My Books'\ncurl -X GET`);
    expect((await sendHttp(books, { fields: { Tags: 'a' }, ...bearer(token) })).status).toBe(500);
    expect((await sendHttp(books, { fields: {}, ...bearer(token) })).status).toBe(201);
    const last = await sendHttp(books, { fields: {}, ...bearer(token) });
    expect(last).toMatchObject({ status: 201, headers: { 'ratelimit-remaining': '0' } });
    expect(await sendHttp(books, bearer(token))).toMatchObject({ status: 429 });
  });

  test('it serves listctl, by the address of a list in the browser', async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'lists.json');
    writeFileSync(file, JSON.stringify({ lists }));
    await using server = await serving(['--service', 'graph', '--schema', file], env);
    const list = 'https://contoso.sharepoint.com/sites/library/Lists/My%20Books/AllItems.aspx';
    const world = { env: { ...env, LISTCTL_BASE_URL: server.url, LISTCTL_SERVICE: 'graph', LISTCTL_LIST: list } };
    const listctl = async (...words: string[]) => {
      const { exitCode, stdout, stderr } = await run(['items', ...words, '-o', 'jsonl'], world);
      return { exitCode, stderr, item: stdout === '' ? undefined : JSON.parse(stdout) };
    };

    expect(await listctl('create', '-f', 'Title=Dune')).toMatchObject({ exitCode: 0, item: { id: '1' } });
    const tags = ['-f', 'Tags@odata.type=Collection(Edm.String)', '-f', 'Tags:=["a"]'];
    expect(await listctl('update', '1', ...tags)).toMatchObject({ exitCode: 0 });
    expect(await listctl('get', '1')).toMatchObject({ exitCode: 0, item: { fields: { Title: 'Dune', Tags: ['a'] } } });
    expect(await listctl('delete', '1', '--yes')).toMatchObject({ exitCode: 0 });
    expect(await listctl('get', '1')).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('itemNotFound') });
  });

  test('local: is one as well', async () => {
    await using directory = await temporaryDirectory();
    const world = { env: { LISTCTL_DATA_DIR: directory.path, LISTCTL_SERVICE: 'graph', LISTCTL_BASE_URL: 'local:' } };
    const words = ['items', 'create', '-s', 'root', '-l', 'tasks', '-f', 'Title=Milk', '-q', 'eTag'];

    expect(await run(words, world)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/,1"\n$/) });
  });

  test.each([
    [['--schema', 'lists.json'], '--schema requires --service graph'],
    [['--units-per-minute', '9'], '--units-per-minute requires --service graph'],
    [['--view-threshold', '9'], '--view-threshold requires --service graph'],
    [['--service', 'graph', '--view-threshold', '0'], 'invalid --view-threshold "0"'],
    [['--service', 'graph', '--units-per-minute', 'x'], 'invalid --units-per-minute "x"'],
    [['--service', 'graph', '--schema', '-'], 'invalid --schema: expected {"lists": […]}'],
  ])('%j is wrong usage', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(['serve', '--port', '0', ...args], { stdin: '{}' });

    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('it ends', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('by %s with %i, and says nothing', async (signal, code) => {
    await using server = await serving([], { LISTCTL_TOKEN: token });

    expect(await server.stop(signal)).toBe(code);

    expect(server.host.printed.stderr).toBe('');
    await expect(sendHttp(server.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('with 10 if the port is in use, and closes its store', async () => {
    await using server = await serving([]);
    await using directory = await temporaryDirectory();
    const { port } = new URL(server.url);

    const { exitCode, stdout, stderr } = await run(['serve', '--port', port, '--data', directory.path]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 10, stdout: '' });
    expect(stderr).toBe(
      `listctl: cannot listen on 127.0.0.1 port ${port}: the port is in use\n` +
        '  pass another --port, or --port 0 for any free port\n',
    );
  });

  test('with 10 where the store cannot be opened', async () => {
    await using directory = await temporaryDirectory();
    const data = join(directory.path, 'items');
    mkdirSync(data);
    writeFileSync(join(data, 'data.mdb'), 'x'.repeat(10_000));

    const result = await run(['serve', '--port', '0', '--data', data]);

    expect(result).toMatchObject({ exitCode: 10, stdout: '' });
    expect(result.stderr).toContain('is not a listctl store');
  });
});

describe('other machines', () => {
  test.each(['0.0.0.0', '::', '192.0.2.1', 'lists.example'])('reach %s only with --token-file', async (host) => {
    await using directory = await temporaryDirectory();
    const env = { LISTCTL_TOKEN: token, LISTCTL_DATA_DIR: join(directory.path, 'data') };

    const result = await run(['serve', '--port', '0', '--host', host], { env });

    expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('--token-file') });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test('may connect if there is a token, with a warning', async () => {
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, 'token'), token);
    await using server = await serving(['--host', '0.0.0.0', '--token-file', join(directory.path, 'token')]);

    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\.0$/);
    expect(server.host.printed.stderr).toMatch(
      /^listctl: warning: http exposes the token and the items to the network; .*\n$/,
    );
    expect((await sendHttp(`${server.url}${path}/1`, bearer(token))).status).toBe(404);
  });
});

test.each([
  ['--port', '65536'],
  ['--port', '-1'],
  ['--port', 'http'],
  ['--host', ''],
  ['--data', ''],
  ['--latency', '-1'],
  ['--latency', '1w'],
  ['--latency', '61m'],
  ['--throttle', '0'],
  ['--throttle', '10/d'],
  ['--throttle', 'fast'],
  ['--fail-rate', '1.1'],
  ['--fail-rate', '5%'],
  ['--seed', 'x'],
])('%s %j is wrong usage', async (flag, value) => {
  const { exitCode, stdout, stderr } = await run(['serve', '--port', '0', flag, value]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(`invalid ${flag}`);
});
