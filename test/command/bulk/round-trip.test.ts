/** What get printed goes back in, over the built-in service. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { jsonLines, type ManyWorld, manyWorld } from './bulk-world.ts';

async function seeded(): Promise<ManyWorld> {
  const world = await manyWorld({ url: 'local:' });
  const rows = [
    { Title: 'Bücher, "alte"', Count: 1, Note: '007' },
    { Title: '=1+1', Count: 2, Note: 'two\nlines' },
    { Title: 'é€', Count: 3 },
  ];
  await world.run(['items', 'create', '--from', world.file('seed.json', JSON.stringify(rows)), '-o', 'none']);
  return world;
}

async function itemsOf(world: ManyWorld, ids = ['1', '2', '3']) {
  return jsonLines((await world.run(['items', 'get', ...ids, '-o', 'jsonl'])).stdout).map(({ fields }) => fields);
}

describe('the built-in service', () => {
  test('items get --from ids.txt -o jsonl | items create --from -', async () => {
    await using world = await seeded();
    const file = world.file('ids.txt', `${(await allIds(world)).join('\n')}\n`);

    const got = await world.run(['items', 'get', '--from', file, '-o', 'jsonl']);
    const made = await world.run(['items', 'create', '--from', '-', '-l', 'copies', '-o', 'id'], { stdin: got.stdout });
    const copies = await world.run([
      'items',
      'get',
      '-l',
      'copies',
      '-o',
      'jsonl',
      ...made.stdout.trimEnd().split('\n'),
    ]);

    expect([got.exitCode, made.exitCode]).toEqual([0, 0]);
    expect(jsonLines(copies.stdout).map(({ fields }) => fields)).toEqual(
      jsonLines(got.stdout).map(({ fields }) => fields),
    );
    expect(made.stderr).toMatch(/the service assigns ids/);
  });

  test('the output of get -o csv is valid input of update --from, and changes nothing', async () => {
    await using world = await seeded();
    const file = world.file('ids.txt', `${(await allIds(world)).join('\n')}\n`);
    const before = await itemsOf(world, [...(await allIds(world))]);

    const got = await world.run(['items', 'get', '--from', file, '-o', 'csv']);
    const put = await world.run([
      'items',
      'update',
      '--from',
      world.file('now.csv', got.stdout),
      '--type',
      'Count=auto',
    ]);

    expect([got.exitCode, put.exitCode]).toEqual([0, 0]);
    expect(await itemsOf(world, [...(await allIds(world))])).toEqual(before);
  });

  test.each([
    { how: 'semicolons, a mark and CRLF', encode: (text: string) => `\uFEFF${text}`, more: [] },
    {
      how: 'semicolons, CRLF and Windows-1252',
      encode: (text: string) => Buffer.from(text.replaceAll('€', '\x80'), 'latin1'),
      more: ['--encoding', 'windows-1252'],
    },
  ])(
    'the output of get -o csv, edited in a spreadsheet that saves $how, is valid input of update --from',
    async ({ encode, more }) => {
      await using world = await seeded();
      const all = await allIds(world);
      const got = await world.run(['items', 'get', ...all, '-o', 'csv']);
      const edited = got.stdout
        .replaceAll('\n', '\r\n')
        .replace('two\r\nlines', 'two\nlines')
        .replaceAll(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/g, ';')
        .replace('é€', 'è€');

      const words = ['items', 'update', '--from', world.file('now.csv', encode(edited)), '--type', 'Count=number'];
      const { exitCode } = await world.run([...words, ...more]);

      expect(exitCode).toBe(0);
      expect(await itemsOf(world, [...all])).toEqual([
        { Title: 'Bücher, "alte"', Count: 1, Note: '007' },
        { Title: '=1+1', Count: 2, Note: 'two\nlines' },
        { Title: 'è€', Count: 3 },
      ]);
    },
  );

  test('create, update and delete over it need no token, and honor keys', async () => {
    await using world = await manyWorld({ url: 'local:' });
    const env = { LISTCTL_BASE_URL: `local:${join(world.path, 'store')}`, LISTCTL_TOKEN: '' };
    const file = world.file('a.csv', 'Title\na\nb\nc\n');

    const made = await world.run(['items', 'create', '--from', file, '-o', 'id'], { env });
    const ids = world.file('ids.txt', made.stdout);
    const changed = await world.run(['items', 'update', '--from', ids, '-f', 'Done:=true', '-o', 'none'], { env });
    const removed = await world.run(['items', 'delete', '--from', ids, '--yes', '-o', 'none'], { env });
    const gone = await world.run(['items', 'get', '--from', ids], { env });

    expect([made, changed, removed, gone].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 9]);
  });
});

/** The ids that the seed was given, by the journal of its run. */
async function allIds(world: ManyWorld): Promise<readonly string[]> {
  const done = world.records(world.journals()[0]).filter((record) => record[0] === 'D');
  return done.sort((one, other) => Number(one[1]) - Number(other[1])).map((record) => String(record[2]));
}
