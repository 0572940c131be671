/** `listctl doctor`: what is set, from where, and does it answer; and what is said of a token before many rows. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readExpiry } from '../../src/cli/token-lifetime.ts';
import type { Finding } from '../../src/commands/doctor/checks.ts';
import { checkNode } from '../../src/commands/doctor/checks.ts';
import { connectProxy } from '../support/connect-proxy.ts';
import { listening } from '../support/loopback-server.ts';
import { environmentFor, requestedItem, scriptedService } from '../support/scripted-service.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run, type World } from '../support/test-host.ts';
import { newAuthority } from '../support/tls-certificate.ts';

const missing = { status: 404, body: { error: 'there is no such item' } };
const hourMs = 3_600_000;
const saying = (text: string) => expect.stringContaining(text);

describe('what it says', () => {
  test('all is well: every value with its source, one GET, exit code 0, and never the token', async () => {
    await using service = await scriptedService(missing);
    await using directory = await settingsDirectory(keptFor(service));

    const { exitCode, found, stderr, stdout } = await doctor({ env: { ...directory.env, LISTCTL_RETRIES: '7' } });

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(found).toMatchObject({
      version: { status: 'ok' },
      node: { status: 'ok', value: process.version },
      config: { status: 'ok', value: '1 profile, mode 0600', source: directory.config },
      credentials: { status: 'ok', value: '1 token, mode 0600', source: directory.credentials },
      profile: { status: 'ok', value: 'prod', source: 'profile use' },
      address: { status: 'ok', value: service.url, source: 'profile prod' },
      site: { value: 'home', source: 'profile prod' },
      timeout: { value: '120 s', source: 'the default' },
      retries: { value: '7', source: 'LISTCTL_RETRIES' },
      token: { status: 'ok', source: 'profile prod (auth login)' },
      proxy: { status: 'ok', value: 'none' },
      tls: { status: 'skipped' },
      request: { status: 'ok', value: expect.stringMatching(/^the service responds in \d+ ms and accepts the token$/) },
      store: { status: 'ok' },
    });
    expect(service.requests.map(({ method }) => method)).toEqual(['GET']);
    expect(stdout).not.toContain('stored-token');
  });

  test.each([40, 80, 100])(
    'on a terminal of %i columns: a mark for each, hints below, and nothing cut',
    async (width) => {
      await using service = await scriptedService(missing);
      const { LISTCTL_LIST: _, ...env } = environmentFor(service);

      const { exitCode, stdout } = await run(['doctor'], { env: { ...env, NO_COLOR: '1' }, terminal: width });

      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^✓ {2}address +http:\S+\s+(\S+\s+)?LISTCTL_BASE_URL$/m);
      expect(stdout).toMatch(
        /^! {2}list +not set:\s+commands on\s+items need it\n {3}→ pass --list, or set LISTCTL_LIST\s+or a profile\n/m,
      );
      expect(stdout).not.toContain('…');
      expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(width);
    },
  );

  test('says what failed once, below it, and at the end its name alone', async () => {
    await using service = await scriptedService({ status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' });

    const { exitCode, stdout, stderr } = await run(['doctor'], { env: environmentFor(service) });

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^✗ {2}request +cannot read .*: this is not the list service \(Content-Type: text\/html\)$/m,
    );
    expect(stdout).toMatch(/^ {3}→ check that http:.* is the URL of the list service$/m);
    expect(stderr).toBe('listctl: failed: request\n');
  });

  test.each([
    { path: '/', says: /→ the URL lacks the version path: use http:\S+\/v1\.0$/m, requests: 2 },
    { path: '/v2', says: /→ check that/, requests: 1 },
  ])('tries an address without a version path with one: $path', async ({ path, says, requests }) => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' };
    await using service = await scriptedService(page, missing);

    const { exitCode, stdout } = await run(['doctor'], {
      env: environmentFor({ url: service.url.replace('/v1.0', path) }),
    });

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(says);
    expect(service.requests).toHaveLength(requests);
  });

  test('tries one also where the service responds with a 404 in JSON', async () => {
    await using service = await scriptedService({ status: 404, body: { error: 'no such path' } }, missing);

    const { exitCode, stdout } = await run(['doctor'], {
      env: environmentFor({ url: service.url.replace('/v1.0', '') }),
    });

    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/no list service responds at .*HTTP 404: no such path/);
    expect(stdout).toMatch(/→ the URL lacks the version path: use http:\S+\/v1\.0$/m);
  });

  test('is for people whatever format the profile sets, unless one is typed', async () => {
    await using service = await scriptedService(missing);
    const kept = keptFor(service);
    const profiles = { prod: { ...kept.profiles?.['prod'], output: 'yaml' } };
    await using directory = await settingsDirectory({ ...kept, profiles });

    const { stdout } = await run(['doctor'], directory);
    const typed = await run(['doctor', '-o', 'yaml'], directory);

    expect(stdout).toMatch(/^✓ {2}output +yaml +profile prod$/m);
    expect(typed.stdout).toMatch(/^- check: version$/m);
  });

  test('with -o json: a list, whatever --query selects', async () => {
    await using service = await scriptedService(missing);
    const env = environmentFor(service);

    const all = await run(['doctor', '-o', 'json'], { env });
    const one = await run(['doctor', '-q', "[?check=='site'].source | [0]"], { env });

    expect(JSON.parse(all.stdout)).toContainEqual({
      check: 'site',
      status: 'ok',
      value: 'home',
      source: 'LISTCTL_SITE',
    });
    expect(one.stdout).toBe('LISTCTL_SITE\n');
  });

  test('the built-in service needs no token and no way; its store opens', async () => {
    await using data = await temporaryDirectory();

    const { exitCode, found } = await doctor({ env: { LISTCTL_DATA_DIR: data.path } }, [
      '--local',
      '-s',
      'a',
      '-l',
      'b',
    ]);

    expect(exitCode).toBe(0);
    expect(found).toMatchObject({
      address: { value: 'local:', source: '--base-url' },
      token: { status: 'skipped' },
      dns: { status: 'skipped' },
      request: { status: 'ok' },
      store: { status: 'ok', value: 'opens', source: join(data.path, 'local') },
    });
  });

  test('what it looks at it does not make: neither the store of another service, nor the directory of runs', async () => {
    await using service = await scriptedService(missing);
    await using directory = await temporaryDirectory();
    const env = {
      ...environmentFor(service),
      LISTCTL_DATA_DIR: join(directory.path, 'data'),
      LISTCTL_STATE_DIR: join(directory.path, 'state'),
    };

    const { found } = await doctor({ env });

    expect(found).toMatchObject({ state: { status: 'ok', value: 'not created yet' }, store: { status: 'ok' } });
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe('what is wrong decides the exit code', () => {
  test.each([
    { env: {}, check: 'address', exit: 2, hint: 'LISTCTL_BASE_URL' },
    { env: { LISTCTL_BASE_URL: 'nonsense' }, check: 'address', exit: 2 },
    { env: { LISTCTL_BASE_URL: 'http://lists.example/v1.0' }, check: 'address', exit: 2, hint: '--allow-http' },
    { env: { LISTCTL_RETRIES: 'many', LISTCTL_BASE_URL: 'http://127.0.0.1:9/v1' }, check: 'retries', exit: 2 },
    { env: { LISTCTL_PROFILE: 'prdo' }, check: 'profile', exit: 2, hint: 'did you mean prod?' },
    { env: { LISTCTL_BASE_URL: 'http://127.0.0.1:9/v1' }, check: 'token', exit: 3, hint: 'auth login' },
    { env: { LISTCTL_BASE_URL: 'http://127.0.0.1:9/v1', LISTCTL_TOKEN: 'x-token-x' }, check: 'request', exit: 7 },
    { env: { LISTCTL_BASE_URL: 'https://127.0.0.1:9/v1', LISTCTL_TOKEN: 'x-token-x' }, check: 'tls', exit: 7 },
    { env: { LISTCTL_BASE_URL: 'https://nobody.invalid/v1', LISTCTL_TOKEN: 'x-token-x' }, check: 'dns', exit: 7 },
    {
      env: {
        LISTCTL_BASE_URL: 'https://nobody.invalid/v1',
        LISTCTL_TOKEN: 'x-token-x',
        HTTPS_PROXY: 'ftp://u:canary@p',
      },
      check: 'proxy',
      exit: 2,
    },
  ])('$check: exit code $exit ($env)', async ({ env, check, exit, hint = '' }) => {
    await using directory = await settingsDirectory({ profiles: { prod: {} } });

    const { exitCode, found, stderr, stdout } = await doctor({ env: { ...directory.env, ...env } });

    expect(exitCode).toBe(exit);
    expect(found[check]).toMatchObject({ status: 'failed' });
    expect(found[check]?.hint ?? '').toContain(hint);
    // Not past the step that failed: a way without the proxy that is meant would be another one.
    if (check === 'dns' || check === 'proxy') expect(found['tls']).toMatchObject({ status: 'skipped' });
    expect(JSON.parse(stderr).error).toMatchObject({ exit, message: expect.stringContaining(`${check}: `) });
    expect(stdout + stderr).not.toContain('canary');
  });

  test.each([
    { answer: { status: 401, body: {} }, exit: 3 },
    { answer: { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' }, exit: 1 },
    { answer: { status: 503, body: {} }, exit: 6 },
    { answer: { status: 200, cut: true }, exit: 7 },
  ])('the service says $answer.status ($answer.body): exit code $exit', async ({ answer, exit }) => {
    await using service = await scriptedService(answer);

    const { exitCode, found } = await doctor({ env: environmentFor(service) });

    expect(exitCode).toBe(exit);
    expect(found['request']).toMatchObject({ status: 'failed' });
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    { code: 'itemNotFound', text: 'Not there.', status: 'ok', exit: 0 },
    { code: undefined, text: 'no such item in this list', status: 'ok', exit: 0 },
    { code: 'listNotFound', text: 'No list.', status: 'failed', exit: 4 },
    { code: 'site_not_found', text: 'The item was not found.', status: 'failed', exit: 4 },
    { code: 'itemNotFound', text: 'The list was not found.', status: 'warning', exit: 0 },
    { code: 'notFound', text: "The list 'item 7' does not exist.", status: 'warning', exit: 0 },
    { code: undefined, text: 'Cannot GET /v1.0/sites/home/lists/tasks/items/x', status: 'warning', exit: 0 },
  ])('a 404 with $code, "$text" is $status, and quoted unless it is of the item', async (answer) => {
    const { code, text, status, exit } = answer;
    await using service = await scriptedService({ status: 404, body: { error: { code, message: text } } });

    const { exitCode, found } = await doctor({ env: environmentFor(service) });

    expect([exitCode, found['request']?.status]).toEqual([exit, status]);
    if (status === 'ok') expect(found['request']?.value).toMatch(/accepts the token$/);
    else expect(found['request']).toMatchObject({ value: expect.stringContaining(text), hint: saying('--list') });
    if (status === 'warning') expect(found['request']?.value).not.toContain('accepts');
  });

  test('without a list, a list that is missing is no failure: none was asked for', async () => {
    await using service = await scriptedService({ status: 404, body: { error: { code: 'listNotFound' } } });
    const { LISTCTL_LIST: _, ...env } = environmentFor(service);

    const { exitCode, found } = await doctor({ env });

    expect([exitCode, found['request']?.status]).toEqual([0, 'warning']);
  });

  test('after a profile that is not there it does not advise to log in to it', async () => {
    await using directory = await settingsDirectory({ profiles: { prod: {} } });

    const { exitCode, stdout } = await doctor(directory, ['-p', 'prodd', '--base-url', 'http://127.0.0.1:9/v1']);

    expect([exitCode, stdout]).toEqual([2, expect.stringContaining('did you mean prod?')]);
    expect(stdout).not.toContain('auth login');
  });

  test.skipIf(process.platform !== 'linux')('a state directory in which nothing can be made is a warning', async () => {
    const { found } = await doctor({ env: { LISTCTL_STATE_DIR: '/proc/listctl' } }, ['--local']);

    expect(found['state']).toMatchObject({ status: 'warning', value: expect.stringContaining('not writable') });
  });

  test('off a terminal a long text does not move the sources of the others', async () => {
    const { stdout } = await run([
      'doctor',
      '-s',
      'a',
      '-l',
      'b',
      '--base-url',
      `nonsense-${'x'.repeat(200)}`,
      '-o',
      'pretty',
    ]);

    expect(stdout).toMatch(/^✓ {2}timeout {2,}120 s {2,60}the default$/m);
  });

  test.each([
    { file: 'config', content: '', says: 'it is empty' },
    { file: 'config', content: '{"profiles":{"prod":{"ba', says: 'it is not JSON' },
    { file: 'config', content: '{"version":9}', says: 'newer listctl' },
    { file: 'credentials', content: '{"tokens":{"prod":"canary"}}', says: 'tokens.prod' },
  ] as const)('P12: a damaged $file ($content) is named, the rest looked at: exit code 10', async (damage) => {
    const { file, content, says } = damage;
    await using service = await scriptedService(missing);
    await using directory = await settingsDirectory(keptFor(service));
    writeFileSync(directory[file], content);

    const { exitCode, found, stdout, stderr } = await doctor({ env: { ...directory.env, ...environmentFor(service) } });

    expect(exitCode).toBe(10);
    expect(found[file]).toMatchObject({
      status: 'failed',
      value: expect.stringContaining(says),
      hint: expect.any(String),
    });
    expect(found).toMatchObject({ address: { source: 'LISTCTL_BASE_URL' }, request: { status: 'ok' } });
    expect(stdout + stderr).not.toContain('canary');
  });

  test.skipIf(process.geteuid?.() === 0)(
    'P11 (not for root): files that are denied are a warning where the environment is enough',
    async () => {
      await using service = await scriptedService(missing);
      await using directory = await settingsDirectory(keptFor(service));
      chmodSync(directory.config, 0);

      const { exitCode, found } = await doctor({ env: { ...directory.env, ...environmentFor(service) } });

      expect(exitCode).toBe(0);
      expect(found['config']).toMatchObject({ status: 'warning' });
    },
  );

  test('a variable that says how to print has no say where it is malformed', async () => {
    await using service = await scriptedService(missing);

    const { exitCode, stdout } = await run(['doctor'], { env: { ...environmentFor(service), LISTCTL_OUTPUT: 'xml' } });
    const typed = await run(['doctor', '-o', 'xml'], { env: environmentFor(service) });

    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/^✗ +output +invalid LISTCTL_OUTPUT/m);
    expect(typed).toMatchObject({ exitCode: 2, stdout: '' });
  });

  test('a project file that says too much is named, and has no say', async () => {
    await using service = await scriptedService(missing);
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, '.listctl.json'), '{"baseUrl":"http://127.0.0.1:1","site":"x"}');

    const { exitCode, found } = await doctor({ env: environmentFor(service), cwd: directory.path });

    expect(exitCode).toBe(2);
    expect(found).toMatchObject({ 'project-file': { status: 'failed' }, address: { value: service.url } });
  });

  test.each([
    { mode: 0o644, file: 'credentials', hint: 'chmod 600' },
    { mode: 0o666, file: 'config', hint: 'chmod go-w' },
  ] as const)('files that are open to others are a warning: $file', async ({ mode, file, hint }) => {
    await using service = await scriptedService(missing);
    await using directory = await settingsDirectory(keptFor(service));
    chmodSync(directory[file], mode);

    const { exitCode, found } = await doctor({ env: directory.env });

    expect(exitCode).toBe(0);
    expect(found[file]).toMatchObject({ status: 'warning', hint: expect.stringContaining(hint) });
  });

  test('what cannot be written is a warning', async () => {
    await using service = await scriptedService(missing);
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, 'file'), '');
    const env = { ...environmentFor(service), LISTCTL_STATE_DIR: join(directory.path, 'file', 'state') };

    const { exitCode, found } = await doctor({ env });

    expect(exitCode).toBe(0);
    expect(found['state']).toMatchObject({ status: 'warning', hint: expect.stringContaining('LISTCTL_STATE_DIR') });
  });

  test('a store that is damaged is a failure where it is the service, else a warning', async () => {
    await using service = await scriptedService(missing);
    await using data = await temporaryDirectory();
    mkdirSync(join(data.path, 'local'));
    writeFileSync(join(data.path, 'local', 'data.mdb'), 'x'.repeat(9000));
    const env = { LISTCTL_DATA_DIR: data.path };

    const other = await doctor({ env: { ...environmentFor(service), ...env } });
    const own = await doctor({ env }, ['--local']);

    expect([other.exitCode, other.found['store']?.status]).toEqual([0, 'warning']);
    expect([own.exitCode, own.found['store']?.status]).toEqual([10, 'failed']);
  });
});

describe('TLS', () => {
  test('shows the issuer of the certificate and its expiry; few days left are a warning', async () => {
    await using directory = await temporaryDirectory();
    const authority = newAuthority();
    const caFile = join(directory.path, 'ca.pem');
    writeFileSync(caFile, authority.cert);
    await using service = await secureService(authority.issue({ address: '127.0.0.1' }));

    const { exitCode, found } = await doctor({ env: environmentFor(service) }, ['--ca-file', caFile]);

    expect(exitCode).toBe(0);
    expect(found).toMatchObject({
      ca: { status: 'ok', value: expect.stringContaining(caFile), source: '--ca-file' },
      tls: {
        status: 'warning',
        value: expect.stringMatching(/^TLSv1\.[23], certificate of listctl test authority, for \d/),
      },
      request: { status: 'ok' },
    });
  });

  test('an untrusted certificate: exit code 7, --ca-file is named, and no request is made', async () => {
    await using service = await secureService(newAuthority().issue({ address: '127.0.0.1' }));

    const { exitCode, found } = await doctor({ env: environmentFor(service) });
    const blind = await doctor({ env: environmentFor(service) }, ['--insecure-tls']);

    expect(exitCode).toBe(7);
    expect(found['tls']).toMatchObject({ status: 'failed', hint: expect.stringContaining('--ca-file') });
    expect(blind).toMatchObject({ exitCode: 0, found: { ca: { status: 'warning', source: '--insecure-tls' } } });
    expect(service.requests).toEqual(['GET']);
  });

  test('names a CA file that cannot be read, and sends no request', async () => {
    await using service = await secureService(newAuthority().issue({ address: '127.0.0.1' }));

    const { exitCode, found } = await doctor({ env: environmentFor(service) }, [
      '--ca-file',
      'no-such-directory/ca.pem',
    ]);

    expect(exitCode).toBe(2);
    expect(found).toMatchObject({
      ca: { status: 'failed' },
      tls: { status: 'skipped' },
      request: { status: 'failed' },
    });
    expect(service.requests).toEqual([]);
  });

  test('through a proxy it asks the proxy alone, and shows no password of it', async () => {
    await using proxy = await connectProxy({ refusal: Buffer.from('HTTP/1.1 502 no\r\n\r\n') });
    const env = {
      ...environmentFor({ url: 'https://lists.invalid/v1.0' }),
      HTTPS_PROXY: proxy.url.replace('//', '//me:canary@'),
    };

    const { exitCode, found, stdout, stderr } = await doctor({ env });

    expect(exitCode).toBe(7);
    expect(found['proxy']).toMatchObject({ value: proxy.url, source: 'HTTPS_PROXY' });
    expect(found['dns']).toMatchObject({ status: 'skipped' });
    expect(stdout + stderr).not.toContain('canary');
    expect(proxy.connectionCount()).toBe(2);
  });
});

describe('when a token expires', () => {
  test.each([
    { token: jwt({ exp: 1_700_000_000 }), ms: 1_700_000_000_000 },
    { token: jwt({ exp: 1.5 }), ms: 1500 },
    { token: jwt({ exp: '1700000000' }), ms: undefined },
    { token: jwt({ exp: 1e300 }), ms: undefined },
    { token: jwt({}), ms: undefined },
    { token: jwt([]), ms: undefined },
    { token: jwt({ exp: null }), ms: undefined },
    { token: `${jwt({ exp: 1 })}.more`, ms: undefined },
    { token: 'a.b.c', ms: undefined },
    { token: '..', ms: undefined },
    { token: 'opaque', ms: undefined },
  ])('$token: $ms', ({ token, ms }) => {
    expect(readExpiry(token, 0)?.atMs).toBe(ms);
  });

  test('is shown as a time and as the time left', () => {
    const text = (exp: number, nowMs: number) => readExpiry(jwt({ exp }), nowMs)?.text;
    expect(text(0, hourMs * 2)).toBe('1970-01-01 00:00 UTC (2 hours ago)');
    expect(text(60, 0)).toBe('1970-01-01 00:01 UTC (in 1 minute)');
    expect(text(3600 * 72, 0)).toBe('1970-01-04 00:00 UTC (in 3 days)');
  });

  test.each([
    { inMs: -2 * hourMs, status: 'warning', says: /^expired at .* ago\)$/ },
    { inMs: 2 * hourMs, status: 'ok', says: /^expires at .*\(in 1 hour\)$/ },
  ])('doctor: $status', async ({ inMs, status, says }) => {
    await using service = await scriptedService(missing);
    const token = expiringIn(inMs);

    const { found, stdout } = await doctor({ env: { ...environmentFor(service), LISTCTL_TOKEN: token } });

    expect(found['token']).toMatchObject({ status, value: expect.stringMatching(says), source: 'LISTCTL_TOKEN' });
    expect(stdout).not.toContain(token.slice(0, 10));
  });

  test.each([
    { name: 'expired', inMs: -hourMs, lines: 1 },
    { name: 'not expired', inMs: hourMs, lines: 0 },
  ])('before many rows: $name', async ({ inMs, lines }) => {
    await using service = await scriptedService({ status: 200, body: requestedItem });
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'ids.txt');
    writeFileSync(file, '1\n2\n');
    const env = { ...environmentFor(service), LISTCTL_TOKEN: expiringIn(inMs), LISTCTL_STATE_DIR: directory.path };

    const { exitCode, stderr } = await run(['items', 'get', '--from', file], { env });

    expect(exitCode).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('the token from LISTCTL_TOKEN expired at'))).toHaveLength(
      lines,
    );
  });

  test('before many rows no token-command is run for it', async () => {
    await using service = await scriptedService({ status: 200, body: { id: '1', fields: {} } });
    await using directory = await temporaryDirectory();
    const counted = join(directory.path, 'counted');
    const tokenCommand = `echo x >> '${counted}'; echo ${expiringIn(-hourMs)}`;
    await using kept = await settingsDirectory({
      current: 'prod',
      profiles: { prod: { baseUrl: service.url, site: 'home', list: 'tasks', tokenCommand } },
    });
    const file = join(directory.path, 'ids.txt');
    writeFileSync(file, '1\n');

    const { exitCode, stderr } = await run(['items', 'get', '--from', file], {
      env: { ...kept.env, LISTCTL_STATE_DIR: directory.path },
    });

    expect(exitCode).toBe(0);
    expect(readFileSync(counted, 'utf8')).toBe('x\n');
    expect(stderr).not.toContain('expired at');
  });
});

test.each([
  { version: 'v20.18.1', status: 'ok' },
  { version: 'v20.18.0', status: 'warning' },
  { version: 'v18.20.4', status: 'warning' },
  { version: 'v26.3.0', status: 'ok' },
  { version: 'v27.0.0', status: 'warning' },
  { version: 'v21.0.0-nightly', status: 'ok' },
])('Node $version: $status', ({ version, status }) => {
  expect(checkNode(version)).toMatchObject({ status });
});

test('P30: without a home, and with a terminal that takes no escapes, it works and shows none', async () => {
  await using service = await scriptedService(missing);

  const { exitCode, stdout } = await run(['doctor'], {
    env: { ...environmentFor(service), TERM: 'dumb' },
    terminal: 80,
  });

  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('\u001b');
});

/** Runs `doctor`, and gives what it found by the name of the check. */
async function doctor(world: World, words: readonly string[] = []) {
  const ended = await run(['doctor', '-o', 'json', ...words], world);
  const findings: readonly Finding[] = JSON.parse(ended.stdout);
  const found: Record<string, Finding> = Object.fromEntries(findings.map((finding) => [finding.check, finding]));
  return { ...ended, found };
}

function jwt(claims: unknown): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.c2ln`;
}

function expiringIn(ms: number): string {
  return jwt({ exp: Math.floor((Date.now() + ms) / 1000) });
}

/** A service with a certificate, where no item is there. */
async function secureService(certificate: { readonly key: string; readonly cert: string }) {
  const requests: string[] = [];
  const server = createServer(certificate, ({ method = '' }, response) => {
    requests.push(method);
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(missing.body));
  });
  const listener = await listening(server);
  return { ...listener, requests, url: listener.url.replace('http', 'https') };
}
