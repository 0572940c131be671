/** `listctl auth`. */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { converse, run } from '../support/test-host.ts';

const url = 'https://lists.example/v1.0';
const origin = 'https://lists.example';
const token = 'canary-0123456789-abcdefghij';
const expired = `x.${Buffer.from('{"exp":1700000000}').toString('base64url')}.canary`;

describe('auth login', () => {
  test('with --base-url and --with-token makes the profile default, and says once where the token is', async () => {
    await using directory = await settingsDirectory();

    const { exitCode, stdout, stderr } = await run(['auth', 'login', '--base-url', url, '--with-token', '--no-check'], {
      ...directory,
      stdin: `${token}\n`,
    });

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `saved the token of profile default, for ${origin}\n`,
    });
    expect(stderr).toBe(`the token is saved unencrypted in ${directory.credentials} (mode 0600)\n`);
    expect(directory.read()).toMatchObject({ current: 'default', profiles: { default: { baseUrl: url } } });
    expect(directory.tokens()).toEqual({ default: { origin, token } });
    expect((statSync(directory.credentials).mode & 0o777).toString(8)).toBe('600');
  });

  test('names a profile with -p, new or known; another one stays in use', async () => {
    await using directory = await settingsDirectory({
      current: 'dev',
      profiles: { dev: { baseUrl: 'local:' }, prod: { baseUrl: url } },
    });
    const words = ['auth', 'login', '--with-token', '--no-check', '-p'];

    const known = await run([...words, 'prod'], { ...directory, stdin: token });
    const made = await run([...words, 'new', '--base-url', 'https://new.example'], { ...directory, stdin: token });

    expect([known.exitCode, made.exitCode]).toEqual([0, 0]);
    expect(made.stderr).toContain('profile new is not the default: pass -p new');
    expect(directory.read()).toMatchObject({ current: 'dev', profiles: { new: { baseUrl: 'https://new.example' } } });
    expect(directory.tokens()).toEqual({ prod: { origin, token }, new: { origin: 'https://new.example', token } });
  });

  test('without either is for the profile in use, whatever address the environment has', async () => {
    await using directory = await settingsDirectory({ current: 'prod', profiles: { prod: { baseUrl: url } } });
    const env = { ...directory.env, LISTCTL_BASE_URL: 'https://other.example' };

    await run(['auth', 'login', '--with-token', '--no-check'], { env, stdin: token });

    expect(directory.tokens()).toEqual({ prod: { origin, token } });
    expect(directory.read().profiles).toEqual({ prod: { baseUrl: url } });
  });

  test.each([
    { words: [], stdin: token, says: 'has no service URL' },
    { words: ['-p', 'typo'], stdin: token, says: 'profile typo has no service URL' },
    { words: ['--local'], stdin: token, says: 'the built-in service needs no token' },
    { words: ['--base-url', 'http://lists.example'], stdin: token, says: 'refusing to send the token over plain http' },
    { words: ['--base-url', url], stdin: '', says: 'the token from standard input is empty' },
    { words: ['--base-url', url], stdin: '\n', says: 'the token from standard input is empty' },
    { words: ['--base-url', url], stdin: `${token}\n\n`, says: 'the token from standard input has' },
    {
      words: ['--base-url', url],
      stdin: 'canary7',
      says: 'the token from standard input is shorter than 8 characters',
    },
    { words: ['--base-url', url], stdin: `${token} x`, says: 'the token from standard input has' },
    { words: ['--base-url', url], stdin: `${token}\u0000`, says: 'the token from standard input has' },
    { words: ['--base-url', url], stdin: `${token}é`, says: 'the token from standard input has' },
  ])('$words with $stdin stores nothing: $says', async ({ words, stdin, says }) => {
    await using directory = await settingsDirectory();

    const { exitCode, stdout, stderr } = await run(['auth', 'login', '--with-token', ...words], {
      ...directory,
      stdin,
    });

    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(says) });
    expect(stderr).not.toContain('canary');
    expect(readdirSync(directory.path)).toEqual([]);
  });

  const login = ['auth', 'login', '--base-url', url, '--no-check'];

  test('asks on a terminal, without a trace of what was typed', async () => {
    await using directory = await settingsDirectory();

    const { exitCode, stdout, stderr } = await converse(login, { 'Token for': token }, directory);

    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`Token for ${url}`)]);
    expect(stderr + stdout).not.toMatch(/canary|\*/);
    expect(directory.tokens()).toEqual({ default: { origin, token } });
  });

  test('an invalid token is prompted for again', async () => {
    await using directory = await settingsDirectory();

    // Ctrl-U empties the line.
    const answers = { 'Token for': 'not a canary', 'has spaces': `\u0015${token}` };
    const { exitCode, stderr } = await converse(login, answers, directory);

    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('canary')]);
    expect(directory.tokens()).toEqual({ default: { origin, token } });
  });

  test.each([
    { typed: '\u0003', exit: 130, because: 'Ctrl-C' },
    { typed: 'half-a-canary\u0003', exit: 130, because: 'Ctrl-C in the middle' },
    { typed: '\u0004', exit: 2, because: 'an end of input' },
  ])('$because at the prompt stores nothing', async ({ typed, exit }) => {
    await using directory = await settingsDirectory();

    const { exitCode, stdout, stderr } = await converse(login, { 'Token for': typed }, directory);

    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: exit,
      stdout: '',
      stderr: expect.not.stringContaining('canary'),
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test('off a terminal it says that LISTCTL_TOKEN needs no login, and how to save it', async () => {
    await using directory = await settingsDirectory();

    const { exitCode, stderr } = await run(login, { env: { ...directory.env, LISTCTL_TOKEN: token } });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('LISTCTL_TOKEN is used without a login')]);
    expect(stderr).toContain('printenv LISTCTL_TOKEN | listctl auth login --with-token');
    expect(stderr).not.toContain('canary');
  });

  test('a typed --token is answered with --with-token, and not repeated', async () => {
    const { exitCode, stderr } = await run([...login, '--token', 'canary-0123456789']);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('listctl auth login --with-token < token.txt')]);
    expect(stderr).not.toContain('canary');
  });

  test.each([
    { world: {}, words: [] },
    { world: { terminal: 80 }, words: ['--no-input'] },
    { world: { terminal: 80, env: { CI: '1' } }, words: [] },
  ])('where it may not ask it says what to do instead: $world $words', async ({ world, words }) => {
    await using directory = await settingsDirectory();

    const { exitCode, stderr } = await run(['auth', 'login', '--base-url', url, ...words], {
      ...world,
      env: { ...directory.env, ...world.env },
    });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--with-token < token.txt')]);
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe('auth logout', () => {
  const kept = {
    current: 'prod',
    profiles: { prod: { baseUrl: url }, dev: { baseUrl: url } },
    tokens: { prod: { origin, token }, dev: { origin, token: 'another-canary' } },
  };

  test('forgets the token of the profile in use, and leaves no copy of it', async () => {
    await using directory = await settingsDirectory(kept);

    const { exitCode, stdout } = await run(['auth', 'logout'], directory);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'removed the token of profile prod\n' });
    expect(directory.tokens()).toEqual({ dev: kept.tokens.dev });
    expect(readdirSync(directory.path).sort()).toEqual(['config.json', 'credentials.json']);
  });

  test('of a named profile; and again, when no token is stored', async () => {
    await using directory = await settingsDirectory(kept);

    await run(['auth', 'logout', '-p', 'dev'], directory);
    const again = await run(['auth', 'logout', '-p', 'dev', '-o', 'json'], directory);

    expect(again).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(again.stdout)).toEqual({ profile: 'dev', hadToken: false });
    expect(directory.tokens()).toEqual({ prod: kept.tokens.prod });
  });
});

