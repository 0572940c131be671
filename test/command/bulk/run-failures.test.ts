/** What stops a whole run, and what is one row's failure. */
import { describe, expect } from 'vitest';
import { create, endOf, jsonLines, type ManyWorld, manyWorld, numbered, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { listService } from './list-service.ts';

const html = { headers: { 'content-type': 'text/html' }, body: '<html>Log in</html>' };

/** The verbs over 50 rows. */
const verbs = [
  { verb: 'create', words: ['items', 'create'] },
  { verb: 'update', words: ['items', 'update', '-f', 'a=1'] },
  { verb: 'delete', words: ['items', 'delete', '--yes'] },
  { verb: 'get', words: ['items', 'get'] },
] as const;

describe('N21: 401 stops the run at once', () => {
  test.each(verbs)('$verb: 3, every row is remaining, and is sent by the next', async ({ verb, words }) => {
    let isExpired = true;
    const { service, world } = await listWorld(({ id, nth }) =>
      isExpired
        ? { status: 401, body: { error: 'the token has expired' } }
        : { status: 200, body: { id: id ?? `${nth}`, fields: {} } },
    );
    const all = [...words, '--from', rowsFor(verb, world), '-o', 'jsonl'];

    const stopped = await world.run(all);
    const sent = service.requests.length;
    isExpired = false;
    // Reads are not recorded.
    const resumed = await world.run(verb === 'get' ? all : [...all, '--resume']);

    expect({ exitCode: stopped.exitCode, stdout: stopped.stdout }).toEqual({ exitCode: 3, stdout: '' });
    expect(stopped.stderr).toContain('the token has expired');
    expect(jsonLines(stopped.stderr)).toContainEqual({
      summary: expect.objectContaining({ total: expect.objectContaining({ rows: 50, done: 0, left: 50 }) }),
    });
    // What was under way when the first answer came.
    expect(sent).toBeLessThanOrEqual(4);
    expect(resumed.exitCode).toBe(0);
    expect(jsonLines(resumed.stdout)).toHaveLength(50);
  });

  test('in the middle: what was done stays done, what was under way is remaining', async () => {
    const { service, world, mend } = await listWorld(({ nth }) =>
      nth >= 20 ? { status: 401, body: { error: 'expired' } } : undefined,
    );
    const words = create(world.file('a.csv', titles(60)));

    const stopped = await world.run(words);
    mend();
    const resumed = await world.run([...words, '--resume']);

    expect([stopped.exitCode, resumed.exitCode]).toEqual([3, 0]);
    expect(jsonLines(stopped.stdout).every(({ status }) => status === 'done')).toBe(true);
    expect(titlesOf(service)).toEqual([...numbered(60)].sort());
  });
});

describe('N22', () => {
  test.each([
    { verb: 'create', status: 403, exit: 3 },
    { verb: 'create', status: 404, exit: 4 },
    { verb: 'create', status: 410, exit: 4 },
    { verb: 'get', status: 403, exit: 3 },
    { verb: 'update', status: 403, exit: 3 },
    { verb: 'delete', status: 403, exit: 3 },
    { verb: 'create', status: 423, exit: 9 },
    { verb: 'update', status: 423, exit: 9 },
  ])(
    '$status to a $verb before any row has succeeded stops the run: $exit, all remaining',
    async ({ verb, status, exit }) => {
      const { service, world } = await listWorld(() => ({ status, body: { error: 'not for you' } }));
      const { words } = verbs.find((each) => each.verb === verb) ?? verbs[0];

      const { exitCode, stdout, stderr } = await world.run([...words, '--from', rowsFor(verb, world)]);

      expect({ exitCode, stdout }).toEqual({ exitCode: exit, stdout: '' });
      expect(stderr).toContain('not for you');
      expect(stderr).toMatch(/^50 rows: 0 \w+, 50 remaining; /m);
      expect(stderr).not.toContain('fix these rows');
      expect(service.requests.length).toBeLessThanOrEqual(4);
    },
  );

  test.each([403, 404])('%s to a create after a success fails that row, and the run continues: 9', async (status) => {
    const { service, world } = await listWorld(({ title }) =>
      title !== 't1' && Number(title?.slice(1)) % 10 === 0 ? { status, body: { error: 'not this one' } } : undefined,
    );

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(50)), '--concurrency', '1'));

    expect(exitCode).toBe(9);
    expect(service.requests).toHaveLength(50);
    expect(stderr).toContain('50 rows: 45 created, 5 failed;');
  });

  test('rows that were locked are sent again as they are: resume, not "fix these rows"', async () => {
    const { world } = await listWorld({ t2: { status: 423, body: { error: 'locked for an export' } } });

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(3))));

    expect(exitCode).toBe(9);
    expect(stderr).toContain('resume with: listctl items create');
    expect(stderr).not.toContain('fix these rows');
  });

  test("a success of an earlier session counts: 403 is a row's failure then", async () => {
    const { world } = await listWorld(({ title }) =>
      title === 't1' ? undefined : { status: 403, body: { error: 'not this one' } },
    );
    const words = create(world.file('a.csv', titles(3)), '--concurrency', '1');

    await world.run([...words, '--fail-fast']);
    const { exitCode, stdout } = await world.run([...words, '--resume']);

    expect(exitCode).toBe(9);
    expect(jsonLines(stdout).map(({ row, status }) => [row, status])).toEqual([
      [2, 'failed'],
      [3, 'failed'],
    ]);
  });

  test.for(['get', 'update', 'delete'])(
    "404 to a %s is that row's failure from the first row on",
    async (verb, { service, world }) => {
      const { words } = verbs.find((each) => each.verb === verb) ?? verbs[0];

      const { exitCode, stderr } = await world.run([...words, '--from', rowsFor(verb, world)]);

      expect([exitCode, service.requests.length]).toEqual([9, 50]);
      expect(stderr).toMatch(/^50 rows: 0 \w+, 50 failed; /m);
    },
  );
});

