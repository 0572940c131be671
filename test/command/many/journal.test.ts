/** What a run leaves behind, and how it is gone on with (cli.md, "Many items"; reliability, C5 to C7). */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listService, type Script } from './list-service.ts';
import { create, jsonLines, manyWorld, numbered, titles } from './many-world.ts';

/** Row 3 is refused until somebody mends the list. */
function refusing(list: { isMended: boolean }): Script {
  return ({ title }) => (title === 't3' && !list.isMended ? { status: 400, body: { error: 'no' } } : undefined);
}

describe('a half-done input', () => {
  test.each([
    { what: 'a row failed', answer: { status: 400 }, says: '1 failed' },
    { what: 'a row in doubt', answer: { status: 500 }, says: '1 in doubt' },
    { what: 'rows still to do', answer: { status: 401 }, says: '3 still to do' },
  ])('with $what is refused without a flag: 2, both named, nothing sent', async ({ answer, says }) => {
    await using service = await listService(({ title }) => (title === 't3' ? answer : undefined));
    await using world = await manyWorld(service);
    const words = create(world.file('a.csv', titles(5)), '--concurrency', '1');

    await world.run(words);
    const sent = service.requests.length;
    const again = await world.run(words);

    expect({ exitCode: again.exitCode, stdout: again.stdout }).toEqual({ exitCode: 2, stdout: '' });
    for (const text of [says, '--resume', '--restart', 'nothing was sent']) expect(again.stderr).toContain(text);
    expect([service.requests.length, world.journals().length]).toEqual([sent, 1]);
  });

  test('of another content of the same file too', async () => {
    await using service = await listService(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode } = await world.run(create(world.file('a.csv', titles(7))));

    expect([exitCode, service.requests.length]).toEqual([2, 5]);
  });

  test('is another one for another verb, list, site, address, file and shard', async () => {
    const list = { isMended: false };
    await using service = await listService(refusing(list));
    await using other = await listService();
    await using world = await manyWorld(service);
    const file = world.file('a.csv', titles(5));
    const copy = world.file('b.csv', titles(5));
    await world.run(create(file));

    const others = [
      await world.run(create(copy)),
      await world.run(create(file, '-l', 'others')),
      await world.run(create(file, '-s', 'away')),
      await world.run(create(file, '--shard', '1/1')),
      await world.run(create(file), { env: { LISTCTL_BASE_URL: other.url } }),
      await world.run(['items', 'get', '--from', world.file('ids.txt', '1\n'), '--journal', join(world.path, 'j')]),
    ];

    expect(others.map(({ exitCode }) => exitCode)).toEqual([9, 9, 9, 9, 0, 0]);
    expect((await world.run(create(file))).exitCode).toBe(2);
  });

  test('is told from a whole one: that may be sent again as it is', async () => {
    await using service = await listService();
    await using world = await manyWorld(service);
    const words = create(world.file('a.csv', titles(3)));

    const first = await world.run(words);
    const second = await world.run(words);

    expect([first.exitCode, second.exitCode, service.items.size, world.journals().length]).toEqual([0, 0, 6, 2]);
  });
});

