/** What a run leaves behind, and how it is resumed. */
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { create, jsonLines, type ManyWorld as Many, manyWorld, numbered, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { listService } from './list-service.ts';

/** Row 3 is refused until the list is mended. */
const refusing = { t3: { status: 400, body: { error: 'no' } } };

describe('a half-done input', () => {
  test.each([
    { what: 'a row failed', answer: { status: 400 }, says: '1 failed' },
    { what: 'a row in doubt', answer: { status: 500 }, says: '1 in doubt' },
    { what: 'rows remaining', answer: { status: 401 }, says: '3 remaining' },
  ])('with $what is refused without a flag: 2, both named, nothing sent', async ({ answer, says }) => {
    const { service, world } = await listWorld(({ title }) => (title === 't3' ? answer : undefined));
    const words = create(world.file('a.csv', titles(5)), '--concurrency', '1');

    await world.run(words);
    const sent = service.requests.length;
    const again = await world.run(words);

    expect({ exitCode: again.exitCode, stdout: again.stdout }).toEqual({ exitCode: 2, stdout: '' });
    for (const text of [says, '--resume', '--restart', 'nothing was sent']) expect(again.stderr).toContain(text);
    expect([service.requests.length, world.journals().length]).toEqual([sent, 1]);
  });

  test.each([
    { what: 'with a fixed row', content: titles(5).replace('t3', 'fixed') },
    { what: 'with more rows', content: titles(7) },
  ])('is known by its rows too, where the same file changed: $what', async ({ content }) => {
    const { service, world } = await listWorld({ t3: { status: 400 } });

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode, stderr } = await world.run(create(world.file('a.csv', content)));

    expect([exitCode, service.requests.length]).toEqual([2, 5]);
    for (const text of ['is incomplete', '--resume', '--restart']) expect(stderr).toContain(text);
  });

  test('a file of other rows with the same name is another input', async () => {
    const { service, world } = await listWorld({ t3: { status: 400 } });

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode } = await world.run(create(world.file('a.csv', titles(5).replaceAll('t', 'u'))));

    expect([exitCode, service.items.size, world.journals().length]).toEqual([0, 9, 2]);
  });

  test('is another one for another verb, list, site, address and shard', async () => {
    const { world } = await listWorld(refusing);
    await using other = await listService();
    const file = world.file('a.csv', titles(5));
    await world.run(create(file));

    const others = [
      await world.run(create(file, '-l', 'others')),
      await world.run(create(file, '-s', 'away')),
      await world.run(create(file, '--shard', '1/2', '--restart')),
      await world.run(create(file), { env: { LISTCTL_BASE_URL: other.url } }),
      await world.run(['items', 'get', '--from', world.file('ids.txt', '1\n'), '--journal', join(world.path, 'j')]),
    ];

    expect(others.map(({ exitCode }) => exitCode)).toEqual([9, 9, 9, 0, 0]);
    expect((await world.run(create(file))).exitCode).toBe(2);
  });
});

/** Another name of the same rows, list and service: what is typed for each, beside the words of a create. */
const otherNames: readonly {
  what: string;
  from: (world: Many) => string;
  more?: string[];
  url?: (url: string) => string;
}[] = [
  { what: 'a copy', from: (world) => world.file('copy.csv', titles(5)) },
  { what: 'a gzip copy', from: (world) => world.file('copy.csv.gz', gzipSync(titles(5))) },
  { what: 'a link to it', from: (world) => linked(world, (path) => symlinkSync('a.csv', path)) },
  { what: 'a hard link', from: (world) => linked(world, (path) => linkSync(join(world.path, 'a.csv'), path)) },
  {
    what: 'the name it was moved to',
    from: (world) => linked(world, (path) => renameSync(join(world.path, 'a.csv'), path)),
  },
  { what: 'a linked directory', from: (world) => linked(world, (path) => symlinkSync('.', path), 'a.csv') },
  { what: 'another path to it', from: (world) => join(world.path, 'home', '..', 'a.csv') },
  { what: '--shard 1/1', from: theFile, more: ['--shard', '1/1'] },
  { what: 'a slash at the end of the address', from: theFile, url: (url) => `${url}//` },
  { what: 'doubled slashes', from: theFile, url: (url) => url.replace('/v1.0', '//v1.0') },
  { what: 'localhost', from: theFile, url: (url) => url.replace('127.0.0.1', 'localhost') },
  { what: '[::1]', from: theFile, url: (url) => url.replace('127.0.0.1', '[::1]') },
];

