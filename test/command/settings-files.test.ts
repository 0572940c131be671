/** Settings files: damaged, owned by another user, readable by others, inaccessible. */
import {
  chmodSync,
  chownSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scriptedService } from '../support/scripted-service.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const get = ['items', 'get', '17'];

/** Files as they may be found (P12): each with what is said of it. */
const damages = [
  { content: '', says: 'is damaged: it is empty' },
  { content: '{"version":1,"profiles":{"prod":{"ba', says: 'is damaged: it is not JSON' },
  { content: '\0\0\0\0', says: 'is damaged: it is not JSON' },
  { content: '[]', says: 'is damaged: expected a JSON object' },
  { content: 'null', says: 'is damaged: expected a JSON object' },
  { content: '{"version":"1"}', says: 'is damaged: version must be a number' },
  { content: '{"version":2}', says: 'was written by a newer listctl' },
];
const configDamages = [
  ...damages,
  { content: '{"profiles":[]}', says: 'is damaged: profiles must be an object' },
  { content: '{"profiles":{"a":1}}', says: 'is damaged: profiles.a must be an object' },
  { content: '{"profiles":{"a":{"site":{}}}}', says: 'is damaged: profiles.a.site must be a string' },
  { content: '{"profiles":{"a":{"protected":"no"}}}', says: 'is damaged: profiles.a.protected must be true or false' },
  { content: '{"current":1}', says: 'is damaged: current must be a string' },
];
const credentialDamages = [
  ...damages,
  { content: '{"tokens":[]}', says: 'is damaged: tokens must be an object' },
  { content: '{"tokens":{"prod":{"token":"canary"}}}', says: 'is damaged: tokens.prod must have origin and token' },
  { content: '{"tokens":{"prod":"canary"}}', says: 'is damaged: tokens.prod must have origin and token' },
];

describe('a damaged file is named, and left as it is', () => {
  test('a file that is too large is not a matter of its permissions', async () => {
    await using directory = await settingsDirectory();
    writeFileSync(directory.config, '');
    truncateSync(directory.config, 17_000_000);

    const { exitCode, stderr } = await run(['profile', 'list'], directory);

    expect([exitCode, stderr]).toEqual([
      10,
      `listctl: cannot read ${directory.config}: larger than 16 MiB\n  fix or delete the file; it was not changed\n`,
    ]);
  });

  test.each(configDamages)('config.json: $content', async ({ content, says }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    writeFileSync(directory.config, content);
    writeFileSync(`${directory.config}.bak`, '{}');

    for (const words of [get, ['profile', 'list'], ['profile', 'set', 'a', '--site', 'x'], ['auth', 'logout']]) {
      const { exitCode, stdout, stderr } = await run(words, directory);

      expect({ words, exitCode, stdout }).toEqual({ words, exitCode: 10, stdout: '' });
      expect(stderr).toContain(`${directory.config} ${says}`);
      if (says.includes('damaged')) expect(stderr).toContain(`${directory.config}.bak`);
    }
    expect(readFileSync(directory.config, 'utf8')).toBe(content);
    expect(service.requests).toEqual([]);
  });

  test.each(credentialDamages)('credentials.json: $content', async ({ content, says }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    writeFileSync(directory.credentials, content);
    const login = ['auth', 'login', '-p', 'prod', '--with-token', '--no-check'];

    for (const words of [get, ['auth', 'token'], ['auth', 'logout'], login]) {
      const { exitCode, stdout, stderr } = await run(words, { ...directory, stdin: 'x-token-x' });

      expect({ words, exitCode, stdout }).toEqual({ words, exitCode: 10, stdout: '' });
      expect(stderr).toContain(`${directory.credentials} ${says}`);
      expect(stderr).not.toContain('canary');
    }
    expect(readFileSync(directory.credentials, 'utf8')).toBe(content);
    expect(service.requests).toEqual([]);
  });
});

