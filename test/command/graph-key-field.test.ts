/** Creates whose key is in a column of Microsoft Graph (docs/decisions.md, keys-6). */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { journalRecords, readJournal } from '../../src/bulk/journal-read.ts';
import { type FaultyGraph, faultyGraph, type Mishap } from '../support/faulty-graph.ts';
import { type Run, run, type World } from '../support/test-host.ts';

const columns = [
  { name: 'Unique', displayName: 'A key', text: {}, indexed: true, enforceUniqueValues: true },
  { name: 'Indexed', text: {}, indexed: true },
  { name: 'Plain', text: {} },
  { name: 'Count', number: {}, indexed: true },
  { name: 'Fixed', text: {}, readOnly: true },
];

const listctl = (graph: FaultyGraph, words: string, world: World = {}): Promise<Run> =>
  run(words.split(' '), { ...world, env: { ...graph.env, ...world.env } });

const all = (mishap: Mishap): Mishap[] => [mishap];
const once = (mishap: Mishap): Mishap[] => [mishap, undefined];

/** The exit code, and how many creates and look-ups were sent. */
type Ending = readonly number[];

interface Case {
  readonly name: string;
  readonly creates: readonly Mishap[];
  readonly unique: Ending;
  readonly indexed: Ending;
  readonly plain: Ending;
  /** With a unique column, and with the others. */
  readonly items: readonly number[];
}

const cases: readonly Case[] = [
  { name: 'is answered', creates: [], unique: [0, 1, 0], indexed: [0, 1, 0], plain: [0, 1, 0], items: [1, 1] },
  ...[
    { name: 'is stored, and the answer lost', creates: once('done, lost'), unique: [0, 2, 1] },
    { name: 'is stored, and each answer lost', creates: all('done, lost'), unique: [0, 5, 1] },
    { name: 'is stored with a 504', creates: once('done, 504'), unique: [0, 2, 1] },
    { name: 'is stored with a 500', creates: once('done, 500'), unique: [0, 1, 1] },
    { name: 'is stored, lost, and refused', creates: ['done, lost', '400'], unique: [0, 2, 1] },
  ].map((each) => ({ ...each, indexed: [0, 1, 1], plain: [8, 1, 0], items: [1, 1] }) as Case),
  ...[
    { name: 'is lost', creates: once('lost'), unique: [0, 2, 0], items: [1, 0] },
    { name: 'is lost each time', creates: all('lost'), unique: [8, 5, 1] },
    { name: 'is lost, and then refused', creates: ['lost', '400'], unique: [8, 2, 1] },
    { name: 'gets a 500', creates: once('500'), unique: [0, 2, 1], items: [1, 0] },
    { name: 'gets a 500 each time, and is found nowhere', creates: all('500'), unique: [6, 5, 6] },
    { name: 'gets a 504 each time', creates: all('504'), unique: [8, 5, 1] },
    { name: 'is lost, and then gets a 500 each time', creates: ['lost', '500'], unique: [8, 5, 5] },
  ].map((each) => ({ items: [0, 0], ...each, indexed: [8, 1, 1], plain: [8, 1, 0] }) as Case),
  { name: 'is refused', creates: all('400'), unique: [1, 1, 0], indexed: [1, 1, 0], plain: [1, 1, 0], items: [0, 0] },
];

test.each(cases)('a create that $name', async ({ creates, unique, indexed, plain, items }) => {
  for (const [column, ending] of Object.entries({ Unique: unique, Indexed: indexed, Plain: plain })) {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = [...creates];
    const { exitCode, stdout, stderr } = await listctl(graph, `items create --key-field ${column} -f Title=x -o json`);
    const { creates: sent, lookUps } = graph.counts();
    const stored = (await graph.items()).size;
    expect({ column, stderr, stored, ending: [exitCode, sent, lookUps] }).toEqual({
      ...{ column, stderr, ending },
      stored: items[column === 'Unique' ? 0 : 1],
    });
    if (exitCode !== 0) continue;
    const key = expect.stringMatching(/^[a-z2-7]{26}$/);
    expect(JSON.parse(stdout)).toMatchObject({ id: '1', fields: { Title: 'x', [column]: key } });
  }
});

