/** When a row is sent again, and what counts against it (N24 to N41). */
import { describe, expect } from 'vitest';
import { main } from '../../../src/main.ts';
import { testHost } from '../../support/test-host.ts';
import { create, endOf, jsonLines, type ManyWorld, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { type ListRequest, listService, type Script } from './list-service.ts';

describe('being throttled', () => {
  test('pauses all rows, and counts against none: ten times 429 with --retries 1 still ends in 0', async () => {
    const { service, world } = await listWorld(({ nth }) =>
      nth <= 10 ? { status: 429, headers: { 'retry-after': '3' } } : undefined,
    );
    const file = world.file('a.csv', titles(40));

    const { exitCode, stderr } = await world.run(create(file, '--retries', '1'));

    expect([exitCode, service.items.size]).toEqual([0, 40]);
    expect(stderr).toMatch(/^40 rows: 40 created; .*throttled, on http/m);
    expect(world.records().filter(([letter]) => letter === 'T').length).toBeGreaterThan(0);
  });

  test('the same row ten times: --retries 1 does not burn it', async () => {
    let left = 10;
    const { service, world } = await listWorld(({ title }) => {
      if (title !== 't2' || left === 0) return undefined;
      left -= 1;
      return { status: 429 };
    });
    const words = create(world.file('a.csv', titles(3)), '--retries', '1', '--concurrency', '1');

    const { exitCode } = await world.run(words);

    expect([exitCode, service.items.size, service.requests.length]).toEqual([0, 3, 13]);
  });

  test.each([
    { id: 'N27', status: 429, value: '5', atLeastMs: 5000 },
    { id: 'N27', status: 429, value: '2.128', atLeastMs: 2128 },
    { id: 'N30', status: 503, value: '5', atLeastMs: 5000 },
    { id: 'N28', status: 429, value: 'soon', atLeastMs: 100 },
    { id: 'N28', status: 429, value: '0', atLeastMs: 100 },
    { id: 'N28', status: 429, value: '-5', atLeastMs: 100 },
  ])(
    '$id: after $status with Retry-After $value sends nothing before it is over',
    async ({ status, value, atLeastMs }) => {
      const seen: { readonly atMs: number; readonly isThrottled: boolean }[] = [];
      const clock = { ms: () => 0 };
      const { service, world } = await listWorld(({ nth }) => {
        const isThrottled = nth === 20;
        seen.push({ atMs: clock.ms(), isThrottled });
        return isThrottled ? { status, headers: { 'retry-after': value } } : undefined;
      });

      const exitCode = await runOn(clock, create(world.file('a.csv', titles(40)), '--concurrency', '1'), world);

      expect([exitCode, service.items.size]).toEqual([0, 40]);
      const at = seen.findIndex(({ isThrottled }) => isThrottled);
      const gapMs = (seen[at + 1]?.atMs ?? 0) - (seen[at]?.atMs ?? 0);
      expect(gapMs).toBeGreaterThanOrEqual(atLeastMs);
      expect(gapMs).toBeLessThanOrEqual(Math.max(1000, atLeastMs * 1.1) + 5000);
    },
  );

  test('N27: while all wait, none is sent: of many at once, those under way are the last before the pause', async () => {
    const after: number[] = [];
    const clock = { ms: () => 0 };
    let throttledAtMs = 0;
    const { service, world } = await listWorld(({ nth }) => {
      if (nth === 60) {
        throttledAtMs = clock.ms();
        return { status: 429, headers: { 'retry-after': '30' } };
      }
      if (nth > 60) after.push(clock.ms() - throttledAtMs);
      return undefined;
    });

    const exitCode = await runOn(clock, create(world.file('a.csv', titles(300)), '-o', 'none'), world);

    expect([exitCode, service.items.size]).toEqual([0, 300]);
    const early = after.filter((ms) => ms < 30_000);
    expect(early.length).toBeLessThanOrEqual(32);
    expect(after.length).toBeGreaterThan(200);
  });

  test.each(['86400', '1000000000', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'N29: Retry-After %s is longer than --max-wait: 6, the wait is named, the rest remaining',
    async (value) => {
      const { service, world } = await listWorld(({ nth }) =>
        nth > 10 ? { status: 429, headers: { 'retry-after': value } } : undefined,
      );

      const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(50)), '-o', 'none'));

      expect([exitCode, service.items.size]).toEqual([6, 10]);
      expect(stderr).toMatch(/--max-wait/);
      expect(stderr).toContain('50 rows: 10 created, 40 remaining');
      expect(service.requests.length).toBeLessThanOrEqual(10 + 32);
      expect(service.requests.length).toBeLessThan(30);
    },
  );

  test.each([
    { seconds: '899', more: [], exit: 0 },
    { seconds: '901', more: [], exit: 6 },
    { seconds: '901', more: ['--max-wait', '1000'], exit: 0 },
    { seconds: '11', more: ['--max-wait', '10'], exit: 6 },
  ])(
    'N29: --max-wait is 900 s over many rows, or as typed: $seconds $more is $exit',
    async ({ seconds, more, exit }) => {
      const { world } = await listWorld(({ nth }) =>
        nth === 1 ? { status: 503, headers: { 'retry-after': seconds } } : undefined,
      );

      expect((await world.run(create(world.file('a.csv', titles(3)), ...more))).exitCode).toBe(exit);
    },
  );
});

