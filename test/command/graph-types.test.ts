/** Types and names from the columns of a list, over the built-in service of Microsoft Graph (docs/graph.md). */
import { beforeEach, describe, expect, test } from 'vitest';
import { graphServer } from '../support/graph-server.ts';
import type { Run } from '../support/test-host.ts';

const columns = [
  { name: 'Title', text: {}, required: true },
  { name: 'Code', text: {} },
  { name: 'Count', number: {} },
  { name: 'Price', currency: {} },
  { name: 'Done', boolean: {} },
  { name: 'Due_x0020_Date', displayName: 'Due Date', dateTime: {} },
  { name: 'Status', choice: { choices: ['New', 'Old'], displayAs: 'dropDownMenu' } },
  { name: 'Color', choice: { choices: ['Red'], allowTextEntry: true } },
  { name: 'Tags', choice: { choices: ['a', 'b', 'c;d'], displayAs: 'checkBoxes' } },
  { name: 'Words', choice: { choices: [], allowTextEntry: true, displayAs: 'checkBoxes' } },
  { name: 'Shelf', lookup: { columnName: 'Title' } },
  { name: 'Shelves', lookup: { columnName: 'Title', allowMultipleValues: true } },
  { name: 'Owner', personOrGroup: {} },
  { name: 'Owners', personOrGroup: { allowMultipleSelection: true } },
  { name: 'Link', hyperlinkOrPicture: {} },
  { name: 'Sum', calculated: {}, readOnly: true },
  { name: 'Photo' },
  { name: 'One', displayName: 'Same', text: {} },
  { name: 'Two', displayName: 'Same', text: {} },
];
const users = [
  { id: 7, EMail: 'Ann@contoso.com' },
  { id: 8, EMail: 'bo@contoso.com' },
  { id: 9, EMail: 'bo@contoso.com' },
  { id: 10 },
];

type GraphServer = Awaited<ReturnType<typeof graphServer>>;

let server: GraphServer;
beforeEach(async () => {
  server = await graphServer({ Books: columns }, users);
  return () => server[Symbol.asyncDispose]();
});

const listctl = (words: readonly string[], stdin = ''): Promise<Run> => server.listctl(words, { stdin });
const file: GraphServer['file'] = (...args) => server.file(...args);
const writes = () => server.requests.filter(({ request }) => !request.startsWith('GET'));
const sentFields = () => writes().map(({ body }) => JSON.parse(body).fields);
const csvCell = (text: string) => `"${text.replaceAll('"', '""')}"`;

const int32 = 'Collection(Edm.Int32)';
const strings = 'Collection(Edm.String)';

/** A text, and the fields that are sent for it. */
const texts: readonly { name: string; text: string; sent: object; more?: readonly string[] }[] = [
  ...['007', '1.10', '=1+1', 'a ', ' a', 'true', '[1]'].map((text) => ({ name: 'Code', text, sent: { Code: text } })),
  { name: 'Count', text: '3', sent: { Count: 3 } },
  { name: 'Count', text: '-1.5e3', sent: { Count: -1500 } },
  { name: 'Price', text: '19.90', sent: { Price: 19.9 } },
  { name: 'Done', text: 'TRUE', sent: { Done: true } },
  { name: 'Done', text: 'false', sent: { Done: false } },
  ...['2026-01-31', '2026-01-31T10:00:00Z', '2026-01-31T10:00', '2024-02-29T23:59:59.5+02:00'].map((text) => ({
    name: 'Due_x0020_Date',
    text,
    sent: { Due_x0020_Date: text },
  })),
  { name: 'Status', text: 'New', sent: { Status: 'New' } },
  { name: 'Color', text: 'Mauve', sent: { Color: 'Mauve' } },
  { name: 'Tags', text: '["a","b"]', sent: { 'Tags@odata.type': strings, Tags: ['a', 'b'] } },
  { name: 'Tags', text: 'c;d', sent: { 'Tags@odata.type': strings, Tags: ['c;d'] } },
  { name: 'Tags', text: 'a;b', more: ['--split', ';'], sent: { 'Tags@odata.type': strings, Tags: ['a', 'b'] } },
  { name: 'Words', text: 'x, y', more: ['--split', ','], sent: { 'Words@odata.type': strings, Words: ['x', 'y'] } },
  { name: 'Shelf', text: '12', sent: { ShelfLookupId: 12 } },
  { name: 'ShelfLookupId', text: '12', sent: { ShelfLookupId: 12 } },
  { name: 'Shelves', text: '[1,2]', sent: { 'ShelvesLookupId@odata.type': int32, ShelvesLookupId: [1, 2] } },
  {
    name: 'Shelves',
    text: '1;2',
    more: ['--split', ';'],
    sent: { 'ShelvesLookupId@odata.type': int32, ShelvesLookupId: [1, 2] },
  },
  { name: 'Owner', text: '7', sent: { OwnerLookupId: 7 } },
  { name: 'Owner', text: 'ann@CONTOSO.com', sent: { OwnerLookupId: 7 } },
  {
    name: 'Owners',
    text: '["ann@contoso.com",9]',
    sent: { 'OwnersLookupId@odata.type': int32, OwnersLookupId: [7, 9] },
  },
];