describe('N23', () => {
  test.each([400, 405, 409, 412, 413, 415, 422, 423, 428, 501])(
    '%s fails the row, and the run continues',
    async (status) => {
      const { service, world } = await listWorld({ t2: { status, body: { error: 'because we say so' } } });

      const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(5))));

      expect([exitCode, service.requests.length]).toEqual([9, 5]);
      expect(jsonLines(stdout).map(({ status: word }) => word)).toEqual(['done', 'failed', 'done', 'done', 'done']);
      expect(stdout).toContain('because we say so');
    },
  );
});

describe('any redirect stops the run', () => {
  test.each([
    ...[301, 307, 308].map((status) => ({ id: 'N19', status, exit: 1 })),
    ...[302, 303].map((status) => ({ id: 'N20', status, exit: 8 })),
  ])('$id: $status to a create in the middle: $exit, no request to another origin', async ({ status, exit }) => {
    await using other = await listService();
    const { service, world } = await listWorld(({ nth }) =>
      nth <= 10 ? undefined : { status, headers: { location: `${other.url.replace('//', '//ann:pw@')}/x?key=secret` } },
    );

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(200)), '-o', 'none'));

    expect(exitCode).toBe(exit);
    expect(other.requests).toEqual([]);
    expect(stderr).not.toMatch(/secret|ann:pw/);
    const { done, inDoubt, failed, left } = endOf(world);
    expect([done, failed]).toEqual([10, 0]);
    expect(inDoubt).toBeLessThanOrEqual(exit === 8 ? service.requests.length - 10 : 0);
    expect(left + inDoubt).toBe(190);
    expect(service.requests.length).toBeLessThan(60);
  });

  test.each([301, 302])('N20: %s to a read in the middle is 1', async (status) => {
    const { world } = await listWorld(({ nth, id }) =>
      nth <= 10 ? { status: 200, body: { id, fields: {} } } : { status, headers: { location: '/login' } },
    );

    const { exitCode, stdout, stderr } = await world.run(['items', 'get', '--from', rowsFor('get', world)]);

    expect(exitCode).toBe(1);
    expect(jsonLines(stdout)).toHaveLength(10);
    expect(stderr).toContain('50 rows: 10 read, 40 remaining');
  });
});

