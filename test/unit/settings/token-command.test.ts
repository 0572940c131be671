/** A profile's `token-command`, in a real shell. */
import { describe, expect, test } from 'vitest';
import { Stopped } from '../../../src/errors.ts';
import { runTokenCommand } from '../../../src/settings/token-command.ts';
import { testHost } from '../../support/test-host.ts';

const path = { PATH: process.env['PATH'] ?? '' };

test('its output is the token, trimmed; what it says on stderr goes to stderr', async () => {
  const host = testHost({ env: path });

  const token = await runTokenCommand('printf " one-token\\n\\n"; echo "touch the key" >&2', 'prod', host);

  expect(token).toBe('one-token');
  expect(host.printed.stderr).toBe('touch the key\n');
});

test("it runs in the user's shell, without listctl's own token and stdin", async () => {
  const host = testHost({ env: { ...path, SHELL: '/bin/sh', LISTCTL_TOKEN: 'not-for-it' }, stdin: 'data' });

  const token = await runTokenCommand('echo "$0-$(printenv LISTCTL_TOKEN)-$(cat)-"', 'prod', host);

  expect(token).toBe('/bin/sh---');
});

describe('what it may end in', () => {
  test.each([
    { command: 'echo not-a-word >&2; exit 4', says: 'the token-command of profile prod failed with exit code 4' },
    { command: 'echo half-a-token; exit 1', says: 'failed with exit code 1' },
    { command: 'true', says: 'printed nothing' },
    { command: 'echo "  "', says: 'printed nothing' },
    { command: 'kill -TERM $$', says: 'was ended by SIGTERM' },
    { command: 'head -c 100000 /dev/zero', says: 'printed more than a token' },
  ])('$command: $says', async ({ command, says }) => {
    await expect(runTokenCommand(command, 'prod', testHost({ env: path }))).rejects.toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining(says),
    });
  });

  test('one that takes too long is not waited for, nor what it started', async () => {
    const running = runTokenCommand('sleep 60 | sleep 60', 'prod', testHost({ env: path }), 200);

    await expect(running).rejects.toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining('within 0.2 s'),
    });
  });

  test('a shell that is not there is told', async () => {
    const host = testHost({ env: { ...path, SHELL: '/nonexistent/shell' } });

    await expect(runTokenCommand('echo x', 'prod', host)).rejects.toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining('could not be started'),
    });
  });

  test('a stop ends it', async () => {
    const stop = new AbortController();
    const running = runTokenCommand('sleep 60', 'prod', testHost({ env: path, signal: stop.signal }));

    stop.abort(new Stopped('SIGTERM'));

    await expect(running).rejects.toBeInstanceOf(Stopped);
  });
});
