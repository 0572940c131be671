import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../../support/scripted-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { run } from '../../support/test-host.ts';

const milk = { id: '17', fields: { Title: 'Buy milk' } };

test('a create sends the fields with the token and prints the item as it was stored', async () => {
  await using service = await scriptedService({ status: 201, body: milk });

  const { exitCode, stdout, stderr } = await run(['items', 'create', '-f', 'Title=Buy milk'], {
    env: environmentFor(service),
  });

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual(milk);
  expect(service.requests).toEqual([
    expect.objectContaining({
      method: 'POST',
      path: '/v1.0/sites/home/lists/tasks/items',
      body: '{"fields":{"Title":"Buy milk"}}',
    }),
  ]);
  expect(service.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer test-token',
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^listctl\/\d/),
    'idempotency-key': expect.stringMatching(/^"[a-z2-7]{26}"$/),
  });
});

test('each create has its own key, and none with --idempotency none', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  const env = environmentFor(service);

  for (const more of [[], [], ['--idempotency', 'none'], ['--idempotency-key', 'mine']]) {
    await run(['items', 'create', '-f', 'Title=x', ...more], { env });
  }

  const [first, second, none, mine] = service.requests.map(({ headers }) => headers['idempotency-key']);
  expect(first).not.toBe(second);
  expect(none).toBeUndefined();
  expect(mine).toBe('"mine"');
});

test.each([
  ['item.yaml', 'id: "4"\nfields:\n  Title: Milk\n  Count: 1.10\n', '{"Title":"Milk","Count":1.10}'],
  ['item.yml', '{"Title": "Milk"}', '{"Title":"Milk"}'],
  ['-', '# YAML\nTitle: Milk\nCode: 007\n', '{"Title":"Milk","Code":"007"}'],
  ['-', '\n{"Title": "Milk"}', '{"Title":"Milk"}'],
])('--fields %s may be YAML: %j', async (name, content, fields) => {
  await using service = await scriptedService({ status: 201, body: milk });
  await using directory = await temporaryDirectory();
  const file = name === '-' ? name : join(directory.path, name);
  if (name !== '-') await writeFile(file, content);

  const { exitCode, stderr } = await run(['items', 'create', '--fields', file], {
    env: environmentFor(service),
    stdin: content,
  });

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(service.requests[0]?.body).toBe(`{"fields":${fields}}`);
});

test.each([
  ['item.json', 'Title: Milk', 'is not JSON: '],
  ['item.yaml', 'Title: [', 'is not YAML: line 1, column 9: '],
  ['-', '{"Title": ', 'standard input is not JSON: '],
  ['-', 'Title: a: b', 'standard input is not YAML: line 1, column '],
  ['-', 'Milk', 'cannot use --fields standard input: expected an object'],
])('--fields %s that is neither: %j', async (name, content, message) => {
  await using directory = await temporaryDirectory();
  const file = name === '-' ? name : join(directory.path, name);
  if (name !== '-') await writeFile(file, content);

  const { exitCode, stderr } = await run(['items', 'create', '--fields', file, '-s', 'a', '-l', 'b'], {
    stdin: content,
  });

  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('fields of more than 8 MiB are refused as in a row of --from, and nothing is sent', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'long.json');
  await writeFile(file, `{"Title":"${'é'.repeat(4.5e6)}"}`);

  for (const words of [
    ['create', '--fields', file],
    ['update', '17', '--fields', file],
    ['create', '--from', file, '--input-format', 'jsonl'],
  ]) {
    const { exitCode, stderr } = await run(['items', ...words], { env: environmentFor(service) });
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/longer than 8 MiB as JSON\n(.*\n)? {2}nothing was sent/),
    ]);
  }
  expect(service.requests).toEqual([]);
});

