/** Inputs that grew, were edited, renamed or piped since their run: no row is created twice, and none is lost. */
import { renameSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { compactOldRuns } from '../../../src/bulk/runs.ts';
import { create, numbered, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';

/** Row 3 is refused until the list is mended. */
const refusing = { t3: { status: 400, body: { error: 'no' } } };

describe('I18: a file that grew since its run was complete', () => {
  test('is refused, with the run and how many rows exist; --resume sends the added rows alone', async ({
    service,
    world,
  }) => {
    const words = create(world.file('day.csv', titles(3)), '-o', 'none');
    await world.run(words);
    world.file('day.csv', titles(5));

    const refused = await world.run(words);
    const sent = service.requests.length;
    const resumed = await world.run([...words, '--resume']);
    const again = await world.run([...words, '--resume']);

    expect([refused.exitCode, sent]).toEqual([2, 3]);
    expect(refused.stderr).toMatch(/run \S+ \(started \S+\) completed the first 3 rows of \S+, and 2 rows were added/);
    for (const text of ['pass --resume', 'also the 3 that exist', 'nothing was sent']) {
      expect(refused.stderr).toContain(text);
    }
    expect([resumed.exitCode, resumed.stderr]).toEqual([0, expect.stringContaining('5 rows: 2 created, 3 before')]);
    expect([again.exitCode, again.stderr]).toEqual([0, expect.stringContaining('nothing to do')]);
    expect(service.about()).toEqual(numbered(5));
    expect(world.journals()).toHaveLength(1);
  });

  test.for([
    { what: 'under another name', name: 'other.csv', content: titles(5) },
    {
      what: 'with CRLF, a BOM and semicolons',
      name: 'day.csv',
      content: `\ufeff${titles(5).replaceAll('\n', '\r\n')}`,
    },
    {
      what: 'as JSONL',
      name: 'day.jsonl',
      content: numbered(5)
        .map((Title) => JSON.stringify({ Title }))
        .join('\n'),
    },
  ])('is known $what', async ({ name, content }, { service, world }) => {
    await world.run(create(world.file('day.csv', titles(3))));
    const words = create(world.file(name, content));

    const refused = await world.run(words);
    const resumed = await world.run([...words, '--resume']);

    expect([refused.exitCode, resumed.exitCode, service.about()]).toEqual([2, 0, numbered(5)]);
  });

  test('is known on standard input', async ({ service, world }) => {
    const words = create('-', '--input-format', 'csv');
    await world.run(words, { stdin: titles(3) });

    const refused = await world.run(words, { stdin: titles(5) });
    const resumed = await world.run([...words, '--resume'], { stdin: titles(5) });

    expect([refused.exitCode, resumed.exitCode, service.about()]).toEqual([2, 0, numbered(5)]);
  });

  test('with --journal, and with a shard', async ({ service, world }) => {
    for (const more of [
      ['--journal', 'j', '-l', 'one'],
      ['--shard', '2/2', '-l', 'two'],
    ]) {
      const before = service.requests.length;
      const words = create(world.file('day.csv', titles(4)), ...more);
      await world.run(words);
      const sent = service.requests.length;
      world.file('day.csv', titles(8));

      const refused = await world.run(words);
      expect([refused.exitCode, service.requests.length]).toEqual([2, sent]);
      expect((await world.run([...words, '--resume'])).exitCode).toBe(0);
      expect(service.about().slice(before)).toEqual(
        numbered(8).filter((_, at) => more[0] === '--journal' || at % 2 === 1),
      );
    }
  });

  test('a run in another place is known as well: refused, and named', async ({ service, world }) => {
    await world.run(create(world.file('day.csv', titles(4)), '--shard', '1/2'));
    const sent = service.requests.length;

    const whole = await world.run(create(world.file('day.csv', titles(6))));
    const recorded = await world.run(create(world.file('day.csv', titles(6)), '--shard', '1/2', '--journal', 'j'));

    expect([whole.exitCode, recorded.exitCode, service.requests.length]).toEqual([2, 2, sent]);
    for (const { stderr } of [whole, recorded]) expect(stderr).toContain('already created 2 rows');
  });

  test('an export of new rows alone, under the same name, starts a run', async ({ service, world }) => {
    await world.run(create(world.file('day.csv', titles(3))));

    const { exitCode } = await world.run(create(world.file('day.csv', titles(4).replaceAll('t', 'u'))));

    expect([exitCode, service.items.size, world.journals().length]).toEqual([0, 7, 2]);
  });

  test('can grow twice, be cut off in between, and is undone as one run', async () => {
    const { service, world } = await listWorld(({ title, nth }) =>
      title === 't5' && nth < 6 ? { status: 401 } : undefined,
    );
    const words = create(world.file('day.csv', titles(3)), '--concurrency', '1', '-o', 'none');
    await world.run(words);
    world.file('day.csv', titles(6));

    const cut = await world.run([...words, '--resume']);
    const unfinished = await world.run(words);
    world.file('day.csv', titles(8));
    const whole = await world.run([...words, '--resume']);
    const rows = await world.run(['runs', 'show', 'last', '--rows', '-q', '[].status', '-o', 'json']);
    const listed = await world.run(['runs', 'list', '-q', '[].[rows,done]', '-o', 'json']);

    expect([cut.exitCode, unfinished.exitCode, whole.exitCode]).toEqual([3, 2, 0]);
    expect(unfinished.stderr).toContain('2 remaining of 6 rows');
    expect(service.about()).toEqual(['t1', 't2', 't3', 't4', 't5', 't5', 't6', 't7', 't8']);
    expect([JSON.parse(rows.stdout), JSON.parse(listed.stdout)]).toEqual([Array(8).fill('done'), [[8, 8]]]);
    expect((await world.run(['runs', 'undo', 'last', '--yes'])).stderr).toContain('8 undone');
    expect(service.items.size).toBe(0);
    // What was undone may be created again.
    expect((await world.run(words)).stderr).toContain('8 created');
  });

  test.for(['update', 'delete'] as const)(
    '%s: a new run is started, as ever, and --resume sends the rest',
    async (verb) => {
      const { service, world } = await listWorld(({ id }) => ({ status: 200, body: { id, fields: {} } }));
      const words = [
        'items',
        verb,
        '--from',
        world.file('ids.txt', '1\n2\n'),
        ...(verb === 'update' ? ['-f', 'a=1'] : ['--yes']),
      ];
      await world.run(words);
      world.file('ids.txt', '1\n2\n3\n');

      expect((await world.run([...words, '--resume'])).exitCode).toBe(0);
      expect(service.requests).toHaveLength(3);
      world.file('ids.txt', '1\n2\n3\n4\n');
      expect((await world.run(words)).exitCode).toBe(0);
      expect(service.requests).toHaveLength(7);
    },
  );

  test.for([
    { what: 'grew', content: titles(5), exit: 0, says: '5 rows: 2 created, 3 before', about: numbered(5) },
    { what: 'changed', content: titles(5).replace('t2', 'x'), exit: 2, says: 'rows', about: numbered(3) },
  ])('whose journal was compacted, and $what', async ({ content, exit, says, about }, { service, world }) => {
    const words = create(world.file('day.csv', titles(3)), '-o', 'none');
    const past = Date.now() - 40 * 86_400_000;
    await world.run(words, { now: () => past });
    const [journal = ''] = world.journals();
    utimesSync(journal, past / 1000, past / 1000);
    expect(await compactOldRuns(world.runs, Date.now())).toHaveLength(1);
    world.file('day.csv', content);

    const refused = await world.run(words);
    const resumed = await world.run([...words, '--resume']);
    const again = await world.run([...words, '--resume']);

    expect([refused.exitCode, resumed.exitCode, again.exitCode]).toEqual([2, exit, exit]);
    expect(resumed.stderr).toContain(says);
    expect(service.about()).toEqual(about);
  });
});

describe('I18: a file with a changed row, of a complete run', () => {
  test('is refused by its line, with and without --resume', async ({ service, world }) => {
    const words = create(world.file('day.csv', titles(4)), '-o', 'none');
    await world.run(words);
    world.file('day.csv', titles(4).replace('t4', 't4fixed'));

    for (const more of [[], ['--resume']]) {
      const { exitCode, stderr } = await world.run([...words, ...more]);
      expect([exitCode, service.requests.length]).toEqual([2, 4]);
      for (const text of ['row 4 (line 5) changed since run', 'also the 4 that exist']) expect(stderr).toContain(text);
    }
  });

  test('and more rows too: nothing of it is created again', async ({ service, world }) => {
    const words = create(world.file('day.csv', titles(4)), '-o', 'none');
    await world.run(words);
    world.file('day.csv', titles(6).replace('t2', 'other'));

    expect((await world.run(words)).exitCode).toBe(2);
    expect((await world.run([...words, '--resume'])).stderr).toContain('row 2 (line 3) changed');
    expect(service.requests).toHaveLength(4);
  });
});

describe('I18: failed rows that were fixed', () => {
  const fixed = titles(5).replace('t3', 'fixed');
  /** The command of the hint, as its words. */
  const resumed = (stderr: string) => /resume with: listctl (.*)$/m.exec(stderr)?.[1]?.split(' ') ?? [];

  test('on standard input: the printed command names the run, and sends what is fixed', async () => {
    const { service, world } = await listWorld(refusing);
    const words = create('-', '--input-format', 'csv', '-o', 'none');

    const first = await world.run(words, { stdin: titles(5) });
    const without = await world.run(words, { stdin: fixed });
    const sent = service.requests.length;
    const second = await world.run(resumed(first.stderr), { stdin: fixed });

    expect(first.stderr).toMatch(/resume with: listctl .* --resume=\d{8}-\d{6}-\w{4}$/m);
    expect([without.exitCode, sent, without.stderr]).toEqual([
      2,
      5,
      expect.stringContaining('is incomplete: 1 failed'),
    ]);
    expect([second.exitCode, service.about().at(-1), service.items.size]).toEqual([0, 'fixed', 5]);
  });

  test('in a file that was renamed, twice', async () => {
    const { service, world } = await listWorld({ ...refusing, bad: { status: 400 } });
    await world.run(create(world.file('y.csv', titles(5)), '-o', 'none'));
    renameSync(join(world.path, 'y.csv'), join(world.path, 'y-new.csv'));
    const words = create(join(world.path, 'y-new.csv'), '-o', 'none');

    const again = await world.run([...words, '--resume']);
    world.file('y-new.csv', titles(5).replace('t3', 'bad'));
    const still = await world.run(resumed(again.stderr));
    world.file('y-new.csv', fixed);
    const without = await world.run(words);
    const shown = await world.run(['runs', 'list', '-q', '[].file', '-o', 'json']);
    const done = await world.run(resumed(still.stderr));

    expect([again, still, without, done].map(({ exitCode }) => exitCode)).toEqual([9, 9, 2, 0]);
    expect([service.items.size, service.about().at(-1)]).toEqual([5, 'fixed']);
    expect(JSON.parse(shown.stdout)).toEqual([join(world.path, 'y-new.csv')]);
  });

  test.for([
    { what: 'most of the rows', rows: 3, bad: [2, 3] },
    { what: 'all of the first rows', rows: 24, bad: [...Array(17).keys()].map((at) => at + 1) },
  ])('in a copy, $what: refused, and resumed', async ({ rows, bad }) => {
    const { service, world } = await listWorld(({ title }) => (title?.startsWith('bad') ? { status: 400 } : undefined));
    const titlesOf = (prefix: string) =>
      numbered(rows).map((title, at) => (bad.includes(at + 1) ? prefix : '') + title);
    await world.run(create(world.file('y.csv', `Title\n${titlesOf('bad').join('\n')}\n`)));
    const sent = service.requests.length;
    const words = create(world.file('copy.csv', `Title\n${titlesOf('ok').join('\n')}\n`));

    const refused = await world.run(words);
    const between = service.requests.length;
    const resumed = await world.run([...words, '--resume']);

    expect([refused.exitCode, resumed.exitCode, between]).toEqual([2, 0, sent]);
    expect(service.items.size).toBe(rows);
  });

  test('another input of as many rows starts a run', async () => {
    const { service, world } = await listWorld({ t1: { status: 400 } });
    await world.run(create(world.file('y.csv', titles(3))));

    const { exitCode } = await world.run(create(world.file('z.csv', titles(3).replaceAll('t', 'u'))));

    expect([exitCode, service.items.size]).toEqual([0, 5]);
  });

  test('in a copy, without --resume: refused, and the run is named with its file', async () => {
    const { service, world } = await listWorld(refusing);
    await world.run(create(world.file('y.csv', titles(5))));

    const { exitCode, stderr } = await world.run(create(world.file('copy.csv', fixed)));

    expect([exitCode, service.requests.length]).toEqual([2, 5]);
    for (const text of ['y.csv is incomplete: 1 failed', '--resume', 'also the 4 that exist'])
      expect(stderr).toContain(text);
  });
});

describe('--resume=RUN', () => {
  test.for([
    { what: 'its id', word: (run: string) => run },
    { what: 'its last four characters', word: (run: string) => run.slice(-4) },
    { what: 'last', word: () => 'last' },
  ])('resumes the run of that name: $what', async ({ word }) => {
    const { service, world } = await listWorld(refusing);
    await world.run(create(world.file('y.csv', titles(5))));
    const run = (await world.run(['runs', 'list', '-o', 'id'])).stdout.trim();

    const { exitCode } = await world.run(
      create(world.file('z.csv', titles(6).replace('t3', 'ok')), `--resume=${word(run)}`),
    );

    expect([exitCode, service.about().slice(5)]).toEqual([0, ['ok', 't6']]);
  });

  test.for([
    { what: 'other rows', content: titles(5).replaceAll('t', 'u'), more: [], says: 'cannot resume run' },
    { what: 'a changed row', content: titles(5).replace('t2', 'u'), more: [], says: 'row 2 (line 3) changed' },
    { what: 'another list', content: titles(5), more: ['-l', 'others'], says: 'it is create in list "tasks"' },
    { what: '--journal', content: titles(5), more: ['--journal', 'j'], says: 'cannot be used with --journal' },
    { what: 'a run that is not there', content: titles(5), more: ['--resume=zzzz'], says: 'run zzzz not found' },
    { what: 'no run', content: titles(5), more: ['--resume='], says: 'invalid --resume ""' },
    { what: '--restart', content: titles(5), more: ['--restart'], says: '--restart' },
  ])('is refused with $what: 2, nothing sent', async ({ content, more, says }) => {
    const { service, world } = await listWorld(refusing);
    await world.run(create(world.file('y.csv', titles(5))));

    const { exitCode, stderr } = await world.run(create(world.file('z.csv', content), '--resume=last', ...more));

    expect([exitCode, service.requests.length]).toEqual([2, 5]);
    expect(stderr).toContain(says);
  });

  test('the next word is not its value', async ({ service, world }) => {
    const { exitCode } = await world.run(['items', 'delete', '--resume', '7', '--yes']);

    expect([exitCode, service.requests.length]).toEqual([2, 0]);
  });

  test('is refused where another run has this input: its rows exist', async () => {
    const { service, world } = await listWorld(refusing);
    await world.run(create(world.file('y.csv', titles(5))));
    const run = (await world.run(['runs', 'list', '-o', 'id'])).stdout.trim();
    const fixed = world.file('z.csv', titles(5).replace('t3', 'ok'));
    await world.run(create(fixed, '--restart'));

    const { exitCode, stderr } = await world.run(create(fixed, `--resume=${run}`));

    expect([exitCode, service.requests.length]).toEqual([2, 10]);
    expect(stderr).toContain('the last run of this input is');
  });
});