describe('ownership and permissions (P13)', () => {
  test('loose credentials are warned about, and closed at the next write', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    chmodSync(directory.credentials, 0o644);

    const read = await run(get, directory);
    const quiet = await run([...get, '--quiet'], directory);
    await run(['auth', 'login', '--with-token', '--no-check'], { ...directory, stdin: 'new-token' });

    expect(read).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`${directory.credentials} can be read by`),
    });
    expect(quiet).toMatchObject({ exitCode: 0, stderr: '' });
    expect((statSync(directory.credentials).mode & 0o777).toString(8)).toBe('600');
    expect((await run(get, directory)).stderr).toBe('');
  });

  test.skipIf(process.geteuid?.() !== 0)("another user's are refused", async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));

    for (const file of [directory.credentials, directory.config]) {
      chownSync(file, 12_345, 12_345);
      const { exitCode, stderr } = await run(get, directory);

      expect([exitCode, stderr]).toEqual([10, expect.stringContaining(`${file} belongs to another user`)]);
    }
    expect(service.requests).toEqual([]);
  });

  test('a file that is a link stays one, and what it leads to is replaced', async () => {
    await using directory = await settingsDirectory();
    await using dotfiles = await temporaryDirectory();
    const target = join(dotfiles.path, 'listctl.json');
    writeFileSync(target, '{"profiles":{}}');
    symlinkSync(target, directory.config);

    expect((await run(['profile', 'set', 'a', '--site', 'x'], directory)).exitCode).toBe(0);

    expect(JSON.parse(readFileSync(target, 'utf8')).profiles).toEqual({ a: { site: 'x' } });
    expect(readFileSync(`${target}.bak`, 'utf8')).toBe('{"profiles":{}}');
    expect(readFileSync(directory.config, 'utf8')).toBe(readFileSync(target, 'utf8'));
  });
});

test.skipIf(process.platform === 'win32')('a directory that was there keeps its mode', async () => {
  await using directory = await settingsDirectory();
  chmodSync(directory.path, 0o1777);

  const set = await run(['profile', 'set', 'a', '--site', 'x'], directory);
  const login = await run(
    ['auth', 'login', '-p', 'a', '--with-token', '--no-check', '--base-url', 'https://a.example'],
    {
      ...directory,
      stdin: 'token-0123456789',
    },
  );

  expect([set.exitCode, login.exitCode]).toEqual([0, 0]);
  expect((statSync(directory.path).mode & 0o7777).toString(8)).toBe('1777');
  expect((statSync(directory.credentials).mode & 0o777).toString(8)).toBe('600');
});

test('leftovers of a killed writer are removed by the next write (P06)', async () => {
  await using directory = await settingsDirectory();
  for (const stray of ['config.json.tmp-17212345671a2b3c', 'config.json.bak.tmp-listctl']) {
    writeFileSync(join(directory.path, stray), '{"profi');
  }
  writeFileSync(join(directory.path, 'config.json.mine'), 'not ours');

  await run(['profile', 'set', 'a', '--site', 'x'], directory);

  expect(readdirSync(directory.path).sort()).toEqual(['config.json', 'config.json.mine']);
});

describe('where the system denies us the settings (P11)', () => {
  test.skipIf(process.geteuid?.() !== 0)(
    'reads with settings from the environment work; whoever needs them says why not',
    async () => {
      await using service = await scriptedService({ status: 200, body: milk });
      await using directory = await settingsDirectory(keptFor(service));
      const env = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'x-token-x', LISTCTL_SITE: 's', LISTCTL_LIST: 'l' };
      const write = ['profile', 'set', 'a', '--site', 'x'];

      chmodSync(directory.path, 0o755);
      const denied = async (words: string[], more = {}) => {
        process.seteuid?.(12_345);
        try {
          return await run(words, { env: { ...directory.env, ...more } });
        } finally {
          process.seteuid?.(0);
        }
      };

      expect(await denied(get, env)).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await denied(get)).toMatchObject({ exitCode: 10, stderr: expect.stringContaining(directory.config) });
      expect(await denied([...get, '-p', 'prod'], env)).toMatchObject({ exitCode: 10 });
      expect(await denied(write, env)).toMatchObject({ exitCode: 10, stderr: expect.stringContaining(directory.path) });
    },
  );

  test('a directory that cannot be made is named', async () => {
    await using directory = await settingsDirectory();
    writeFileSync(join(directory.path, 'file'), '');
    const inside = join(directory.path, 'file/listctl');

    const { exitCode, stderr } = await run(['profile', 'set', 'a', '--site', 'x'], {
      env: { LISTCTL_CONFIG_DIR: inside },
    });

    expect([exitCode, stderr]).toEqual([10, expect.stringContaining(inside)]);
  });
});