test.each([
  { given: ['-f', 'a=b=c'], sent: '{"a":"b=c"}', because: 'only the first = separates' },
  { given: ['-f', 'a='], sent: '{"a":""}', because: 'a text may be empty' },
  { given: ['-f', 'a=@home'], sent: '{"a":"@home"}', because: 'nothing in a text is special' },
  { given: ['-f', 'a=12345678901234567890'], sent: '{"a":"12345678901234567890"}', because: 'a text stays text' },
  { given: ['-f', 'a=:=5'], sent: '{"a":":=5"}', because: 'the operator stands before the first =' },
  { given: ['-f', 'a:=12345678901234567890'], sent: '{"a":12345678901234567890}', because: 'digits survive' },
  { given: ['-f', 'a:=1.10'], sent: '{"a":1.10}', because: 'digits survive' },
  { given: ['-f', 'a:=1e400'], sent: '{"a":1e400}', because: 'digits survive' },
  { given: ['-f', 'a:=-0'], sent: '{"a":-0}', because: 'digits survive' },
  { given: ['-f', 'a=007'], sent: '{"a":"007"}', because: 'a text stays text' },
  {
    given: ['-f', 'a:=null', '-f', 'b:=[1,{"c":true}]'],
    sent: '{"a":null,"b":[1,{"c":true}]}',
    because: 'any JSON will do',
  },
  { given: ['-f', '__proto__=x'], sent: '{"__proto__":"x"}', because: 'a name like any other' },
  { given: ['-f', '__proto__:={"x":1}'], sent: '{"__proto__":{"x":1}}', because: 'a name like any other' },
  { given: ['-f', 'constructor.prototype.x=1'], sent: '{"constructor.prototype.x":"1"}', because: 'dots do not nest' },
  { given: ['-f', '-v=1'], sent: '{"-v":"1"}', because: 'a value may look like a flag' },
  { given: ['--field=--json=1'], sent: '{"--json":"1"}', because: 'a value may look like a flag' },
  { given: ['-fTitle=x'], sent: '{"Title":"x"}', because: 'a short flag may touch its value' },
])('fields $given are sent as $sent: $because', async ({ given, sent }) => {
  await using service = await scriptedService({ status: 201, body: milk });

  const { exitCode } = await run(['items', 'create', ...given], { env: environmentFor(service) });

  expect(exitCode).toBe(0);
  expect(service.requests[0]?.body).toBe(`{"fields":${sent}}`);
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});

test.each([
  { given: [], says: 'no fields given' },
  { given: ['-f', 'a'], says: 'invalid --field "a": expected key=value' },
  { given: ['-f', '=v'], says: 'expected key=value' },
  { given: ['-f', 'inv.csv'], says: 'pass the rows of a file with --from inv.csv' },
  { given: ['--fields', '{"a":1}'], says: 'invalid --fields: expected a file, not JSON' },
  { given: ['-f', ':=5'], says: 'expected key=value' },
  { given: ['-f', 'a=1', '-f', 'a=2'], says: 'field "a" is set twice' },
  { given: ['-f', 'a:=five'], says: 'invalid --field "a": the value is not JSON' },
  { given: ['-f', 'a=\uFFFD'], says: '"a": the value is not UTF-8' },
  { given: ['-f', 'a@=/nowhere/at/all'], says: 'no such file or directory' },
  { given: ['-f', 'a@=/etc/passwd/x'], says: 'not a directory' },
  { given: ['-f', 'a@=/'], says: 'it is a directory' },
  { given: ['-f', `a:=${'['.repeat(129)}${']'.repeat(129)}`], says: 'not JSON' },
  { given: ['-f', 'a=1', '--idempotency-key', 'a"b'], says: '--idempotency-key' },
])('fields $given are wrong: $says', async ({ given, says }) => {
  await using service = await scriptedService({ status: 201, body: milk });

  const { exitCode, stdout, stderr } = await run(['items', 'create', ...given], { env: environmentFor(service) });

  expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 0 });
  expect(stderr).toContain(says);
});