test.each<{ lookUps: Mishap[]; exit: number }>([
  { lookUps: ['500', 'lost', '429', undefined], exit: 0 },
  { lookUps: ['500'], exit: 8 },
  { lookUps: ['400'], exit: 8 },
])('a look-up is retried as any read: $lookUps', async ({ lookUps, exit }) => {
  for (const column of ['Unique', 'Indexed']) {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = ['done, lost'];
    graph.mishaps.lookUps = [...lookUps];
    const { exitCode } = await listctl(graph, `items create --key-field ${column} -f Title=x -o none`);
    expect({ column, exitCode, items: (await graph.items()).size }).toEqual({ column, exitCode: exit, items: 1 });
  }
});

test('two items with the key are named, and neither is the result', async () => {
  await using graph = await faultyGraph(columns);
  await graph.add({ Indexed: 'k' });
  await graph.add({ Indexed: 'k' });
  graph.mishaps.creates = ['lost'];
  const { exitCode, stderr } = await listctl(graph, 'items create --key-field Indexed -f Indexed=k -f Title=x');
  expect({ exitCode, stderr }).toEqual({ exitCode: 8, stderr: expect.stringContaining('have Indexed "k": 1, 2') });
});

test('a key that differs in case alone is another key, but no proof that nothing was stored', async () => {
  await using graph = await faultyGraph(columns);
  await graph.add({ Unique: 'K' });
  graph.mishaps.creates = once('lost');
  const { exitCode, stderr } = await listctl(graph, 'items create --key-field Unique -f Unique=k -f Title=x');
  expect({ exitCode, stderr }).toEqual({ exitCode: 8, stderr: expect.stringContaining('have Unique "k": 1') });
});

test('an empty --key-field is not a run without keys', async () => {
  await using graph = await faultyGraph(columns);
  const cwd = graph.env['LISTCTL_STATE_DIR'] ?? '';
  writeFileSync(join(cwd, 'rows.csv'), 'Title\nmine\n');
  const { exitCode, stderr } = await listctl(graph, 'items create --key-field= --from rows.csv', { cwd });
  expect([exitCode, stderr, (await graph.items()).size]).toEqual([2, expect.stringContaining('--key-field ""'), 0]);
});

test('an item that others created with the key is not the result', async () => {
  for (const column of ['Unique', 'Indexed']) {
    await using graph = await faultyGraph(columns);
    await graph.add({ Title: 'of others', [column]: 'k' });
    const cwd = graph.env['LISTCTL_STATE_DIR'] ?? '';
    writeFileSync(join(cwd, 'rows.csv'), `Title,${column}\nmine,k\n`);
    for (const input of [`-f Title=mine -f ${column}=k`, `--idempotency-key k -f Title=mine`, '--from rows.csv']) {
      graph.mishaps.creates = once('lost');
      const { exitCode, stderr } = await listctl(graph, `items create --key-field ${column} ${input}`, { cwd });
      const says = input === '--from rows.csv' ? '1 in doubt' : `item 1 has ${column} "k", but other values`;
      expect({ exitCode, stderr }).toEqual({ exitCode: 8, stderr: expect.stringContaining(says) });
    }
    // The values of the row are known from its file.
    const resolved = await listctl(graph, 'runs resolve last --auto', { cwd });
    expect(resolved).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('but other values') });
    expect((await graph.items()).size).toBe(1);
  }
});

test('a create in doubt says how to find its item', async () => {
  for (const [column, more] of Object.entries({ Indexed: '', Plain: ' --non-indexed' })) {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = all('lost');
    const words = ['items', 'create', '--key-field', column, '-f', `${column}=O'Neil`, '-f', 'Title=x'];
    const { stderr } = await run(words, { env: graph.env });
    expect(stderr).toContain(`listctl items list --where ${column}='O'\\''Neil'${more}\n`);
  }
});

