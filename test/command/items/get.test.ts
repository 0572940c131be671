import { expect, test } from 'vitest';
import { environmentFor, requestedItem, type SeenRequest, scriptedService } from '../../support/scripted-service.ts';
import { run } from '../../support/test-host.ts';

const milk = { id: '17', fields: { Title: 'Buy milk' } };

test('members beyond id and fields come through in JSON, digits and all', async () => {
  const body = '{"@etag":"\\"1\\"","id":"17","fields":{"n":1.10,"__proto__":{"x":1}},"more":[12345678901234567890]}';
  await using service = await scriptedService({ status: 200, body });

  const { exitCode, stdout } = await run(['items', 'get', '17', '-o', 'jsonl'], { env: environmentFor(service) });

  expect(exitCode).toBe(0);
  expect(stdout).toBe(`${body}\n`);
});

test('formats: a table on a terminal, JSON in a pipe, ids and nothing on request', async () => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = environmentFor(service);
  const printed = async (terminal: number | undefined, ...more: string[]) =>
    (await run(['items', 'get', '17', ...more], { env: { ...env, NO_COLOR: '1' }, ...(terminal ? { terminal } : {}) }))
      .stdout;

  expect(await printed(undefined)).toBe('{\n  "id": "17",\n  "fields": {\n    "Title": "Buy milk"\n  }\n}\n');
  expect(await printed(80)).toMatch(/^id +17\nTitle +Buy milk\n$/);
  expect(await printed(80, '-o', 'id')).toBe('17\n');
  expect(await printed(80, '-o', 'none')).toBe('');
  expect(await printed(80, '--json')).toBe(await printed(undefined));
});

test.each([
  { more: ['-q', 'fields.Nope'], says: 'note: the query returned nothing\n' },
  {
    more: ['18', '-q', 'fields.Title'],
    says: 'note: the query returned nothing: several results are an array, so try [].fields.Title\n',
  },
  { more: ['-q', 'fields.Title'], says: '' },
  { more: ['18', '-q', 'fields.Nope', '-o', 'none'], says: '' },
  {
    more: ['--columns', 'id,Titel'],
    says: 'note: no result has the column "Titel"; did you mean "Title"?\n',
    piped: '',
  },
  { more: ['--columns', 'id,Price', '-o', 'csv'], says: 'note: no result has the column "Price"\n', piped: '' },
  { more: ['--columns', 'Title,id'], says: '' },
])('$more tells a terminal: $says', async ({ more, says, piped = says }) => {
  await using service = await scriptedService({
    status: 200,
    body: (request: SeenRequest) => ({ ...requestedItem(request), fields: { Title: 'Milk' } }),
  });
  const env = { ...environmentFor(service), NO_COLOR: '1' };

  expect(await run(['items', 'get', '17', ...more], { env, terminal: 200 })).toMatchObject({
    exitCode: 0,
    stderr: says,
  });
  expect(await run(['items', 'get', '17', ...more], { env })).toMatchObject({ exitCode: 0, stderr: piped });
});

test.each(['[].fields.Title', '[].id', 'length(@)', '[0].fields.Title', 'fields.Title', '[].fields.Nope'])(
  'a query over several ids sees the same array on a terminal and in a pipe, and prints the same: %s',
  async (query) => {
    await using service = await scriptedService({
      status: 200,
      body: (request: SeenRequest) => ({ ...requestedItem(request), fields: { Title: 'Milk' } }),
    });
    const env = { ...environmentFor(service), NO_COLOR: '1' };
    const words = ['items', 'get', '17', '18', '-q', query];

    const [piped, terminal] = [await run(words, { env }), await run(words, { env, terminal: 200 })];

    expect(piped.stderr).toBe(terminal.stderr);
    expect(piped.stdout.replace('[]\n', '')).toBe(terminal.stdout);
    expect(piped.stderr === '').toBe(terminal.stdout !== '');
  },
);

test('several are read at once and shown in the order in which they were typed', async () => {
  await using service = await scriptedService({ status: 200, body: requestedItem });

  const { exitCode, stdout } = await run(['items', 'get', '2', '1', '-o', 'id'], { env: environmentFor(service) });

  expect(exitCode).toBe(0);
  expect(stdout).toBe('2\n1\n');
  expect(service.requests.map(({ path }) => path).sort()).toEqual([
    '/v1.0/sites/home/lists/tasks/items/1',
    '/v1.0/sites/home/lists/tasks/items/2',
  ]);
});

test('of several every one is tried, those that failed are named, and the exit code is 9', async () => {
  await using service = await scriptedService(
    { status: 404, body: { error: 'no such item' } },
    { status: 200, body: requestedItem },
  );

  const { exitCode, stdout, stderr } = await run(['items', 'get', '16', '17', '18', '-o', 'json'], {
    env: environmentFor(service),
  });

  expect(exitCode).toBe(9);
  expect(JSON.parse(stdout)).toHaveLength(2);
  const errors = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).error);
  expect(errors).toMatchObject([
    { kind: 'not-found', exit: 4, status: 404, message: expect.stringContaining('no such item') },
    { kind: 'incomplete', exit: 9, message: '1 of 3 items could not be read' },
  ]);
});