describe('--resume', () => {
  test('sends what is left and what was refused; rows that were done are neither sent nor told', async () => {
    const list = { isMended: false };
    await using service = await listService((request) =>
      request.title === 't5' && !list.isMended ? { status: 401 } : refusing(list)(request),
    );
    await using world = await manyWorld(service);
    const words = create(world.file('a.csv', titles(6)), '--concurrency', '1');

    const first = await world.run(words);
    list.isMended = true;
    const second = await world.run([...words, '--resume']);

    expect([first.exitCode, second.exitCode]).toEqual([3, 0]);
    expect(jsonLines(first.stdout).map(({ row, status }) => `${row} ${status}`)).toEqual([
      '1 done',
      '2 done',
      '3 failed',
      '4 done',
    ]);
    expect(jsonLines(second.stdout).map(({ row, status }) => `${row} ${status}`)).toEqual([
      '3 done',
      '5 done',
      '6 done',
    ]);
    expect(service.about()).toEqual(['t1', 't2', 't3', 't4', 't5', 't3', 't5', 't6']);
    expect(second.stderr).toMatch(/^6 rows: 6 created; /m);
    expect(world.journals()).toHaveLength(1);
  });

  test('of a whole run is 0 to do, exit 0, nothing sent', async () => {
    await using service = await listService();
    await using world = await manyWorld(service);
    const words = create(world.file('a.csv', titles(3)));

    await world.run(words);
    const { exitCode, stdout, stderr } = await world.run([...words, '--resume']);

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 0, stdout: '', requests: 3 });
    expect(stderr).toContain('0 to do');
  });

  test.each([
    { what: 'another content', content: titles(3).replace('t2', 'x2'), more: [] },
    { what: 'more rows', content: titles(4), more: [] },
    { what: 'another mapping', content: titles(3), more: ['--rename', 'Title=Name'] },
    { what: 'another common field', content: titles(3), more: ['-f', 'a=1'] },
  ])('of a whole run with $what is 2 and names --restart', async ({ content, more }) => {
    await using service = await listService();
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(3))));
    const { exitCode, stdout, stderr } = await world.run(create(world.file('a.csv', content), ...more, '--resume'));

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 3 });
    expect(stderr).toContain('--restart');
  });

  test('without a run before starts one', async () => {
    await using service = await listService();
    await using world = await manyWorld(service);

    const { exitCode } = await world.run(create(world.file('a.csv', titles(3)), '--resume'));

    expect([exitCode, service.items.size]).toEqual([0, 3]);
  });

  test('takes a failed row that was mended in its place', async () => {
    await using service = await listService(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode, stdout } = await world.run(
      create(world.file('a.csv', titles(5).replace('t3', 'mended')), '--resume'),
    );

    expect([exitCode, service.items.size, service.about().at(-1)]).toEqual([0, 5, 'mended']);
    expect(jsonLines(stdout)).toEqual([{ row: 3, action: 'create', status: 'done', id: '5' }]);
  });

  test('a mended row has a new key: it is another payload', async () => {
    await using service = await listService(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(5))));
    await world.run(create(world.file('a.csv', titles(5).replace('t3', 'mended')), '--resume'));

    expect(new Set(service.requests.map(({ key }) => key)).size).toBe(6);
  });

  test('P16: a done row that has changed is 2 before any request, and is named', async () => {
    await using service = await listService(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode, stdout, stderr } = await world.run(
      create(world.file('a.csv', titles(5).replace('t2', 'other')), '--resume'),
    );

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 5 });
    expect(stderr).toContain('row 2 (line 3) was done with other values');
    expect(stderr).toContain('--restart');
  });

  test.each([
    { what: 'a row less', content: 'Title\nt1\nt2\nt4\nt5\n' },
    { what: 'a row more', content: titles(6) },
    { what: 'done rows in another order', content: 'Title\nt2\nt1\nt3\nt4\nt5\n' },
  ])('P16: $what is 2 before any request', async ({ content }) => {
    await using service = await listService(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode } = await world.run(create(world.file('a.csv', content), '--resume'));

    expect([exitCode, service.requests.length]).toEqual([2, 5]);
  });

  test('P16: a row in doubt that has changed is 2 before any request, also with --in-doubt retry', async () => {
    await using service = await listService(({ title }) => (title === 't3' ? { status: 500 } : undefined));
    await using world = await manyWorld(service);

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode, stderr } = await world.run(
      create(world.file('a.csv', titles(5).replace('t3', 'other')), '--resume', '--in-doubt', 'retry'),
    );

    expect([exitCode, service.requests.length]).toEqual([2, 5]);
    expect(stderr).toContain('row 3 (line 4) may have been done');
  });

  test('--resume and --restart together are wrong usage', async () => {
    await using service = await listService();
    await using world = await manyWorld(service);

    const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), '--resume', '--restart'));

    expect([exitCode, service.requests]).toEqual([2, []]);
  });

  test('of stdin goes by its content', async () => {
    const list = { isMended: false };
    await using service = await listService(refusing(list));
    await using world = await manyWorld(service);
    const words = create('-', '--input-format', 'csv');

    const first = await world.run(words, { stdin: titles(5) });
    const refused = await world.run(words, { stdin: titles(5) });
    const other = await world.run(words, { stdin: titles(2) });
    list.isMended = true;
    const resumed = await world.run([...words, '--resume'], { stdin: titles(5) });

    expect([first, refused, other, resumed].map(({ exitCode }) => exitCode)).toEqual([9, 2, 0, 0]);
    expect(jsonLines(resumed.stdout)).toMatchObject([{ row: 3, status: 'done' }]);
    expect(world.leftovers()).toEqual([]);
  });

  test('a journal with a part of its first line was never begun: the run starts', async () => {
    let isExpired = true;
    await using service = await listService(() => (isExpired ? { status: 401 } : undefined));
    await using world = await manyWorld(service);
    const words = create(world.file('a.csv', titles(3)));
    await world.run(words);
    isExpired = false;
    const [journal = ''] = world.journals();
    writeFileSync(journal, readFileSync(journal).subarray(0, 40));

    const { exitCode } = await world.run(words);

    expect([exitCode, service.items.size]).toEqual([0, 3]);
  });
});

