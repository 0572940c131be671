import { expect, test } from 'vitest';
import { environmentFor, type ScriptedAnswer, scriptedService } from '../support/scripted-service.ts';
import { run } from '../support/test-host.ts';

test('any other request is sent with the same token and checks', async () => {
  await using service = await scriptedService({ status: 200, body: '{"value":[1.10,"\\u009b"]}' });

  const { exitCode, stdout } = await run(['api', 'get', 'sites/S/lists/L/items?expand=fields&a=%2F', '-o', 'jsonl'], {
    env: environmentFor(service),
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"value":[1.10,"\\u009b"]}\n' });
  expect(service.requests).toMatchObject([
    {
      method: 'GET',
      path: '/v1.0/sites/S/lists/L/items?expand=fields&a=%2F',
      headers: { authorization: 'Bearer test-token' },
    },
  ]);
});

test('a body is a file as it is, or the members that --field builds', async () => {
  await using service = await scriptedService({ status: 201, body: { ok: true } });
  const env = environmentFor(service);

  await run(['api', 'POST', 'x', '--input', '-', '--header', 'Content-Type: text/plain', '--header', 'X-A: b'], {
    env,
    stdin: new Uint8Array([0xff, 0x00]),
  });
  await run(['api', 'POST', 'x', '-f', 'a=1', '-f', 'b:={"c":1.10}'], { env });
  await run(['api', 'PATCH', '/x', '-f', 'a=1'], { env });

  const [bytes, members, patch] = service.requests;
  expect(bytes?.headers).toMatchObject({ 'content-type': 'text/plain', 'x-a': 'b', 'content-length': '2' });
  expect(members).toMatchObject({ body: '{"a":"1","b":{"c":1.10}}', headers: { 'content-type': 'application/json' } });
  expect(members?.headers['idempotency-key']).toMatch(/^"[a-z2-7]{26}"$/);
  expect(patch).toMatchObject({ path: '/v1.0/x' });
  expect(patch?.headers).not.toHaveProperty('idempotency-key');
});

test.each([
  ['a path alone is a GET', ['x'], { method: 'GET', path: '/v1.0/x', body: '' }],
  ['a method is the first word', ['delete', 'x'], { method: 'DELETE' }],
  ['or -X, as with curl', ['-X', 'put', 'x', '-d', '{}'], { method: 'PUT', body: '{}' }],
  ['-d makes it a POST of JSON', ['x', '-d', '{"a":1}'], { method: 'POST', body: '{"a":1}' }],
  ['so does -f', ['x', '-f', 'a=1'], { method: 'POST', body: '{"a":"1"}' }],
  ['-d @- is stdin', ['x', '-d', '@-'], { method: 'POST', body: 'typed' }],
  ['-H is a header', ['x', '-H', 'X-A: b'], { method: 'GET', headers: { 'x-a': 'b' } }],
  [
    '{site} and {list} are those of the settings',
    ['a/{site}?l={list}&x={id}'],
    { path: '/v1.0/a/home?l=tasks&x=%7Bid%7D' },
  ],
  ['as one path segment', ['a/{site}/b', '-s', '../x y'], { path: '/v1.0/a/..%2Fx%20y/b' }],
  [
    'letters beyond ASCII are encoded, what is encoded stays',
    ['GET', "sites/zoë's list/x?q=a b&r=%C3%A9"],
    { path: "/v1.0/sites/zo%C3%AB's%20list/x?q=a%20b&r=%C3%A9" },
  ],
  ['an empty answer prints nothing', ['DELETE', 'x'], { method: 'DELETE' }, { status: 204 }, ''],
])('%s', async (_, words, request, answer: ScriptedAnswer = { status: 200, body: {} }, printed = '{}\n') => {
  await using service = await scriptedService(answer);

  const ended = await run(['api', ...words], { env: environmentFor(service), stdin: 'typed' });

  expect(ended).toMatchObject({ exitCode: 0, stdout: printed, stderr: '' });
  expect(service.requests).toMatchObject([request]);
});

test('a response that is not JSON is printed as bytes, and on a terminal as escaped text', async () => {
  await using service = await scriptedService({
    status: 200,
    body: 'a\u001b[31m\nb\n',
    headers: { 'content-type': 'text/plain' },
  });
  const env = environmentFor(service);

  const piped = await run(['api', 'GET', 'x'], { env });
  const shown = await run(['api', 'GET', 'x'], { env, terminal: 80 });

  expect(piped.stdout).toBe('a\u001b[31m\nb\n');
  expect(shown.stdout).toBe('a\\x1b[31m\nb\n');
});

test('--include prints the status and the headers first', async () => {
  await using service = await scriptedService({ status: 201, body: { id: '1' }, headers: { etag: '"1"' } });

  const { stdout } = await run(['api', 'POST', 'x', '-f', 'a=1', '--include', '-o', 'jsonl'], {
    env: environmentFor(service),
  });

  expect(stdout).toMatch(/^HTTP\/1\.1 201\n(.+\n)*etag: "1"\n(.+\n)*\n\{"id":"1"\}\n$/);
});

test('what a header holds does not drive a terminal', async () => {
  await using service = await scriptedService({ status: 200, body: {}, headers: { 'x-mark': 'a\u009b31mb' } });

  const { stdout } = await run(['api', 'GET', 'x', '--include'], { env: environmentFor(service), terminal: 80 });

  expect(stdout).toContain('x-mark: a\\x9b31mb\n');
});

test('an error status prints nothing on stdout, and a write that may have happened is in doubt', async () => {
  await using refusing = await scriptedService({ status: 422, body: { error: 'no' } });
  await using broken = await scriptedService({ status: 500, body: { error: 'oops' } });

  const refused = await run(['api', 'PUT', 'x', '-f', 'a=1', '--include'], { env: environmentFor(refusing) });
  const missing = await run(['api', 'GET', 'x'], { env: environmentFor(broken) });
  const doubtful = await run(['api', 'POST', 'x', '-f', 'a=1', '--json', '--idempotency-key', 'k1'], {
    env: environmentFor(broken),
  });

  expect(refused).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('HTTP 422: no') });
  expect(missing).toMatchObject({ exitCode: 6, stdout: '' });
  expect(doubtful).toMatchObject({ exitCode: 8, stdout: '' });
  expect(JSON.parse(doubtful.stderr)).toMatchObject({ error: { kind: 'in-doubt', idempotencyKey: 'k1' } });
});

