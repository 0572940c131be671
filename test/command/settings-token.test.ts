/** Which token is sent, and where: never to another origin than its own. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ScriptedService, scriptedService } from '../support/scripted-service.ts';
import { type KeptSettings, keptFor, settingsFolder } from '../support/settings-folder.ts';
import { run } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const get = ['items', 'get', '17'];

function tokensSeen({ requests }: ScriptedService): (string | undefined)[] {
  return requests.map(({ headers }) => headers.authorization);
}

describe('a token goes only where it belongs', () => {
  test.each([
    { how: 'a flag', words: ['--base-url'], variable: undefined },
    { how: 'the environment', words: [], variable: 'LISTCTL_BASE_URL' },
    { how: 'a flag, beside -p', words: ['-p', 'prod', '--base-url'], variable: undefined },
  ])('a stored one is not sent to an address from $how', async ({ words, variable }) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using other = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder(keptFor(service));
    const env = { ...folder.env, ...(variable === undefined ? {} : { [variable]: other.url }) };

    const { exitCode, stdout, stderr } = await run([...get, ...words, ...(variable ? [] : [other.url])], { env });

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
    expect(stderr).toContain(`was stored for ${new URL(service.url).origin}`);
    expect(stderr).toContain('nothing was sent');
    expect([...service.requests, ...other.requests]).toEqual([]);
  });

  test('a profile whose address was changed does not take its token along', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using other = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder(keptFor(service));

    await run(['profile', 'set', 'prod', '--base-url', other.url], folder);

    expect(await run(get, folder)).toMatchObject({ exitCode: 3 });
    expect(other.requests).toEqual([]);
  });

  test('another path on the same origin is the same place', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder(keptFor(service));

    await run([...get, '--base-url', service.url.replace('v1.0', 'v2.0')], folder);

    expect(tokensSeen(service)).toEqual(['Bearer stored-token']);
  });

  test('a token-command is not even run for another origin', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder();
    const mark = join(folder.path, 'was-run');
    await run(
      ['profile', 'set', 'a', '--base-url', 'https://own.invalid', '--token-command', `touch ${mark}; echo t`],
      folder,
    );

    const { exitCode, stderr } = await run([...get, '-s', 's', '-l', 'l', '--base-url', service.url], folder);

    expect(exitCode).toBe(3);
    expect(stderr).toContain('token-command of profile a is for the address of that profile');
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
    await using folder = await settingsFolder(world(service, 'echo printed-token'));

    expect(await run(get, { env: { ...env, ...folder.env } })).toMatchObject({ exitCode: 0, stderr: '' });
    expect(tokensSeen(service)).toEqual(['Bearer printed-token']);
  });

  test('is run once again after a 401, and the request is sent again, whatever it is', async () => {
    await using service = await scriptedService(
      { status: 401, body: { error: 'expired' } },
      { status: 201, body: milk },
    );
    await using folder = await settingsFolder();
    const count = join(folder.path, 'count');
    writeFileSync(
      folder.config,
      JSON.stringify(world(service, `echo x >> ${count}; echo token-$(wc -l < ${count} | tr -d " ")`)),
    );

    const { exitCode } = await run(['items', 'create', '-f', 'a=1'], { env: { ...env, ...folder.env } });

    expect(exitCode).toBe(0);
    expect(tokensSeen(service)).toEqual(['Bearer token-1', 'Bearer token-2']);
    expect(service.requests[0]?.headers['idempotency-key']).toBe(service.requests[1]?.headers['idempotency-key']);
  });

  test.each([
    { command: 'echo same-token', sent: 1, because: 'the new token is the old one' },
    { command: 'echo token-$$', sent: 2, because: 'the second one is refused too' },
  ])('a 401 stays one where $because', async ({ command, sent }) => {
    await using service = await scriptedService({ status: 401, body: { error: 'no' } });
    await using folder = await settingsFolder(world(service, command));

    expect(await run(get, { env: { ...env, ...folder.env } })).toMatchObject({ exitCode: 3, stdout: '' });
    expect(service.requests).toHaveLength(sent);
  });

  test('that fails is exit 3, and nothing is sent', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder(world(service, 'echo locked >&2; exit 2'));

    const { exitCode, stderr } = await run(get, { env: { ...env, ...folder.env } });

    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^locked\nlistctl: the token-command of profile prod failed with exit code 2\n/);
    expect(service.requests).toEqual([]);
  });

  test.each([0o620, 0o602])('is not run where others may write it: mode %o', async (mode) => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder();
    const mark = join(folder.path, 'was-run');
    const { profiles } = world(service, `touch ${mark}; echo t`);
    writeFileSync(folder.config, JSON.stringify({ version: 1, current: 'prod', profiles }));
    chmodSync(folder.config, mode);

    const { exitCode, stderr } = await run(get, { env: { ...env, ...folder.env } });

    expect(exitCode).toBe(10);
    expect(stderr).toContain(`${folder.config} can be written by others`);
    expect(stderr).toContain(`chmod go-w ${folder.config}`);
    expect(existsSync(mark)).toBe(false);
    expect(service.requests).toEqual([]);
    chmodSync(folder.config, 0o644);
    expect(await run(get, { env: { ...env, ...folder.env } })).toMatchObject({ exitCode: 0 });
  });

  test('a stored token comes first', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using folder = await settingsFolder(keptFor(service, { tokenCommand: 'exit 1' }));

    await run(get, folder);

    expect(tokensSeen(service)).toEqual(['Bearer stored-token']);
  });
});
