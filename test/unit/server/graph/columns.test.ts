/** What the columns of a list take, and what is read from them. */
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../../src/core/json.ts';
import { parseSchema } from '../../../../src/server/graph/columns.ts';
import { failureOf } from '../../../support/failure-of.ts';
import { books, booksSchema, everyColumn, graphIn } from './graph-in.ts';

const strings = 'Collection(Edm.String)';
const numbers = 'Collection(Edm.Int32)';

test.each<[written: object, read: object]>([
  [{ Title: ' 007 ' }, { Title: ' 007 ', LinkTitle: ' 007 ' }],
  [{ Note: 'a\nb' }, { Note: 'a\nb' }],
  [{ Count: 1.5 }, { Count: 1.5 }],
  [{ Price: -3 }, { Price: -3 }],
  [{ Done: false }, { Done: false }],
  [{ Status: 'New' }, { Status: 'New' }],
  [{ 'Tags@odata.type': strings, Tags: ['a', 'b'] }, { Tags: ['a', 'b'] }],
  [{ Due: '2026-01-31T10:00:00Z' }, { Due: '2026-01-31T10:00:00Z' }],
  [{ Due: '2026-01-31T10:00:00.5+02:00' }, { Due: '2026-01-31T08:00:00Z' }],
  [{ Due: '2026-01-31' }, { Due: '2026-01-31T00:00:00Z' }],
  [{ ShelfLookupId: 10 }, { ShelfLookupId: '10' }],
  [{ OwnerLookupId: 6 }, { OwnerLookupId: '6' }],
  [
    { 'ShelvesLookupId@odata.type': numbers, ShelvesLookupId: [1, 2] },
    { Shelves: [1, 2].map((id) => ({ LookupId: id, LookupValue: `Item ${id}` })) },
  ],
  [
    { 'OwnersLookupId@odata.type': numbers, OwnersLookupId: [6] },
    { Owners: [{ LookupId: 6, LookupValue: 'User 6', Email: 'user6@contoso.com' }] },
  ],
  [{ 'OwnersLookupId@odata.type': numbers, OwnersLookupId: [] }, { Owners: [] }],
])('%j is read as %j, and null clears it', async (written, read) => {
  await using graph = await graphIn({ schema: booksSchema });

  await graph.create(written);

  expect((await graph.send('GET', `${books}/1/fields`)).json).toMatchObject(read);
  const cleared = Object.fromEntries(Object.keys(written).map((name) => [name, null]));
  const { json } = await graph.send('PATCH', `${books}/1/fields`, cleared);
  for (const name of Object.keys(read)) expect(json).not.toHaveProperty(name);
});