function theFile({ path }: Many): string {
  return join(path, 'a.csv');
}

function linked({ path }: Many, link: (path: string) => void, name = ''): string {
  link(join(path, 'other.csv'));
  return join(path, 'other.csv', name);
}

describe('the same rows by another name', () => {
  test.skipIf(process.platform === 'win32').each(otherNames)(
    '$what: the run is known',
    async ({ from, more = [], url }) => {
      const { service, world, mend } = await listWorld(refusing);
      await world.run(create(world.file('a.csv', titles(5))));
      const words = create(from(world), ...more);
      const named = { env: { LISTCTL_BASE_URL: url?.(service.url) ?? service.url } };

      const again = await world.run(words, named);
      const sent = service.requests.length;
      mend();
      // Nothing listens on [::1] here: that the run was found is what counts.
      const resumed = await world.run([...words, '--resume', '--retries', '0'], named);

      expect([again.exitCode, sent, world.journals().length]).toEqual([2, 5, 1]);
      expect(resumed.exitCode).toBe(named.env.LISTCTL_BASE_URL.includes('[::1]') ? 7 : 0);
    },
  );
});

describe('an input whose run did every row', () => {
  test('is not created again without --restart: 2, both flags named, nothing sent', async ({ service, world }) => {
    const words = create(world.file('a.csv', titles(3)));

    await world.run(words);
    const again = await world.run(words);
    const sent = service.requests.length;
    const restarted = await world.run([...words, '--restart']);

    expect([again.exitCode, again.stdout, sent]).toEqual([2, '', 3]);
    for (const text of ['completed every row', '--restart', 'nothing was sent']) {
      expect(again.stderr).toContain(text);
    }
    expect([restarted.exitCode, service.items.size, world.journals().length]).toEqual([0, 6, 2]);
  });

  test('is known by the rows that were fixed in it, whatever the file is called then', async () => {
    const { service, world } = await listWorld({ t3: { status: 400 } });
    const fixed = titles(5).replace('t3', 'fixed');

    await world.run(create(world.file('a.csv', titles(5))));
    await world.run(create(world.file('a.csv', fixed), '--resume'));
    const again = [
      await world.run(create(join(world.path, 'a.csv'))),
      await world.run(create(world.file('b.csv', fixed))),
    ];

    expect(again.map(({ exitCode }) => exitCode)).toEqual([2, 2]);
    expect([service.items.size, world.journals().length]).toEqual([5, 1]);
  });

  test.each(['update', 'delete'] as const)('may be sent again to %s the same items', async (verb) => {
    const { service, world } = await listWorld(({ id }) => ({ status: 200, body: { id, fields: {} } }));
    const more = verb === 'update' ? ['-f', 'a=1'] : ['--yes'];
    const words = ['items', verb, '--from', world.file('ids.txt', '1\n2\n'), ...more];

    const runs = [await world.run(words), await world.run(words)];

    expect([runs.map(({ exitCode }) => exitCode), service.requests.length]).toEqual([[0, 0], 4]);
  });
});

