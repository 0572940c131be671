/** N41: a service that is gone for a while in the middle of a run. */
import { describe, expect, test } from 'vitest';
import { main } from '../../../src/main.ts';
import { testHost } from '../../support/test-host.ts';
import { titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

/** How long the service is unreachable. */
const goneMs = 60_000;

const updates = ['items', 'update', '-f', 'a=1', '-o', 'none'] as const;

describe('N41', () => {
  test.each(['nobody listens', 'connections are cut', 'a gateway answers 502'] as const)(
    'updates while %s for a minute: one probe at a time, then all rows are done, none burned',
    async (how) => {
      const { exitCode, probes, end, probesAtOnceMax } = await runThrough(how, updates);

      expect(exitCode).toBe(0);
      expect(end).toMatchObject({ done: 300, failed: 0, inDoubt: 0, left: 0 });
      expect(probesAtOnceMax).toBe(how === 'a gateway answers 502' ? 1 : 0);
      // Those under way, and those that it took to know; then probes, each at least five seconds after the last.
      expect(end.sent).toBeLessThanOrEqual(300 + 32 + 8 + 6);
      if (how !== 'nobody listens') expect(probes.length).toBeGreaterThan(1);
      for (const [index, atMs] of probes.entries()) {
        if (index > 0) expect(atMs - (probes[index - 1] ?? 0)).toBeGreaterThanOrEqual(4999);
      }
    },
  );

  test('creates during an outage are never sent: all complete, none in doubt except those that were cut off', async () => {
    const { exitCode, end, items } = await runThrough('nobody listens', ['items', 'create', '-o', 'none']);

    // What was under way when it went down may have been done.
    expect(end.inDoubt).toBeLessThanOrEqual(32);
    expect(exitCode).toBe(end.inDoubt === 0 ? 0 : 8);
    expect(end).toMatchObject({ failed: 0, left: 0, done: 300 - end.inDoubt });
    expect(items).toBeGreaterThanOrEqual(300 - end.inDoubt);
  });

  test('creates with an honored key: all are done, each once', async () => {
    const words = ['items', 'create', '-o', 'none', '--idempotency', 'honored'];

    const { exitCode, items } = await runThrough('connections are cut', words);

    expect([exitCode, items]).toEqual([0, 300]);
  });

  test.each([
    { how: 'nobody listens', exit: 7 },
    { how: 'a gateway answers 502', exit: 6 },
  ] as const)('reads while $how for longer than --max-wait: $exit, the rest remaining', async ({ how, exit }) => {
    const run = await runThrough(how, ['items', 'get', '-o', 'none', '--max-wait', '30']);

    expect(run.exitCode).toBe(exit);
    expect(run.stderr).toMatch(/gave up: service unreachable for longer than --max-wait/);
    expect(run.stderr).toMatch(/^300 rows: \d+ read, \d+ remaining; /m);
    expect(run.stderr).not.toContain('failed');
  });

  test('updates while a gateway answers 502 for longer than --max-wait: 8, those that were sent in doubt', async () => {
    const { exitCode, end } = await runThrough('a gateway answers 502', [...updates, '--max-wait', '30']);

    expect(exitCode).toBe(8);
    expect(end.failed).toBe(0);
    expect(end.inDoubt).toBeLessThanOrEqual(8 + 32);
    expect(end.left).toBe(300 - end.done - end.inDoubt);
  });

  test('and --resume does the rest when it is back', async () => {
    let isGone = false;
    const { world } = await listWorld(({ nth, id }) => {
      isGone ||= nth === 100;
      return isGone ? { status: 502 } : { status: 200, body: { id, fields: {} } };
    });
    const words = [...updates, '--from', world.file('ids.txt', ids), '--max-wait', '30'];

    const stopped = await world.run(words);
    isGone = false;
    const resumed = await world.run([...words, '--resume']);

    expect([stopped.exitCode, resumed.exitCode]).toEqual([8, 0]);
    expect(world.records().at(-1)).toMatchObject(['E', { done: 300, failed: 0, inDoubt: 0, left: 0 }]);
  });
});

const ids = `${Array.from({ length: 300 }, (_, index) => `i${index + 1}`).join('\n')}\n`;

/** A run over 300 rows whose service goes away at the hundredth request; the clock jumps by what is slept. */
async function runThrough(
  how: 'nobody listens' | 'connections are cut' | 'a gateway answers 502',
  words: readonly string[],
) {
  const gone = { atMs: Number.POSITIVE_INFINITY, underWay: 0, atOnceMax: 0, isBack: false };
  const probes: number[] = [];
  const isGoneAt = (ms: number) => ms >= gone.atMs && ms < gone.atMs + goneMs;
  const clock = { ms: () => 0 };
  const whileGone = (sinceMs: number, goDown: () => void) => {
    const isProbe = sinceMs > 4000;
    if (isProbe) probes.push(sinceMs);
    if (how === 'a gateway answers 502') return { status: 502, after: isProbe ? probe(gone) : Promise.resolve() };
    if (how === 'nobody listens') goDown();
    return { status: 0, cut: true };
  };
  const { service, world } = await listWorld(({ nth, id, method, fields }) => {
    if (nth === 100) gone.atMs = clock.ms();
    if (isGoneAt(clock.ms())) return whileGone(clock.ms() - gone.atMs, () => void service.goDown());
    return method === 'POST' ? undefined : { status: 200, body: { id, fields } };
  }, true);
  const made = testHost({ cwd: world.path, env: world.env });
  clock.ms = made.clock.monotonicMs;
  const sleep = async (ms: number, signal: AbortSignal) => {
    await made.clock.sleep(ms, signal);
    if (how !== 'nobody listens' || gone.isBack || made.clock.monotonicMs() < gone.atMs + goneMs) return;
    gone.isBack = true;
    await service.comeBack();
  };
  const host = { ...made, clock: { ...made.clock, sleep } };
  const file = words.includes('create') ? world.file('a.csv', titles(300)) : world.file('ids.txt', ids);

  const exitCode = await main([...words, '--from', file], host);

  const last = world.records().at(-1);
  const none = { done: 0, failed: 0, inDoubt: 0, left: 0, sent: 0 };
  return {
    ...{ exitCode, probes, stderr: made.printed.stderr, items: service.items.size },
    end: last?.[0] === 'E' ? last[1] : none,
    probesAtOnceMax: gone.atOnceMax,
  };
}

/** Takes a moment to answer, so that a second probe would be seen beside it. */
async function probe(gone: { underWay: number; atOnceMax: number }): Promise<void> {
  gone.underWay += 1;
  gone.atOnceMax = Math.max(gone.atOnceMax, gone.underWay);
  await new Promise((resolve) => setTimeout(resolve, 20));
  gone.underWay -= 1;
}
