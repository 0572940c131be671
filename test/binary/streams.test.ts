import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { listctl, listctlFile, shell, testNode } from '../support/listctl.ts';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const large = { id: '7', fields: { Title: 'x'.repeat(5_000_000) } };
const milk = { id: '17', fields: { Title: 'Buy milk' } };

/** The item that was requested. */
const itemOf = ({ path }: { readonly path: string }) => ({ ...milk, id: path.split('/').at(-1) });

test('5 MB arrive through a pipe, to the last byte', async () => {
  await using service = await scriptedService({ status: 200, body: large });

  const { exitCode, stdout, stderr } = await listctl(['items', 'get', '7', '-o', 'jsonl'], environmentFor(service));

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout === JSON.stringify(large)).toBe(true);
});

test('5 MB arrive through a pipe whose reader is slow and which does not block', async () => {
  await using service = await scriptedService({ status: 200, body: large });
  const running = listctl(['items', 'get', '7', '-o', 'jsonl'], environmentFor(service), { buffer: false });
  let received = 0;

  // A Node parent's pipe is a socket that does not block: what it cannot take at once must be waited for.
  for await (const chunk of running.stdout) {
    received += (chunk as Buffer).length;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  expect((await running).exitCode).toBe(0);
  expect(received).toBe(JSON.stringify(large).length + 1);
});

test('a reader that closes the pipe early is not an error', async () => {
  await using service = await scriptedService({ status: 200, body: large });
  const running = listctl(['items', 'get', '7'], environmentFor(service));

  running.stdout.once('data', () => running.stdout.destroy());

  expect(await running).toMatchObject({ exitCode: 0, stderr: '' });
});

test('stops requesting the items of a file once the reader has closed the pipe', async () => {
  await using service = await scriptedService({ status: 200, body: itemOf });
  await using directory = await temporaryDirectory();
  const ids = join(directory.path, 'ids.txt');
  writeFileSync(ids, Array.from({ length: 5000 }, (_, at) => `${at + 1}\n`).join(''));
  const line = `{ listctl items get --from '${ids}' -o jsonl; echo "exit $?" >&2; } | head -n 1`;

  const { stdout, stderr } = await shell(line, environmentFor(service));

  expect(stdout).toBe('{"id":"1","fields":{"Title":"Buy milk"}}');
  expect(stderr).toMatch(/^{"summary":{.*"left":[1-9].*\nexit 0$/);
  expect(service.requests.length).toBeLessThan(4000);
});

test('reports earlier failures by the exit code after the reader has closed the pipe', async () => {
  await using service = await scriptedService({ status: 404, body: { error: 'gone' } }, { status: 200, body: itemOf });
  await using directory = await temporaryDirectory();
  const ids = join(directory.path, 'ids.txt');
  writeFileSync(ids, Array.from({ length: 5000 }, (_, at) => `${at + 1}\n`).join(''));
  const line = `{ listctl items get --from '${ids}' -o jsonl; echo "exit $?" >&2; } | head -n 1`;

  const { stderr } = await shell(line, environmentFor(service));

  expect(stderr).toMatch(/"message":"1 row was not read"}}\nexit 9$/);
  expect(service.requests.length).toBeLessThan(4000);
});

test.skipIf(process.platform === 'win32')('absolute paths work if the current directory was removed', async () => {
  await using directory = await temporaryDirectory();
  const rows = join(directory.path, 'rows.csv');
  writeFileSync(rows, 'Title\na\n');
  const words = '--from "$1" --local -s s -l l --dry-run -o jsonl';
  const line = `cd '${directory.path}' && mkdir gone && cd gone && rmdir ../gone && listctl items create`;

  const whole = await shell(`${line} ${words.replace('$1', rows)}`, { HOME: directory.path });
  const below = await shell(`${line} ${words.replace('$1', 'rows.csv')}`, { HOME: directory.path });

  expect(whole).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"Title":"a"') });
  expect(below).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot read rows.csv') });
});

test('a write completes after its reader has closed the pipe, and exits by its outcome', async () => {
  await using service = await scriptedService({ status: 201, body: milk });
  const { stderr } = await shell('{ listctl items create -f Title=x; echo $? >&2; } | true', environmentFor(service));

  expect(stderr).toBe('0');
  expect(service.requests).toHaveLength(1);
});

test.skipIf(process.platform !== 'linux')('a full device is exit code 10, with a message', async () => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = environmentFor(service);

  const read = await shell('listctl items get 17 > /dev/full', env);
  const page = await shell('listctl --help > /dev/full', env);
  const silent = await shell('listctl items get 17 > /dev/full 2>&1', env);

  expect(read).toMatchObject({
    exitCode: 10,
    stderr: 'listctl: cannot write to standard output: no space left on the device',
  });
  expect(page).toMatchObject({ exitCode: 10 });
  expect(silent).toMatchObject({ exitCode: 10 });
});