describe('a token is tried', () => {
  const itemMissing = { status: 404, body: { error: 'there is no such item' } };
  const listMissing = { status: 404, body: { error: { code: 'listNotFound', message: 'No list' } } };

  test.each([
    { answer: itemMissing, exit: 0, says: /^the token is saved unencrypted/ },
    {
      answer: { status: 404, body: { error: 'no such path' } },
      exit: 0,
      says: /^the token was not checked: HTTP 404: no such path\nthe token is saved/,
    },
    { answer: listMissing, exit: 0, says: /^the token was not checked: HTTP 404: No list\nthe token is saved/ },
    {
      answer: { status: 401, body: { error: 'no' } },
      exit: 3,
      says: /^listctl: the token was not saved: .*HTTP 401: no/,
    },
    { answer: { status: 503, body: {} }, exit: 0, says: /^the token was not checked: .*HTTP 503/ },
    { answer: { status: 200, cut: true }, exit: 0, says: /^the token was not checked: / },
  ])('before auth login saves it: $answer', async ({ answer, exit, says }) => {
    await using service = await scriptedService(answer);
    await using directory = await settingsDirectory();
    const words = ['auth', 'login', '--with-token', '--base-url', service.url];

    const { exitCode, stderr } = await run(words, { ...directory, stdin: expired });
    const requests = service.requests.map(({ method, headers }) => [method, headers.authorization]);
    const unchecked = await run([...words, '-p', 'other', '--no-check'], { ...directory, stdin: expired });

    expect([exitCode, stderr]).toEqual([exit, expect.stringMatching(says)]);
    expect(stderr).not.toContain(expired);
    expect(requests).toEqual([['GET', `Bearer ${expired}`]]);
    expect(Object.keys(directory.tokens())).toEqual(exit === 0 ? ['default', 'other'] : ['other']);
    expect([unchecked.exitCode, service.requests.length]).toEqual([0, 1]);
    if (exit === 3)
      expect(stderr).toMatch(/^ {2}it expired at 2023-11-14 22:13 UTC \(.* ago\)\n {2}pass .* --no-check/m);
  });

  test.each([
    { answer: itemMissing, exit: 0, accepted: true },
    { answer: { status: 404, body: {} }, exit: 0, accepted: undefined, says: 'the token was not checked: HTTP 404' },
    { answer: listMissing, exit: 4, accepted: undefined, says: 'No list' },
    { answer: { status: 401, body: {} }, exit: 3, accepted: false },
    { answer: { status: 503, body: {} }, exit: 6, accepted: undefined },
  ])('by auth status --check: $answer', async ({ answer, exit, accepted, says = '' }) => {
    await using service = await scriptedService(answer);
    const env = { ...environmentFor(service), LISTCTL_TOKEN: expired };

    const plain = await run(['auth', 'status'], { env });
    const { exitCode, stdout, stderr } = await run(['auth', 'status', '--check', '-o', 'json'], { env });

    expect(stderr).toContain(says);
    expect(plain.stdout).toMatch(/^expired {3}2023-11-14 22:13 UTC \(.* ago\)$/m);
    expect(exitCode).toBe(exit);
    expect(JSON.parse(stdout)).toMatchObject({ source: 'LISTCTL_TOKEN', expiresAt: '2023-11-14T22:13:20.000Z' });
    expect(JSON.parse(stdout).accepted).toBe(accepted);
    expect(service.requests).toHaveLength(1);
  });
});