test('fields come from files and stdin, exactly as they are there', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  await using directory = await temporaryDirectory();
  const env = environmentFor(service);
  const note = join(directory.path, 'note.txt');
  await writeFile(note, 'two\nlines\n');
  const meta = join(directory.path, 'meta.json');
  await writeFile(meta, '\uFEFF{"n": 1.10}');

  await run(['items', 'create', '-f', `Body@=${note}`, '-f', `Meta:@=${meta}`], { env });
  await run(['items', 'create', '-f', 'Body@=-'], { env, stdin: 'typed' });
  await run(['items', 'create', '--fields', '-', '-f', 'b=2'], { env, stdin: '{"a":1,"b":1}' });

  expect(service.requests.map(({ body }) => body)).toEqual([
    '{"fields":{"Body":"two\\nlines\\n","Meta":{"n":1.10}}}',
    '{"fields":{"Body":"typed"}}',
    '{"fields":{"a":1,"b":"2"}}',
  ]);
});

test('standard input gives one value: named twice it is wrong usage, not an empty text', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  const env = environmentFor(service);

  for (const twice of [
    ['-f', 'a@=-', '-f', 'b@=-'],
    ['--fields', '-', '-f', 'b@=-'],
  ]) {
    const { exitCode, stderr } = await run(['items', 'create', ...twice], { env, stdin: '{}' });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('standard input can only be read once')]);
  }
  expect(service.requests).toEqual([]);
});

test('an item that get printed can be given to create: its fields are taken', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  const env = environmentFor(service);

  await run(['items', 'create', '--fields', '-'], {
    env,
    stdin: '{"id":"17","fields":{"Title":"Buy milk"},"etag":"x"}',
  });
  await run(['items', 'create', '--fields', '-'], { env, stdin: '{"fields":"blue","id":"17"}' });

  expect(service.requests.map(({ body }) => body)).toEqual([
    '{"fields":{"Title":"Buy milk"}}',
    '{"fields":{"fields":"blue","id":"17"}}',
  ]);
});

test('a file that is not UTF-8 is refused with the place, and so is a terminal where data is wanted', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  await using directory = await temporaryDirectory();
  const env = environmentFor(service);
  const broken = join(directory.path, 'broken.txt');
  await writeFile(broken, Buffer.concat([Buffer.from('aé\uFFFD'), Buffer.from([0x80]), Buffer.from('x')]));

  const bytes = await run(['items', 'create', '-f', `Body@=${broken}`], { env });
  const terminal = await run(['items', 'create', '--fields', '-'], { env, terminal: 80 });

  expect(bytes).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('byte 6 is invalid') });
  expect(terminal).toMatchObject({ exitCode: 2, stdout: '' });
  expect(terminal.stderr).toContain('standard input is a terminal');
  expect(service.requests).toEqual([]);
});

test('on a terminal a value that names a file prints a notice, and is sent as a string', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  const world = { env: environmentFor(service), cwd: join(import.meta.dirname, '../../..') };

  const noted = await run(['items', 'create', '-f', 'Body=@package.json'], { ...world, terminal: 80 });
  const quiet = await run(['items', 'create', '--quiet', '-f', 'Body=@package.json'], { ...world, terminal: 80 });
  const piped = await run(['items', 'create', '-f', 'Body=@package.json'], world);

  expect(noted.stderr).toContain('Body@=package.json');
  expect([quiet.stderr, piped.stderr]).toEqual(['', '']);
  expect(service.requests.map(({ body }) => body)).toEqual(Array(3).fill('{"fields":{"Body":"@package.json"}}'));
});

test('what a notice quotes does not drive the terminal', async () => {
  await using service = await scriptedService({ status: 201, body: milk });

  const { stderr } = await run(['items', 'create', '-f', 'a\u001b[31mb=@package.json'], {
    env: environmentFor(service),
    cwd: join(import.meta.dirname, '../../..'),
    terminal: 80,
  });

  expect(stderr).toContain('a\\x1b[31mb is the string');
  expect(stderr).not.toContain('\u001b');
});