test.each([
  { status: 400, exit: 1, kind: 'refused' },
  { status: 401, exit: 3, kind: 'credentials' },
  { status: 403, exit: 3, kind: 'credentials' },
  { status: 404, exit: 4, kind: 'not-found' },
  { status: 405, exit: 1, kind: 'refused' },
  { status: 409, exit: 5, kind: 'conflict' },
  { status: 410, exit: 4, kind: 'not-found' },
  { status: 412, exit: 5, kind: 'conflict' },
  { status: 415, exit: 1, kind: 'refused' },
  { status: 423, exit: 5, kind: 'conflict' },
  { status: 428, exit: 5, kind: 'conflict' },
  { status: 429, exit: 6, kind: 'unavailable' },
  { status: 500, exit: 6, kind: 'unavailable' },
  { status: 501, exit: 1, kind: 'refused' },
  { status: 503, exit: 6, kind: 'unavailable' },
  { status: 301, exit: 1, kind: 'refused' },
  { status: 302, exit: 1, kind: 'refused' },
])('a read answered HTTP $status ends with exit code $exit', async ({ status, exit, kind }) => {
  await using service = await scriptedService({
    status,
    body: { error: { code: 'theCode', message: 'the text' } },
    headers: { 'request-id': 'r-1' },
  });

  const { exitCode, stdout, stderr } = await run(['items', 'get', '17', '--json'], { env: environmentFor(service) });

  expect({ exitCode, stdout }).toEqual({ exitCode: exit, stdout: '' });
  expect(JSON.parse(stderr).error).toMatchObject({
    kind,
    exit,
    status,
    serviceCode: 'theCode',
    requestId: 'r-1',
    message: expect.stringContaining('the text'),
  });
});

test('a redirect is not followed, and its target is named without what may be secret in it', async () => {
  await using elsewhere = await scriptedService({ status: 200, body: milk });
  const location = `${elsewhere.url.replace('http://', 'http://me:secret@')}/x?code=secret`;
  await using service = await scriptedService({ status: 307, headers: { location } });

  const { exitCode, stderr } = await run(['items', 'get', '17'], { env: environmentFor(service) });

  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${elsewhere.url}/x`)]);
  expect(stderr).not.toContain('secret');
  expect(elsewhere.requests).toEqual([]);
});

test.each([
  { body: '[]', exit: 1 },
  { body: '"text"', exit: 1 },
  { body: 'null', exit: 1 },
  { body: '{}', exit: 1 },
  { body: '', exit: 1 },
  { body: '{"id":"17"', exit: 1 },
  { body: new Uint8Array(8 * 1024 * 1024 + 1).fill(0x20), exit: 1 },
])('a response to a read that is not an item exits with $exit', async ({ body, exit }) => {
  await using service = await scriptedService({ status: 200, body });

  const { exitCode, stdout } = await run(['items', 'get', '17'], { env: environmentFor(service) });

  expect({ exitCode, stdout }).toEqual({ exitCode: exit, stdout: '' });
});

test('distinguishes an unreachable service, or a timeout, from a refusal', async () => {
  await using silent = await scriptedService({ status: 200, silent: true });
  const gone = environmentFor({ url: 'http://127.0.0.1:1/v1.0' });

  const unreachable = await run(['items', 'get', '17'], { env: gone });
  const late = await run(['items', 'get', '17', '--timeout', '0.2'], { env: environmentFor(silent) });

  expect(unreachable).toMatchObject({ exitCode: 7, stdout: '', stderr: expect.stringContaining('connection refused') });
  expect(late).toMatchObject({ exitCode: 7, stdout: '' });
  expect(late.stderr).toContain('no complete response within 0.2 s');
});

test.each([
  { id: '', says: 'is empty' },
  { id: '.', says: 'is "."' },
  { id: '..', says: 'is ".."' },
  { id: 'a\nb', says: 'control characters' },
  { id: 'a\u0085b', says: 'control characters' },
  { id: '\ud800', says: 'lone surrogate' },
  { id: 'x'.repeat(1025), says: 'longer than 1,024 bytes' },
])('an id that no path can carry is refused before anything is sent: it $says', async ({ id, says }) => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = environmentFor(service);

  const runs = [
    await run(['items', 'get', '1', id], { env }),
    await run(['items', 'delete', id], { env }),
    await run(['items', 'update', id, '-f', 'a=1'], { env }),
    await run(['items', 'get', '1', '-s', id], { env }),
    await run(['items', 'get', '1', '-l', id], { env }),
  ];

  for (const { exitCode, stdout, stderr } of runs) {
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(says) });
  }
  expect(service.requests).toEqual([]);
});

test('--columns chooses the members of JSON and YAML too, in its order; null where there is none', async () => {
  const body = { id: '17', fields: { Title: 'Milk', Price: 5, Note: 'x' }, webUrl: 'u' };
  await using service = await scriptedService({ status: 200, body });
  const print = async (...more: string[]) => {
    const { stdout } = await run(['items', 'get', '17', '--columns', 'Price,Title,Nope', ...more], {
      env: environmentFor(service),
    });
    return stdout;
  };

  expect(JSON.parse(await print('-o', 'json'))).toEqual({ Price: 5, Title: 'Milk', Nope: null });
  expect(await print('-o', 'jsonl')).toBe('{"Price":5,"Title":"Milk","Nope":null}\n');
  expect(await print('-o', 'yaml')).toBe('Price: 5\nTitle: Milk\nNope: null\n');
  expect(await print('-o', 'json', '-q', 'fields.Note')).toBe('"x"\n');
});
