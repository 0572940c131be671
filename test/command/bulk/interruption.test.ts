/** Ctrl-C, a reader that goes away, a device that is full (P01, P02, P20, P21), in this process. */
import { describe, expect, vi } from 'vitest';
import { Failure, Stopped } from '../../../src/core/errors.ts';
import type { Output } from '../../../src/core/host.ts';
import { main } from '../../../src/main.ts';
import { testHost } from '../../support/test-host.ts';
import { create, endOf, jsonLines, type ManyWorld, manyWorld, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { type ListRequest, listService } from './list-service.ts';

describe('a stop', () => {
  test.each([
    { signal: 'SIGINT', exit: 130 },
    { signal: 'SIGTERM', exit: 143 },
    { signal: 'SIGHUP', exit: 129 },
  ] as const)(
    'P01, P02: $signal: sends no new row, waits for pending ones, and prints how to resume: $exit',
    async ({ signal, exit }) => {
      const stopping = new AbortController();
      const { service, world } = await listWorld(({ nth }) => {
        if (nth === 20) stopping.abort(new Stopped(signal));
        return undefined;
      });
      const words = create(world.file('a.csv', titles(200)), '-o', 'none');

      const stopped = await stoppable(world, words, { signal: stopping.signal });
      const { done, inDoubt, left } = endOf(world);
      const sent = service.requests.length;
      const resumed = await world.run([...words, '--resume']);

      expect([stopped.exitCode, resumed.exitCode]).toEqual([exit, 0]);
      expect(sent).toBeLessThan(20 + 32);
      expect([done, inDoubt, left]).toEqual([sent, 0, 200 - sent]);
      expect(stopped.stderr).toMatch(/resume with: listctl items create --from .*a\.csv -o none --resume/);
      expect([service.items.size, service.requests.length]).toEqual([200, 200]);
    },
  );

  test('P01: a second one does not wait: what was under way is in doubt, 130', async () => {
    const [stopping, forceStopping] = [new AbortController(), new AbortController()];
    const { service, world } = await listWorld(({ nth }) => {
      if (nth < 5) return undefined;
      if (nth === 5) stopping.abort(new Stopped('SIGINT'));
      setTimeout(() => forceStopping.abort(new Stopped('SIGINT')), 50);
      return { status: 0, silent: true };
    });
    const words = create(world.file('a.csv', titles(50)), '-o', 'none');

    const { exitCode, stderr } = await stoppable(world, words, {
      signal: stopping.signal,
      forceStop: forceStopping.signal,
    });

    const { done, inDoubt, left } = endOf(world);
    expect(exitCode).toBe(130);
    expect([done, inDoubt, left]).toEqual([4, service.requests.length - 4, 50 - service.requests.length]);
    expect(inDoubt).toBeGreaterThan(0);
    expect(stderr).toMatch(/--in-doubt/);
  });

  test('before the first row is 130, with nothing sent', async ({ service, world }) => {
    const stopping = new AbortController();
    stopping.abort(new Stopped('SIGINT'));

    const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(5))), { signal: stopping.signal });

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 130, stdout: '', requests: [] });
  });

  test('in a pause ends it at once: rows that wait for their turn are remaining', async () => {
    const stopping = new AbortController();
    const { service, world } = await listWorld(({ nth }) => {
      if (nth < 10) return undefined;
      if (nth === 12) setTimeout(() => stopping.abort(new Stopped('SIGINT')), 20);
      return { status: 429, headers: { 'retry-after': '600' } };
    });
    const words = create(world.file('a.csv', titles(50)), '-o', 'none', '--concurrency', '1');
    const made = testHost({ cwd: world.path, env: world.env, signal: stopping.signal });
    // A clock whose long waits last until they are aborted.
    const sleep = (ms: number, signal: AbortSignal) =>
      ms < 1000
        ? made.clock.sleep(ms, signal)
        : new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

    const exitCode = await main(words, { ...made, clock: { ...made.clock, sleep } });

    expect([exitCode, service.requests.length]).toEqual([130, 12]);
    expect(endOf(world)).toMatchObject({ done: 9, failed: 0, inDoubt: 0, left: 41 });
  });

  test('of a read waits for nothing', async () => {
    const stopping = new AbortController();
    const { world } = await listWorld(({ nth, id }) => {
      if (nth <= 3) return { status: 200, body: { id, fields: {} } };
      stopping.abort(new Stopped('SIGINT'));
      return { status: 0, silent: true };
    });
    const ids = world.file('ids.txt', Array.from({ length: 40 }, (_, index) => `${index}`).join('\n'));

    const { exitCode, stdout } = await world.run(['items', 'get', '--from', ids, '--concurrency', '1'], {
      signal: stopping.signal,
    });

    expect(exitCode).toBe(130);
    expect(jsonLines(stdout)).toHaveLength(3);
  });
});