test.each<[fields: object, status: number]>([
  [{ Title: 7 }, 500],
  [{ Count: '7' }, 500],
  [{ Done: 'true' }, 500],
  [{ Status: ['New'] }, 500],
  [{ Tags: ['a'] }, 500],
  [{ 'Tags@odata.type': strings, Tags: 'a' }, 500],
  [{ Due: '31.1.2026' }, 500],
  [{ Due: '2026-02-31T25:00:00Z' }, 500],
  [{ Shelf: 'Item 10' }, 500],
  [{ ShelfLookupId: '10' }, 500],
  [{ ShelvesLookupId: [1] }, 500],
  [{ 'ShelvesLookupId@odata.type': numbers, ShelvesLookupId: ['1'] }, 500],
  [{ Link: 'https://contoso.com' }, 500],
  [{ Country: { Label: 'x' } }, 500],
  [{ Photo: 'x' }, 500],
  [{ Titel: 'x' }, 400],
  [{ TitleLookupId: 1 }, 400],
  [{ Sum: 1 }, 400],
  [{ id: '7' }, 400],
  [{ ID: 7 }, 400],
  [{ Created: '2026-01-31' }, 400],
  [{ AuthorLookupId: 7 }, 400],
  [{ ContentType: 'Item' }, 400],
  [{ _ComplianceTag: 'x' }, 400],
  [{ '@odata.etag': '"x"' }, 400],
])('%j is refused with %i, in a create and an update, and nothing is stored', async (fields, status) => {
  await using graph = await graphIn({ schema: booksSchema });
  const code = status === 500 ? 'generalException' : 'invalidRequest';
  await graph.create({});

  for (const [method, path, body] of [
    ['POST', books, { fields }],
    ['PATCH', `${books}/1/fields`, fields],
  ] as const) {
    expect(await graph.send(method, path, body)).toMatchObject({ status, json: { error: { code } } });
  }
  expect((await graph.send('GET', books)).json.value).toHaveLength(1);
  expect((await graph.send('GET', `${books}/1`)).json.eTag).toMatch(/,1"$/);
});

test('a lookup is read as an id, and as a text where it is selected', async () => {
  await using graph = await graphIn({ schema: booksSchema });
  await graph.create({ ShelfLookupId: 10, OwnerLookupId: 6 });
  const fieldsWith = async (select: string) => {
    const { json } = await graph.send('GET', `${books}/1?$expand=fields($select=${select})`);
    const { '@odata.etag': _tag, ...fields } = json.fields;
    return fields;
  };

  expect(await fieldsWith('Shelf,OwnerLookupId')).toEqual({ Shelf: 'Item 10', OwnerLookupId: '6' });
});

test('after the twelfth lookup of a query the others are missing from pages, but not from an item', async () => {
  const names = Array.from({ length: 13 }, (_, at) => `L${at + 1}`);
  const schema = parseSchema(
    parseJson(JSON.stringify({ lists: [{ title: 'Books', columns: names.map((name) => ({ name, lookup: {} })) }] })),
  );
  await using graph = await graphIn({ schema });
  await graph.create(Object.fromEntries(names.map((name) => [`${name}LookupId`, 1])));
  const expand = `$expand=fields($select=${names.map((name) => `${name}LookupId`).join()})`;

  expect((await graph.send('GET', `${books}/1?${expand}`)).json.fields).toHaveProperty('L13LookupId');
  const [item] = (await graph.send('GET', `${books}?${expand}`)).json.value;
  expect(item.fields).toHaveProperty('L12LookupId');
  expect(item.fields).not.toHaveProperty('L13LookupId');
});

describe('a unique column', () => {
  const duplicate = {
    status: 400,
    json: {
      error: {
        code: 'invalidRequest',
        message: 'One or more fields with unique constraints already has the provided value.',
      },
    },
  };

  test('refuses a value that another item has, until that is changed or deleted', async () => {
    await using graph = await graphIn({ schema: booksSchema });
    await graph.create({ Key: 'k1' });
    await graph.create({});
    const create = () => graph.send('POST', books, { fields: { Key: 'K1' } });
    const update = (id: number, Key: string) => graph.send('PATCH', `${books}/${id}/fields`, { Key });

    expect(await create()).toMatchObject(duplicate);
    expect(await update(2, 'k1')).toMatchObject(duplicate);
    expect((await update(1, 'k1')).status).toBe(200);
    expect((await update(1, 'k2')).status).toBe(200);
    expect((await update(2, 'k1')).status).toBe(200);
    await graph.send('DELETE', `${books}/2`);
    expect((await create()).status).toBe(201);
  });

  test('takes one of two creates at the same time', async () => {
    await using graph = await graphIn({ schema: booksSchema });

    const both = await Promise.all([1, 2].map(() => graph.send('POST', books, { fields: { Key: 'k1' } })));

    expect(both.map(({ status }) => status)).toEqual([201, 400]);
  });

  test('is one from the next write on where the schema says so anew', async () => {
    await using graph = await graphIn();
    await graph.create({ Title: 'Dune', Key: 'k1' });

    await graph.restart({ schema: booksSchema });

    const query = `${books}?$filter=fields/Key eq 'k1'`;
    expect((await graph.send('GET', query)).json.value).toHaveLength(1);
    expect(await graph.send('POST', books, { fields: { Key: 'k1' } })).toMatchObject(duplicate);
    expect((await graph.send('GET', query)).json.value).toHaveLength(1);
    await graph.restart({});
    await graph.create({ Key: 'k1' });
    await graph.restart({ schema: booksSchema });
    expect((await graph.send('GET', query)).json.value).toHaveLength(2);
  });
});

test.each([
  ['[]', 'expected {"lists": […]}'],
  ['{"lists":[{}]}', 'list 1 has no title'],
  ['{"lists":[{"title":"A"},{"title":"a"}]}', 'more than one list "a"'],
  ['{"lists":[{"title":"A","columns":{}}]}', 'the columns of "A" are not an array'],
  ['{"lists":[{"title":"A","columns":[{}]}]}', 'column 1 of "A" has no name'],
  [`{"lists":[{"title":"A","columns":${JSON.stringify([everyColumn[0], everyColumn[0]])}}]}`, 'column "Note"'],
  ['{"lists":[{"title":"A","columns":[{"name":"Created"}]}]}', 'column "Created"'],
  ...[
    ['"name":"B","nummber":{}', 'column "B" of "A" has the unknown member "nummber" (did you mean "number"?)'],
    ['"name":"B","text":true', 'needs an object as "text"'],
    ['"name":"B","type":"text"', 'needs its type as "text": {}'],
    ['"name":"B","choice":{}', 'needs "choices", an array'],
    ['"name":"Due Date","dateTime":{}', 'has a blank in its name: write _x0020_'],
  ].map(([column, says]) => [`{"lists":[{"title":"A","columns":[{${column}}]}]}`, says] as [string, string]),
])('the schema %s is invalid: %s', (text, reason) => {
  const failure = failureOf(() => parseSchema(parseJson(text)));

  expect(failure).toMatchObject({ kind: 'usage', message: expect.stringContaining(`invalid --schema: `) });
  expect(failure.message).toContain(reason);
});