describe('--resume', () => {
  test('sends remaining and rejected rows; completed rows are neither sent nor reported', async () => {
    const { service, world, mend } = await listWorld({ ...refusing, t5: { status: 401 } });
    const words = create(world.file('a.csv', titles(6)), '--concurrency', '1');

    const first = await world.run(words);
    mend();
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
    expect(second.stderr).toMatch(/^6 rows: 3 created, 3 before; /m);
    expect(world.journals()).toHaveLength(1);
  });

  test('of a whole run is 0 to do, exit 0, nothing sent', async ({ service, world }) => {
    const words = create(world.file('a.csv', titles(3)));

    await world.run(words);
    const { exitCode, stdout, stderr } = await world.run([...words, '--resume']);

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 0, stdout: '', requests: 3 });
    expect(stderr).toContain('nothing to do');
  });

  test.for([
    {
      what: 'another content',
      content: titles(3).replace('t2', 'x2'),
      more: [],
      says: 'row 2 (line 3) changed since run',
    },
    { what: 'a row less', content: titles(2), more: [], says: 'had 3 rows, but this one has 2' },
    { what: 'other rows', content: titles(3).replaceAll('t', 'x'), more: [], says: 'leave out --resume' },
    { what: 'another mapping', content: titles(3), more: ['--rename', 'Title=Name'], says: '--restart' },
    { what: 'another common field', content: titles(3), more: ['-f', 'a=1'], says: '--restart' },
  ])('of a whole run with $what is 2 and says what to do', async ({ content, more, says }, { service, world }) => {
    await world.run(create(world.file('a.csv', titles(3))));
    const { exitCode, stdout, stderr } = await world.run(create(world.file('a.csv', content), ...more, '--resume'));

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 3 });
    expect(stderr).toContain(says);
  });

  test.for([
    { what: 'in the state directory', more: [] },
    { what: 'in a journal that is not there', more: ['--journal', 'j'] },
  ])('without a run $what is 2, sends nothing, and says how to start one', async ({ more }, { service, world }) => {
    const { exitCode, stdout, stderr } = await world.run(create(world.file('a.csv', titles(3)), '--resume', ...more));

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
    for (const text of ['leave out --resume', 'creates every row again', 'none is known here'])
      expect(stderr).toContain(text);
    expect([world.journals(), existsSync(join(world.path, 'j'))]).toEqual([[], false]);
  });

  test.each<{ what: string; more: string[]; says: string; advice: string; isElsewhere?: true }>([
    { what: 'another address', more: [], says: 'at http://127.0.0.1:', advice: 'pass --base-url', isElsewhere: true },
    { what: 'another shard', more: ['--shard', '1/2'], says: 'without --shard', advice: 'leave out --shard' },
    { what: 'a journal', more: ['--journal', 'j'], says: 'in the state directory', advice: 'leave out --journal' },
  ])('names the unfinished run of the same rows: $what', async ({ more, says, advice, isElsewhere }) => {
    const { service, world } = await listWorld(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using other = await listService();
    const file = world.file('a.csv', titles(5));
    await world.run(create(file));
    const env: Record<string, string> = isElsewhere ? { LISTCTL_BASE_URL: other.url } : {};

    const { exitCode, stderr } = await world.run(create(file, '--resume', ...more), { env });

    expect([exitCode, service.requests.length, other.requests]).toEqual([2, 5, []]);
    const start = isElsewhere ? 'leave out --resume' : 'pass --restart instead of --resume';
    const known = isElsewhere ? 'none is known here' : '4 are known here';
    for (const text of ['of the same rows is incomplete', says, advice, start, known]) expect(stderr).toContain(text);
  });

  test('names the profile of the unfinished run, which has its token', async () => {
    const { service, world } = await listWorld(({ title }) => (title === 't3' ? { status: 400 } : undefined));
    await using other = await listService();
    const file = world.file('a.csv', titles(5));
    const env = { LISTCTL_CONFIG_DIR: join(world.path, 'config') };
    await world.run(['profile', 'set', 'slow', '--base-url', service.url], { env });
    await world.run(create(file, '-p', 'slow'), { env });

    const { stderr } = await world.run(create(file, '--resume'), { env: { ...env, LISTCTL_BASE_URL: other.url } });

    expect(stderr).toContain('pass -p slow to resume that run');
  });

  test.each([
    { before: [], now: ['--shard', '1/2'], says: 'without --shard', advice: 'leave out --shard and pass --resume' },
    { before: ['--shard', '2/3'], now: [], says: 'as shard 2/3', advice: 'pass --shard 2/3 and pass --resume' },
    { before: ['--shard', '1/2'], now: ['--shard', '3/4'], says: 'as shard 1/2', advice: 'pass --shard 1/2' },
    { before: [], now: ['--journal', 'j'], says: 'in the state directory', advice: 'leave out --journal' },
    { before: ['--shard', '1/2'], now: ['--shard', '2/4'] },
  ])('another run of the same rows is not begun over $before: $now', async ({ before, now, says, advice }) => {
    const { service, world } = await listWorld({ t5: { status: 400 } });
    const file = world.file('a.csv', titles(8));
    await world.run(create(file, ...before));
    const sent = service.requests.length;

    const { exitCode, stderr } = await world.run(create(file, ...now));

    if (says === undefined) expect([exitCode, service.requests.length]).toEqual([0, sent + 2]);
    else {
      expect([exitCode, service.requests.length]).toEqual([2, sent]);
      for (const text of [says, advice, 'already', 'pass --restart']) expect(stderr).toContain(text);
      const restarted = await world.run(create(file, ...now, '--restart'));
      expect([restarted.exitCode === 2, service.requests.length > sent]).toEqual([false, true]);
    }
  });

  test('takes a failed row that was fixed in its place', async () => {
    const { service, world } = await listWorld({ t3: { status: 400 } });

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode, stdout } = await world.run(
      create(world.file('a.csv', titles(5).replace('t3', 'fixed')), '--resume'),
    );

    expect([exitCode, service.items.size, service.about().at(-1)]).toEqual([0, 5, 'fixed']);
    expect(jsonLines(stdout)).toEqual([{ row: 3, action: 'create', status: 'done', id: '5' }]);
    // It is another payload, so it has a new key.
    expect(new Set(service.requests.map(({ key }) => key)).size).toBe(6);
  });

  test.each<{ what: string; status?: number; content: string; more?: string[]; says: string }>([
    {
      what: 'a done row that has changed',
      content: titles(5).replace('t2', 'other'),
      says: 'row 2 (line 3) changed since',
    },
    { what: 'a row less', content: 'Title\nt1\nt2\nt4\nt5\n', says: 'changed since' },
    { what: 'done rows in another order', content: 'Title\nt2\nt1\nt3\nt4\nt5\n', says: 'changed since' },
    {
      ...{ what: 'a row in doubt that has changed, also with --in-doubt retry', status: 500 },
      ...{
        content: titles(5).replace('t3', 'other'),
        more: ['--in-doubt', 'retry'],
        says: 'row 3 (line 4) changed since',
      },
    },
  ])('P16: $what is 2 before any request, and is named', async ({ status = 400, content, more = [], says }) => {
    const { service, world } = await listWorld({ t3: { status } });

    await world.run(create(world.file('a.csv', titles(5))));
    const { exitCode, stdout, stderr } = await world.run(create(world.file('a.csv', content), '--resume', ...more));

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 5 });
    for (const text of [says, '--restart']) expect(stderr).toContain(text);
  });

  test('--resume and --restart together are wrong usage', async ({ service, world }) => {
    const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), '--resume', '--restart'));

    expect([exitCode, service.requests]).toEqual([2, []]);
  });

  test('of stdin is identified by its content', async () => {
    const { world, mend } = await listWorld(refusing);
    const words = create('-', '--input-format', 'csv');

    const first = await world.run(words, { stdin: titles(5) });
    const refused = await world.run(words, { stdin: titles(5) });
    const other = await world.run(words, { stdin: titles(2).replaceAll('t', 'u') });
    mend();
    const resumed = await world.run([...words, '--resume'], { stdin: titles(5) });

    expect([first, refused, other, resumed].map(({ exitCode }) => exitCode)).toEqual([9, 2, 0, 0]);
    expect(jsonLines(resumed.stdout)).toMatchObject([{ row: 3, status: 'done' }]);
    expect(world.leftovers()).toEqual([]);
  });

  test.each([0, 40])('a journal that was cut to %i bytes is damage, not absence: 10, nothing sent', async (length) => {
    const { service, world } = await listWorld({ t3: { status: 400 } });
    const words = create(world.file('a.csv', titles(5)));
    await world.run(words);
    const [journal = ''] = world.journals();
    writeFileSync(journal, readFileSync(journal).subarray(0, length));
    const named = create(world.file('b.csv', titles(4)), '--journal', journal);

    const runs = [
      await world.run(words),
      await world.run([...words, '--resume']),
      await world.run(named),
      await world.run([...named, '--resume']),
    ];

    expect([runs.map(({ exitCode }) => exitCode), service.requests.length]).toEqual([[10, 10, 10, 10], 5]);
    expect(statSync(journal).size).toBe(length);
  });
});