test.each([
  { answer: { status: 204 }, because: 'no id' },
  { answer: { status: 201, body: '' }, because: 'no id' },
  { answer: { status: 201, body: { fields: {} } }, because: 'no id' },
  { answer: { status: 201, body: { id: '' } }, because: 'an empty id' },
  { answer: { status: 201, body: { id: null } }, because: 'no id' },
  { answer: { status: 201, body: '{"id":"1"' }, because: 'cut short' },
  { answer: { status: 201, body: '{"id":"1","id":"2"}' }, because: 'two ids' },
  { answer: { status: 201, body: new Uint8Array([0x22, 0xff, 0x22]) }, because: 'not UTF-8' },
  { answer: { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } }, because: 'a login page' },
  { answer: { status: 500, body: { error: 'oops' } }, because: 'it may have been stored before' },
  { answer: { status: 502 }, because: 'a gateway' },
  { answer: { status: 503 }, because: 'a gateway' },
  { answer: { status: 302, headers: { location: '/x' } }, because: 'a redirect to a write' },
  { answer: { status: 201, cut: true }, because: 'a lost connection' },
])('a create answered $answer is in doubt, never failed: $because', async ({ answer }) => {
  await using service = await scriptedService(answer);

  const { exitCode, stdout, stderr } = await run(
    ['items', 'create', '-f', 'a=1', '-o', 'json', '--idempotency-key', 'k1'],
    {
      env: environmentFor(service),
    },
  );

  expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 8, stdout: '', requests: 1 });
  expect(JSON.parse(stderr)).toMatchObject({
    error: { kind: 'in-doubt', exit: 8, outcome: 'unknown', idempotencyKey: 'k1', hint: expect.stringContaining('k1') },
  });
});

test('an item that was stored is never reported as if it were not: the query did not fit', async () => {
  await using service = await scriptedService({ status: 201, body: milk });

  const { exitCode, stdout, stderr } = await run(['items', 'create', '-f', 'a=1', '-q', 'sum(id)', '--json'], {
    env: environmentFor(service),
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 10, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({
    error: { kind: 'local-file', outcome: 'applied', message: expect.stringContaining('item 17 was created') },
  });
});

test('a numeric id is kept digit for digit, as a text', async () => {
  await using service = await scriptedService({ status: 201, body: '{"id": 12345678901234567890, "fields": {}}' });

  const { stdout } = await run(['items', 'create', '-f', 'a=1', '-o', 'jsonl'], { env: environmentFor(service) });

  expect(stdout).toBe('{"id":"12345678901234567890","fields":{}}\n');
});

test('a dry run shows the request, and needs no token because nothing is sent', async () => {
  const env = { LISTCTL_BASE_URL: 'https://lists.example/v1.0/', LISTCTL_SITE: 'a/b', LISTCTL_LIST: 'x,y' };

  const text = await run(['items', 'create', '-f', 'n:=1.10', '--dry-run', '-o', 'pretty'], { env });
  const json = await run(['items', 'create', '-f', 'n:=1.10', '--dry-run', '-o', 'jsonl'], { env });

  expect(text).toMatchObject({
    exitCode: 0,
    stdout: 'POST https://lists.example/v1.0/sites/a%2Fb/lists/x,y/items\n{\n  "fields": {\n    "n": 1.10\n  }\n}\n',
  });
  expect(json.stdout).toBe(
    '{"method":"POST","url":"https://lists.example/v1.0/sites/a%2Fb/lists/x,y/items","body":{"fields":{"n":1.10}}}\n',
  );
});

test.each([
  { status: 423, url: '/v1.0', hint: 'the list is locked: retry later' },
  { status: 409, url: '/v1.0', hint: 'check whether the item exists already' },
  { status: 400, url: '', hint: 'add the version path of the service, such as /v1.0, to http://' },
  { status: 400, url: '/api', hint: 'add the version path of the service, such as /v1.0, to http://' },
  { status: 400, url: '/v1.0', hint: '' },
])('a create that is refused with $status at "$url" has the hint "$hint"', async ({ status, url, hint }) => {
  await using service = await scriptedService({ status, body: { error: 'Invalid version: sites' } });
  const env = { ...environmentFor(service), LISTCTL_BASE_URL: service.url.replace('/v1.0', url) };

  const { exitCode, stderr } = await run(['items', 'create', '-f', 'a=b'], { env });

  expect(exitCode).not.toBe(0);
  expect(stderr.split('\n')[1]).toContain(hint);
  if (hint === '') expect(stderr.trim().split('\n')).toHaveLength(1);
});