describe('a create', () => {
  test.each([
    { id: 'N31', answer: { status: 500 } },
    { id: 'N31', answer: { status: 502 } },
    { id: 'N31', answer: { status: 504 } },
    { id: 'N30', answer: { status: 503 } },
    { id: 'N06', answer: { status: 0, cut: true } },
    { id: 'N06', answer: { status: 0, cut: true, applies: true } },
    { id: 'N16', answer: { status: 204 } },
    { id: 'N17', answer: { status: 201, body: { fields: {} } } },
    { id: 'N12', answer: { status: 201, body: '{"id":"1"', headers: { 'content-type': 'application/json' } } },
  ])(
    '$id: answered $answer is in doubt after one request, with its key; the others are done: 8',
    async ({ answer }) => {
      const { service, world } = await listWorld(({ title }) => (title === 't3' ? answer : undefined));

      const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(5)), '--concurrency', '1'));

      expect(exitCode).toBe(8);
      expect(service.about()).toEqual(['t1', 't2', 't3', 't4', 't5']);
      const results = jsonLines(stdout);
      expect(results.map(({ status }) => status)).toEqual(['done', 'done', 'in-doubt', 'done', 'done']);
      const { key } = service.requests[2] ?? {};
      expect(results[2]).toMatchObject({ error: { idempotencyKey: key?.slice(1, -1) } });
      expect(world.records().filter(([letter]) => letter === 'U')).toHaveLength(1);
    },
  );

  test.each([
    { id: 'N31', answer: { status: 500, applies: true } },
    { id: 'N30', answer: { status: 503, applies: true } },
    { id: 'N06', answer: { status: 0, cut: true, applies: true } },
  ])(
    '$id: with an honored key it is sent again after $answer, with the same key and body: one item',
    async ({ answer }) => {
      let left = 2;
      const { service, world } = await listWorld(({ title }) => {
        if (title !== 't3' || left === 0) return undefined;
        left -= 1;
        return answer;
      }, true);

      const { exitCode } = await world.run(create(world.file('a.csv', titles(5)), '--idempotency', 'honored'));

      expect([exitCode, service.items.size]).toEqual([0, 5]);
      const sent = service.requests.filter(({ title }) => title === 't3').map(({ key, body }) => `${key} ${body}`);
      expect([sent.length, new Set(sent).size]).toEqual([3, 1]);
    },
  );

  test('N24: 409 to a keyed create that may be under way is waited for, and is never a failure', async () => {
    const { service, world } = await listWorld(({ title, nth }) => {
      if (title !== 't2') return undefined;
      return nth === 2 ? { status: 0, cut: true, applies: true } : { status: 409, body: { error: 'still running' } };
    }, true);
    const words = create(world.file('a.csv', titles(3)), '--idempotency', 'honored', '--concurrency', '1');

    const { exitCode, stdout } = await world.run(words);

    expect(exitCode).toBe(8);
    expect(jsonLines(stdout).map(({ status }) => status)).toEqual(['done', 'in-doubt', 'done']);
    expect(service.requests.filter(({ title }) => title === 't2')).toHaveLength(5);
  });

  test('a first 409 is a conflict like any other', async () => {
    const { world } = await listWorld({ t2: { status: 409, body: {} } }, true);

    const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(3)), '--idempotency', 'honored'));

    expect(exitCode).toBe(9);
    expect(jsonLines(stdout)[1]).toMatchObject({ status: 'failed', error: { kind: 'conflict', exit: 5 } });
  });
});