test('a quote in a key is doubled in the filter', async () => {
  await using graph = await faultyGraph(columns);
  graph.mishaps.creates = once('done, lost');
  const words = ['items', 'create', '--key-field', 'Unique', '-f', "Unique=O'Neil & 50%", '-f', 'Title=x', '-o', 'id'];
  // One item alone cannot tell who made it.
  expect(await run(words, { env: graph.env })).toMatchObject({
    exitCode: 8,
    stderr: expect.stringContaining('item 1 has'),
  });
  expect(graph.requests.at(-1)?.path).toContain("$filter=fields%2FUnique%20eq%20'O''Neil%20%26%2050%25'");
});

test('a key that is given may have been sent before: its item is the result', async () => {
  for (const column of ['Unique', 'Indexed']) {
    await using graph = await faultyGraph(columns);
    await graph.add({ Title: 'x', [column]: 'given-key' });
    const words = `items create --key-field ${column} --idempotency-key given-key -f Title=x -o id`;
    expect(await listctl(graph, words)).toMatchObject({ exitCode: 0, stdout: '1\n' });
    expect((await graph.items()).size).toBe(1);
    const another = `items create --key-field ${column} --idempotency-key another-key -f Title=x -o id`;
    expect(await listctl(graph, another)).toMatchObject({ exitCode: 0, stdout: '2\n' });
  }
});

test('a key that is given is no doubt by itself', async () => {
  await using graph = await faultyGraph(columns);
  graph.mishaps.creates = ['400'];
  const words = 'items create --key-field Unique --idempotency-key given-key -f Title=x -o id';
  expect(await listctl(graph, words)).toMatchObject({ exitCode: 1 });
  expect(graph.counts()).toEqual({ creates: 1, lookUps: 1 });
});

test('an item with the same value of a field that is the key is no success', async () => {
  await using graph = await faultyGraph(columns);
  await graph.add({ Title: 'other', Unique: 'k' });
  expect(await listctl(graph, 'items create --key-field Unique -f Unique=k -f Title=x')).toMatchObject({ exitCode: 1 });
});

describe('nothing is sent', () => {
  test.each([
    ['--key-field Nowhere', 'no column has this internal name'],
    ['--key-field Display --names display', 'which --names does not change'],
    ['--key-field unique', 'did you mean "Unique"?'],
    ['--key-field Count', 'its type is number, not text'],
    ['--key-field Fixed', 'it is read-only'],
    ['--key-field ContentType', 'it is read-only'],
    ['--key-field Unique -f Unique=', 'is empty'],
    ['--key-field Unique -f Unique:=1', 'is not a string'],
    ['--key-field Unique -f Unique=k --idempotency-key k', 'cannot be used with field "Unique"'],
  ])('with %s', async (flags, says) => {
    await using graph = await faultyGraph(columns);
    const { exitCode, stderr } = await listctl(graph, `items create -f Title=x ${flags}`);
    expect({ exitCode, stderr, ...graph.counts() }).toEqual({
      ...{ exitCode: 2, creates: 0, lookUps: 0 },
      stderr: expect.stringContaining(says),
    });
  });

  test('to the ordinary service', async () => {
    const env = {
      LISTCTL_BASE_URL: 'http://127.0.0.1:9/v1.0',
      LISTCTL_TOKEN: 't',
      LISTCTL_SITE: 's',
      LISTCTL_LIST: 'l',
    };
    const { exitCode, stderr } = await run(['items', 'create', '-f', 'a=b', '--key-field', 'Key'], { env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('Microsoft Graph') });
  });

  test.each(['-f Title=x', '--from rows.csv'])('by --dry-run into no column: %s', async (input) => {
    await using graph = await faultyGraph(columns);
    const cwd = graph.env['LISTCTL_STATE_DIR'] ?? '';
    writeFileSync(join(cwd, 'rows.csv'), 'Title\na\n');
    const ran = await listctl(graph, `items create --key-field Nowhere --dry-run ${input}`, { cwd });
    expect(ran).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no column has this internal name') });
  });

  test.each([
    ['-f Title=x', '<key>'],
    ['-f Title=x --idempotency-key given', 'given'],
    ['-f Title=x -f Unique=own', 'own'],
  ])('by --dry-run with %s, which shows the key', async (flags, key) => {
    await using graph = await faultyGraph(columns);
    const { stdout } = await listctl(graph, `items create --key-field Unique --dry-run ${flags} -o json`);
    expect(JSON.parse(stdout).body).toEqual({ fields: { Title: 'x', Unique: key } });
    expect(graph.counts()).toEqual({ creates: 0, lookUps: 0 });
  });
});