test.skipIf(process.platform !== 'linux')('an item that was stored says so where it cannot be printed', async () => {
  await using service = await scriptedService({ status: 201, body: milk });

  const { exitCode, stderr } = await shell('listctl items create -f a=1 > /dev/full', environmentFor(service));

  expect(exitCode).toBe(10);
  expect(stderr).toContain('item 17 was created, but could not be printed: cannot write to standard output');
});

test('closed streams crash nothing', async () => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = environmentFor(service);

  const noStderr = await shell('listctl items get 17 2>&-', env);
  const noStdin = await shell('listctl items get 17 <&-', env);
  const noStdout = await shell('listctl items get 17 >&-', env);

  expect(noStderr).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Buy milk') });
  expect(noStdin).toMatchObject({ exitCode: 0, stderr: '' });
  expect(noStdout).toMatchObject({ exitCode: 0, stderr: '' });
});

test('a signal ends a read at once, as a shell expects it to', async () => {
  await using service = await scriptedService({ status: 200, silent: true });
  const running = listctl(['items', 'get', '17'], environmentFor(service));
  await requestsOf(service, 1);

  running.kill('SIGINT');

  expect(await running).toMatchObject({ signal: 'SIGINT', stdout: '' });
});

test.each([
  { words: ['items', 'create', '-f', 'a=1', '--idempotency-key', 'k1'], sent: 1 },
  { words: ['items', 'update', '17', '-f', 'a=1'], sent: 1 },
  { words: ['items', 'delete', '17', '18'], sent: 2 },
])(
  'a signal during $words waits a moment for the response, and then says that it is in doubt',
  async ({ words, sent }) => {
    await using service = await scriptedService({ status: 200, silent: true });
    const running = listctl([...words, '-o', 'json'], environmentFor(service));
    await requestsOf(service, sent);

    running.kill('SIGTERM');

    const { exitCode, stdout, stderr } = await running;
    expect({ exitCode, stdout }).toEqual({ exitCode: 8, stdout: '' });
    const last = JSON.parse(stderr.split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ error: { kind: 'in-doubt', exit: 8, message: expect.stringContaining('in doubt') } });
    if (words.includes('k1')) expect(last).toMatchObject({ error: { idempotencyKey: 'k1' } });
  },
);

test('a write that is answered in the moment after a signal is done, and says so', async () => {
  let answer = () => {};
  const after = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await using service = await scriptedService({ status: 201, body: milk, after });
  const running = listctl(['items', 'create', '-f', 'a=1', '-o', 'id'], environmentFor(service));
  await requestsOf(service, 1);

  running.kill('SIGTERM');
  setTimeout(answer, 100);

  expect(await running).toMatchObject({ exitCode: 0, stdout: '17', stderr: '' });
});

describe.skipIf(process.platform === 'win32')('a pipe that does not block', () => {
  test('takes everything, as fast as its reader reads', async () => {
    await using service = await scriptedService({ status: 200, body: large });
    await using directory = await temporaryDirectory();
    const { pipe, ended } = await getInto(directory.path, service);
    let received = 0;

    for await (const chunk of pipe) received += (chunk as Buffer).length;

    expect(await ended).toEqual({ exitCode: 0, stderr: '' });
    expect(received).toBe(JSON.stringify(large).length + 1);
  });

  test('may be closed by its reader: that is no error', async () => {
    await using service = await scriptedService({ status: 200, body: large });
    await using directory = await temporaryDirectory();
    const { pipe, ended } = await getInto(directory.path, service);

    for await (const _ of pipe) {
      // Until the pipe is full, and the program waits for it.
      await new Promise((resolve) => setTimeout(resolve, 300));
      break;
    }

    expect(await ended).toEqual({ exitCode: 0, stderr: '' });
  });
});

/** Reads a large item into a named pipe whose writing end does not block: what it cannot take at once must wait. */
async function getInto(directory: string, service: { readonly url: string }) {
  const path = join(directory, 'pipe');
  await execa('mkfifo', [path]);
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  const readingEnd = openSync(path, O_RDONLY | O_NONBLOCK);
  const writingEnd = openSync(path, O_WRONLY | O_NONBLOCK);
  const command = ['exec "$@" >&3', 'sh', testNode, listctlFile, 'items', 'get', '7', '-o', 'jsonl'];
  const child = spawn('sh', ['-c', ...command], {
    env: { PATH: process.env['PATH'], HOME: directory, ...environmentFor(service) },
    // Through a fourth stream: Node makes the first three of a child block.
    stdio: ['ignore', 'ignore', 'pipe', writingEnd],
  });
  closeSync(writingEnd);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = once(child, 'close').then(([exitCode]) => ({ exitCode, stderr }));
  return { pipe: new Socket({ fd: readingEnd, readable: true, writable: false }), ended };
}

async function requestsOf(service: { readonly requests: readonly unknown[] }, count: number): Promise<void> {
  while (service.requests.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
}
