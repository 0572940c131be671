/** Which token is sent, and where: never to another origin than its own. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentFor, type ScriptedService, scriptedService, tokensSeen } from '../support/scripted-service.ts';
import { type KeptSettings, keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const get = ['items', 'get', '17'];

describe('a token is sent only to its service', () => {
  test.each([
    { how: 'a flag', words: ['--base-url'], variable: undefined },
    { how: 'the environment', words: [], variable: 'LISTCTL_BASE_URL' },
    { how: 'a flag, beside -p', words: ['-p', 'prod', '--base-url'], variable: undefined },
  ])('a stored one is not sent to an address from $how', async ({ words, variable }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using other = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    const env = { ...directory.env, ...(variable === undefined ? {} : { [variable]: other.url }) };

    const { exitCode, stdout, stderr } = await run([...get, ...words, ...(variable ? [] : [other.url])], { env });

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
    expect(stderr).toContain(`was stored for ${new URL(service.url).origin}`);
    expect([...service.requests, ...other.requests]).toEqual([]);
  });

  test('a profile whose address was changed does not take its token along', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using other = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));

    await run(['profile', 'set', 'prod', '--base-url', other.url], directory);

    expect(await run(get, directory)).toMatchObject({ exitCode: 3 });
    expect(other.requests).toEqual([]);
  });

  test('another path on the same origin is the same place', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));

    await run([...get, '--base-url', service.url.replace('v1.0', 'v2.0')], directory);

    expect(tokensSeen(service)).toEqual(['Bearer stored-token']);
  });

  test('a token-command is not even run for another origin', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory();
    const mark = join(directory.path, 'was-run');
    await run(
      ['profile', 'set', 'a', '--base-url', 'https://own.invalid', '--token-command', `touch ${mark}; echo one-token`],
      directory,
    );

    const { exitCode, stderr } = await run([...get, '-s', 's', '-l', 'l', '--base-url', service.url], directory);

    expect(exitCode).toBe(3);
    expect(stderr).toContain('token-command of profile a is for the URL of that profile');
    expect(existsSync(mark)).toBe(false);
    expect(service.requests).toEqual([]);
  });
});

describe('token-command', () => {
  const world = (service: ScriptedService, command: string): KeptSettings => {
    const { tokens: _, ...settings } = keptFor(service, { tokenCommand: command });
    return settings;
  };
  const env = { PATH: process.env['PATH'] ?? '' };

  test('gives the token', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(world(service, 'echo printed-token'));

    expect(await run(get, { env: { ...env, ...directory.env } })).toMatchObject({ exitCode: 0, stderr: '' });
    expect(tokensSeen(service)).toEqual(['Bearer printed-token']);
  });

  test('is run once again after a 401, and the request is sent again, whatever it is', async () => {
    await using service = await scriptedService(
      { status: 401, body: { error: 'expired' } },
      { status: 201, body: milk },
    );
    await using directory = await settingsDirectory();
    const count = join(directory.path, 'count');
    writeFileSync(
      directory.config,
      JSON.stringify(world(service, `echo x >> ${count}; echo token-000$(wc -l < ${count} | tr -d " ")`)),
    );

    const { exitCode } = await run(['items', 'create', '-f', 'a=1'], { env: { ...env, ...directory.env } });

    expect(exitCode).toBe(0);
    expect(tokensSeen(service)).toEqual(['Bearer token-0001', 'Bearer token-0002']);
    expect(service.requests[0]?.headers['idempotency-key']).toBe(service.requests[1]?.headers['idempotency-key']);
  });

  test.each([
    { command: 'echo same-token', sent: 1, because: 'the new token is the old one' },
    { command: 'echo token-000$$', sent: 2, because: 'the second one is refused too' },
  ])('a 401 stays one where $because', async ({ command, sent }) => {
    await using service = await scriptedService({ status: 401, body: { error: 'no' } });
    await using directory = await settingsDirectory(world(service, command));

    expect(await run(get, { env: { ...env, ...directory.env } })).toMatchObject({ exitCode: 3, stdout: '' });
    expect(service.requests).toHaveLength(sent);
  });

  test('that fails is exit 3, and nothing is sent', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(world(service, 'echo locked >&2; exit 2'));

    const { exitCode, stderr } = await run(get, { env: { ...env, ...directory.env } });

    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^locked\nlistctl: the token-command of profile prod failed with exit code 2\n/);
    expect(service.requests).toEqual([]);
  });

  test.each([0o620, 0o602])('is not run where others may write it: mode %o', async (mode) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory();
    const mark = join(directory.path, 'was-run');
    const { profiles } = world(service, `touch ${mark}; echo one-token`);
    writeFileSync(directory.config, JSON.stringify({ version: 1, current: 'prod', profiles }));
    chmodSync(directory.config, mode);

    const { exitCode, stderr } = await run(get, { env: { ...env, ...directory.env } });

    expect(exitCode).toBe(10);
    expect(stderr).toContain(`${directory.config} is writable by others`);
    expect(stderr).toContain(`chmod go-w ${directory.config}`);
    expect(existsSync(mark)).toBe(false);
    expect(service.requests).toEqual([]);
    chmodSync(directory.config, 0o644);
    expect(await run(get, { env: { ...env, ...directory.env } })).toMatchObject({ exitCode: 0 });
  });

  test('a stored token comes first', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service, { tokenCommand: 'exit 1' }));

    await run(get, directory);

    expect(tokensSeen(service)).toEqual(['Bearer stored-token']);
  });
});

describe('a token of the environment', () => {
  const path = { PATH: process.env['PATH'] ?? '' };
  const list = { LISTCTL_SITE: 's', LISTCTL_LIST: 'l' };

  test.each([
    { words: ['-p', 'prod'], sent: 'stored-token' },
    { words: [], sent: 'own-token' },
    { words: [], without: ['LISTCTL_TOKEN'], sent: 'file-token' },
    { words: [], without: ['LISTCTL_TOKEN', 'LISTCTL_TOKEN_FILE'], sent: 'command-token' },
    { words: [], without: ['LISTCTL_TOKEN', 'LISTCTL_TOKEN_FILE', 'LISTCTL_TOKEN_COMMAND'], sent: 'stored-token' },
  ])('without $without and with $words: $sent', async ({ words, without = [], sent }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service));
    const file = join(directory.path, 'token.txt');
    writeFileSync(file, 'file-token');
    const tokens = {
      LISTCTL_TOKEN: 'own-token',
      LISTCTL_TOKEN_FILE: file,
      LISTCTL_TOKEN_COMMAND: 'echo command-token',
    };
    const env = { ...path, ...directory.env, ...tokens, ...Object.fromEntries(without.map((name) => [name, ''])) };

    expect(await run([...get, ...words], { env })).toMatchObject({ exitCode: 0 });
    expect(tokensSeen(service)).toEqual([`Bearer ${sent}`]);
  });

  test('a file is read again after a 401: what rotates tokens writes files', async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'token.txt');
    writeFileSync(file, 'token-one');
    const rotating = {
      status: 401,
      get after() {
        writeFileSync(file, 'token-two\n');
        return Promise.resolve();
      },
    };
    await using service = await scriptedService(rotating, { status: 200, body: milk });
    const env = { ...list, LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN_FILE: file };

    expect(await run(get, { env })).toMatchObject({ exitCode: 0, stderr: '' });
    expect(tokensSeen(service)).toEqual(['Bearer token-one', 'Bearer token-two']);
  });

  test.each([
    { because: 'each was accepted before', statuses: [401, 200, 401, 200], exit: 0, sent: [1, 2, 2, 3] },
    { because: 'the second was never accepted', statuses: [401], exit: 3, sent: [1, 2] },
    { because: 'the first comes again', statuses: [401, 200, 401], modulo: 2, exit: 3, sent: [1, 2, 2] },
  ])('a command gives tokens as often as they expire: $because', async ({ statuses, modulo = 9, exit, sent }) => {
    await using service = await scriptedService(
      ...statuses.map((status, at) => ({ status, body: { id: at < 2 ? '17' : '18', fields: {} } })),
    );
    await using directory = await temporaryDirectory();
    const count = join(directory.path, 'count');
    const command = `echo "token-000$(( ($(wc -l < ${count}) % ${modulo}) + 1 ))"; echo >> ${count}`;
    writeFileSync(count, '');
    const env = {
      ...{ ...path, ...list, LISTCTL_STATE_DIR: directory.path },
      ...{ LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN_COMMAND: command },
    };
    const inTurn = ['items', 'get', '--from', '-', '--input-format', 'ids', '--concurrency', '1'];

    const { exitCode } = await run(inTurn, { env, stdin: '17\n18\n' });

    expect(exitCode).toBe(exit);
    expect(tokensSeen(service)).toEqual(sent.map((number) => `Bearer token-000${number}`));
  });

  test('LISTCTL_TOKEN_COMMAND is named where it fails, and nothing is sent', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    const env = { ...path, ...list, LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN_COMMAND: 'exit 3' };

    const { exitCode, stderr } = await run(get, { env });

    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('LISTCTL_TOKEN_COMMAND failed with exit code 3')]);
    expect(service.requests).toEqual([]);
  });
});

test.runIf(process.platform === 'linux')('a token file without an end is 10, and nothing is sent', async () => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = { ...environmentFor(service), LISTCTL_TOKEN: '', LISTCTL_TOKEN_FILE: '/dev/zero' };

  const { exitCode, stderr } = await run(get, { env });

  expect([exitCode, stderr]).toEqual([
    10,
    expect.stringContaining('LISTCTL_TOKEN_FILE: cannot read /dev/zero: larger than 1 MiB'),
  ]);
  expect(service.requests).toEqual([]);
});