test.each([
  ['Unique', 'Unique has unique values: '],
  ['Indexed', 'Indexed is indexed, but not unique: '],
  ['Plain', 'warning: Plain is not indexed: '],
])('what %s promises is said on a terminal', async (column, says) => {
  await using graph = await faultyGraph(columns);
  const words = `items create --key-field ${column} -f Title=x -o none`;
  expect((await listctl(graph, words, { terminal: 200 })).stderr).toContain(says);
});

describe('the rows of a file', () => {
  const fileOf = (graph: FaultyGraph) => join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'rows.csv');
  const create = (graph: FaultyGraph, column: string, more = '', text = 'Title\na\nb\nc\n') => {
    writeFileSync(fileOf(graph), text);
    return listctl(graph, `items create --from ${fileOf(graph)} --key-field ${column} -o jsonl ${more}`.trim());
  };

  test.each<Case>(cases)('whose create $name', async ({ creates, unique, indexed, plain, items }) => {
    const exits: Record<number, number> = { 0: 0, 1: 9, 6: 9, 8: 8 };
    for (const [column, [exit]] of Object.entries({ Unique: unique, Indexed: indexed, Plain: plain })) {
      await using graph = await faultyGraph(columns);
      graph.mishaps.creates = [...creates];
      const { exitCode, stderr } = await create(graph, column, '', 'Title\na\n');
      expect({ column, exitCode, stderr }).toEqual({ column, exitCode: exits[exit ?? -1], stderr });
      expect((await graph.items()).size).toBe(items[column === 'Unique' ? 0 : 1]);
    }
  });

  test('have a key each, which the journal keeps before it is sent', async () => {
    await using graph = await faultyGraph(columns);
    expect(await create(graph, 'Unique')).toMatchObject({ exitCode: 0 });
    const keys = [...(await graph.items()).values()].map((fields) => fields['Unique']);
    expect(new Set(keys).size).toBe(3);
    const { header, intents } = await journalOf(graph);
    expect(header).toMatchObject({ keyField: { column: 'Unique', promise: 'unique' } });
    expect(new Set(intents)).toEqual(new Set(keys));
  });

  test.each([
    ['row', 0],
    ['content', 0],
    ['column:Title', 9],
  ])('derive it with --idempotency-key-from %s, and are not created twice without a journal', async (source, exit) => {
    await using graph = await faultyGraph(columns);
    const more = `--idempotency-key-from ${source}`;
    expect(await create(graph, 'Unique', more)).toMatchObject({ exitCode: 0 });
    const { exitCode, stdout } = await create(graph, 'Unique', `${more} --restart`);
    expect({ exitCode, items: (await graph.items()).size }).toEqual({ exitCode: exit, items: 3 });
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id);
    if (exit === 0) expect(ids).toEqual([...(await graph.items()).keys()]);
  });

  test('have it in a column of the input, of any script', async () => {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = [undefined, 'done, lost', undefined, 'done, 504', undefined];
    const text = "Unique,Title\nключ-1,a\nO'Neil,b\n007,c\n";
    expect(await create(graph, 'Unique', '', text)).toMatchObject({ exitCode: 0 });
    const keys = [...(await graph.items()).values()].map((fields) => fields['Unique']);
    expect(keys.toSorted()).toEqual(['007', "O'Neil", 'ключ-1']);
    // No journal has a value of a field (docs/decisions.md, journal-6).
    expect((await journalOf(graph)).intents).toEqual([null, null, null, null, null]);
  });

  test.each([
    ['Unique,Title\nk,a\n,b\n', 'row 2 (line 3): the key in "Unique" is missing'],
    ['Unique,Title\n,a\n,b\n', 'row 1 (line 2): the key in "Unique" is missing'],
    ['Unique,Title\nk,a\nK,b\n', 'rows 1 and 2 (lines 2 and 3) have the same key in "Unique"'],
    ['Unique,Title\n k,a\n', 'begins or ends with a blank'],
    [`Unique,Title\n${'k'.repeat(256)},a\n`, 'is longer than 255 characters'],
    ['A key,Title\n,a\n', 'the key in "Unique" is missing', '--names display'],
  ])('are refused before anything is sent: %j', async (text, says, more = '') => {
    await using graph = await faultyGraph(columns);
    const { exitCode, stderr } = await create(graph, 'Unique', more, text);
    expect({ exitCode, stderr, ...graph.counts() }).toMatchObject({ exitCode: 2, creates: 0 });
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error.message).toContain(says);
  });

  test('need no key from elsewhere if they have one', async () => {
    await using graph = await faultyGraph(columns);
    const ran = await create(graph, 'Unique', '--idempotency-key-from row', 'Unique,Title\nk,a\n');
    expect(ran).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--idempotency-key-from') });
  });

  test('are shown by --dry-run with their keys', async () => {
    await using graph = await faultyGraph(columns);
    const dry = async (more: string, text?: string) =>
      JSON.parse((await create(graph, 'Unique', `--dry-run ${more}`.trim(), text)).stdout.split('\n')[0] ?? '').body
        .fields;
    expect(await dry('')).toEqual({ Title: 'a', Unique: '<key>' });
    expect(await dry('--idempotency-key-from row')).toEqual({
      Title: 'a',
      Unique: expect.stringMatching(/^[a-z2-7]{26}$/),
    });
    expect(await dry('', 'Title,Unique\na,k\n')).toEqual({ Title: 'a', Unique: 'k' });
    expect(graph.counts()).toEqual({ creates: 0, lookUps: 0 });
  });

  test('that a 500 is about do not end the run', async () => {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = [...Array<Mishap>(10).fill('500'), undefined];
    const { exitCode, stdout } = await create(graph, 'Unique', '--concurrency 1');
    const results = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).status);
    expect({ exitCode, results }).toEqual({ exitCode: 9, results: ['failed', 'failed', 'done'] });
  });

  describe('after a session that could not tell', () => {
    test.each([
      { column: 'Unique', creates: ['done, lost'], exits: [8, 0], items: 3 },
      { column: 'Unique', creates: ['lost'], exits: [8, 0], items: 3 },
      { column: 'Indexed', creates: ['done, lost', undefined], exits: [8, 0], items: 3 },
      { column: 'Indexed', creates: ['lost', undefined], exits: [8, 8], items: 2 },
      { column: 'Plain', creates: ['done, lost', undefined], exits: [8, 8], items: 3 },
    ] as { column: string; creates: Mishap[]; exits: number[]; items: number }[])(
      '$column, $creates: --resume ends with $exits and $items items',
      async ({ column, creates, exits, items }) => {
        await using graph = await faultyGraph(columns);
        graph.mishaps.creates = [...creates];
        graph.mishaps.lookUps = ['500'];
        const first = await create(graph, column);
        graph.mishaps.creates = [];
        graph.mishaps.lookUps = [];
        const second = await create(graph, column, '--resume');
        expect([first.exitCode, second.exitCode], first.stderr + second.stderr).toEqual(exits);
        expect((await graph.items()).size).toBe(items);
        // Each row once.
        if (column !== 'Unique') expect(graph.counts().creates).toBe(3);
      },
    );

    test.each([
      ['', 'its key field is Unique'],
      ['--key-field Indexed', 'its key field is Unique'],
    ])('it is not resumed with "%s"', async (flags, says) => {
      await using graph = await faultyGraph(columns);
      graph.mishaps.creates = ['lost'];
      await create(graph, 'Unique');
      const words = `items create --from ${fileOf(graph)} --resume ${flags}`.trim();
      const { exitCode, stderr } = await listctl(graph, words);
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(says) });
    });
  });
});

