/** What the user's settings do to commands on items: which address, which token, and what they refuse. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scriptedService, tokensSeen } from '../support/scripted-service.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const get = ['items', 'get', '17'];

describe('a profile', () => {
  test('gives address, site, list and token, without a word in the environment', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));

    const { exitCode, stderr } = await run(get, directory);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(service.requests[0]?.path).toBe('/v1.0/sites/home/lists/tasks/items/17');
    expect(tokensSeen(service)).toEqual(['Bearer stored-token']);
  });

  test('gives the format, of errors too', async () => {
    await using service = await scriptedService({ status: 404, body: { error: 'gone' } });
    await using directory = await settingsDirectory(keptFor(service, { output: 'json' }));

    const { exitCode, stderr } = await run(get, directory);

    expect(exitCode).toBe(4);
    expect(JSON.parse(stderr)).toMatchObject({ error: { kind: 'not-found' } });
  });

  test('named with -p it wins over the environment; in use it does not', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    const env = { ...directory.env, LISTCTL_SITE: 'env', LISTCTL_TOKEN: 'env-token' };

    await run(get, { env });
    await run([...get, '-p', 'prod'], { env });

    expect(service.requests.map(({ path }) => path.split('/')[3])).toEqual(['env', 'home']);
    expect(tokensSeen(service)).toEqual(['Bearer env-token', 'Bearer stored-token']);
  });

  test('allows http for a loopback address only', async () => {
    await using directory = await settingsDirectory({
      current: 'a',
      profiles: { a: { baseUrl: 'http://lists.invalid', site: 's', list: 'l', allowHttp: true } },
    });
    const env = { ...directory.env, LISTCTL_TOKEN: 'x-token-x' };

    const own = await run([...get, '--dry-run'], { env });
    const other = await run([...get, '--dry-run', '--base-url', 'http://other.invalid'], { env });

    expect(own).toMatchObject({ exitCode: 0 });
    expect(other).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('refusing to send the token') });
  });
});

describe('a project file', () => {
  test('sets site, list and output, below the environment and above the profile', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    await using project = await temporaryDirectory();
    const cwd = join(project.path, 'deep');
    mkdirSync(cwd);
    writeFileSync(join(project.path, '.listctl.json'), '{"site":"shop","list":"stock","output":"id"}');

    const { stdout } = await run(get, { ...directory, cwd });
    await run(get, { env: { ...directory.env, LISTCTL_LIST: 'env' }, cwd });

    expect(stdout).toBe('17\n');
    expect(service.requests.map(({ path }) => path)).toEqual([
      '/v1.0/sites/shop/lists/stock/items/17',
      '/v1.0/sites/shop/lists/env/items/17',
    ]);
  });

  test('that names an address stops everything, and nothing is sent anywhere', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using evil = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    await using project = await temporaryDirectory();
    const file = join(project.path, '.listctl.json');
    writeFileSync(file, JSON.stringify({ baseUrl: evil.url }));

    const { exitCode, stderr } = await run(get, { ...directory, cwd: project.path });

    expect(exitCode).toBe(2);
    expect(stderr).toContain(`"baseUrl" is not allowed in a project file (${file})`);
    expect([...service.requests, ...evil.requests]).toEqual([]);
  });
});

test('wrong arguments are JSON where a profile or the project asks for it', async () => {
  await using directory = await settingsDirectory(keptFor({ url: 'https://lists.example/v1.0' }, { output: 'json' }));

  const wrong = await run(['items', 'create', '--bogus'], directory);
  const named = await run(['items', 'create', '--bogus', '-p', 'prod'], directory);
  const typed = await run(['items', 'create', '--bogus', '-o', 'pretty'], directory);

  for (const { exitCode, stderr } of [wrong, named]) {
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { kind: 'usage', message: 'unknown option --bogus' } });
  }
  expect(typed.stderr).toMatch(/^listctl: unknown option/);
});

test.each([
  { words: ['items', 'get', '1', '-p', 'nope'], env: { LISTCTL_OUTPUT: 'json' } },
  { words: ['items', 'get', '1', '-o', 'xml'], env: { LISTCTL_OUTPUT: 'jsonl' } },
])('LISTCTL_OUTPUT holds for the error of $words', async ({ words, env }) => {
  const { exitCode, stderr } = await run(words, { env });

  expect(exitCode).toBe(2);
  expect(JSON.parse(stderr)).toMatchObject({ error: { kind: 'usage' } });
});

describe('curl is a format for one run', () => {
  const dryRun = ['items', 'get', '17', '--dry-run'];
  const prod = { baseUrl: 'https://lists.example', site: 'home', list: 'tasks' };

  test('from the flag', async () => {
    await using directory = await settingsDirectory({ current: 'prod', profiles: { prod } });

    const { exitCode, stdout } = await run([...dryRun, '-o', 'curl'], directory);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^curl /) });
  });

  test.each([
    {
      from: 'invalid LISTCTL_OUTPUT "curl": expected one of pretty',
      env: { LISTCTL_OUTPUT: 'curl' },
      profile: {},
      project: {},
    },
    { from: 'invalid output "curl" in profile prod: expected', env: {}, profile: { output: 'curl' }, project: {} },
    { from: '.listctl.json: expected one of pretty', env: {}, profile: {}, project: { output: 'curl' } },
  ])('not from $from', async ({ from, env, profile, project }) => {
    await using directory = await settingsDirectory({ current: 'prod', profiles: { prod: { ...prod, ...profile } } });
    writeFileSync(join(directory.path, '.listctl.json'), JSON.stringify(project), { mode: 0o600 });

    const { exitCode, stderr } = await run(dryRun, { env: { ...directory.env, ...env }, cwd: directory.path });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(from)]);
  });
});