describe('update, delete and get', () => {
  const words = {
    update: ['items', 'update', '-f', 'a=1'],
    delete: ['items', 'delete', '--yes'],
    get: ['items', 'get'],
  } as const;

  test.each([
    ['update', 500],
    ['update', 503],
    ['delete', 502],
    ['get', 504],
  ] as const)('N31: %s is sent again after %i, until it is done', async (verb, status) => {
    const seen = new Map<string, number>();
    const { world } = await listWorld((request) => failTwice(request, seen, { status }));

    const { exitCode } = await world.run([...words[verb], '--from', world.file('ids.txt', '1\n2\n3\n')]);

    expect(exitCode).toBe(0);
    expect([...seen.values()]).toEqual([3, 3, 3]);
  });

  test.each([
    ['update', 8, 'in-doubt'],
    ['delete', 8, 'in-doubt'],
    ['get', 9, undefined],
  ] as const)(
    'N31: %s that is answered 500 every time: %i for that row after five requests, the others done',
    async (verb, exit, word) => {
      const { service, world } = await listWorld(({ id }) =>
        id === '2' ? { status: 500 } : { status: 200, body: { id, fields: {} } },
      );
      const file = world.file('ids.txt', '1\n2\n3\n');

      const { exitCode, stdout } = await world.run([...words[verb], '--from', file, '--concurrency', '1']);

      expect(exitCode).toBe(exit);
      expect(service.requests.filter(({ id }) => id === '2')).toHaveLength(5);
      if (word !== undefined) expect(jsonLines(stdout).map(({ status }) => status)).toEqual(['done', word, 'done']);
      else expect(jsonLines(stdout).map(({ id }) => id)).toEqual(['1', '3']);
    },
  );

  test('N26: a delete that may have been done, and then 404, is done', async () => {
    const { service, world } = await listWorld(({ nth }) =>
      nth === 1 ? { status: 0, cut: true, applies: true } : undefined,
    );
    service.items.set('1', {});

    const { exitCode } = await world.run([...words.delete, '--from', world.file('ids.txt', '1\n')]);

    expect([exitCode, service.requests.length]).toEqual([0, 2]);
  });

  test('--retries 0 sends nothing again', async () => {
    const { service, world } = await listWorld(({ id }) =>
      id === '2' ? { status: 500 } : { status: 200, body: { id, fields: {} } },
    );
    const file = world.file('ids.txt', '1\n2\n');

    const { exitCode } = await world.run([...words.update, '--from', file, '--retries', '0', '--concurrency', '1']);

    expect([exitCode, service.requests.length]).toEqual([8, 2]);
  });
});

test('--concurrency is the most that are under way at once, and --concurrency 1 keeps the order', async () => {
  const slow: Script = ({ nth }) => ({
    status: 201,
    body: { id: `${nth}`, fields: {} },
    after: new Promise((resolve) => setTimeout(resolve, 5)),
  });
  const { service, world } = await listWorld(slow);
  await using other = await listService(slow);
  const words = create(world.file('a.csv', titles(60)), '-o', 'none');

  await world.run([...words, '--concurrency', '3']);
  await world.run([...words, '--concurrency', '1'], { env: { LISTCTL_BASE_URL: other.url } });

  expect([service.atOnceMax, other.atOnceMax]).toEqual([3, 1]);
  expect(other.about()).toEqual(titles(60).trimEnd().split('\n').slice(1));
});

test('--rate is the most that are sent in a second', async ({ world }) => {
  const { exitCode } = await world.run(create(world.file('a.csv', titles(40)), '--rate', '600/m'));

  expect(exitCode).toBe(0);
  // The first ones may go as a burst; the clock is the test's.
  expect(endOf(world).ms).toBeGreaterThanOrEqual(3000);
});

/** Refuses each item twice; answers the third time. */
function failTwice({ id = '', method }: ListRequest, seen: Map<string, number>, answer: { readonly status: number }) {
  const times = (seen.get(id) ?? 0) + 1;
  seen.set(id, times);
  if (times <= 2) return answer;
  return method === 'DELETE' ? { status: 204 } : { status: 200, body: { id, fields: {} } };
}

/** Runs a command by a clock that the script of the list reads. */
function runOn(clock: { ms: () => number }, words: readonly string[], world: ManyWorld): Promise<number> {
  const host = testHost({ cwd: world.path, env: world.env });
  clock.ms = host.clock.monotonicMs;
  return main(words, host);
}