describe('a text becomes what its column is', () => {
  test.each(texts)('$name: $text $more', async ({ name, text, sent, more = [] }) => {
    const books = file('books.csv', `Title,${name}\nDune,${csvCell(text)}\n`);
    expect(await listctl(['items', 'create', '--from', books, ...more])).toMatchObject({ exitCode: 0 });
    expect(await listctl(['items', 'create', '-f', 'Title=Dune', '-f', `${name}=${text}`, ...more])).toMatchObject({
      exitCode: 0,
    });
    expect(sentFields()).toEqual([
      { Title: 'Dune', ...sent },
      { Title: 'Dune', ...sent },
    ]);
  });
});

test('items list --where finds a person by mail address', async () => {
  await listctl(['items', 'create', '-f', 'Title=Dune', '-f', 'Owner=7']);
  const list = (mail: string) => listctl(['items', 'list', '--where', `Owner=${mail}`, '--non-indexed', '-o', 'id']);
  expect(await list('ann@contoso.com')).toMatchObject({ exitCode: 0, stdout: '1\n' });
  const unknown = await list('eve@contoso.com');
  expect(unknown).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('no user of the site has the address'),
  });
});

test('several persons are read with the mail addresses of the users', async () => {
  await listctl(['items', 'create', '-f', 'Title=Dune', '-f', 'Owners=[7,12]']);
  const { stdout } = await listctl(['items', 'get', '1', '-q', 'fields.Owners[].Email', '-o', 'json']);
  expect(JSON.parse(stdout)).toEqual(['Ann@contoso.com', 'user12@contoso.com']);
});