describe('a token that the service rejects', () => {
  test.each([
    { from: 'a profile', env: {}, hint: 'run listctl auth login -p exp' },
    { from: 'a variable', env: { LISTCTL_TOKEN: expired }, hint: 'set LISTCTL_TOKEN to a valid token' },
    {
      from: 'a command',
      env: { LISTCTL_TOKEN_COMMAND: `echo ${expired}` },
      hint: 'check the output of LISTCTL_TOKEN_COMMAND',
    },
  ])('is named with how to replace it: of $from', async ({ env, hint }) => {
    await using service = await scriptedService({ status: 401, body: { error: 'no' } });
    const { origin: its } = new URL(service.url);
    await using directory = await settingsDirectory({
      current: 'exp',
      profiles: { exp: { baseUrl: service.url, site: 'home', list: 'tasks' } },
      tokens: { exp: { origin: its, token: expired } },
    });

    const { exitCode, stderr } = await run(['items', 'get', '1'], { env: { ...directory.env, ...env } });

    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/\n {2}the token expired at 2023-11-14 22:13 UTC \(.* ago\)\n/);
    expect(stderr.endsWith(`\n  ${hint}\n`)).toBe(true);
  });
});

describe('a token for another service', () => {
  const jwt = (aud: unknown) => `e30.${Buffer.from(JSON.stringify({ aud })).toString('base64url')}.c2lnbmF0dXJl`;

  test.each([
    {
      aud: 'https://management.azure.com/',
      says: 'the token is for https://management.azure.com, not for this service',
    },
    { aud: '00000003-0000-0000-c000-000000000000', says: undefined },
    { aud: 'own', says: undefined },
    { aud: ['https://management.azure.com'], says: undefined },
    { aud: 'https://a\u001b[31m.example', says: undefined },
  ])('is said to be one if it is refused: $aud', async ({ aud, says }) => {
    await using service = await scriptedService({ status: 401, body: { error: 'no' } });
    const env = { ...environmentFor(service), LISTCTL_TOKEN: jwt(aud === 'own' ? service.url : aud) };

    const { exitCode, stderr } = await run(['items', 'get', '1'], { env });

    expect(exitCode).toBe(3);
    expect(stderr.split('\n').slice(1)).toEqual([
      ...(says === undefined ? [] : [`  ${says}`]),
      '  set LISTCTL_TOKEN to a valid token',
      '',
    ]);
  });
});