describe('--restart', () => {
  test('forgets what was done, and sends every row', async () => {
    const { service, world } = await listWorld(({ title, nth }) =>
      title === 't3' && nth < 6 ? { status: 400 } : undefined,
    );
    const words = create(world.file('a.csv', titles(5)));

    await world.run(words);
    const { exitCode, stdout } = await world.run([...words, '--restart']);

    expect([exitCode, service.items.size, jsonLines(stdout).length]).toEqual([0, 9, 5]);
    expect((await world.run([...words, '--resume'])).stderr).toContain('nothing to do');
  });
});

describe('get', () => {
  test('P11: keeps no journal, and works where the state directory cannot be made', async () => {
    const { world } = await listWorld(({ id }) => ({ status: 200, body: { id, fields: {} } }));
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

  test('P11: a write is 10 there, before anything is sent', async ({ service, world }) => {
    const file = world.file('a.csv', titles(2));

    const { exitCode, stdout, stderr } = await world.run(create(file), {
      env: { LISTCTL_STATE_DIR: join(world.file('a-file', ''), 'state') },
    });

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 10, stdout: '', requests: [] });
    expect(stderr).toContain('--journal');
  });

  test.skipIf(process.platform === 'win32' || process.geteuid?.() === 0)(
    'P11 (not for root): a read-only state directory',
    async () => {
      const { service, world } = await listWorld();
      mkdirSync(world.runs, { recursive: true });
      chmodSync(world.runs, 0o500);

      const { exitCode } = await world.run(create(world.file('a.csv', titles(2))));
      chmodSync(world.runs, 0o700);

      expect([exitCode, service.requests]).toEqual([10, []]);
    },
  );

  test('with --journal it is recorded, and --resume reads what is left', async () => {
    let isExpired = true;
    const { world } = await listWorld(({ id }) =>
      id === '3' && isExpired ? { status: 401 } : { status: 200, body: { id, fields: {} } },
    );
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

test.each(['state directory', '--journal'])(
  'a journal that is removed during the run ends it with 10: %s',
  async (place) => {
    await using world = await manyWorld({ url: '' });
    const own = join(world.path, 'j');
    await using service = await listService(({ title }) => {
      if (title === 't20') rmSync(place === '--journal' ? own : (world.journals()[0] ?? ''));
      return undefined;
    });
    const words = create(world.file('a.csv', titles(60)), '--concurrency', '1', '-o', 'none');
    const env = { LISTCTL_BASE_URL: service.url };

    const { exitCode, stderr } = await world.run(place === '--journal' ? [...words, '--journal', own] : words, { env });

    expect(exitCode).toBe(10);
    expect(stderr).toContain('was removed or replaced during the run');
    expect(stderr).toMatch(/^60 rows: \d+ created, \d+ in doubt, \d+ remaining; /m);
    expect(service.requests.length).toBeLessThan(25);
  },
);

test('a journal holds hashes and ids: no value, no token', async ({ world }) => {
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