describe('N15: an HTML page stops the run', () => {
  test('at the first create: 8, and at most as many rows in doubt as were under way', async () => {
    const { service, world } = await listWorld(() => ({ status: 200, ...html }));

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(500)), '--concurrency', '8'));

    expect(exitCode).toBe(8);
    expect(stderr).toContain('text/html');
    const { inDoubt, left } = endOf(world);
    expect(inDoubt).toBe(service.requests.length);
    expect(inDoubt).toBeLessThanOrEqual(8);
    expect(left).toBe(500 - inDoubt);
  });

  test('in the middle too, and --resume sends what was never sent', async () => {
    const { service, world, mend } = await listWorld(({ nth }) => (nth >= 100 ? { status: 201, ...html } : undefined));
    const words = create(world.file('a.csv', titles(300)), '-o', 'none');

    const stopped = await world.run(words);
    const { inDoubt } = endOf(world);
    mend();
    const resumed = await world.run([...words, '--resume']);

    expect([stopped.exitCode, resumed.exitCode]).toEqual([8, 8]);
    expect(inDoubt).toBeGreaterThan(0);
    expect(inDoubt).toBeLessThanOrEqual(32);
    expect(service.items.size).toBe(300 - inDoubt);
    expect(endOf(world)).toMatchObject({ inDoubt, left: 0, done: 300 - inDoubt });
  });

  test('of a read it is 1, with the rest remaining', async () => {
    const { world } = await listWorld(() => ({ status: 200, ...html }));

    const { exitCode, stdout, stderr } = await world.run(['items', 'get', '--from', rowsFor('get', world)]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/not the list service.*text\/html/);
    expect(stderr).toContain('50 remaining');
  });
});

describe('a service that was never there', () => {
  test.each(verbs)('N02: $verb refused from the start: 7 as for one item, all remaining', async ({ verb, words }) => {
    await using world = await manyWorld({ url: 'http://127.0.0.1:1/v1.0' });

    const { exitCode, stdout, stderr } = await world.run([...words, '--from', rowsFor(verb, world)]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: '' });
    expect(stderr).toContain('connection refused');
    expect(stderr).toMatch(/^50 rows: 0 \w+, 50 remaining; /m);
    expect(stderr).not.toContain('in doubt');
    if (verb !== 'get') expect(endOf(world)).toMatchObject({ done: 0, failed: 0, inDoubt: 0, left: 50 });
  });

  test('N01: a name that does not resolve: 7, all remaining, nothing in doubt', async () => {
    await using world = await manyWorld({ url: 'https://nowhere.invalid/v1.0' });

    // One at a time: a resolver may take its time to say so.
    const words = create(world.file('a.csv', titles(50)), '--concurrency', '1');
    const { exitCode, stdout, stderr } = await world.run(words);

    expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: '' });
    expect(stderr).toContain('nowhere.invalid');
    expect(endOf(world)).toMatchObject({ done: 0, failed: 0, inDoubt: 0, left: 50 });
  });

  test('N02: an unreachable address is tried as for one item, not once for every row of the window', async () => {
    await using world = await manyWorld({ url: 'http://127.0.0.1:1/v1.0' });

    await world.run(create(world.file('a.csv', titles(2000)), '-o', 'none'));

    expect(endOf(world).sent).toBeLessThanOrEqual(5 * 32);
  });

  test('N02: --retries is how often it is tried', async () => {
    await using world = await manyWorld({ url: 'http://127.0.0.1:1/v1.0' });
    const words = create(world.file('a.csv', titles(1)));

    await world.run([...words, '--retries', '0']);
    const once = endOf(world).sent;
    await world.run([...words, '--retries', '2', '--resume']);

    expect([once, endOf(world).sent]).toEqual([1, 3]);
  });

  test('N02b: a service that comes up meanwhile is used: every row is done', async ({ service, world }) => {
    await service.goDown();
    const waits: number[] = [];
    const random = () => {
      // Drawn for each wait: by the third one it is up.
      waits.push(1);
      if (waits.length === 3) void service.comeBack();
      return 0.5;
    };

    const words = create(world.file('a.csv', titles(20)), '--retries', '10', '--concurrency', '1');
    const { exitCode } = await world.run(words, { random });

    expect([exitCode, service.items.size]).toEqual([0, 20]);
  });

  test('N05: a server that cannot prove its identity: 7, no further attempt', async () => {
    const { faultServer } = await import('../../support/fault-server.ts');
    const { selfSigned } = await import('../../support/tls-certificate.ts');
    await using server = await faultServer({ certificate: selfSigned({ address: '127.0.0.1' }) });
    await using world = await manyWorld(server);

    const { exitCode, stdout, stderr } = await world.run(create(world.file('a.csv', titles(50))));

    expect({ exitCode, stdout, log: server.log }).toEqual({ exitCode: 7, stdout: '', log: [] });
    expect(stderr).toContain('50 remaining');
    expect(server.connectionCount()).toBeLessThanOrEqual(4);
  });
});