describe('stdout', () => {
  test('P20: completes every row after its reader has closed the pipe, 0', async ({ service, world }) => {
    const host = testHost({ cwd: world.path, env: world.env });
    const stdout: Output = { ...host.stdout, isClosed: true, write: async () => {} };

    const exitCode = await main(create(world.file('a.csv', titles(100))), { ...host, stdout });

    expect([exitCode, service.items.size]).toEqual([0, 100]);
  });

  test('P21: a full device is 10 with its reason, and what was done is recorded', async ({ service, world }) => {
    const host = testHost({ cwd: world.path, env: world.env });
    const write = async () => {
      throw new Failure('local-file', 'cannot write standard output: no space left on the device');
    };
    const words = create(world.file('a.csv', titles(6000)));

    const exitCode = await main(words, { ...host, stdout: { ...host.stdout, write } });
    const sent = service.requests.length;
    const { done, inDoubt, left } = endOf(world);
    const resumed = await world.run([...words, '--resume', '-o', 'none']);

    expect(exitCode).toBe(10);
    expect(host.printed.stderr).toContain('no space left');
    expect([done, inDoubt, left]).toEqual([sent, 0, 6000 - sent]);
    expect([resumed.exitCode, service.items.size]).toEqual([0, 6000]);
  });

  test('is waited for: results that it does not take hold back new rows', async ({ service, world }) => {
    const host = testHost({ cwd: world.path, env: world.env });
    let open: () => void = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const write = async (text: string | Uint8Array) => {
      await opened;
      await host.stdout.write(text);
    };
    const words = create(world.file('a.csv', titles(6000)));

    const running = main(words, { ...host, stdout: { ...host.stdout, write } });
    // The window, and what a batch of output holds; then it sends no more, however long it is waited for.
    await vi.waitFor(() => expect(service.requests.length).toBeGreaterThanOrEqual(4096), { timeout: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const held = service.requests.length;
    open();
    await running;

    expect(held).toBeLessThan(6000);
  });
});

test('progress off a terminal is a plain line now and then; nothing with --quiet', async () => {
  const lines: string[] = [];
  for (const more of [[], ['--quiet']]) {
    await using world = await manyWorld({ url: '' });
    const ticks: (() => void)[] = [];
    const made = testHost({ cwd: world.path, env: world.env });
    const tick = ({ nth }: ListRequest) => {
      if (nth === 30) for (const work of ticks) work();
      return undefined;
    };
    await using service = await listService(tick);
    const every = (_: number, work: () => void) => {
      ticks.push(work);
      return () => {};
    };
    const env = { ...world.env, LISTCTL_BASE_URL: service.url };
    const words = create(world.file('a.csv', titles(60)), '-o', 'none', '--concurrency', '1', ...more);

    expect(await main(words, { ...made, env, clock: { ...made.clock, every } })).toBe(0);
    lines.push(made.printed.stderr);
  }

  expect(lines[0]).toMatch(/^.*\b(29|30)\b.*\b60\b.*\n60 rows: 60 created/);
  expect(lines[1]).toBe('');
});

async function stoppable(
  world: ManyWorld,
  words: readonly string[],
  {
    signal,
    forceStop = new AbortController().signal,
  }: { readonly signal: AbortSignal; readonly forceStop?: AbortSignal },
) {
  const made = testHost({ cwd: world.path, env: world.env, signal, forceStop });
  // The grace of a stop is real time here: the test's clock would end it at once.
  const sleep = (ms: number, stop: AbortSignal) =>
    ms >= 10_000
      ? new Promise<void>((_, reject) => stop.addEventListener('abort', () => reject(stop.reason)))
      : made.clock.sleep(ms, stop);
  const exitCode = await main(words, { ...made, clock: { ...made.clock, sleep } });
  return { exitCode, ...made.printed };
}
