/** A run over many rows as a process: signals, streams, locks and limits of the system. */
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Replay, readJournal } from '../../src/bulk/journal-read.ts';
import { bootId } from '../../src/bulk/record.ts';
import { faultProxy } from '../crash/fault-proxy.ts';
import { listContents } from '../crash/list-contents.ts';
import { makeJob } from '../crash/modes.ts';
import { listctl, shell } from '../support/listctl.ts';
import { serveDirectory, token } from '../support/served-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const items = '/sites/home/lists/tasks/items';

/** Chance that lets nothing go wrong. */
const noFaults = { next: () => 0.99, whole: () => 0, branch: () => noFaults };

/** A file with the given number of rows, and a service that responds to that many requests, each after a delay. */
async function manyRows(rows: number, { latencyMs = 0, answers = Number.POSITIVE_INFINITY } = {}) {
  const directory = await temporaryDirectory();
  const data = join(directory.path, 'items');
  const service = await serveDirectory(data, ['--latency', String(latencyMs)]);
  const proxy = await faultProxy(service.url, noFaults, { throttles: false, ignoresKeys: true });
  proxy.holdAfter(answers);
  const job = await makeJob('create', rows, listContents(service.url, items));
  const input = join(directory.path, 'rows.csv');
  await writeFile(input, job.csv);
  const environment = {
    HOME: directory.path,
    LISTCTL_STATE_DIR: directory.path,
    LISTCTL_BASE_URL: proxy.url,
    LISTCTL_TOKEN: token,
    LISTCTL_SITE: 'home',
    LISTCTL_LIST: 'tasks',
  };
  const words = ['items', 'create', '--from', input];
  const journal = () => {
    const name = readdirSync(join(directory.path, 'runs')).find((each) => each.endsWith('.journal')) ?? '';
    return join(directory.path, 'runs', name);
  };
  return {
    ...{ environment, words, proxy, rows, service },
    /** The directory of runs and their locks. */
    runs: join(directory.path, 'runs'),
    line: words.map((word) => `'${word}'`).join(' '),
    start: (...more: readonly string[]) => listctl([...words, ...more], environment),
    replay: async (): Promise<Replay> => {
      const replay = await readJournal(journal(), { boot: bootId() });
      if (replay === undefined) throw new Error('no run was begun');
      return replay;
    },
    /** How many items the list has of each row, in the order of the rows. */
    itemCounts: async () => {
      await proxy.settled();
      const found = await listContents(service.url, items).upTo(proxy.requests.length);
      const counts = Array.from({ length: rows }, () => 0);
      for (const { Row } of found.values()) counts[Number(Row) - 1] = (counts[Number(Row) - 1] ?? 0) + 1;
      return counts;
    },
    /** Resolves after the given number of requests. */
    requested: async (count: number) => {
      while (proxy.requests.length < count) await sleep(5);
    },
    [Symbol.asyncDispose]: async () => {
      await service.kill();
      await proxy.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

type ManyRows = Awaited<ReturnType<typeof manyRows>>;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The ids that were said to be done. */
function printedIds(stdout: string): readonly string[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line)).flatMap(({ status, id }) => (status === 'done' ? [id] : []));
}

const onceEach = (rows: number) => Array.from({ length: rows }, () => 1);

/** Goes on with a run, and expects that every row is there once. */
async function finish(many: ManyRows): Promise<void> {
  const { exitCode, stderr } = await many.start('--resume');
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(await many.itemCounts()).toEqual(onceEach(many.rows));
}

describe('a run that is asked to stop', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'P01, P02: on %s sends no further row, waits for pending responses, prints how to resume, and exits by the signal',
    async (signal) => {
      await using many = await manyRows(60, { latencyMs: 100 });
      const running = many.start('--concurrency', '8');
      await many.requested(6);

      const requestsBefore = many.proxy.requests.length;
      running.kill(signal);
      const ended = await running;

      // What was on its way to the wire when the signal came is among those under way.
      expect(many.proxy.requests.length).toBeLessThanOrEqual(requestsBefore + 8);
      expect(ended.signal).toBe(signal);
      expect(many.proxy.requests.every(({ answered }) => answered === 201)).toBe(true);
      const done = many.proxy.requests.length;
      expect(ended.stderr).toContain(`60 rows: ${done} created, ${60 - done} remaining`);
      expect(ended.stderr).toMatch(/resume with: listctl items create .*--resume$/m);
      expect(printedIds(ended.stdout)).toHaveLength(done);
      expect((await many.replay()).counts).toMatchObject({ done, inDoubt: 0, left: 60 - done });
      await finish(many);
    },
  );

  test('P01: twice does not wait, and what was under way is in doubt', { retry: 2 }, async () => {
    await using many = await manyRows(20, { answers: 1 });
    const running = many.start();
    await many.requested(5);

    running.kill('SIGINT');
    await sleep(200);
    const askedAgainAtMs = performance.now();
    running.kill('SIGINT');
    const ended = await running;

    expect(performance.now() - askedAgainAtMs).toBeLessThan(8000);
    expect(ended).toMatchObject({ signal: 'SIGINT', stdout: expect.stringContaining('"in-doubt"') });
    expect(ended.stderr).toContain('20 rows: 1 created, 4 in doubt, 15 remaining');
    expect(ended.stderr).toMatch(/resume with: listctl items create .*--resume$/m);
    expect((await many.replay()).counts).toMatchObject({ done: 1, inDoubt: 4, left: 15 });
  });

  test('P02: SIGTERM waits 10 s for answers, and no longer', async () => {
    await using many = await manyRows(20, { answers: 1 });
    const running = many.start();
    await many.requested(5);

    const askedAtMs = performance.now();
    // Not execa's own, which kills after 5 s.
    process.kill(running.pid ?? 0, 'SIGTERM');
    const ended = await running;

    expect(performance.now() - askedAtMs).toBeGreaterThan(9900);
    expect(performance.now() - askedAtMs).toBeLessThan(15_000);
    expect(ended).toMatchObject({ signal: 'SIGTERM' });
    expect((await many.replay()).counts).toMatchObject({ done: 1, inDoubt: 4, left: 15 });
  });

  test('P01: three times ends at once, with a journal that can be resumed', async () => {
    await using many = await manyRows(20, { answers: 1 });
    const running = many.start();
    await many.requested(5);

    // Apart, or the system makes one of them; and close, so that the third comes before the second has had its effect. On
    // a busy machine it makes one of them all the same, so they go on until the end.
    let hasEnded = false;
    void running.finally(() => {
      hasEnded = true;
    });
    for (let times = 1; !hasEnded; times += 1) {
      running.kill('SIGINT');
      await sleep(times < 3 ? 2 : 200);
    }

    expect((await running).signal).toBe('SIGINT');
    const { counts } = await many.replay();
    expect(counts.done + counts.inDoubt + counts.left).toBe(20);
    expect(counts.inDoubt).toBeGreaterThanOrEqual(4);
    many.proxy.holdAfter(Number.POSITIVE_INFINITY);
    const { exitCode } = await many.start('--resume', '--in-doubt', 'hold');
    expect(exitCode).toBe(8);
    expect(await many.itemCounts()).not.toContain(2);
  });
});