describe('auth status and auth token', () => {
  const kept = { current: 'prod', profiles: { prod: { baseUrl: url } }, tokens: { prod: { origin, token } } };

  test.each([
    { from: 'the profile', env: {}, words: [], source: 'profile prod (auth login)', value: token },
    {
      from: 'the environment',
      env: { LISTCTL_TOKEN: 'env-0123456789-0123456' },
      words: [],
      source: 'LISTCTL_TOKEN',
      value: 'env-0123456789-0123456',
    },
    {
      from: 'the named profile',
      env: { LISTCTL_TOKEN: 'env-token' },
      words: ['-p', 'prod'],
      source: 'profile prod (auth login)',
      value: token,
    },
  ])('get the token from $from', async ({ env, words, source, value }) => {
    await using directory = await settingsDirectory(kept);
    const world = { env: { ...directory.env, ...env } };

    const status = await run(['auth', 'status', '-o', 'json', ...words], world);
    const printed = await run(['auth', 'token', ...words], world);

    expect(JSON.parse(status.stdout)).toEqual({ profile: 'prod', address: url, source, ending: value.slice(-4) });
    expect(status.stdout).not.toContain(value.slice(-5));
    expect(printed).toMatchObject({ exitCode: 0, stdout: `${value}\n`, stderr: '' });
  });

  test('from a file, read when it is used, without its last newline', async () => {
    await using directory = await settingsDirectory();
    const file = join(directory.path, 'token.txt');
    writeFileSync(file, 'file-0123456789-0123456\n');
    const env = { ...directory.env, LISTCTL_TOKEN_FILE: file };

    expect((await run(['auth', 'token'], { env })).stdout).toBe('file-0123456789-0123456\n');
    expect((await run(['auth', 'status'], { env })).stdout).toContain(`LISTCTL_TOKEN_FILE (${file})`);
    expect((await run(['auth', 'token'], { env: { ...env, LISTCTL_TOKEN: 'env-token' } })).stdout).toBe('env-token\n');
  });

  test.each([
    { content: undefined, exit: 2, says: 'no such file or directory' },
    { content: '', exit: 2, says: 'is empty' },
    { content: 'a canary', exit: 2, says: 'has spaces' },
    { content: '"canary-in-quotes"', exit: 2, says: 'is in quotes' },
    { content: 'canary7', exit: 2, says: 'is shorter than 8 characters' },
    { content: 'canary\n\n', exit: 2, says: 'has spaces' },
  ])('a file with $content is refused: $says', async ({ content, exit, says }) => {
    await using directory = await settingsDirectory();
    const file = join(directory.path, 'token.txt');
    if (content !== undefined) writeFileSync(file, content);

    const { exitCode, stderr } = await run(['auth', 'token'], { env: { ...directory.env, LISTCTL_TOKEN_FILE: file } });

    expect(exitCode).toBe(exit);
    expect(stderr).toContain(says);
    expect(stderr).toContain('LISTCTL_TOKEN_FILE');
    expect(stderr).not.toContain('canary');
  });

  test('nothing is shown of a token under 20 characters', async () => {
    const { stdout } = await run(['auth', 'status', '-o', 'json'], { env: { LISTCTL_TOKEN: '0123456789012345678' } });

    expect(JSON.parse(stdout)).toEqual({ source: 'LISTCTL_TOKEN' });
  });

  test('a name with control characters cannot steer the terminal', async () => {
    await using directory = await settingsDirectory({
      current: 'a\u001b[2J',
      profiles: { 'a\u001b[2J': { baseUrl: url } },
    });
    const file = join(directory.path, 'to\u001b]0;x\u0007ken\n');
    writeFileSync(file, 'file-0123456789-0123456');

    const { exitCode, stdout } = await run(['auth', 'status'], { env: { ...directory.env, LISTCTL_TOKEN_FILE: file } });

    expect(exitCode).toBe(0);
    expect(stdout).toContain('profile   a\\x1b[2J\n');
    expect(stdout).toContain('to\\x1b]0;x\\x07ken⏎)\n');
  });

  test('exit with 3 and say what to do if there is no token', async () => {
    for (const verb of ['status', 'token']) {
      const { exitCode, stdout, stderr } = await run(['auth', verb]);

      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
      expect(stderr).toContain('listctl auth login');
    }
  });

  test("where a profile was named, the hint names it too: else the token would become another one's", async () => {
    await using directory = await settingsDirectory({
      current: 'dev',
      profiles: { dev: { baseUrl: 'https://dev.example' }, prod: { baseUrl: 'https://prod.example' } },
    });

    for (const words of [
      ['auth', 'status'],
      ['items', 'get', '1', '-s', 's', '-l', 'l'],
    ]) {
      const { exitCode, stderr } = await run([...words, '-p', 'prod'], { env: directory.env });
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining('listctl auth login -p prod\n')]);
    }
  });

  test('the built-in service needs none', async () => {
    expect((await run(['auth', 'status', '--local'])).stdout).toContain('needs no token');
    expect(await run(['auth', 'token', '--local'])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});
