/** `--journal FILE`: a run that is recorded where the user says (P15). */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { create, jsonLines, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';

/** Row 3 is refused until the list is mended. */
const refusing = { t3: { status: 400, body: { error: 'no' } } };

describe('--journal FILE', () => {
  test('records the run there, in a file of its owner alone, and nothing in the state directory', async () => {
    const { world, mend } = await listWorld(refusing);
    const journal = join(world.path, 'runs of mine', 'a.journal');
    const words = create(world.file('a.csv', titles(5)), '--journal', 'runs of mine/a.journal');

    const first = await world.run(words);
    mend();
    const second = await world.run([...words, '--resume']);
    const third = await world.run([...words, '--resume']);

    expect([first.exitCode, second.exitCode, third.exitCode]).toEqual([9, 0, 0]);
    expect(jsonLines(second.stdout).map(({ row }) => row)).toEqual([3]);
    expect(third.stderr).toContain('nothing to do');
    expect([world.journals(), world.records(journal).length > 5, existsSync(`${journal}.lock`)]).toEqual([
      [],
      true,
      false,
    ]);
    if (process.platform !== 'win32') expect(statSync(journal).mode & 0o777).toBe(0o600);
  });

  test('identifies the run by its name: a retried job finds the journal wherever the input is', async () => {
    const { world, mend } = await listWorld(refusing);
    const journal = ['--journal', join(world.path, 'j')];

    await world.run(create(world.file('a.csv', titles(5)), ...journal));
    mend();
    const { exitCode, stdout } = await world.run(create(world.file('b.csv', titles(5)), ...journal, '--resume'));

    expect([exitCode, jsonLines(stdout).map(({ row }) => row)]).toEqual([0, [3]]);
  });

  test('a whole run is not begun again without --restart, which replaces its record', async ({ service, world }) => {
    const words = create(world.file('a.csv', titles(3)), '--journal', join(world.path, 'j'));

    await world.run(words);
    const again = await world.run(words);
    const restarted = await world.run([...words, '--restart']);

    expect([again.exitCode, restarted.exitCode, service.items.size]).toEqual([2, 0, 6]);
  });

  test.each([
    ['verb', ['items', 'get']],
    ['list', ['items', 'update', '-f', 'a=1', '-l', 'others']],
    ['site', ['items', 'update', '-f', 'a=1', '-s', 'others']],
  ] as const)('of another %s is refused: 2, nothing sent', async (_, words) => {
    const { service, world } = await listWorld(({ id }) => ({ status: 200, body: { id, fields: {} } }));
    const ids = world.file('ids.txt', '1\n2\n');
    const journal = join(world.path, 'j');

    await world.run(['items', 'update', '-f', 'a=1', '--from', ids, '--journal', journal]);
    const before = readFileSync(journal);
    const { exitCode, stdout, stderr } = await world.run([...words, '--from', ids, '--journal', journal, '--resume']);

    expect({ exitCode, stdout, requests: service.requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 2 });
    expect(stderr).toContain('is the journal of another run');
    expect(readFileSync(journal)).toEqual(before);
  });

  test('P15: a damaged one is 10 with the byte, before any request, and is left as it is', async () => {
    const { service, world } = await listWorld({ t3: { status: 400 } });
    const journal = join(world.path, 'j');
    const words = create(world.file('a.csv', titles(5)), '--journal', journal);
    await world.run(words);
    const bytes = readFileSync(journal);
    bytes[bytes.length - 10] = (bytes[bytes.length - 10] ?? 0) ^ 1;
    writeFileSync(journal, bytes);

    for (const more of [[], ['--resume']]) {
      const { exitCode, stdout, stderr } = await world.run([...words, ...more]);
      expect({ exitCode, stdout, requests: service.requests.length }).toEqual({
        exitCode: 10,
        stdout: '',
        requests: 5,
      });
      expect(stderr).toMatch(/is damaged at byte \d+/);
      expect(stderr).toContain('--restart to ignore it and send every row again, also those that are done: 4 at least');
    }
    expect(readFileSync(journal)).toEqual(bytes);
    expect((await world.run([...words, '--restart'])).exitCode).toBe(9);
  });

  test.for(['milk, eggs', 'milk,\neggs\n', titles(2)])(
    'another kind of file is not a journal, and is never overwritten: %j',
    async (content, { service, world }) => {
      const notes = world.file('notes.txt', content);

      for (const more of [[], ['--resume'], ['--restart']]) {
        const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), '--journal', notes, ...more));
        expect([exitCode, service.requests.length]).toEqual([10, 0]);
      }
      expect(readFileSync(notes, 'utf8')).toBe(content);
    },
  );

  test('refuses the input file as the journal', async ({ world }) => {
    const file = world.file('a.csv', titles(2));

    await world.run(create(file, '--journal', file, '--restart'));

    expect(readFileSync(file, 'utf8')).toBe(titles(2));
  });

  test('P15: a damaged one in the state directory is 10 too', async () => {
    const { service, world } = await listWorld({ t3: { status: 400 } });
    const words = create(world.file('a.csv', titles(5)));
    await world.run(words);
    const [journal = ''] = world.journals();
    writeFileSync(journal, readFileSync(journal, 'latin1').replace('"refused"', '"refusef"'), 'latin1');

    const { exitCode, stderr } = await world.run([...words, '--resume']);

    expect([exitCode, service.requests.length]).toEqual([10, 5]);
    expect(stderr).toContain(journal);
  });
});

describe("every command of a hint names a journal of the user's own by its path", () => {
  /** The command lines in a text that begin with `listctl runs`, up to their placeholders. */
  const commandsIn = (text: string) => text.match(/listctl runs \w+ (?:'[^']*'|\S+)/g) ?? [];

  test.each([
    { typed: 'j', word: 'j' },
    { typed: 'of mine/a b.journal', word: "'of mine/a b.journal'" },
    { typed: 'last', word: './last' },
    { typed: '20261120-101530-k3f9', word: './20261120-101530-k3f9' },
  ])('as text and as JSON, in each row and at the end: $typed', async ({ typed, word }) => {
    const { world } = await listWorld({ t3: { status: 500 } });
    const file = world.file('a.csv', titles(5));

    const text = await world.run(create(file, '--journal', typed, '-o', 'pretty'));
    const json = await world.run(create(file, '--journal', typed, '--restart', '-o', 'jsonl'));

    expect([text.exitCode, json.exitCode]).toEqual([8, 8]);
    for (const printed of [text.stderr, json.stdout + json.stderr]) {
      const commands = commandsIn(printed);
      expect(commands.length, printed).toBeGreaterThanOrEqual(3);
      expect(new Set(commands)).toEqual(new Set([`listctl runs resolve ${word}`, `listctl runs show ${word}`]));
    }
    const path = word.replaceAll("'", '');
    expect((await world.run(['runs', 'show', path, '--in-doubt', '-q', '[].row', '-o', 'csv'])).stdout).toBe('3\n');
    const other = await world.run(['runs', 'resolve', path, '--row', '1', '--not-applied']);
    expect(commandsIn(other.stderr)).toEqual([`listctl runs show ${word}`]);
    const undone = await world.run(['runs', 'undo', path, '--yes']);
    expect(commandsIn(undone.stderr)).toEqual([`listctl runs show ${word}`]);
  });
});