describe('a value that its column cannot have is named', () => {
  test.each<{ name: string; text: string; says: string; ofFlag?: string }>([
    { name: 'Count', text: 'three', says: '"three" is not a number' },
    { name: 'Count', text: '1e400', says: 'is not a number' },
    {
      ...{ name: 'Count', text: '1,5', says: '"1,5" is not a number (pass --decimal , for a decimal comma)' },
      ofFlag: '"1,5" is not a number (write a decimal point)',
    },
    { name: 'Done', text: 'yes', says: '"yes" is not true or false' },
    {
      name: 'Due_x0020_Date',
      text: '31.01.2026',
      says: '"31.01.2026" is not a date (expected 2026-01-31 or 2026-01-31T10:00:00Z)',
    },
    { name: 'Due_x0020_Date', text: '2026-02-29', says: '"2026-02-29" is not a date' },
    { name: 'Status', text: 'new', says: '"new" is not a choice (did you mean "New"?)' },
    { name: 'Status', text: 'Lost', says: '"Lost" is not a choice (expected "New", "Old")' },
    { name: 'Tags', text: 'a,b', says: '--split' },
    { name: 'Tags', text: '["a","x"]', says: '"x" is not a choice' },
    { name: 'Words', text: 'x;y', says: '--split' },
    { name: 'Shelf', text: 'Fiction', says: '"Fiction" is not an id (expected a number, such as 7)' },
    { name: 'Owner', text: 'Ann', says: '"Ann" is not a person (expected a mail address, or an id such as 7)' },
    { name: 'Owner', text: 'eve@contoso.com', says: 'no user of the site has the address "eve@contoso.com"' },
    { name: 'Owner', text: 'bo@contoso.com', says: 'pass one of their ids: 8, 9' },
  ])('$name: $text', async ({ name, text, says, ofFlag = says }) => {
    const books = file('books.csv', `Title,${name}\nDune,${csvCell(text)}\n`);
    const bulk = await listctl(['items', 'create', '--from', books]);
    expect(bulk).toMatchObject({ exitCode: 2 });
    expect(bulk.stderr).toContain(`line 2, column 2: in "${name}", `);
    expect(bulk.stderr).toContain(says);
    const one = await listctl(['items', 'create', '-f', 'Title=Dune', '-f', `${name}=${text}`]);
    expect(one).toMatchObject({ exitCode: 2 });
    expect(one.stderr).toContain(`in "${name}", `);
    expect(one.stderr).toContain(ofFlag);
    expect(writes()).toEqual([]);
  });

  test.each(['Count', 'Done', 'Due_x0020_Date', 'Status', 'Owner', 'Owners'])('%s: nothing', async (name) => {
    const { exitCode, stderr } = await listctl(['items', 'update', '1', '-f', `${name}=`]);
    const says = `in "${name}", "" is not a value (to clear the field, pass -f ${name}:=null)`;
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(says) });
  });

  test('every bad cell of every row, before the first request', async () => {
    const books = file('books.csv', 'Title,Count,Done\nDune,1,true\n,x,maybe\nEden,2,true\nSolaris,y,\n');
    const { exitCode, stderr } = await listctl(['items', 'create', '--from', books]);
    expect(exitCode).toBe(2);
    expect(stderr.split('\n').filter((line) => line.includes('books.csv: line'))).toEqual([
      expect.stringContaining('line 3, column 1: the required column "Title" has no value'),
      expect.stringContaining('line 3, column 2: in "Count", "x" is not a number'),
      expect.stringContaining('line 3, column 3: in "Done", "maybe" is not true or false'),
      expect.stringContaining('line 5, column 2: in "Count", "y" is not a number'),
    ]);
    expect(stderr).toContain('2 rows of 4 cannot be sent');
    expect(writes()).toEqual([]);
    const skipped = await listctl(['items', 'create', '--from', books, '--skip-invalid', '--rejects', 'rejects.csv']);
    expect(skipped.exitCode).toBe(9);
    expect(sentFields()).toEqual([
      { Title: 'Dune', Count: 1, Done: true },
      { Title: 'Eden', Count: 2, Done: true },
    ]);
  });
});

describe('a heading that is no column that can be written is named', () => {
  test.each([
    {
      header: 'Title,Staus',
      says: 'column 2: invalid header: the list has no column "Staus" (did you mean "Status"?)',
    },
    { header: 'Title,Due Date', says: 'the list has no column "Due Date"; its internal name is Due_x0020_Date' },
    { header: 'Title,Created', says: 'only the service sets "Created"' },
    { header: 'Title,Sum', says: 'only the service sets "Sum"' },
    { header: 'Title,_Secret', says: 'only the service sets "_Secret"' },
    { header: 'Title,Link', says: 'Microsoft Graph cannot write column "Link": it is a hyperlink or picture' },
    { header: 'Title,Photo', says: 'the type of the column is unknown' },
    { header: 'Title,Owner,OwnerLookupId', says: 'would both become field' },
    { header: 'Code', says: 'the required column "Title" has no value' },
    { header: 'Title,Foo,Link,Code', says: 'column 2: the list has no column "Foo"; column 3: Microsoft Graph cannot' },
    { header: 'Title,Foo,Link,Code', says: 'pass --only Title,Code' },
  ])('$header', async ({ header, says }) => {
    const books = file('books.csv', `${header}\n${header.replaceAll(/[^,]+/g, 'a')}\n`);
    const { exitCode, stderr } = await listctl(['items', 'create', '--from', books]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(says) });
    expect(writes()).toEqual([]);
  });
});