describe('an item that a look-up finds by a key of the input', () => {
  const older = { createdDateTime: '2020-01-01T00:00:00Z' };
  const byAnn = { createdBy: { user: { id: 'ann', displayName: 'Ann' } } };
  const input = 'Title,Unique,Indexed\nfirst,k1,k1\nmine,k2,k2\n';
  /** Waits take no time, so that the clock of the next command has to be ahead. */
  const later = { now: () => Date.now() + 5000 };
  const importRows = (graph: FaultyGraph, column: string, more = '', world: World = {}) => {
    const file = join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'rows.csv');
    writeFileSync(file, input);
    const words = `items create --from ${file} --key-field ${column} --concurrency 1 --retries 1 -o jsonl ${more}`;
    return listctl(graph, words.trim(), world);
  };
  const statuses = ({ stdout }: Run) => {
    const lines = stdout.trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as { status: string; error?: { message: string } });
  };
  const undo = async (graph: FaultyGraph) => {
    const ran = await listctl(graph, 'runs undo last --yes -o none');
    return { ...ran, left: [...(await graph.items()).keys()] };
  };

  test.each([
    { name: 'older', seen: older },
    { name: 'of another account', seen: byAnn },
  ])('and is $name was not created: the row has failed, and undo leaves the item', async ({ seen }) => {
    await using graph = await faultyGraph(columns);
    await graph.add({ Title: 'mine', Unique: 'k2', Indexed: 'k2' }, seen);
    graph.mishaps.creates = [undefined, 'lost', undefined];

    const ran = await importRows(graph, 'Unique');

    expect(ran.exitCode).toBe(9);
    expect(statuses(ran)).toMatchObject([
      { status: 'done' },
      { status: 'failed', error: { message: expect.stringContaining('item 1 has Unique "k2" already') } },
    ]);
    expect(await undo(graph)).toMatchObject({ exitCode: 0, left: ['1'] });
  });

  test('was created if the run sent it before, by the same account', async () => {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = [undefined, 'done, lost', undefined];

    expect(await importRows(graph, 'Unique')).toMatchObject({ exitCode: 0 });
    expect(await undo(graph)).toMatchObject({ exitCode: 0, left: [] });
  });

  test('is in doubt where the values of a column need not be unique', async () => {
    await using graph = await faultyGraph(columns);
    await graph.add({ Title: 'mine', Unique: 'k2', Indexed: 'k2' }, older);
    graph.mishaps.creates = [undefined, 'lost'];

    expect(await importRows(graph, 'Indexed')).toMatchObject({ exitCode: 8 });
    expect(await undo(graph)).toMatchObject({ left: ['1'] });
  });

  test('is in doubt until the account of the run is known: --resume looks again', async () => {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = ['done, lost', undefined];

    const first = await importRows(graph, 'Unique');
    const second = await importRows(graph, 'Unique', '--resume', later);

    expect([first.exitCode, second.exitCode, (await graph.items()).size]).toEqual([8, 0, 2]);
    expect(statuses(first)[0]?.error?.message).toContain('it is unclear whether this create made it');
  });

  test('later than the refusal of a repeat leaves the row in doubt until then', async () => {
    await using graph = await faultyGraph(columns);
    graph.mishaps.creates = [undefined, 'done, lost', undefined];
    graph.mishaps.lookUps = ['empty'];

    const first = await importRows(graph, 'Unique');
    graph.mishaps.lookUps = [];
    const second = await importRows(graph, 'Unique', '--resume', later);

    expect([first.exitCode, second.exitCode, (await graph.items()).size]).toEqual([8, 0, 2]);
  });

  test.each([
    { name: 'of the row is found again', seen: undefined, left: [] },
    { name: 'is older', seen: older, left: ['1', '2'] },
  ])('whose key was derived, and which $name, is the result; undo leaves $left', async ({ seen, left }) => {
    await using graph = await faultyGraph(columns);
    const keys = '--idempotency-key-from content';
    const file = join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'a.csv');
    writeFileSync(file, 'Title\na\nb\n');
    const words = `items create --from ${file} --key-field Unique ${keys} --concurrency 1 -o none`;
    if (seen !== undefined) {
      const { stdout } = await listctl(graph, `${words} --dry-run -o jsonl`.replace(' -o none', ''));
      for (const line of stdout.trimEnd().split('\n')) await graph.add(JSON.parse(line).body.fields, seen);
    } else graph.mishaps.creates = [undefined, 'done, lost', undefined];

    expect(await listctl(graph, words)).toMatchObject({ exitCode: 0 });
    const undone = await undo(graph);

    expect(undone.left).toEqual(left);
    if (left.length > 0) expect(undone.stderr).toContain('2 items of run');
  });

  test('by runs resolve --auto: an older one was not applied', async () => {
    await using graph = await faultyGraph(columns);
    await graph.add({ Title: 'mine', Unique: 'k2', Indexed: 'k2' }, older);
    graph.mishaps.creates = [undefined, '504'];
    graph.mishaps.lookUps = ['400'];
    expect(await importRows(graph, 'Unique')).toMatchObject({ exitCode: 8 });
    graph.mishaps.lookUps = [];

    const { exitCode, stdout } = await listctl(graph, 'runs resolve last --auto -o json', later);

    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { done: 1, inDoubt: 0, left: 1 }]);
  });
});

