/** The rows that were not done, ready to be fixed and sent again. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { create, jsonLines, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';

/** Refuses what has not been fixed. */
const picky = () =>
  listWorld(({ title }) =>
    title?.startsWith('bad') ? { status: 400, body: { error: 'no "such",\nfield' } } : undefined,
  );

const formats = [
  {
    name: 'a.csv',
    content: 'Title,Note\nt1,x\n"bad, one","a\nb"\nt3,007\n',
    rejected: /^Title,Note,listctl:error\n"bad, one","a\nb",".*no ""such"",⏎field\)"\n$/,
    sent: { Title: 'good, one', Note: 'a\nb' },
  },
  {
    name: 'a.csv',
    content: 'Title;Note\r\nt1;x\r\nbad;é\r\n',
    rejected: /^Title;Note;listctl:error\nbad;é;/,
    sent: { Title: 'good', Note: 'é' },
  },
  {
    name: 'a.tsv',
    content: 'Title\tNote\nt1\tx\nbad\ty\n',
    rejected: /^Title\tNote\tlistctl:error\nbad\ty\t/,
    sent: { Title: 'good', Note: 'y' },
  },
  {
    name: 'a.jsonl',
    content: '{"Title":"t1"}\n{"Title":"bad","n":1.10}\n',
    rejected: /^\{"Title":"bad","n":1\.10,"listctl:error":"[^\n]*"\}\n$/,
    sent: { Title: 'good', n: 1.1 },
  },
  {
    name: 'a.json',
    content: '[{"Title":"t1"},{"fields":{"Title":"bad"}}]',
    rejected: /^\[\n\{"fields":\{"Title":"bad"\},"listctl:error":"[^\n]*"\}\n\]\n$/,
    sent: { Title: 'good' },
  },
] as const;

