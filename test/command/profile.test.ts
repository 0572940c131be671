/** `listctl profile`. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settingsDirectory } from '../support/settings-directory.ts';
import { converse, run } from '../support/test-host.ts';

const url = 'https://lists.example/v1.0';

describe('profile set', () => {
  test('keeps what was typed, and shows it; the first one is the current one', async () => {
    await using directory = await settingsDirectory();
    const words = `profile set prod --base-url ${url} --site home --list tasks --idempotency honored --protected`;

    const { exitCode, stdout, stderr } = await run(words.split(' '), directory);
    const second = await run(['profile', 'set', 'dev', '--local', '-o', 'json'], directory);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('profile      prod\n');
    expect(stdout).toContain(`base-url     ${url}\n`);
    expect(JSON.parse(second.stdout)).toEqual({ name: 'dev', current: false, baseUrl: 'local:' });
    expect(directory.read()).toEqual({
      version: 1,
      current: 'prod',
      profiles: {
        prod: { baseUrl: url, site: 'home', list: 'tasks', idempotency: 'honored', protected: true },
        // `-o` says how this command prints, and is not kept.
        dev: { baseUrl: 'local:' },
      },
    });
  });

  test('takes each of its flags', async () => {
    await using directory = await settingsDirectory();
    const words = ['--token-command', 'pass show lists', '--ca-file', 'ca.pem', '--allow-http', '--timeout', '5'];
    const format = ['--default-output', 'jsonl'];

    await run(['profile', 'set', 'a', ...words, ...format], { ...directory, cwd: '/srv' });

    expect(directory.read().profiles['a']).toEqual({
      ...{ tokenCommand: 'pass show lists', caFile: '/srv/ca.pem', allowHttp: true, timeout: '5', output: 'jsonl' },
    });
  });

  test('says that plain http to another machine needs --allow-http, and saves it', async () => {
    await using directory = await settingsDirectory();
    const set = (...words: string[]) => run(['profile', 'set', 'a', ...words], directory);

    const open = await set('--base-url', 'http://lists.example/v1.0');
    const permitted = await set('--allow-http');
    const removed = await set('--unset', 'allow-http');
    const own = await set('--base-url', 'http://127.0.0.1:1/v1.0');

    for (const { exitCode, stderr } of [open, removed]) {
      expect([exitCode, stderr]).toEqual([
        0,
        expect.stringMatching(/^the token is not sent .* profile set a --allow-http\n$/),
      ]);
    }
    expect([permitted.stderr, own.stderr]).toEqual(['', '']);
  });

  test('changes only what it names, and --unset removes', async () => {
    await using directory = await settingsDirectory({
      current: 'a',
      profiles: {
        a: { baseUrl: url, site: 'home', list: 'tasks', protected: true, allowHttp: true, output: 'yaml', future: 1 },
      },
    });

    const removed = ['list', 'allow-http', 'protected', 'default-output'].flatMap((name) => ['--unset', name]);
    const { exitCode } = await run(['profile', 'set', 'a', '--site', 'work', ...removed], directory);

    expect(exitCode).toBe(0);
    // A member that a newer listctl wrote stays.
    expect(directory.read().profiles['a']).toEqual({ baseUrl: url, site: 'work', future: 1 });
  });

  test('the built-in service in a directory is found again from anywhere', async () => {
    await using directory = await settingsDirectory();

    await run(['profile', 'set', 'a', '--base-url', 'local:data'], { ...directory, cwd: '/srv' });

    expect(directory.read().profiles['a']).toEqual({ baseUrl: 'local:/srv/data' });
  });

  test.each(['a.b', 'constructor', 'toString', 'Ünïcode', '7', 'me@work'])(
    '%s is a name like any other',
    async (name) => {
      await using directory = await settingsDirectory();

      const set = await run(['profile', 'set', name, '--site', 'home'], directory);
      const shown = await run(['profile', 'show', name, '-o', 'json'], directory);

      expect([set.exitCode, shown.exitCode]).toEqual([0, 0]);
      expect(JSON.parse(shown.stdout)).toEqual({ name, current: true, site: 'home' });
      expect(directory.read().profiles).toEqual({ [name]: { site: 'home' } });
    },
  );

  test.each([
    { words: ['__proto__', '--site', 'x'], says: 'invalid profile name' },
    { words: ['', '--site', 'x'], says: 'invalid profile name' },
    { words: ['a b', '--site', 'x'], says: 'invalid profile name' },
    { words: ['a\u001b[31m', '--site', 'x'], says: 'invalid profile name' },
    { words: ['x'.repeat(65), '--site', 'x'], says: 'invalid profile name' },
    { words: ['a'], says: 'nothing to set' },
    { words: ['a', '--output', 'json'], says: 'e.g. --default-output json' },
    { words: ['a', '--default-output', 'curl'], says: 'invalid --default-output' },
    { words: ['a', '--site', ''], says: '--site has no value' },
    { words: ['a', '--base-url', 'https://me:verysecret@host'], says: 'a user name or password' },
    { words: ['a', '--base-url', 'lists.example'], says: 'invalid --base-url' },
    { words: ['a', '--idempotency', 'yes'], says: 'invalid --idempotency' },
    { words: ['a', '--timeout', 'soon'], says: 'invalid --timeout' },
    { words: ['a', '--default-output', 'xml'], says: 'invalid --default-output' },
    { words: ['a', '--unset', 'sight'], says: 'invalid --unset "sight"' },
    { words: ['a', '--unset', 'xyzzy'], says: 'use one of base-url, service' },
    { words: ['a', '--token', 'verysecret'], says: 'unknown option --token' },
  ])('$words is wrong usage, and nothing is kept', async ({ words, says }) => {
    await using directory = await settingsDirectory();

    const { exitCode, stdout, stderr } = await run(['profile', 'set', ...words], directory);

    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(says) });
    expect(stderr).not.toContain('verysecret');
    expect(existsSync(directory.config)).toBe(false);
  });

  test('files are 0600 in a directory of 0700, whatever the umask is', async () => {
    await using directory = await settingsDirectory();
    const inside = join(directory.path, 'deep/listctl');
    const env = { LISTCTL_CONFIG_DIR: inside };
    const umask = process.umask(0);

    try {
      await run(['profile', 'set', 'a', '--site', 'x'], { env });
      await run(['profile', 'set', 'a', '--site', 'y'], { env });
    } finally {
      process.umask(umask);
    }

    expect(modeOf(inside)).toBe('700');
    expect(modeOf(join(inside, 'config.json'))).toBe('600');
    expect(modeOf(join(inside, 'config.json.bak'))).toBe('600');
  });
});

describe('profile list, show, use, remove', () => {
  const kept = { current: 'prod', profiles: { prod: { baseUrl: url, site: 'home' }, dev: { baseUrl: 'local:' } } };

  test('switches are yes or no in the table, for each profile if one has them', async () => {
    const prod = { ...kept.profiles.prod, protected: true };
    await using directory = await settingsDirectory({ ...kept, profiles: { ...kept.profiles, prod } });

    const { stdout } = await run(['profile', 'list'], directory);

    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^profile +default +base-url +site +protected$/),
      expect.stringMatching(/^prod +yes .* home +yes$/),
      expect.stringMatching(/^dev +no .* no$/),
      '',
    ]);
  });

  test('list shows every one, as text off a terminal too', async () => {
    await using directory = await settingsDirectory(kept);

    const table = await run(['profile', 'list'], directory);
    const json = await run(['profile', 'list', '--json'], directory);
    const ids = await run(['profile', 'list', '-o', 'id'], directory);

    expect(table.stdout.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^profile +default +base-url +site$/),
      expect.stringMatching(/^prod +yes +https:\/\/lists\.example\/v1\.0 +home$/),
      expect.stringMatching(/^dev +no +local:$/),
    ]);
    expect(JSON.parse(json.stdout)).toEqual([
      { name: 'prod', current: true, baseUrl: url, site: 'home' },
      { name: 'dev', current: false, baseUrl: 'local:' },
    ]);
    expect(ids.stdout).toBe('prod\ndev\n');
  });

  test('list of none is no error, and an empty list to a script; one that could not be read is nothing', async () => {
    await using directory = await settingsDirectory();

    expect(await run(['profile', 'list'], directory)).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
    expect(await run(['profile', 'list', '-o', 'json'], directory)).toMatchObject({ exitCode: 0, stdout: '[]\n' });
    expect(await run(['profile', 'list', '-o', 'jsonl'], directory)).toMatchObject({ exitCode: 0, stdout: '' });
    expect(existsSync(directory.config)).toBe(false);
    writeFileSync(directory.config, '{');
    expect(await run(['profile', 'list', '-o', 'json'], directory)).toMatchObject({ exitCode: 10, stdout: '' });
  });

  test('show without a name shows the one in use', async () => {
    await using directory = await settingsDirectory(kept);
    const shown = async (words: string[], env = {}) =>
      (await run(['profile', 'show', '-o', 'id', ...words], { env: { ...directory.env, ...env } })).stdout;

    expect(await shown([])).toBe('prod\n');
    expect(await shown(['dev'])).toBe('dev\n');
    expect(await shown(['-p', 'dev'])).toBe('dev\n');
    expect(await shown([], { LISTCTL_PROFILE: 'dev' })).toBe('dev\n');
  });

  test('use changes which one is in use', async () => {
    await using directory = await settingsDirectory(kept);

    expect(await run(['profile', 'use', 'dev'], directory)).toMatchObject({
      ...{ exitCode: 0, stderr: '' },
      stdout: 'now using profile dev (local:)\n',
    });

    expect(directory.read().current).toBe('dev');
    expect((await run(['profile', 'show', '-o', 'id'], directory)).stdout).toBe('dev\n');
  });

  test('current prints the name of the one in use', async () => {
    await using directory = await settingsDirectory(kept);

    expect((await run(['profile', 'current'], directory)).stdout).toBe('prod\n');
    expect((await run(['profile', 'current', '-p', 'dev'], directory)).stdout).toBe('dev\n');
    expect(await run(['profile', 'current'], {})).toMatchObject({ exitCode: 2, stdout: '' });
  });

  const token = { origin: 'https://lists.example', token: 'x-token-x' };

  test('rename keeps the place, the token and the default', async () => {
    await using directory = await settingsDirectory({ ...kept, tokens: { prod: token } });

    const renamed = await run(['profile', 'rename', 'prod', 'live'], directory);

    expect(renamed).toMatchObject({ exitCode: 0, stdout: 'renamed profile prod to live\n' });
    expect(directory.read()).toEqual({
      version: 1,
      current: 'live',
      profiles: { live: kept.profiles.prod, dev: kept.profiles.dev },
    });
    expect(Object.keys(directory.read().profiles)).toEqual(['live', 'dev']);
    expect(directory.tokens()).toEqual({ live: token });
  });

  test.each([
    { words: ['prod', 'dev'], says: 'profile dev already exists' },
    { words: ['prod', 'prod'], says: 'profile prod already exists' },
    { words: ['prod', 'no name'], says: 'invalid profile name' },
    { words: ['prdo', 'live'], says: 'no profile "prdo"' },
  ])('rename $words changes nothing: $says', async ({ words, says }) => {
    await using directory = await settingsDirectory({ ...kept, tokens: { prod: token } });

    const { exitCode, stderr } = await run(['profile', 'rename', ...words], directory);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(says)]);
    expect(directory.read()).toEqual({ version: 1, ...kept });
    expect(directory.tokens()).toEqual({ prod: token });
  });

  test.each([
    { typed: 'n', exit: 2, names: ['prod', 'dev'] },
    { typed: 'y', exit: 0, names: ['dev'] },
  ])('remove asks on a terminal: $typed', async ({ typed, exit, names }) => {
    await using directory = await settingsDirectory({ ...kept, tokens: { prod: token } });
    const answers = { 'Remove profile prod and its saved token?': typed };

    expect(await converse(['profile', 'remove', 'prod'], answers, directory)).toMatchObject({ exitCode: exit });
    expect(Object.keys(directory.read().profiles)).toEqual(names);
  });

  test('remove with --no-input needs --yes', async () => {
    await using directory = await settingsDirectory(kept);
    const words = ['profile', 'remove', 'prod', '--no-input'];

    expect(await run(words, directory)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('pass --yes') });
    expect(await run([...words, '--yes'], directory)).toMatchObject({ exitCode: 0, stdout: 'removed profile prod\n' });
  });

  test('remove forgets the profile and its token; no other one takes its place', async () => {
    await using directory = await settingsDirectory({
      ...kept,
      tokens: { prod: { origin: 'https://lists.example', token: 'x-token-x' } },
    });

    expect(await run(['profile', 'remove', 'prod'], directory)).toMatchObject({
      exitCode: 0,
      stdout: 'removed profile prod and its token\n',
    });

    expect(directory.read()).toEqual({ version: 1, profiles: { dev: { baseUrl: 'local:' } } });
    expect(directory.tokens()).toEqual({});
    expect(await run(['profile', 'show'], directory)).toMatchObject({ exitCode: 2 });
  });

  test.each([
    { words: ['profile', 'show', 'prdo'], meant: 'did you mean prod?' },
    { words: ['profile', 'use', 'Dev'], meant: 'did you mean dev?' },
    { words: ['profile', 'remove', 'qqqqqqqq'], meant: 'use one of: prod, dev' },
    { words: ['items', 'get', '1', '-p', 'prdo'], meant: 'did you mean prod?' },
    { words: ['auth', 'status', '-p', 'prdo'], meant: 'did you mean prod?' },
  ])('$words: a profile that is not there is exit 2, with the nearest name', async ({ words, meant }) => {
    await using directory = await settingsDirectory(kept);

    const { exitCode, stdout, stderr } = await run(words, directory);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^listctl: no profile "/);
    expect(stderr).toContain(meant);
    expect(directory.read()).toEqual({ version: 1, ...kept });
  });

  test('LISTCTL_PROFILE that names none is an error that says so', async () => {
    await using directory = await settingsDirectory(kept);

    const { exitCode, stderr } = await run(['items', 'get', '1'], {
      env: { ...directory.env, LISTCTL_PROFILE: 'pord' },
    });

    expect(exitCode).toBe(2);
    expect(stderr).toContain('"pord" (LISTCTL_PROFILE)');
    expect(stderr).toContain('did you mean prod?');
  });
});

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