describe('JSON goes as it is, and is checked', () => {
  test.each([
    { row: { Count: 3, Done: true, Status: 'New' }, sent: { Count: 3, Done: true, Status: 'New' } },
    { row: { Tags: ['a'] }, sent: { 'Tags@odata.type': strings, Tags: ['a'] } },
    { row: { 'Tags@odata.type': strings, Tags: ['a'] }, sent: { 'Tags@odata.type': strings, Tags: ['a'] } },
    { row: { Shelf: 3 }, sent: { ShelfLookupId: 3 } },
    { row: { Owners: [7] }, sent: { 'OwnersLookupId@odata.type': int32, OwnersLookupId: [7] } },
    { row: { Owner: 'ann@contoso.com' }, sent: { OwnerLookupId: 7 } },
    { row: { Count: null, Tags: null }, sent: { Count: null, 'Tags@odata.type': strings, Tags: [] } },
    { row: { Photo: { a: 1 } }, sent: undefined },
    { row: { Count: '3' }, says: 'in "Count", "3" is not a number' },
    { row: { Code: 7 }, says: 'in "Code", 7 is not a string' },
    { row: { Done: 'true' }, says: 'in "Done", "true" is not true or false' },
    { row: { Tags: 'a' }, says: '"a" is not an array (expected ["a","b"])' },
    { row: { Tags: ['x'] }, says: '"x" is not a choice' },
    { row: { 'Tags@odata.type': int32, Tags: ['a'] }, says: 'is not "Collection(Edm.String)"' },
    { row: { Status: ['New'] }, says: '["New"] is not a string' },
    { row: { Shelf: '3' }, says: '"3" is not an id' },
    { row: { Shelf: { LookupId: 3 } }, says: '{"LookupId":3} is not an id' },
    { row: { Owner: 1, OwnerLookupId: 2 }, says: '"Owner" and "OwnerLookupId" are the same column' },
    { row: { Titel: 'x', Count: 'y' }, says: 'the list has no column "Titel" (did you mean "Title"?)' },
    { row: { 'Due Date': '2026-01-31' }, says: 'or --names display' },
    { row: { Created: 'x' }, says: 'only the service sets "Created"' },
    { row: { Link: 'x' }, says: 'cannot write column "Link"' },
    { row: { Title: null }, says: 'the required column "Title" has no value' },
  ])('$row', async ({ row, sent, says }) => {
    const rows = file('books.jsonl', `${JSON.stringify({ Title: 'Dune', ...row })}\n`);
    const { exitCode, stderr } = await listctl(['items', 'create', '--from', rows]);
    if (says === undefined) {
      const expected = sent === undefined ? row : sent;
      expect(sentFields()).toEqual([{ Title: 'Dune', ...expected }]);
    } else {
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('line 1 (byte 0): ') });
      expect(stderr).toContain(says);
      expect(writes()).toEqual([]);
    }
  });

  test('of -f too', async () => {
    const words = ['items', 'create', '-f', 'Title=a', '-f', 'Tags:=["a","b"]', '-f', 'Count:=2'];
    expect(await listctl(words)).toMatchObject({ exitCode: 0 });
    const expected = { Title: 'a', 'Tags@odata.type': strings, Tags: ['a', 'b'], Count: 2 };
    expect(sentFields()).toEqual([expected]);
    const { exitCode, stderr } = await listctl(['items', 'update', '1', '-f', 'Count:="2"']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('"2" is not a number') });
  });
});

test('--type is for JSON that is typed, and --empty for empty cells', async () => {
  const books = file('books.csv', 'Title,Code,Count,Tags,Photo\n1,7,,"[""a""]","{""x"":1}"\n');
  const words = ['items', 'create', '--from', books, '--type', 'Tags=json', '--type', 'Photo=json', '--empty', 'null'];
  await listctl(words);
  expect(sentFields()).toEqual([
    { Title: '1', Code: '7', Count: null, 'Tags@odata.type': strings, Tags: ['a'], Photo: { x: 1 } },
  ]);
  const wrong = file('wrong.csv', 'Title,Count:string\na,3\n');
  expect(await listctl(['items', 'create', '--from', wrong])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('"3" is not a number'),
  });
});

