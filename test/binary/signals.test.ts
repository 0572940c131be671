/** Signals at any moment: as an ordinary process, and as process 1, which the kernel protects from them. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, kill } from 'node:process';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { listctl, listctlFile, testNode } from '../support/listctl.ts';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Makes its command process 1 of a namespace of its own; where users may do so, as root does. */
const namespace = [[], ['--user', '--map-root-user']]
  .map((more) => ['unshare', ...more, '--pid', '--fork', '--kill-child'])
  .find(([file = '', ...args]) => spawnSync(file, [...args, 'true']).status === 0);

test.each([{ words: ['items', 'get', '1'] }, { words: ['items', 'get', '--from', 'ids.txt'] }])(
  'SIGUSR1 opens no inspector: $words',
  async ({ words }) => {
    let answer = () => {};
    const after = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await using service = await scriptedService({ status: 200, body: { id: '1', fields: {} }, after });
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, 'ids.txt'), '1\n');

    const running = listctl([...words, '-o', 'id', '--quiet'], environmentFor(service), { cwd: directory.path });
    await expect.poll(() => service.requests.length).toBe(1);
    running.kill('SIGUSR1');
    answer();

    expect(await running).toMatchObject({ exitCode: 0, stdout: '1', stderr: '' });
  },
);

test('serve opens no inspector either', async () => {
  await using directory = await temporaryDirectory();
  const running = listctl(['serve', '--port', '0', '--data', directory.path, '-o', 'json']);
  running.stdout.once('data', () => {
    running.kill('SIGUSR1');
    running.kill('SIGTERM');
  });

  expect(await running).toMatchObject({ signal: 'SIGTERM', stderr: expect.not.stringContaining('Debugger') });
});

test('a signal while rows are compared with those of the run before releases the lock', async () => {
  await using service = await scriptedService({ status: 400, body: {} }, { status: 201, silent: true });
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'rows.csv');
  const words = ['items', 'create', '--from', file, '--journal', 'j.journal', '--fail-fast', '--concurrency', '1'];
  const options = { cwd: directory.path };
  const lock = join(directory.path, 'j.journal.lock');
  writeFileSync(file, longFile('before'));
  expect(await listctl(words, environmentFor(service), options)).toMatchObject({ exitCode: 9 });
  writeFileSync(file, longFile('after'));

  const running = listctl([...words, '--resume'], environmentFor(service), options);
  await expect.poll(() => existsSync(lock), { interval: 5 }).toBe(true);
  running.kill('SIGTERM');

  expect(await running).toMatchObject({ signal: 'SIGTERM', stdout: '' });
  expect(existsSync(lock)).toBe(false);
});

// Where namespaces are not permitted, as in many containers, process 1 cannot be had.
describe.skipIf(namespace === undefined)('process 1', () => {
  test.each(['SIGHUP', 'SIGINT', 'SIGTERM'] as const)('ends by %s while a response is waited for', async (signal) => {
    await using service = await scriptedService({ status: 200, silent: true });
    await using init = asInit(['items', 'get', '1'], environmentFor(service));
    await expect.poll(() => service.requests.length).toBe(1);

    init.kill(signal);

    expect(await init.running).toMatchObject({ exitCode: exitCodes[signal] });
  });

  test.each([
    {
      phase: 'a token is waited for',
      words: ['auth', 'login', '--with-token', '--no-check', '--base-url', 'https://x.example'],
    },
    { phase: 'rows are waited for', words: ['items', 'create', '--from', '-', '-s', 's', '-l', 'l', '--local'] },
    { phase: 'a file is checked', words: ['items', 'create', '--from', 'rows.csv', '-s', 's', '-l', 'l', '--local'] },
  ])('ends by SIGTERM while $phase', async ({ words }) => {
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, 'rows.csv'), longFile('end'));
    await using init = asInit(words, { HOME: directory.path }, directory.path);
    await expect.poll(() => init.isHandling()).toBe(true);

    init.kill('SIGTERM');

    expect(await init.running).toMatchObject({ exitCode: exitCodes.SIGTERM, stdout: '' });
  });

  test('ends by a second SIGINT without waiting for responses', async () => {
    await using service = await scriptedService({ status: 201, silent: true });
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, 'rows.csv'), 'Title\na\n');
    const words = ['items', 'create', '--from', 'rows.csv', '--journal', 'j.journal'];
    await using init = asInit(words, environmentFor(service), directory.path);
    await expect.poll(() => service.requests.length).toBe(1);

    // Apart, or the system makes one of them.
    const timer = setInterval(() => init.kill('SIGINT'), 200);
    const ended = await init.running.finally(() => clearInterval(timer));

    expect(ended).toMatchObject({ exitCode: exitCodes.SIGINT });
  });
});

/** Rows that take a moment to check. */
function longFile(last: string): string {
  return `Title\n${'a row\n'.repeat(20_000)}${last}\n`;
}

/** listctl as process 1, its stdin open. */
function asInit(words: readonly string[], environment: Readonly<Record<string, string>>, cwd?: string) {
  const [file = '', ...args] = namespace ?? [];
  const running = execa(file, [...args, testNode, listctlFile, ...words], {
    ...{ reject: false, extendEnv: false, stdin: 'pipe', ...(cwd === undefined ? {} : { cwd }) },
    env: { PATH: env['PATH'], HOME: '/nonexistent', ...environment },
  });
  const pid = () => childOf(running.pid ?? 0);
  return {
    running,
    kill: (signal: NodeJS.Signals) => {
      const id = pid();
      if (id !== undefined) kill(id, signal);
    },
    /** Whether it has come to handle signals: SIGHUP, since Node itself catches the others. */
    isHandling: () => {
      const id = pid();
      const status = id === undefined ? '' : readFileSync(`/proc/${id}/status`, 'utf8');
      const [, caught = '0'] = /^SigCgt:\s*(\w+)$/m.exec(status) ?? [];
      return (BigInt(`0x${caught}`) & 1n) === 1n;
    },
    [Symbol.asyncDispose]: async () => {
      running.kill('SIGKILL');
      await running;
    },
  };
}

/** Undefined if there is none yet, or none any more. */
function childOf(id: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${id}/task/${id}/children`, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}
