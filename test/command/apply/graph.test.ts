/** `apply` with Microsoft Graph: the list is read by pages, and values are compared by the types of columns. */
import { test as base, describe, expect } from 'vitest';
import { everyColumn } from '../../unit/server/graph/graph-in.ts';
import { type GraphWorld, graphWorld } from './graph-world.ts';

/** A list with a column of each type. */
const test = base.extend<{ readonly world: GraphWorld }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  world: async ({}, use) => {
    await using world = await graphWorld(everyColumn);
    await use(world);
  },
});

const titles = (count: number) => Array.from({ length: count }, (_, at) => `Title: t${at + 1}`);
const manifestOf = (...items: readonly string[]) =>
  `key: Title\nitems:\n${items.map((item) => `  - {${item}}\n`).join('')}`;
const reads = (requests: readonly string[]) => requests.filter((request) => request.startsWith('GET')).map(kindOf);
const kindOf = (request: string) =>
  request
    .replace(/^GET /, '')
    .replace(/^.*\/lists\/[^/]+/, '')
    .replace(/skiptoken=.*/, 'skiptoken=…');

describe('the list is read', () => {
  test('item by item if few are managed and none is to be created', async () => {
    await using world = await graphWorld();
    world.file('books.yaml', manifestOf(...titles(3)));
    await world.run('apply', 'books.yaml', '--init', '--yes', '-o', 'none');
    world.requests.length = 0;
    expect(await world.run('plan', 'books.yaml', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
    expect(reads(world.requests).filter((read) => read.startsWith('/items'))).toEqual([
      '/items/1?$expand=fields',
      '/items/2?$expand=fields',
      '/items/3?$expand=fields',
    ]);
  });

  test('by pages of 5,000 items else, of the managed fields alone', async () => {
    await using world = await graphWorld();
    world.file('books.yaml', manifestOf(...titles(20)));
    await world.run('apply', 'books.yaml', '--init', '--yes', '-o', 'none');
    await world.change('7', { Title: 't7', Note: 'x' });
    world.requests.length = 0;
    expect(await world.run('plan', 'books.yaml', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
    expect(reads(world.requests).filter((read) => read.startsWith('/items'))).toEqual([
      '/items?$expand=fields($select=Title)&$top=5000',
    ]);
  });

  test.each([
    ['the first', /top=5000/, ['5000', '2500']],
    ['a later one', /top=5000.*skiptoken/, ['5000', '5000', '1250']],
  ])('by smaller pages if %s is too large', async (_, tooLarge, expected) => {
    await using world = await graphWorld();
    world.file('books.yaml', manifestOf(...titles(20)));
    await world.run('apply', 'books.yaml', '--init', '--yes', '-o', 'none');
    const first = { value: [], '@odata.nextLink': `${world.url}/sites/root/lists/Books/items?$top=5000&$skiptoken=x` };
    world.script = (request) => {
      if (tooLarge.test(request)) return { status: 200, headers: { 'content-length': '9000000' }, body: '' };
      return /top=5000/.test(request) ? { status: 200, body: first } : undefined;
    };
    world.requests.length = 0;
    expect(await world.run('plan', 'books.yaml', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
    expect(reads(world.requests).flatMap((read) => /(?<=top=)\d+/.exec(read) ?? [])).toEqual(expected);
  });

  test('by keys alone, and item by item, if more lookups are managed than a page may have', async () => {
    const lookups = Array.from({ length: 13 }, (_, at) => ({ name: `Shelf${at}`, lookup: { columnName: 'Title' } }));
    await using world = await graphWorld(lookups);
    const fields = lookups.map(({ name }) => `${name}LookupId: 7`).join(', ');
    world.file('books.yaml', manifestOf(`Title: Dune, ${fields}`));
    await world.add({ Title: 'Dune', ...Object.fromEntries(lookups.map(({ name }) => [`${name}LookupId`, 7])) });
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    expect(await world.run('plan', 'books.yaml', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual([]);
  });

  test('an item that is on no page is read by itself before it is missing', async () => {
    await using world = await graphWorld();
    world.file('books.yaml', manifestOf(...titles(20)));
    await world.run('apply', 'books.yaml', '--init', '--yes', '-o', 'none');
    await world.remove('7');
    world.script = (request) =>
      /items\?/.test(request) ? { status: 200, body: { value: [{ id: '1', fields: { Title: 't1' } }] } } : undefined;
    world.requests.length = 0;
    const { exitCode, stdout } = await world.run('plan', 'books.yaml', '--detailed-exitcode');
    expect(exitCode).toBe(12);
    expect(stdout).toContain('key "t7", missing: will be recreated');
    expect(stdout).toContain('Plan: 1 to create (1 missing), 19 unchanged');
    expect(world.requests.filter((request) => /items\/\d/.test(request))).toHaveLength(19);
  });
});

describe('a second apply changes nothing', () => {
  // As they are written, whatever the form in which they are read (docs/graph.md).
  test.for([
    ['text', { Note: ' 007 ' }],
    ['number', { Count: 1.5 }],
    ['currency', { Price: 3 }],
    ['boolean', { Done: false }],
    ['choice', { Status: 'New' }],
    ['several choices', { Tags: ['b', 'a'] }],
    ['a bare date', { Due: '2026-01-31' }],
    ['a date with a zone', { Due: '2026-01-31T10:00:00.000+02:00' }],
    ['lookup', { ShelfLookupId: 10 }],
    ['several lookups', { ShelvesLookupId: [11, 10] }],
    ['person', { OwnerLookupId: 7 }],
    ['several persons', { OwnersLookupId: [8, 7] }],
    ['nothing', { Count: null, Tags: null, ShelvesLookupId: null, Due: null }],
    ['none of several', { OwnersLookupId: [] }],
  ] as const)('%s', async ([_, fields], { world }) => {
    world.file('books.json', JSON.stringify({ key: 'Title', items: [{ Title: 'Dune', ...fields }] }));
    expect(await world.run('apply', 'books.json', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    const plan = await world.run('plan', 'books.json', '--detailed-exitcode');
    expect(plan).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('No changes') });
    expect(await world.run('apply', 'books.json', '--init', '--yes', '--state', 'other')).toMatchObject({
      exitCode: 0,
    });
    expect(world.writes()).toEqual(['POST']);
  });

  test('and what was changed by others is reset', async ({ world }) => {
    const fields = { Title: 'Dune', Tags: ['a'], ShelvesLookupId: [1], OwnerLookupId: 2, Due: '2026-01-31' };
    world.file('books.json', JSON.stringify({ key: 'Title', items: [fields] }));
    await world.run('apply', 'books.json', '--init', '--yes');
    await world.change('1', {
      ...{ 'Tags@odata.type': 'Collection(Edm.String)', Tags: ['a', 'b'], OwnerLookupId: 3, Due: '2026-02-01' },
      ...{ 'ShelvesLookupId@odata.type': 'Collection(Edm.Int32)', ShelvesLookupId: [1, 2] },
    });
    expect(await world.run('apply', 'books.json', '--yes')).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(world.bodies.at(-1) ?? '')).toEqual({
      ...{ 'Tags@odata.type': 'Collection(Edm.String)', Tags: ['a'], OwnerLookupId: 2, Due: '2026-01-31' },
      ...{ 'ShelvesLookupId@odata.type': 'Collection(Edm.Int32)', ShelvesLookupId: [1] },
    });
    expect(await world.run('plan', 'books.json', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
  });
});

describe('the values of a manifest are made by the columns of the list', () => {
  test('from cells of a CSV file', async ({ world }) => {
    world.file(
      'books.csv',
      'Title,Note,Count,Done,Status,Tags,Due,Shelf,Shelves,Owner\n' +
        'Dune,007,1.50,TRUE,New,a;b,2026-01-31,10,11;12,ann@contoso.com\n' +
        '1984,,,,,,,,,\n',
    );
    const apply = (...words: readonly string[]) =>
      world.run('apply', 'books.csv', '--key', 'Title', '--split', ';', ...words);
    expect(await apply('--init', '--yes', '--concurrency', '1')).toMatchObject({ exitCode: 0 });
    expect(world.bodies.map((body) => JSON.parse(body).fields)).toEqual([
      {
        ...{ Title: 'Dune', Note: '007', Count: 1.5, Done: true, Status: 'New', Due: '2026-01-31' },
        ...{ 'Tags@odata.type': 'Collection(Edm.String)', Tags: ['a', 'b'], ShelfLookupId: 10 },
        ...{ 'ShelvesLookupId@odata.type': 'Collection(Edm.Int32)', ShelvesLookupId: [11, 12], OwnerLookupId: 7 },
      },
      { Title: '1984' },
    ]);
    expect(await apply('--dry-run', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
    expect(await apply('--init', '--yes', '--state', 'other')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual(['POST', 'POST']);
  });

  test.for([
    ['csv', 'Title,Count,Status\nDune,ten,Bad\nEden,1,Bod\n', ['line 2, column 2', '"ten"', '"Bad"', '"Bod"']],
    ['tsv', 'Title\tNmae\nDune\t\n', ['Nmae']],
    ['yaml', manifestOf('Title: Dune, Count: "1", Sum: 2', 'Title: Eden, Status: Bad'), ['Count', 'Sum', 'Bad']],
    ['json', '{"items": [{"Title": 7}, {"Title": "x", "Created": "2026-01-31"}]}', ['Title', 'Created']],
  ] as const)('or all that are bad are named, and nothing is sent: %s', async ([format, text, named], { world }) => {
    world.file(`books.${format}`, text);
    const { exitCode, stderr } = await world.run('apply', `books.${format}`, '--key', 'Title', '--init', '--yes');
    expect(exitCode).toBe(2);
    for (const name of named) expect(stderr).toContain(name);
    expect(world.writes()).toEqual([]);
  });

  test('a person by mail in YAML, with one read for all', async ({ world }) => {
    const owned = (Title: string) => `Title: ${Title}, Owner: ann@contoso.com, Owners: [ANN@contoso.com]`;
    world.file('books.yaml', manifestOf(owned('Dune'), owned('Eden')));
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(world.bodies[0] ?? '').fields).toMatchObject({ OwnerLookupId: 7, OwnersLookupId: [7] });
    expect(world.requests.filter((request) => /User%20Information/.test(request))).toHaveLength(1);
  });

  test('by their display names', async () => {
    await using world = await graphWorld([
      { name: 'Import_x0020_Key', displayName: 'Import Key', text: {} },
      { name: 'Open_x0020_Date', displayName: 'Open Date', dateTime: {} },
    ]);
    world.file('books.csv', 'Title,Import Key,Open Date\nDune,a1,2026-01-31\n');
    const words = ['books.csv', '--key', 'Import Key', '--names', 'display'];
    const plan = await world.run('plan', ...words, '--init');
    expect(plan.stderr).toContain('column "Open Date" is sent as Open_x0020_Date');
    expect(await world.run('apply', ...words, '--init', '--yes')).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(world.bodies[0] ?? '').fields).toEqual({
      ...{ Title: 'Dune', Import_x0020_Key: 'a1', Open_x0020_Date: '2026-01-31' },
    });
    expect(world.known('books.csv.state.json')).toMatchObject({ key: 'Import_x0020_Key', items: { a1: { id: '1' } } });
    expect(await world.run('apply', 'books.csv', '--names', 'display')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual(['POST']);
  });

  test('a required column may be missing, unless the item is created', async () => {
    await using world = await graphWorld([...everyColumn, { name: 'Needed', text: {}, required: true }]);
    await world.add({ Title: 'Dune', Needed: 'x' });
    world.file('books.yaml', manifestOf('Title: Dune, Count: 1'));
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    world.file('books.yaml', manifestOf('Title: Dune, Count: 2', 'Title: Eden', 'Title: Solaris'));
    const { exitCode, stderr } = await world.run('apply', 'books.yaml', '--yes');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('line 4: the required column "Needed" has no value');
    expect(stderr).toContain('line 5: the required column "Needed" has no value');
    expect(world.writes()).toEqual(['PATCH 1']);
  });

  test.for(['Due', 'Tags', 'Nobody'])('the key field cannot be %s', async (key, { world }) => {
    world.file('books.csv', 'Title,Due\nDune,2026-01-31\n');
    const { exitCode, stderr } = await world.run('apply', 'books.csv', '--key', key, '--init', '--yes');
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('invalid key field') });
  });
});

describe('without a state', () => {
  test('items of the list with keys of the manifest are imported', async ({ world }) => {
    await world.add({ Title: 'other' });
    await world.add({ Title: 'Dune', Count: 1 });
    await world.add({ Title: 'Eden', Count: 2 });
    world.file('books.yaml', manifestOf('Title: Dune, Count: 1', 'Title: Eden, Count: 3', 'Title: Solaris, Count: 4'));
    const plan = await world.run('plan', 'books.yaml', '--init');
    expect(plan.stdout.replace(/\s+/g, ' ')).toContain(
      '2 items of the list have keys of the manifest, and are imported.',
    );
    expect(plan.stdout).toContain('~ key "Eden", id 3, exists: will be imported\n    Count: 2 → 3');
    expect(plan.stdout).toContain('= key "Dune", id 2, exists: will be imported');
    expect(plan.stdout).toContain('Plan: 1 to create, 1 to update, 1 unchanged, 2 to import');
    expect(await world.run('apply', 'books.yaml', '--yes')).toMatchObject({ exitCode: 2 });
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual(['PATCH 3', 'POST']);
    expect(await world.run('plan', 'books.yaml', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
  });

  test('--no-refresh is refused, since it would not see them', async ({ world }) => {
    await world.add({ Title: 'Dune' });
    world.file('books.yaml', manifestOf('Title: Dune'));
    const { exitCode, stderr } = await world.run('apply', 'books.yaml', '--init', '--no-refresh', '--yes');
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('--no-refresh requires') });
    expect(world.writes()).toEqual([]);
  });

  test('two items with one key are refused, with their ids', async ({ world }) => {
    for (const Title of ['Dune', 'Eden', 'Dune', 'Dune']) await world.add({ Title });
    world.file('books.yaml', manifestOf('Title: Dune', 'Title: Eden'));
    const { exitCode, stderr } = await world.run('apply', 'books.yaml', '--init', '--yes');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('several items in the list have the same key: "Dune" (1, 3, 4)');
    expect(world.writes()).toEqual([]);
  });

  test('a saved plan imports the same items', async ({ world }) => {
    await world.add({ Title: 'Dune', Count: 1 });
    world.file('books.yaml', manifestOf('Title: Dune, Count: 2'));
    await world.run('plan', 'books.yaml', '--init', '--out', 'plan.json');
    expect(JSON.parse(world.text('plan.json'))).toMatchObject({ imported: ['Dune'], counts: { create: 0, update: 1 } });
    expect(await world.run('apply', 'plan.json')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual(['PATCH 1']);
  });
});

test('--init --prune names the items that no state has', async ({ world }) => {
  for (const Title of ['Dune', 'Eden', 'Solaris']) await world.add({ Title });
  world.file('books.yaml', manifestOf('Title: Dune'));
  const said = '--prune keeps 2 items of the list that are not in the manifest: they are not in the state';
  const { exitCode, stderr } = await world.run('apply', 'books.yaml', '--init', '--prune', '--yes', '-o', 'none');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining(said) });
  expect((await world.run('apply', 'books.yaml', '--prune', '--yes')).stderr).not.toContain(said);
  expect(world.writes()).toEqual([]);
});

describe('state import --all', () => {
  const manifest = manifestOf('Title: Dune, Count: 1', 'Title: Eden, Count: 3', 'Title: Solaris, Count: 4');

  test('makes a lost state again from the list', async ({ world }) => {
    world.file('books.yaml', manifest);
    await world.add({ Title: 'other' });
    await world.run('apply', 'books.yaml', '--init', '--yes', '--state', 'lost.json');
    await world.change('3', { Count: 2 });
    const imported = await world.run('state', 'import', 'books.yaml', '--all');
    expect(imported).toMatchObject({ exitCode: 0 });
    expect(imported.stderr).toContain('imported 3 items; 1 other of the list not in the manifest');
    const { items } = world.known('books.yaml.state.json');
    expect(Object.entries(items).map(([key, { id, fields }]) => [key, id, fields])).toEqual([
      ['Dune', '2', { Title: 'Dune', Count: 1 }],
      ['Eden', '3', { Title: 'Eden', Count: 2 }],
      ['Solaris', '4', { Title: 'Solaris', Count: 4 }],
    ]);
    const { stdout } = await world.run('plan', 'books.yaml');
    expect(stdout).toContain('~ key "Eden", id 3\n    Count: 2 → 3');
    expect(stdout).toContain('Plan: 1 to update, 2 unchanged');
  });

  test('two items with one key are refused, and nothing is written', async ({ world }) => {
    for (const Title of ['Dune', 'Eden', 'Dune']) await world.add({ Title });
    world.file('books.yaml', manifest);
    const { exitCode, stderr } = await world.run('state', 'import', 'books.yaml', '--all');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('"Dune" (1, 3)') });
    expect(() => world.known('books.yaml.state.json')).toThrow('ENOENT');
  });

  test.for([
    [['--all', 'Dune=1'], '--all cannot be used with KEY=ID'],
    [['--all', '--from', 'ids.csv'], '--all cannot be used with --from'],
    [[], 'KEY=ID, --from or --all is required'],
  ] as const)('%j is 2', async ([words, message], { world }) => {
    world.file('books.yaml', manifest);
    const { exitCode, stderr } = await world.run('state', 'import', 'books.yaml', ...words);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
  });
});

describe('a create in doubt', () => {
  async function leaveInDoubt(applies: boolean, world: GraphWorld): Promise<void> {
    world.script = (request) => (request.startsWith('POST') ? { status: 504, applies } : undefined);
    world.file('books.yaml', manifestOf('Title: Dune, Due: 2026-01-31'));
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 8 });
    world.script = () => undefined;
  }

  test('is settled by the item of the list that has its key and what was sent', async ({ world }) => {
    await leaveInDoubt(true, world);
    const { exitCode, stderr } = await world.run('apply', 'books.yaml', '--yes');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('"Dune" was created') });
    expect(world.known('books.yaml.state.json').items['Dune']).toMatchObject({ id: '1' });
    expect(world.writes()).toEqual(['POST']);
  });

  test.for([
    ['not found', []],
    ['found with other values', ['2026-02-01']],
    ['found twice', ['2026-01-31', '2026-01-31']],
  ] as const)('stays in doubt: %s', async ([_, dates], { world }) => {
    await leaveInDoubt(false, world);
    for (const Due of dates) await world.add({ Title: 'Dune', Due });
    expect(await world.run('apply', 'books.yaml', '--yes')).toMatchObject({ exitCode: 8 });
    expect(world.writes()).toEqual(['POST']);
  });
});

describe('a create of unknown outcome whose key is in a column', () => {
  const manifest = (column: string) =>
    `key: ${column}\nitems:\n  - {${column}: k1, Title: Dune}\n  - {${column}: k2, Title: Eden}\n`;
  const start = (column: string, mishaps: readonly boolean[], world: GraphWorld) => {
    const left = [...mishaps];
    world.script = (request) => {
      const applies = request.startsWith('POST') ? left.shift() : undefined;
      return applies === undefined ? undefined : { status: 504, applies };
    };
    world.file('books.yaml', manifest(column));
    return world.run('apply', 'books.yaml', '--init', '--yes');
  };

  test.for([
    ['Key', true, 0, 3],
    ['Key', false, 0, 3],
    ['Code', true, 0, 2],
    ['Code', false, 8, 2],
  ] as const)('%s, stored: %s', async ([column, applies, exitCode, posts], { world }) => {
    const first = await start(column, [applies], world);
    expect(first, first.stderr).toMatchObject({ exitCode });
    expect(world.writes()).toHaveLength(posts);
  });

  test('is sent again by the next apply if values are unique, and makes no second item', async ({ world }) => {
    expect((await start('Key', [false, false, false, false, false], world)).exitCode).toBe(8);
    expect(await world.run('apply', 'books.yaml', '--yes')).toMatchObject({ exitCode: 0 });
    const { items } = world.known('books.yaml.state.json');
    expect(new Set(Object.values(items).map(({ id }) => id))).toEqual(new Set(['1', '2']));
    expect(await world.run('apply', 'books.yaml', '--dry-run', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
  });
});

test('a create in doubt whose key another item has is not sent again', async ({ world }) => {
  world.script = (request) => (request.startsWith('POST') ? { status: 504, applies: false } : undefined);
  world.file('books.yaml', 'key: Key\nitems:\n  - {Key: k1, Title: Dune}\n');
  await world.run('apply', 'books.yaml', '--init', '--yes', '--retries', '0');
  world.script = () => undefined;
  await world.add({ Key: 'k1', Title: 'of somebody' });
  expect(await world.run('apply', 'books.yaml', '--yes')).toMatchObject({ exitCode: 8 });
  expect(world.writes()).toEqual(['POST']);
});

test('with a state, an item of the list is not created a second time', async ({ world }) => {
  world.file('books.yaml', manifestOf('Title: Dune'));
  await world.run('apply', 'books.yaml', '--init', '--yes');
  await world.add({ Title: 'Eden' });
  world.file('books.yaml', manifestOf('Title: Dune', 'Title: Eden', 'Title: Solaris'));
  const { exitCode, stdout, stderr } = await world.run('apply', 'books.yaml', '--yes');
  expect(exitCode).toBe(5);
  expect(stdout).toContain('! key "Eden", id 2, exists, but is not in the state: will not be created');
  expect(stderr).toContain('listctl state import books.yaml Eden=2');
  expect(world.writes()).toEqual(['POST', 'POST']);
  await world.run('state', 'import', 'books.yaml', 'Eden=2');
  expect(await world.run('apply', 'books.yaml', '--yes')).toMatchObject({ exitCode: 0 });
  expect(world.writes()).toHaveLength(2);
});

describe('with a state, a key that several items of the list have', () => {
  const named = '"t2" (2, 12), "t3" (3, 13, 14)';

  /** Two jobs created the same items at once: this one has the state of the first. */
  const raced = async (world: GraphWorld) => {
    world.file('books.yaml', manifestOf(...titles(11)));
    await world.run('apply', 'books.yaml', '--init', '--yes', '--concurrency', '1');
    for (const Title of ['t2', 't3', 't3', 'other', 'other']) await world.add({ Title });
    world.requests.length = 0;
  };

  test('is in the plan, and is no change', async ({ world }) => {
    await raced(world);
    const { exitCode, stdout, stderr } = await world.run('plan', 'books.yaml', '--detailed-exitcode');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('! key "t2", several items have this key: ids 2, 12\n');
    expect(stdout).toContain('! key "t3", several items have this key: ids 3, 13, 14\n');
    expect(stdout).toContain('No changes: 11 items match the manifest; 2 duplicate keys.');
    expect(stderr).toBe(`warning: several items in the list have the same key: ${named}\n`);
  });

  test('is in the plan as JSON, and in one that is saved', async ({ world }) => {
    await raced(world);
    const { stdout } = await world.run('plan', 'books.yaml', '-o', 'json');
    await world.run('plan', 'books.yaml', '--out', 'plan.json');
    const shown = await world.run('plan', 'plan.json', '-o', 'json');
    expect(JSON.parse(stdout).duplicates).toEqual([
      { key: 't2', ids: ['2', '12'] },
      { key: 't3', ids: ['3', '13', '14'] },
    ]);
    expect(shown).toMatchObject({ exitCode: 0, stdout });
  });

  test('is named by an apply that shows no plan', async ({ world }) => {
    await raced(world);
    const { exitCode, stderr } = await world.run('apply', 'books.yaml', '--yes', '-o', 'none');
    expect([exitCode, world.writes()]).toEqual([0, []]);
    expect(stderr).toContain(named);
  });

  test('is looked for among the keys of --target alone', async ({ world }) => {
    await raced(world);
    world.file('books.yaml', manifestOf(...titles(11), 'Title: new'));
    const words = ['plan', 'books.yaml', '--target', 't2', '--target', 'new', '-o', 'json'];
    expect(JSON.parse((await world.run(...words)).stdout).duplicates).toEqual([{ key: 't2', ids: ['2', '12'] }]);
  });
});

describe('a key that differs from that of an item in case or outer blanks alone', () => {
  const withKeys = (...keys: readonly string[]) =>
    `key: Code\nitems:\n${keys.map((key) => `  - {Code: "${key}", Title: Dune}\n`).join('')}`;

  test.for([
    ['alpha', 'Alpha'],
    ['alpha ', 'alpha'],
  ] as const)('makes no second item: %j, of %j', async ([key, there], { world }) => {
    await world.add({ Code: there, Title: 'Dune' });
    world.file('books.yaml', withKeys(key));
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual(['PATCH 1']);
    expect(await world.fields('1')).toMatchObject({ Code: key });
  });

  test('is another one if the list has the very key too, or the manifest has both', async ({ world }) => {
    for (const Code of ['Alpha', 'alpha', 'BETA']) await world.add({ Code, Title: 'Dune' });
    world.file('books.yaml', withKeys('alpha', 'beta', 'Beta'));
    expect(await world.run('apply', 'books.yaml', '--init', '--yes')).toMatchObject({ exitCode: 0 });
    expect(world.writes()).toEqual(['POST', 'POST']);
  });
});

test('two keys that differ in case alone are refused where the column is unique', async () => {
  await using world = await graphWorld([{ name: 'Code', text: {}, enforceUniqueValues: true }]);
  world.file('books.csv', 'Title,Code\na,aa1\nb,AA1\nc,b\n');
  const { exitCode, stderr } = await world.run('apply', 'books.csv', '--key', 'Code', '--init', '--yes');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('line 3: the key "AA1" is already used in line 2 as "aa1"');
  expect(world.writes()).toEqual([]);
});