describe('--names display', () => {
  test('maps headings, -f and JSON, and shows it in a dry run', async () => {
    const books = file('books.csv', 'Title,Due Date\nDune,2026-01-31\n');
    const dry = await listctl(['items', 'create', '--from', books, '--names', 'display', '--dry-run', '-o', 'jsonl']);
    expect(dry.stderr).toContain('Due Date\\" is sent as Due_x0020_Date');
    expect(JSON.parse(dry.stdout).body).toEqual({ fields: { Title: 'Dune', Due_x0020_Date: '2026-01-31' } });
    expect(writes()).toEqual([]);
    await listctl(['items', 'create', '--from', books, '--names', 'display']);
    await listctl(['items', 'create', '-f', 'Title=Dune', '-f', 'Due Date=2026-01-31', '--names', 'display']);
    const json = file('books.jsonl', '{"Title": "Dune", "Due Date": "2026-01-31"}\n');
    await listctl(['items', 'create', '--from', json, '--names', 'display', '--restart']);
    const expected = { Title: 'Dune', Due_x0020_Date: '2026-01-31' };
    expect(sentFields()).toEqual([expected, expected, expected]);
  });

  test.each([
    ['Title,Same', '2 columns are displayed as "Same": One, Two'],
    ['Title,Due_x0020_Date', 'no column is displayed as "Due_x0020_Date", but as "Due Date"'],
    ['Title,Du Date', 'no column is displayed as "Du Date" (did you mean "Due Date"?)'],
  ])('refuses %s', async (header, says) => {
    const books = file('books.csv', `${header}\na,b\n`);
    const { exitCode, stderr } = await listctl(['items', 'create', '--from', books, '--names', 'display']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(says) });
  });

  test('is not for the ordinary service', async () => {
    const words = ['items', 'create', '-f', 'a=b', '--names', 'display', '--service', 'list-item'];
    expect(await listctl(words)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--names requires --service graph'),
    });
  });
});

test('a required column may be the one with the key', async () => {
  const books = file('books.csv', 'Code\n1\n');
  const key = ['--key-field', 'Title', '-o', 'none'];
  expect(await listctl(['items', 'create', '--from', books, ...key])).toMatchObject({ exitCode: 0 });
  expect(await listctl(['items', 'create', '-f', 'Code=2', ...key])).toMatchObject({ exitCode: 0 });
  expect(sentFields()).toEqual([
    { Code: '1', Title: expect.any(String) },
    { Code: '2', Title: expect.any(String) },
  ]);
});

test('columns and persons are read once a run', async () => {
  const rows = Array.from({ length: 50 }, (_, at) => `t${at},ann@contoso.com\n`).join('');
  const books = file('books.csv', `Title,Owner\n${rows}`);
  expect(await listctl(['items', 'create', '--from', books, '-o', 'none'])).toMatchObject({ exitCode: 0 });
  const reads = server.requests.map(({ request }) => request).filter((request) => request.startsWith('GET'));
  expect(reads.filter((request) => request.endsWith('/columns'))).toHaveLength(1);
  expect(reads.filter((request) => request.includes('User%20Information%20List'))).toHaveLength(1);
  expect(sentFields()).toHaveLength(50);
});

test('a resumed run finds its rows, though the columns were read anew', async () => {
  const books = file('books.csv', 'Title,Tags\na,a;b\nb,a\n');
  const words = ['items', 'create', '--from', books, '--split', ';', '-o', 'none'];
  expect(await listctl(words)).toMatchObject({ exitCode: 0 });
  const again = await listctl([...words, '--resume']);
  expect(again).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('completed all 2 rows') });
  expect(writes()).toHaveLength(2);
});

