/** `listctl init`: asks, tries, keeps. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scriptedService } from '../support/scripted-service.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { converse, run } from '../support/test-host.ts';

const missing = { status: 404, body: { error: 'there is no such item' } };
const token = 'canary-0123456789-abcdefghij';

/** The answers that lead to a service: those of `more` replace others, or come after them. */
function answersTo(service: { readonly url: string }, more: Readonly<Record<string, string>> = {}) {
  return {
    ...{ 'Profile name': '', 'Service URL': service.url, Site: 'home', List: 'tasks', 'Token for': token },
    ...more,
  };
}

test('asks for address, site, list and token, tries them with one GET, and keeps them', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory();

  const { exitCode, stdout, stderr } = await converse(['init'], answersTo(service, { 'Ask before': '' }), directory);

  expect(exitCode).toBe(0);
  expect(service.requests.map(({ method, headers }) => [method, headers.authorization])).toEqual([
    ['GET', `Bearer ${token}`],
  ]);
  expect(service.requests[0]?.path).toMatch(/^\/v1\.0\/sites\/home\/lists\/tasks\/items\/[^/]+$/);
  expect(directory.read()).toMatchObject({
    current: 'default',
    profiles: { default: { baseUrl: service.url, site: 'home', list: 'tasks' } },
  });
  expect(directory.tokens()).toEqual({ default: { origin: new URL(service.url).origin, token } });
  expect(stderr).toContain('the service responds and accepts the token');
  expect(stderr).toMatch(/^next: listctl items create -f Title="Hello"$/m);
  expect(stderr).toContain(directory.credentials);
  expect(stderr + stdout).not.toContain('canary');
});

test('with -p it makes that profile; Enter alone keeps what is known', async () => {
  await using service = await scriptedService({ status: 200, body: { id: 'x', fields: {} } });
  await using directory = await settingsDirectory({
    current: 'prod',
    profiles: { prod: { site: 'home', list: 'old' } },
  });
  const env = { ...directory.env, LISTCTL_BASE_URL: service.url };
  const answers = { 'Service URL': '', Site: '', List: '', 'Token for': token, 'Ask before': 'y' };

  const { exitCode } = await converse(['init', '-p', 'prod', '--list', 'tasks'], answers, { env });

  expect(exitCode).toBe(0);
  expect(directory.read()).toMatchObject({
    profiles: { prod: { baseUrl: service.url, site: 'home', list: 'tasks', protected: true } },
  });
});

test('asks for the name of the profile, and ends with the next command', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory({ current: 'dev', profiles: { dev: { baseUrl: 'local:' } } });
  const { 'Profile name': _, ...others } = answersTo(service, { 'Ask before': '' });
  const answers = { '(dev)': 'no name', 'invalid profile name': '\u0015work', ...others };

  const { exitCode, stderr } = await converse(['init'], answers, directory);

  expect(exitCode).toBe(0);
  expect(directory.read().profiles).toEqual({
    dev: { baseUrl: 'local:' },
    work: { baseUrl: service.url, site: 'home', list: 'tasks' },
  });
  expect(stderr).toMatch(/^next: listctl items create -p work -f Title="Hello"$/m);
});

test('a token that the service refuses is prompted for again', async () => {
  await using service = await scriptedService({ status: 401, body: { error: 'expired' } }, missing);
  await using directory = await settingsDirectory();
  const again = { 'Token for': 'old-canary', 'type another token': token, 'Ask before': '' };

  const { exitCode, stderr } = await converse(['init'], answersTo(service, again), directory);

  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('canary')]);
  expect(Object.values(directory.tokens()).map((kept) => kept.token)).toEqual([token]);
});

test('an invalid address or id is prompted for again', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory();
  const address = { 'Profile name': '', 'Service URL': 'lists.example', 'expected a URL': `\u0015${service.url}` };
  const list = { Site: '..', 'not a path segment': '\u0015home', List: 'tasks', 'Token for': token, 'Ask before': '' };

  expect(await converse(['init'], { ...address, ...list }, directory)).toMatchObject({ exitCode: 0 });
});

test.each([
  { answer: 'y', saved: '/v1.0' },
  { answer: 'n', saved: '' },
])('offers the address with the version path that responds: $answer', async ({ answer, saved }) => {
  await using service = await scriptedService({ status: 404, body: { error: 'no such path' } }, missing);
  await using directory = await settingsDirectory();
  const origin = service.url.replace('/v1.0', '');
  const more = { [`Use ${service.url} instead?`]: answer, ...(answer === 'n' && { 'Save these settings': 'y' }) };

  const { exitCode } = await converse(['init'], answersTo({ url: origin }, { ...more, 'Ask before': '' }), directory);

  expect(exitCode).toBe(0);
  expect(directory.read()).toMatchObject({ profiles: { default: { baseUrl: origin + saved } } });
});

test('the built-in service has no token to take', async () => {
  await using directory = await settingsDirectory();
  const env = { ...directory.env, LISTCTL_DATA_DIR: join(directory.path, 'data') };
  const answers = { 'Profile name': '', 'Service URL': '', Site: 'home', List: 'tasks', 'Ask before': '' };

  const { exitCode, stderr } = await converse(['init', '--local'], answers, { env });

  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/the service responds$/m)]);
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
      const more = { 'Save these settings': typed, ...(typed === 'y' ? { 'Ask before': '' } : {}) };
      const { exitCode, stderr } = await converse(['init'], answersTo(service, more), directory);
      endings.push([exitCode, readdirSync(directory.path).length > 0]);
      expect(stderr).toContain('listctl:');
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

  expect(await converse(['init'], at, directory)).toMatchObject({ exitCode: exit });
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