describe('a run whose reader closes the pipe', () => {
  test('P20: completes after its reader exits, and exits by its outcome', async () => {
    await using many = await manyRows(2000);

    const { stdout, stderr } = await shell(
      `{ listctl ${many.line} --quiet; echo "exit $?" >&2; } | head -1`,
      many.environment,
    );

    expect(stdout).toBe('{"row":1,"action":"create","status":"done","id":"1"}');
    expect(stderr).toContain('exit 0');
    expect((await many.replay()).counts).toMatchObject({ done: 2000 });
    expect(await many.itemCounts()).toEqual(onceEach(2000));
  });

  test.each([
    ['stdout', '>&-'],
    ['stderr', '2>&-'],
  ])('P21: does the same where %s is closed from the start', async (_, redirection) => {
    await using many = await manyRows(50);

    const { exitCode } = await shell(`listctl ${many.line} ${redirection}`, many.environment);

    expect(exitCode).toBe(0);
    expect(await many.itemCounts()).toEqual(onceEach(50));
  });

  test.skipIf(process.platform !== 'linux')(
    'P21: is 10 where they cannot be written, and what was done is recorded',
    async () => {
      await using many = await manyRows(3000);

      const { exitCode, stderr } = await shell(`listctl ${many.line} > /dev/full`, many.environment);

      expect(exitCode).toBe(10);
      expect(stderr).toContain('cannot write to standard output: no space left on the device');
      await many.proxy.settled();
      const done = many.proxy.requests.length;
      expect((await many.replay()).counts).toMatchObject({ done, inDoubt: 0, left: 3000 - done });
      await finish(many);
    },
  );
});

describe('a run that another process holds', () => {
  test('P23: is refused at once without a request, and names the process that holds the lock', {
    retry: 2,
  }, async () => {
    await using many = await manyRows(20, { answers: 1 });
    const first = many.start();
    await many.requested(5);

    const startedAtMs = performance.now();
    const { exitCode, stdout, stderr } = await many.start();
    const tookMs = performance.now() - startedAtMs;

    expect({ exitCode, stdout }).toEqual({ exitCode: 11, stdout: '' });
    expect(tookMs).toBeLessThan(8000);
    expect(stderr).toContain(
      `is in progress in process ${first.pid} on ${hostname()}, since ${new Date().toISOString().slice(0, 10)}`,
    );
    expect(many.proxy.requests).toHaveLength(5);
    first.kill('SIGKILL');
    await first;
  });

  test('P24: is resumed as soon as that process is killed', async () => {
    await using many = await manyRows(20, { answers: 1 });
    const first = many.start('--concurrency', '4');
    await many.requested(5);
    first.kill('SIGKILL');
    await first;
    const locks = () => readdirSync(many.runs).filter((name) => name.endsWith('.lock'));
    expect(locks()).toHaveLength(1);

    const second = many.start('--resume', '--concurrency', '4');
    await many.requested(6);
    second.kill('SIGINT');
    await sleep(200);
    second.kill('SIGINT');
    await second;

    expect(locks()).toEqual([]);
    expect((await many.replay()).counts).toMatchObject({ done: 1, inDoubt: 5, left: 14 });
  });
});

test('P26: 32 open files are enough for four requests at once', async () => {
  await using many = await manyRows(300);

  const { exitCode, stderr } = await shell(`ulimit -n 32; listctl ${many.line} --concurrency 4`, many.environment);

  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('300 rows: 300 created') });
  expect(await many.itemCounts()).toEqual(onceEach(300));
});

test.each([
  ['<&-', 2, 'cannot read standard input: it is closed'],
  ['< .', 2, 'cannot read standard input: it is a directory'],
  ['< /dev/null', 0, '0 rows'],
])('E5: a stdin that is %s ends with %i', async (redirection, status, says) => {
  const environment = { LISTCTL_BASE_URL: 'http://127.0.0.1:9/v1.0', LISTCTL_TOKEN: token };
  const words = 'items create -s home -l tasks --dry-run --input-format jsonl --from -';
  await using directory = await temporaryDirectory();

  const { exitCode, stderr } = await shell(`listctl ${words} ${redirection}`, {
    ...environment,
    LISTCTL_STATE_DIR: directory.path,
  });

  expect([exitCode, stderr]).toEqual([status, expect.stringContaining(says)]);
});
