/** What a service repeats of the token, and what else gives access: shown by no command. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const token = 'Zq/4+canary-7f3a~token';
const forms = {
  capitals: token.toUpperCase(),
  url: encodeURIComponent(token),
  php: token.replaceAll('/', '\\/'),
  escaped: token.replaceAll('/', '\\u002f').replaceAll('+', '\\u002b'),
  base64: Buffer.from(`Bearer ${token}`).toString('base64'),
  html: token.replaceAll('/', '&#x2F;').replaceAll('+', '&#43;'),
  hex: Buffer.from(token).toString('hex'),
  cut: token.slice(0, -4),
};
const pieces = Object.values(forms).map((form) => form.slice(-12));

function expectNoToken(...texts: readonly string[]): void {
  for (const text of texts) for (const piece of pieces) expect(text).not.toContain(piece);
}

test.each(Object.entries(forms))('no error, trace, header line or rejects file has the token: %s', async (_, form) => {
  const headers = { 'x-echo': `got ${form}`, 'request-id': form };
  await using service = await scriptedService(
    { status: 400, headers, body: { error: { message: `you sent ${form}`, code: form } } },
    { status: 400, headers, body: form },
    { status: 200, headers, body: '' },
  );
  await using directory = await temporaryDirectory();
  const env = { ...environmentFor(service), LISTCTL_TOKEN: token, LISTCTL_STATE_DIR: join(directory.path, 'state') };
  const [file, rejects] = [join(directory.path, 'a.csv'), join(directory.path, 'rejects.csv')];
  writeFileSync(file, 'Title\na\n');

  const many = await run(['items', 'create', '--from', file, '--rejects', rejects, '-o', 'jsonl'], { env });
  const traced = await run(['items', 'get', '17', '-vv'], { env });
  const included = await run(['api', 'GET', 'x', '--include'], { env });

  expect([many.exitCode, traced.exitCode, included.exitCode]).toEqual([9, 1, 0]);
  expectNoToken(many.stdout, many.stderr, readFileSync(rejects, 'utf8'), traced.stderr, included.stdout);
  expect(included.stdout).toContain('x-echo: got ');
});

test('-vv shows no cookie and no other credential, of the service or of --header', async () => {
  const secret = 'hunter2';
  const hidden = ['Cookie', 'X-Api-Key', 'X-Auth-Token', 'Ocp-Apim-Subscription-Key', 'X-Client-Secret', 'ApiKey'];
  const typed = hidden.flatMap((name) => ['--header', `${name}: ${secret}`]);
  const answered = { 'set-cookie': `id=${secret}`, 'x-csrf-token': secret, etag: '"shown-tag"' };
  await using service = await scriptedService({ status: 200, headers: answered, body: {} });
  const env = environmentFor(service);

  const words = ['api', 'POST', 'x', '-f', 'a=1', '--header', 'X-Shown: shown', ...typed, '-vv'];
  const { exitCode, stderr } = await run(words, { env });

  expect(exitCode).toBe(0);
  expect(stderr).not.toContain(secret);
  for (const name of [...hidden.map((each) => each.toLowerCase()), 'set-cookie', 'x-csrf-token']) {
    expect(stderr).toContain(` ${name}: ***\n`);
  }
  expect(stderr).toMatch(/> x-shown: shown\n/);
  expect(stderr).toMatch(/> idempotency-key: "[^*"]+"\n/);
  expect(stderr).toContain('< etag: "shown-tag"\n');
  expect(service.requests[0]?.headers['x-api-key']).toBe(secret);
});
