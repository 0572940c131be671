/** `listctl init`: asks, tries, keeps. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { scriptedService } from '../support/scripted-service.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { run, type TestHost, testHost } from '../support/test-host.ts';

const missing = { status: 404, body: { error: 'there is no such item' } };
const token = 'canary-0123456789-abcdefghij';

test('asks for address, site, list and token, tries them with one GET, and keeps them', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory();
  const host = testHost({ ...directory, terminal: 120 });

  const running = main(['init'], host);
  await answer(host, {
    'Profile name': '',
    'Service URL': service.url,
    Site: 'home',
    List: 'tasks',
    'Token for': token,
    'Ask before': '',
  });

  expect(await running).toBe(0);
  expect(service.requests.map(({ method, headers }) => [method, headers.authorization])).toEqual([
    ['GET', `Bearer ${token}`],
  ]);
  expect(service.requests[0]?.path).toMatch(/^\/v1\.0\/sites\/home\/lists\/tasks\/items\/[^/]+$/);
  expect(directory.read()).toMatchObject({
    current: 'default',
    profiles: { default: { baseUrl: service.url, site: 'home', list: 'tasks' } },
  });
  expect(directory.tokens()).toEqual({ default: { origin: new URL(service.url).origin, token } });
  expect(host.printed.stderr).toContain('the service responds and accepts the token');
  expect(host.printed.stderr).toMatch(/^next: listctl items create -f Title="Hello"$/m);
  expect(host.printed.stderr).toContain(directory.credentials);
  expect(host.printed.stderr + host.printed.stdout).not.toContain('canary');
});

test('with -p it makes that profile; Enter alone keeps what is known', async () => {
  await using service = await scriptedService({ status: 200, body: { id: 'x', fields: {} } });
  await using directory = await settingsDirectory({
    current: 'prod',
    profiles: { prod: { site: 'home', list: 'old' } },
  });
  const host = testHost({ env: { ...directory.env, LISTCTL_BASE_URL: service.url }, terminal: 120 });

  const running = main(['init', '-p', 'prod', '--list', 'tasks'], host);
  await answer(host, { 'Service URL': '', Site: '', List: '', 'Token for': token, 'Ask before': 'y' });

  expect(await running).toBe(0);
  expect(directory.read()).toMatchObject({
    profiles: { prod: { baseUrl: service.url, site: 'home', list: 'tasks', protected: true } },
  });
});

test('asks for the name of the profile, and ends with the next command', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory({ current: 'dev', profiles: { dev: { baseUrl: 'local:' } } });
  const host = testHost({ ...directory, terminal: 120 });

  const running = main(['init'], host);
  await answer(host, { '(dev)': 'no name', 'invalid profile name': '\u0015work', 'Service URL': service.url });
  await answer(host, { Site: 'home', List: 'tasks', 'Token for': token, 'Ask before': '' });

  expect(await running).toBe(0);
  expect(directory.read().profiles).toEqual({
    dev: { baseUrl: 'local:' },
    work: { baseUrl: service.url, site: 'home', list: 'tasks' },
  });
  expect(host.printed.stderr).toMatch(/^next: listctl items create -p work -f Title="Hello"$/m);
});

test('a token that the service refuses is prompted for again', async () => {
  await using service = await scriptedService({ status: 401, body: { error: 'expired' } }, missing);
  await using directory = await settingsDirectory();
  const host = testHost({ ...directory, terminal: 120 });

  const running = main(['init'], host);
  await answer(host, {
    'Profile name': '',
    'Service URL': service.url,
    Site: 'home',
    List: 'tasks',
    'Token for': 'old-canary',
  });
  await answer(host, { 'type another token': token, 'Ask before': '' });

  expect(await running).toBe(0);
  expect(host.printed.stderr).not.toContain('canary');
  expect(Object.values(directory.tokens()).map((kept) => kept.token)).toEqual([token]);
});

test('an invalid address or id is prompted for again', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory();
  const host = testHost({ ...directory, terminal: 120 });

  const running = main(['init'], host);
  await answer(host, { 'Profile name': '', 'Service URL': 'lists.example', 'expected a URL': `\u0015${service.url}` });
  await answer(host, {
    Site: '..',
    'not a path segment': '\u0015home',
    List: 'tasks',
    'Token for': token,
    'Ask before': '',
  });

  expect(await running).toBe(0);
});

test('the built-in service has no token to take', async () => {
  await using directory = await settingsDirectory();
  const host = testHost({ env: { ...directory.env, LISTCTL_DATA_DIR: join(directory.path, 'data') }, terminal: 120 });

  const running = main(['init', '--local'], host);
  await answer(host, { 'Profile name': '', 'Service URL': '', Site: 'home', List: 'tasks', 'Ask before': '' });

  expect(await running).toBe(0);
  expect(host.printed.stderr).toMatch(/the service responds$/m);
});

describe('an address where no list service answers', () => {
  test.each([
    {
      answerOf: { status: 404, body: '<html>not here</html>', headers: { 'content-type': 'text/html' } },
      because: 'a page',
    },
    { answerOf: { status: 404, body: 'not found' }, because: 'text' },
    {
      answerOf: { status: 200, body: '<html>sign in</html>', headers: { 'content-type': 'text/html' } },
      because: 'a login page',
    },
    { answerOf: { status: 200, body: [] }, because: 'another shape' },
    { answerOf: { status: 500, body: { error: 'broken' } }, because: 'a service that is broken' },
    { answerOf: { status: 200, cut: true }, because: 'nothing' },
  ])('is explained, and kept only if that is wanted: $because', async ({ answerOf }) => {
    await using service = await scriptedService(answerOf);
    await using directory = await settingsDirectory();
    const endings = [];

    for (const typed of ['n', 'y']) {
      const host = testHost({ ...directory, terminal: 120 });
      const running = main(['init'], host);
      await answer(host, {
        'Profile name': '',
        'Service URL': service.url,
        Site: 'home',
        List: 'tasks',
        'Token for': token,
        'Save these settings': typed,
        ...(typed === 'y' ? { 'Ask before': '' } : {}),
      });
      endings.push([await running, readdirSync(directory.path).length > 0]);
      expect(host.printed.stderr).toContain('listctl:');
    }

    expect(endings).toEqual([
      [2, false],
      [0, true],
    ]);
  });
});

test.each([
  { at: { 'Profile name': '', 'Service URL': '\u0003' }, exit: 130 },
  { at: { 'Profile name': '', 'Service URL': '\u0004' }, exit: 2 },
  { at: { 'Profile name': '', 'Service URL': 'https://a.example', Site: '\u0003' }, exit: 130 },
  {
    at: { 'Profile name': '', 'Service URL': 'https://a.example', Site: 's', List: 'l', 'Token for': 'half\u0003' },
    exit: 130,
  },
  {
    at: { 'Profile name': '', 'Service URL': 'https://a.example', Site: 's', List: 'l', 'Token for': '\u0004' },
    exit: 2,
  },
])('left at $at it keeps nothing', async ({ at, exit }) => {
  await using directory = await settingsDirectory();
  const host = testHost({ ...directory, terminal: 120 });

  const running = main(['init'], host);
  await answer(host, at);

  expect(await running).toBe(exit);
  expect(readdirSync(directory.path)).toEqual([]);
});

test.each([
  { world: {} },
  { world: { terminal: 80 }, words: ['--no-input'] },
  { world: { terminal: 80 }, env: { CI: 'yes' } },
])('where it may not ask it says what to do instead: $world $words $env', async ({ world, words = [], env = {} }) => {
  await using directory = await settingsDirectory();

  const { exitCode, stdout, stderr } = await run(['init', ...words], { ...world, env: { ...directory.env, ...env } });

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('listctl auth login --with-token --base-url URL -s SITE -l LIST');
  expect(readdirSync(directory.path)).toEqual([]);
});

/** Types each answer when its question is on the terminal. */
async function answer(host: TestHost, answers: Readonly<Record<string, string>>): Promise<void> {
  for (const [question, typed] of Object.entries(answers)) {
    await host.answer(question, typed.endsWith('\u0003') || typed.endsWith('\u0004') ? typed : `${typed}\n`);
  }
}