describe('limits on failures', () => {
  test.each([1, 3])('--max-errors %i stops after that many failed rows: 9, the rest remaining', async (count) => {
    const { service, world } = await listWorld(() => ({ status: 400, body: { error: 'no' } }));
    const file = world.file('a.csv', titles(50));

    const { exitCode, stderr } = await world.run(create(file, '--max-errors', `${count}`, '--concurrency', '1'));

    expect([exitCode, service.requests.length]).toEqual([9, count]);
    expect(stderr).toContain(`50 rows: 0 created, ${count} failed, ${50 - count} remaining`);
    expect(stderr).toContain(count === 1 ? '1 failed row' : '3 failed rows');
  });

  test('--fail-fast is --max-errors 1; pending rows are reported', async () => {
    const { service, world } = await listWorld({ t5: { status: 400, body: { error: 'no' } } });

    const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(500)), '--fail-fast'));

    expect(exitCode).toBe(9);
    const results = jsonLines(stdout);
    expect(results.filter(({ status }) => status === 'failed')).toMatchObject([{ row: 5 }]);
    expect(results.filter(({ status }) => status === 'done')).toHaveLength(service.items.size);
    expect(service.requests.length).toBeLessThan(100);
  });

  test('failed rows in an earlier session do not count, nor do invalid rows that are skipped twice', async () => {
    const { service, world } = await listWorld({ t1: { status: 400, body: { error: 'no' } } });
    const words = create(world.file('a.csv', titles(4)), '--concurrency', '1');

    await world.run([...words, '--fail-fast']);
    const { exitCode } = await world.run([...words, '--resume', '--max-errors', '2']);

    expect([exitCode, service.items.size]).toEqual([9, 3]);
  });

  test('an invalid row counts as a failed one', async ({ service, world }) => {
    const file = world.file('a.csv', 'Title,Note\nt1,x\nt2\nt3,x\nt4,x\n');

    const { exitCode, stderr } = await world.run(create(file, '--skip-invalid', '--fail-fast'));

    expect(exitCode).toBe(9);
    expect(stderr).toContain('stopped after 1 failed row');
    expect(service.about()).not.toContain('t4');
  });
});

test('N31: where nothing has answered yet it is as for one item: a first create answered 500 ends the run, 8', async () => {
  const { service, world } = await listWorld(() => ({ status: 500 }));

  const { exitCode } = await world.run(create(world.file('a.csv', titles(50)), '--concurrency', '1'));

  expect([exitCode, service.requests.length]).toEqual([8, 1]);
  expect(endOf(world)).toMatchObject({ inDoubt: 1, left: 49 });
});

describe('more than one thing went wrong', () => {
  test('doubt takes precedence over credentials: 8, and both are reported', async () => {
    const { world } = await listWorld(({ title }) =>
      title === 't1' ? undefined : title === 't2' ? { status: 500 } : { status: 401, body: { error: 'expired' } },
    );

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(9)), '--concurrency', '1'));

    expect(exitCode).toBe(8);
    expect(stderr).toMatch(/listctl: 1 row in doubt.*expired/);
  });

  test('doubt before failures: 8', async () => {
    const { world } = await listWorld(({ title }) => ({ status: title === 't2' ? 500 : 400, body: {} }));

    expect((await world.run(create(world.file('a.csv', titles(3))))).exitCode).toBe(8);
  });

  test('credentials before failures: 3', async () => {
    const { world } = await listWorld(({ title }) => ({ status: title === 't1' ? 400 : 401, body: {} }));

    expect((await world.run(create(world.file('a.csv', titles(3)), '--concurrency', '1'))).exitCode).toBe(3);
  });
});

test('no token is 3, before anything is recorded as sent', async ({ service, world }) => {
  const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(3))), { env: { LISTCTL_TOKEN: '' } });

  expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 3, stdout: '', requests: [] });
  expect(world.records().filter(([letter]) => letter === 'I')).toEqual([]);
  const { exitCode: again } = await world.run(create(world.file('a.csv', titles(3))));
  expect([again, service.items.size]).toEqual([0, 3]);
});

function rowsFor(verb: string, world: ManyWorld): string {
  const ids = `${Array.from({ length: 50 }, (_, index) => `i${index + 1}`).join('\n')}\n`;
  return verb === 'create' ? world.file('a.csv', titles(50)) : world.file('ids.txt', ids);
}

function titlesOf({ items }: { readonly items: ReadonlyMap<string, Readonly<Record<string, unknown>>> }) {
  return [...items.values()].map(({ Title }) => Title).sort();
}
