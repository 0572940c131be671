/** A token command, in a real shell. */
import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { tokenCommandRunner } from '../../../src/cli/connect.ts';
import { runTokenCommand } from '../../../src/cli/token-command.ts';
import { Stopped } from '../../../src/core/errors.ts';
import { testHost, type World } from '../../support/test-host.ts';

const path = { PATH: process.env['PATH'] ?? '' };
const name = 'the token-command of profile prod';

/** A host on which time passes. */
function hastyHost(world: World = {}) {
  const host = testHost({ env: path, ...world });
  const every = (ms: number, work: () => void) => {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  };
  return { ...host, clock: { ...host.clock, every } };
}

/** What commands left in the background: each prints its id on stderr. */
const left: number[] = [];
afterEach(() => {
  for (const id of left.splice(0)) {
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
});

test('its output is the token, trimmed; its stderr goes to stderr', async () => {
  const host = testHost({ env: path });

  const token = await runTokenCommand('printf " one-token\\n\\n"; echo "touch the key" >&2', name, host);

  expect(token).toBe('one-token');
  expect(host.printed.stderr).toBe('touch the key\n');
});

test('its stderr cannot steer the terminal, and the token in it is masked', async () => {
  const host = testHost({ env: path });

  // In base64, too.
  const said = 'printf "\\033[2Jgot one-token\\r\\nb25lLXRva2Vu\\n" >&2';
  await runTokenCommand(`${said}; printf one-token`, name, host);

  expect(host.printed.stderr).toBe('\\x1b[2Jgot ***\n***\n');
});

test("it runs in the user's shell, without stdin and the variables that give listctl its token", async () => {
  const variables = { LISTCTL_TOKEN: 'not-for-it', LISTCTL_TOKEN_COMMAND: 'not-for-it' };
  const host = testHost({ env: { ...path, SHELL: '/bin/sh', ...variables }, stdin: 'data' });

  const token = await runTokenCommand('echo "$0-$(env | grep -c LISTCTL_TOKEN)-$(cat)-"', name, host);

  expect(token).toBe('/bin/sh-0--');
});

test.each(['2>/dev/null', '>/dev/null'])(
  'what it leaves in the background with %s is not waited for',
  async (closed) => {
    const host = testHost({ env: path });

    const token = await runTokenCommand(`sleep 60 ${closed} & echo $! >&2; printf one-token`, name, host);

    left.push(Number(host.printed.stderr));
    expect(token).toBe('one-token');
    expect(isRunning(left[0] ?? 0)).toBe(true);
  },
);

test('of output that fills the pipe nothing is lost at the exit', async () => {
  const host = testHost({ env: path });

  const token = await runTokenCommand('head -c 65000 /dev/zero | tr "\\0" a', name, host);

  expect(token).toHaveLength(65_000);
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
    await expect(runTokenCommand(command, name, testHost({ env: path }))).rejects.toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining(says),
    });
  });

  test('one that takes too long is ended with what it started', async () => {
    const host = hastyHost();

    const running = runTokenCommand('sleep 60 & echo $! >&2; wait', name, host, 200);

    await expect(running).rejects.toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining('within 0.2 s'),
    });
    left.push(Number(host.printed.stderr));
    await expect.poll(() => isRunning(left[0] ?? 0)).toBe(false);
  });

  test('reports a missing shell', async () => {
    const host = testHost({ env: { ...path, SHELL: '/nonexistent/shell' } });

    await expect(runTokenCommand('echo x', name, host)).rejects.toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining('could not be started'),
    });
  });

  test.each(['a stop', 'the signal of its caller'])('%s ends it, and what it started', async (by) => {
    const [stop, caller] = [new AbortController(), new AbortController()];
    const host = hastyHost({ signal: stop.signal });
    const running = tokenCommandRunner(host, false)('sleep 60 & echo $! >&2; wait', name, caller.signal);
    await expect.poll(() => host.printed.stderr).not.toBe('');

    (by === 'a stop' ? stop : caller).abort(new Stopped('SIGTERM'));

    await expect(running).rejects.toBeInstanceOf(Stopped);
    left.push(Number(host.printed.stderr));
    await expect.poll(() => isRunning(left[0] ?? 0)).toBe(false);
  });
});

/** Whether a process runs: one that has ended and is not yet waited for does not. */
function isRunning(id: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(id)], { encoding: 'utf8' });
  return /^[^Z]/.test(stdout);
}