describe('--restart', () => {
  test('forgets what was done, and sends every row', async () => {
    await using service = await listService(({ title, nth }) =>
      title === 't3' && nth < 6 ? { status: 400 } : undefined,
    );
    await using world = await manyWorld(service);
    const words = create(world.file('a.csv', titles(5)));

    await world.run(words);
    const { exitCode, stdout } = await world.run([...words, '--restart']);

    expect([exitCode, service.items.size, jsonLines(stdout).length]).toEqual([0, 9, 5]);
    expect((await world.run([...words, '--resume'])).stderr).toContain('0 to do');
  });
});

describe('get', () => {
  test('P11: keeps no journal, and works where the state folder can’t be made', async () => {
    await using service = await listService(({ id }) => ({ status: 200, body: { id, fields: {} } }));
    await using world = await manyWorld(service);
    const words = ['items', 'get', '--from', world.file('ids.txt', '1\n2\n'), '-o', 'id'];
    const denied = { LISTCTL_STATE_DIR: join(world.file('a-file', ''), 'state') };

    const usual = await world.run(words);
    const readOnly = await world.run(words, { env: denied });
    const missing = await world.run(words, { env: { LISTCTL_STATE_DIR: '', HOME: '' } });

    expect([usual, readOnly, missing].map(({ exitCode, stdout }) => [exitCode, stdout])).toEqual([
      [0, '1\n2\n'],
      [0, '1\n2\n'],
      [0, '1\n2\n'],
    ]);
    expect(existsSync(join(world.path, 'state'))).toBe(false);
  });

  test('P11: a write is 10 there, before anything is sent', async () => {
    await using service = await listService();
    await using world = await manyWorld(service);
    const file = world.file('a.csv', titles(2));

    const { exitCode, stdout, stderr } = await world.run(create(file), {
      env: { LISTCTL_STATE_DIR: join(world.file('a-file', ''), 'state') },
    });

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 10, stdout: '', requests: [] });
    expect(stderr).toContain('--journal');
  });

  test.skipIf(process.platform === 'win32' || process.geteuid?.() === 0)(
    'P11 (not for root): a read-only state folder',
    async () => {
      await using service = await listService();
      await using world = await manyWorld(service);
      mkdirSync(world.runs, { recursive: true });
      chmodSync(world.runs, 0o500);

      const { exitCode } = await world.run(create(world.file('a.csv', titles(2))));
      chmodSync(world.runs, 0o700);

      expect([exitCode, service.requests]).toEqual([10, []]);
    },
  );

  test('with --journal it is recorded, and --resume reads what is left', async () => {
    let isExpired = true;
    await using service = await listService(({ id }) =>
      id === '3' && isExpired ? { status: 401 } : { status: 200, body: { id, fields: {} } },
    );
    await using world = await manyWorld(service);
    const file = world.file('ids.txt', '1\n2\n3\n4\n');
    const words = [
      'items',
      'get',
      '--from',
      file,
      '--journal',
      join(world.path, 'j'),
      '--concurrency',
      '1',
      '-o',
      'id',
    ];

    const first = await world.run(words);
    isExpired = false;
    const second = await world.run([...words, '--resume']);

    expect([first.exitCode, first.stdout, second.exitCode, second.stdout]).toEqual([3, '1\n2\n', 0, '3\n4\n']);
  });
});

test('a journal holds hashes and ids: no value, no token', async () => {
  await using service = await listService();
  await using world = await manyWorld(service);

  await world.run(create(world.file('a.csv', 'Title,Note\nverysecret,alsosecret\n'), '-f', 'Third=hidden'));

  const text = readFileSync(world.journals()[0] ?? '', 'latin1');
  for (const secret of ['verysecret', 'alsosecret', 'hidden', 'test-token']) expect(text).not.toContain(secret);
  if (process.platform !== 'win32') {
    expect(statSync(world.journals()[0] ?? '').mode & 0o777).toBe(0o600);
    expect(statSync(world.runs).mode & 0o777).toBe(0o700);
  }
});

test('an intent is on disk before its request arrives, and an outcome before its result is printed', async () => {
  const seen: string[] = [];
  await using world = await manyWorld({ url: '' });
  await using service = await listService(({ nth, title }) => {
    const rows = world
      .records()
      .filter(([letter]) => letter === 'I')
      .map((record) => record[1]);
    seen.push(`${title} ${rows.includes(nth)}`);
    return undefined;
  });
  const file = world.file('a.csv', titles(5));

  await world.run(create(file, '--concurrency', '1'), { env: { LISTCTL_BASE_URL: service.url } });

  expect(seen).toEqual(numbered(5).map((title) => `${title} true`));
});