describe('runs resolve --auto', () => {
  const text = 'Title\na\nb\nc\nd\n';
  const own = 'Indexed,Unique,Title\nключ,A,a\nk2,B,b\nk3,C,c\nk4,D,d\n';
  const inDoubt = async (graph: FaultyGraph, column: string, input: string) => {
    const file = join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'rows.csv');
    writeFileSync(file, input);
    graph.mishaps.creates = [undefined, 'done, 504', '504', 'done, 504', undefined];
    graph.mishaps.lookUps = ['400'];
    const words = `items create --from ${file} --key-field ${column} --retries 0 --concurrency 1 -o none`;
    expect(await listctl(graph, words)).toMatchObject({ exitCode: 8 });
    graph.mishaps.lookUps = ['500', undefined];
  };

  test.each([
    ['Indexed', text],
    ['Unique', text],
    ['Indexed', own],
  ])('settles what it finds by %s, and names the rest', async (column, input) => {
    await using graph = await faultyGraph(columns);
    await inDoubt(graph, column, input);
    const { exitCode, stderr, stdout } = await listctl(graph, 'runs resolve last --auto -o json');
    expect(JSON.parse(stdout)).toMatchObject({ done: 3, inDoubt: 1 });
    expect({ exitCode, stderr }).toEqual({ exitCode: 8, stderr: expect.stringContaining('row 3: no item has ') });
    const { stdout: ids } = await listctl(graph, 'runs show last -o id');
    expect(ids.trimEnd().split('\n')).toEqual([...(await graph.items()).keys()]);
    const again = await listctl(graph, 'runs resolve last --auto -o none');
    expect({ again: again.exitCode, items: (await graph.items()).size }).toEqual({ again: 8, items: 3 });
  });

  test('needs the input for keys that are in it', async () => {
    await using graph = await faultyGraph(columns);
    await inDoubt(graph, 'Indexed', own);
    writeFileSync(join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'rows.csv'), 'Indexed,Title\n');
    const { exitCode, stderr } = await listctl(graph, 'runs resolve last --auto -o none');
    expect({ exitCode, stderr }).toEqual({ exitCode: 8, stderr: expect.stringContaining('its values are not known') });
  });

  test('needs a run with a key field', async () => {
    await using graph = await faultyGraph(columns);
    const file = join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'rows.csv');
    writeFileSync(file, text);
    graph.mishaps.creates = ['504', undefined];
    await listctl(graph, `items create --from ${file} -o none`);
    const { exitCode, stderr } = await listctl(graph, 'runs resolve last --auto -o none');
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('has no key field') });
  });

  test('--applied accepts an item with the key of the row', async () => {
    await using graph = await faultyGraph(columns);
    await inDoubt(graph, 'Indexed', text);
    expect(await listctl(graph, 'runs resolve last --row 2 --applied 2 -o none')).toMatchObject({ exitCode: 0 });
    expect(await listctl(graph, 'runs resolve last --row 4 --applied 1 -o none')).toMatchObject({ exitCode: 5 });
  });
});

async function journalOf(graph: FaultyGraph) {
  const directory = join(graph.env['LISTCTL_STATE_DIR'] ?? '', 'runs');
  const path = join(directory, readdirSync(directory).find((name) => name.endsWith('.journal')) ?? '');
  const intents: unknown[] = [];
  for await (const { record } of journalRecords(path)) if (record[0] === 'I') intents.push(record[4]);
  return { header: (await readJournal(path, { boot: '' }))?.header, intents };
}