describe('--rejects', () => {
  test.each(formats)('$name: has the rows in their own format, which can be fixed and sent again', async (format) => {
    const { name, content, rejected, sent } = format;
    const { service, world } = await picky();
    const rejects = join(world.path, `rejects-${name}`);

    const first = await world.run(create(world.file(name, content), '--rejects', rejects));
    const text = world.text(`rejects-${name}`);
    world.file(`rejects-${name}`, text.replace('bad', 'good'));
    const second = await world.run(create(rejects, '-o', 'none'));

    expect([first.exitCode, second.exitCode]).toEqual([9, 0]);
    expect(text).toMatch(rejected);
    expect(text).not.toMatch(/t1|t3/);
    expect(service.requests.at(-1)?.fields).toEqual(sent);
  });

  test('ids: the id, and what went wrong behind a tab', async () => {
    const { service, world } = await listWorld();
    service.items.set('1', {}).set('3', {});
    const ids = world.file('ids.txt', '1\n2\n3\n');

    const first = await world.run(['items', 'delete', '--yes', '--from', ids, '--rejects', join(world.path, 'r.txt')]);
    service.items.set('2', {});
    const second = await world.run(['items', 'delete', '--yes', '--from', join(world.path, 'r.txt')]);

    expect(world.text('r.txt')).toMatch(/^2\tlistctl:error: [^\n]*no item 2[^\n]*\n$/);
    expect([first.exitCode, second.exitCode, service.items.size]).toEqual([9, 0, 0]);
  });

  test('of a packed file they are plain', async () => {
    const { world } = await picky();

    await world.run(create(world.file('a.csv.gz', gzipSync('Title\nbad\n')), '--rejects', join(world.path, 'r.csv')));

    expect(world.text('r.csv')).toMatch(/^Title,listctl:error\nbad,/);
  });

  test.skipIf(process.platform === 'win32')(
    "is its owner's alone, also in the place of a file that was not",
    async () => {
      const { world } = await picky();
      const rejects = world.file('r.csv', 'old');

      await world.run(create(world.file('a.csv', 'Title\nbad\n'), '--rejects', rejects));

      expect(statSync(rejects).mode & 0o777).toBe(0o600);
      expect(world.text('r.csv')).not.toContain('old');
      expect(readdirSync(world.path).filter((name) => name.includes('tmp'))).toEqual([]);
    },
  );

  test('one of an earlier run is replaced by an empty one when nothing was rejected', async ({ service, world }) => {
    const rejects = world.file('r.csv', 'Title,listctl:error\nold,no\n');

    const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), '--rejects', rejects));

    expect(exitCode).toBe(0);
    expect(world.text('r.csv')).toBe('Title,listctl:error\n');
    expect((await world.run(create(rejects))).exitCode).toBe(0);
    expect(service.items.size).toBe(2);
  });

  test('has the rows that were left when the run stopped', async () => {
    const { world } = await listWorld(({ nth }) => (nth > 3 ? { status: 401 } : undefined));
    const file = world.file('a.csv', titles(8));

    const { exitCode } = await world.run(create(file, '--rejects', join(world.path, 'r.csv'), '--concurrency', '1'));

    expect(exitCode).toBe(3);
    const rows = world.text('r.csv').trimEnd().split('\n').slice(1);
    expect(rows.map((row) => row.split(',')[0])).toEqual(['t4', 't5', 't6', 't7', 't8']);
    expect(rows[4]).toContain('not sent');
  });

  test('does not have rows in doubt: those must be looked for first', async () => {
    const { world } = await listWorld({ t2: { status: 500 } });
    const words = create(world.file('a.csv', titles(3)), '--rejects', join(world.path, 'r.csv'), '--concurrency', '1');

    expect((await world.run(words)).exitCode).toBe(8);
    expect(world.text('r.csv')).toBe('Title,listctl:error\n');
  });

  test('contains skipped invalid rows unchanged: read again they are still invalid', async ({ service, world }) => {
    const file = world.file('a.csv', 'Title,Note\nt1,x\nt2\nt3,y,z\n');

    const first = await world.run(create(file, '--skip-invalid', '--rejects', join(world.path, 'r.csv')));
    const again = await world.run(create(join(world.path, 'r.csv')));

    expect([first.exitCode, again.exitCode, service.items.size]).toEqual([9, 2, 1]);
    expect(again.stderr).toContain('2 rows of 2');
  });

  test('--resume has what that session could not do', async () => {
    const { world } = await picky();
    const words = create(world.file('a.csv', 'Title\nbad1\nt2\nbad3\n'), '--rejects', join(world.path, 'r.csv'));

    await world.run(words);
    const first = world.text('r.csv');
    const { exitCode } = await world.run([...words, '--resume']);

    expect(exitCode).toBe(9);
    expect(world.text('r.csv')).toBe(first);
  });

  test('the errors of fields are in the rejects, in text and in JSON', async () => {
    const errors = [
      { field: 'Count', message: 'must be a number' },
      { field: 'Due', message: 'must not\nbe \u001b[31mred' },
    ];
    const { world } = await listWorld(() => ({ status: 422, body: { message: 'Validation failed', errors } }));
    const file = world.file('a.csv', 'Title,Count\nt1,x\n');

    const text = await world.run(create(file, '--rejects', join(world.path, 'r.csv')));
    const { stderr } = await world.run(['items', 'create', '-f', 'Title=t1', '-o', 'json']);

    const said = 'HTTP 422: Validation failed; Count: must be a number; Due: must not⏎be \\x1b[31mred';
    expect(text.stderr).toContain(said);
    expect(world.text('r.csv')).toMatch(/^Title,Count,listctl:error\nt1,x,[^\n]*\n$/);
    expect(world.text('r.csv')).toContain(said);
    expect(jsonLines(stderr)).toMatchObject([{ error: { status: 422, errors } }]);
  });

  test('one that cannot be written is noticed before anything is sent', async ({ service, world }) => {
    const rejects = join(world.path, 'nowhere', 'r.csv');

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(3)), '--rejects', rejects));

    expect([exitCode, service.requests.length, world.journals()]).toEqual([10, 0, []]);
    expect(stderr).toContain('nowhere');
  });

  test('nothing is written before the file was checked', async ({ world }) => {
    const { exitCode } = await world.run(
      create(world.file('a.csv', 'Title\n"\n'), '--rejects', join(world.path, 'r.csv')),
    );

    expect([exitCode, existsSync(join(world.path, 'r.csv'))]).toEqual([2, false]);
  });

  test.for(['--rejects', '--journal'])('%s is never the input itself', async (flag, { service, world }) => {
    const file = world.file('a.csv', titles(3));

    const { exitCode } = await world.run(create(file, flag, file));

    expect([exitCode, service.requests.length, readFileSync(file, 'utf8')]).toEqual([2, 0, titles(3)]);
  });

  test('results that cannot be printed leave no rejects file that would look complete', async () => {
    const { world } = await listWorld({ t500: { status: 400 } });
    const rejects = world.file('r.csv', 'of an earlier run\n');
    const words = create(world.file('a.csv', titles(12_000)), '--rejects', rejects, '-q', 'length(id)', '-o', 'jsonl');

    const { exitCode, stderr } = await world.run(words);

    // Pending requests are waited for, and reported.
    expect([exitCode, existsSync(rejects)]).toEqual([10, false]);
    const [told] = jsonLines(stderr);
    expect(told).toMatchObject({ summary: { exit: 10, total: { rows: 12_000, failed: 1, inDoubt: 0 } } });
  });
});