test.each([
  { words: ['GET', 'https://elsewhere.example/x'], says: 'has a scheme or a host' },
  { words: ['GET', '//elsewhere.example/x'], says: 'has a scheme or a host' },
  { words: ['GET', 'mailto:x'], says: 'has a scheme or a host' },
  { words: ['GET', 'sites/../x'], says: '. or .. segment' },
  { words: ['GET', 'sites/%2E%2e/x'], says: '. or .. segment' },
  { words: ['GET', './x'], says: '. or .. segment' },
  { words: ['GET', 'x/.%2e?a'], says: '. or .. segment' },
  { words: ['GET', 'sites\\x'], says: 'backslash' },
  { words: ['GET', 'x#y'], says: 'fragment' },
  { words: ['GET', 'x\ny'], says: 'control characters' },
  { words: ['GET', 'x%zz'], says: 'invalid percent escape' },
  { words: ['GET', '/'], says: 'is empty' },
  { words: ['GET', '?a'], says: 'is empty' },
  { words: ['FETCH', 'x'], says: 'invalid method' },
  { words: [], says: "missing required argument 'path'" },
  { words: ['GET'], says: "missing required argument 'path'" },
  { words: ['GET', 'x', '-X', 'PUT'], says: 'the method is given twice' },
  { words: ['x', '-d', 'a', '-f', 'a=1'], says: '--data cannot be used with --field' },
  { words: ['a/{site}', '-s', '..'], says: 'not a path segment' },
  { words: ['GET', 'x', '-f', 'a=1'], says: 'GET requests cannot have a body' },
  { words: ['POST', 'x', '-f', 'a=1', '--input', '-'], says: '--input cannot be used with --field' },
  { words: ['GET', 'x', '--header', 'Authorization: Bearer verysecret'], says: 'listctl sets it' },
  { words: ['GET', 'x', '--header', 'HOST: elsewhere.example'], says: 'listctl sets it' },
  { words: ['GET', 'x', '--header', 'Content-Length: 1'], says: 'listctl sets it' },
  { words: ['GET', 'x', '--header', 'verysecret'], says: 'expected Name: value' },
  { words: ['GET', 'x', '--header', 'A: b\r\nC: verysecret'], says: 'expected Name: value' },
  { words: ['GET', 'x', '--header', 'A: b', '--header', 'a: c'], says: 'set twice' },
])('$words is refused before anything is sent: $says', async ({ words, says }) => {
  await using service = await scriptedService({ status: 200, body: {} });

  const { exitCode, stdout, stderr } = await run(['api', ...words], { env: environmentFor(service) });

  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(says) });
  expect(stderr).not.toContain('verysecret');
  expect(service.requests).toEqual([]);
});

test.each([
  { output: 'curl', shown: "--data-raw 'a=b&c=d'\n" },
  { output: 'pretty', shown: '\na=b&c=d\n' },
  { output: 'jsonl', shown: '"body":"a=b&c=d"}\n' },
])('a body that is not JSON is shown as it is sent: $output', async ({ output, shown }) => {
  const env = { LISTCTL_BASE_URL: 'https://lists.example/v1.0' };

  const { stdout } = await run(['api', 'POST', 'x', '-d', 'a=b&c=d', '--dry-run', '-o', output], { env });

  expect(stdout.endsWith(shown)).toBe(true);
});

test('a dry run sends nothing', async () => {
  const env = { LISTCTL_BASE_URL: 'https://lists.example/v1.0' };

  const { exitCode, stdout } = await run(['api', 'POST', 'x', '-f', 'a=1', '--dry-run', '-o', 'jsonl'], { env });

  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: '{"method":"POST","url":"https://lists.example/v1.0/x","body":{"a":"1"}}\n',
  });
});