test('an update needs no required column, and common fields go over those of rows', async () => {
  await listctl(['items', 'create', '-f', 'Title=a']);
  const books = file('books.csv', 'id,Owner,Count\n1,7,2\n');
  expect(await listctl(['items', 'update', '--from', books, '-f', 'OwnerLookupId=8'])).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(writes().at(-1)?.body ?? '')).toEqual({ Count: 2, OwnerLookupId: 8 });
});

test.each([
  ['ids.txt', '1\n2\n'],
  ['ids.yaml', '- {id: 1}\n- {id: 2}\n'],
])('an update by %s takes its fields from -f', async (name, text) => {
  for (const title of ['a', 'b']) await listctl(['items', 'create', '-f', `Title=${title}`]);
  const words = ['items', 'update', '--from', file(name, text), '-f', 'Count=7', '-f', 'Tags=a;b', '--split', ';'];
  expect(await listctl([...words, '-f', 'Owner=ann@contoso.com'])).toMatchObject({ exitCode: 0 });
  const expected = { Count: 7, 'Tags@odata.type': strings, Tags: ['a', 'b'], OwnerLookupId: 7 };
  const updates = writes().filter(({ request }) => request.startsWith('PATCH'));
  expect(updates.map(({ body }) => JSON.parse(body))).toEqual([expected, expected]);
});

test('a dry run of one item shows what would be sent, or without a token what was typed', async () => {
  const words = ['items', 'create', '-f', 'Title=a', '-f', 'Count=7', '--dry-run', '-o', 'json'];
  const shown = async (world = {}) => {
    const { stdout, stderr } = await server.listctl(words, world);
    return { body: JSON.parse(stdout).body, stderr };
  };
  expect(await shown()).toEqual({ body: { fields: { Title: 'a', Count: 7 } }, stderr: '' });
  expect(await shown({ env: { LISTCTL_TOKEN: '' } })).toEqual({
    body: { fields: { Title: 'a', Count: '7' } },
    stderr: expect.stringContaining('no token, so columns were not read'),
  });
  expect(writes()).toEqual([]);
});

test('what is listed can be piped back: lookups, persons and several values', async () => {
  const fields = ['Title=a', 'Tags:=["a"]', 'Shelf=3', 'Owners:=[7,8]', 'Due_x0020_Date=2026-01-31'];
  await listctl(['items', 'create', ...fields.flatMap((field) => ['-f', field])]);
  const before = await listctl(['items', 'list', '-o', 'jsonl']);
  const { exitCode, stderr } = await listctl(['items', 'update', '--from', '-', '-o', 'none'], before.stdout);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(writes().at(-1)?.body ?? '')).toEqual({
    ...{ Title: 'a', 'Tags@odata.type': strings, Tags: ['a'], ShelfLookupId: 3 },
    ...{ 'OwnersLookupId@odata.type': int32, OwnersLookupId: [7, 8], Due_x0020_Date: '2026-01-31T00:00:00Z' },
  });
  expect(stderr).toContain('fields that only the service sets are not sent');
});

test('a person or lookup is not written into the column that has its name in requests', async () => {
  await using taken = await graphServer({
    Books: [
      { name: 'Owner', personOrGroup: {} },
      { name: 'OwnerLookupId', text: {} },
    ],
  });
  const words = ['items', 'create', '-f', 'Title=a', '-f', 'Owner=7'];
  const { exitCode, stderr } = await taken.listctl(words);
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('is another column') });
  expect(await taken.listctl('items list --where Owner=7')).toMatchObject({ exitCode: 2 });
  expect(await taken.listctl('items create -f Title=a -f OwnerLookupId=7 -o none')).toMatchObject({ exitCode: 0 });
});

test('a write that is refused with 400 has no hint about names, since the columns were read', async () => {
  await using unique = await graphServer({ Books: [{ name: 'Key', text: {}, enforceUniqueValues: true }] });
  const create = () => unique.listctl('items create -f Title=a -f Key=k');
  expect(await create()).toMatchObject({ exitCode: 0 });
  const { exitCode, stderr } = await create();
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('unique constraints') });
  expect(stderr).not.toContain('internal names');
});
