/** Each type of column, as Microsoft Graph returns its values and as it takes them. */
import { describe, expect, test } from 'vitest';
import { isSameValue } from '../../../../src/core/item.ts';
import { parseJson } from '../../../../src/core/json.ts';
import { columnOfField, readColumns } from '../../../../src/services/graph/columns.ts';
import {
  annotated,
  decodeFields,
  earlierValues,
  mayBeSent,
  omittedFields,
  pickNamed,
  sameValue,
} from '../../../../src/services/graph/decode-fields.ts';
import type { Column } from '../../../../src/services/service.ts';
import { answered, clientWith } from '../../api/client-world.ts';
import { books, booksSchema, everyColumn, graphIn } from '../../server/graph/graph-in.ts';

/** As items are created again. */
const writeForm = (...[fields, columns]: Parameters<typeof decodeFields>) =>
  annotated(decodeFields(fields, columns), columns);

/** Columns as a client reads them. */
function columnsFrom(definitions: readonly object[]): Promise<readonly Column[]> {
  const { client } = clientWith([answered(200, {}, JSON.stringify({ value: definitions }))]);
  return readColumns({ site: 'root', list: 'Books' }, client);
}

const definitions = [
  ...everyColumn,
  { name: 'Title', text: {} },
  { name: 'Place', geolocation: {} },
  { name: 'Image', thumbnail: {} },
  { name: 'Author', readOnly: true, personOrGroup: {} },
  { name: 'Shelf_x003a_Room', lookup: { primaryLookupColumnId: 'c1', columnName: 'Room' } },
  { name: 'OldLookupId', text: {} },
  { name: 'EmployeeLookupId', text: {} },
  { name: 'Employee', personOrGroup: {} },
  { name: 'note0', text: {}, hidden: true },
  { name: 'ImportKey', text: {}, hidden: true, indexed: true },
];

const persons = (...ids: readonly number[]) =>
  ids.map((id) => ({ LookupId: id, LookupValue: 'Adele Vance', Email: 'AdeleV@contoso.com' }));
const of = (field: string, type: string, value: unknown) => ({ [`${field}@odata.type`]: type, [field]: value });

// The shapes of persons and choices: alcionai/corso#5108; of hyperlinks: lists_test.go there; of system fields: the tests of
// n8n's SharePoint node.
test.each([
  { name: 'text', read: { Title: '007 ', Note: 'a\nb' }, written: { Title: '007 ', Note: 'a\nb' } },
  { name: 'number, currency', read: { Count: 1.5, Price: 2 }, written: { Count: 1.5, Price: 2 } },
  { name: 'yes or no', read: { Done: false }, written: { Done: false } },
  { name: 'choice', read: { Status: 'good' }, written: { Status: 'good' } },
  {
    name: 'several choices',
    read: { Tags: ['good', 'ok'] },
    written: of('Tags', 'Collection(Edm.String)', ['good', 'ok']),
  },
  { name: 'no choice', read: { Tags: [] }, written: of('Tags', 'Collection(Edm.String)', []) },
  {
    name: 'several choices whose definition says nothing of it',
    read: { Status: ['good'] },
    written: of('Status', 'Collection(Edm.String)', ['good']),
  },
  {
    name: 'several choices with an annotation in the response',
    read: { 'Tags@odata.type': '#Collection(String)', Tags: ['a'] },
    written: of('Tags', 'Collection(Edm.String)', ['a']),
  },
  { name: 'date and time', read: { Due: '2026-01-31T10:00:00Z' }, written: { Due: '2026-01-31T10:00:00Z' } },
  { name: 'person', read: { OwnerLookupId: '10' }, written: { OwnerLookupId: 10 } },
  { name: 'person with its text', read: { Owner: 'Adele', OwnerLookupId: '10' }, written: { OwnerLookupId: 10 } },
  { name: 'person without its id', read: { Owner: 'Adele' }, written: {}, named: ['Owner'] },
  { name: 'lookup', read: { ShelfLookupId: '3' }, written: { ShelfLookupId: 3 } },
  {
    name: 'several persons',
    read: { Owners: persons(10, 14) },
    written: of('OwnersLookupId', 'Collection(Edm.Int32)', [10, 14]),
  },
  {
    name: 'several lookups',
    read: { Shelves: [{ LookupId: 1, LookupValue: 'A' }] },
    written: of('ShelvesLookupId', 'Collection(Edm.Int32)', [1]),
  },
  { name: 'no lookup', read: { Shelves: [] }, written: of('ShelvesLookupId', 'Collection(Edm.Int32)', []) },
  { name: 'null', read: { Title: null, OwnerLookupId: null }, written: { Title: null, OwnerLookupId: null } },
  { name: 'text with the name of an id', read: { OldLookupId: '007' }, written: { OldLookupId: '007' } },
  {
    name: 'person whose id has the name of a text',
    read: { EmployeeLookupId: '6', Employee: 'Adele' },
    written: { EmployeeLookupId: '6' },
    named: ['Employee'],
  },
  {
    name: 'hyperlink',
    read: { Link: { Description: 'Example', Url: 'https://example.com' } },
    written: {},
    named: ['Link'],
  },
  {
    name: 'managed metadata, and its hidden note',
    read: { Country: { Label: 'Chile', TermGuid: 'g', WssId: -1 }, note0: 'Chile|g', TaxCatchAll: persons(1) },
    written: {},
    named: ['Country'],
  },
  {
    name: 'location, image, rating',
    read: { Place: { displayName: 'Lima' }, Image: '{"fileName":"a.png"}', Photo: 4 },
    written: {},
    named: ['Place', 'Image', 'Photo'],
  },
  { name: 'calculated', read: { Sum: '3', Shelf_x003a_RoomLookupId: '3' }, written: {} },
  { name: 'hidden key', read: { ImportKey: 'k1' }, written: { ImportKey: 'k1' } },
  {
    name: 'what only the service sets',
    read: {
      ...{ '@odata.etag': '"e,1"', id: '1', ContentType: 'Item', Created: '2026-01-31T10:00:00Z', AuthorLookupId: '6' },
      ...{ Edit: '', LinkTitle: 'Dune', ItemChildCount: '0', Attachments: false, _UIVersionString: '1.0' },
    },
    written: {},
  },
  { name: 'a field without a column', read: { Extra: 1 }, written: { Extra: 1 } },
])('$name', async ({ read, written, named = [] }) => {
  const columns = await columnsFrom(definitions);
  const fields = parseJson(JSON.stringify(read)) as typeof read;

  const form = writeForm(fields, columns);
  expect(form).toEqual(written);
  expect(Object.keys(form)).toEqual(Object.keys(written));
  expect(omittedFields(fields, form, columns)).toEqual(named);
});

test('the plain form has no annotations, and gets them', async () => {
  const columns = await columnsFrom(definitions);
  const plain = decodeFields({ Tags: ['a'], Owners: persons(10), Note: 'x' }, columns);
  expect(plain).toEqual({ Tags: ['a'], OwnersLookupId: [10], Note: 'x' });
  expect(annotated({ ...plain, ShelvesLookupId: null, Note: null }, columns)).toEqual({
    ...of('Tags', 'Collection(Edm.String)', ['a']),
    ...of('OwnersLookupId', 'Collection(Edm.Int32)', [10]),
    ...of('ShelvesLookupId', 'Collection(Edm.Int32)', []),
    Note: null,
  });
});

describe('the same value', () => {
  test.each([
    ['Due', '2026-01-31T10:00:00Z', '2026-01-31T11:00:00+01:00', true],
    ['Due', '2026-01-31T10:00:00Z', '2026-01-31T10:00:00.000', true],
    ['Due', '2026-01-31', '2026-01-31T00:00:00Z', true],
    ['Due', '2026-01-31T10:00:00Z', '2026-01-31T10:00:01Z', false],
    ['Due', 'soon', 'soon', true],
    ['Count', 1, 2, false],
    ['OwnerLookupId', 10, '10', true],
    ['OwnerLookupId', 10, '11', false],
    ['OwnerLookupId', null, undefined, true],
    ['OwnersLookupId', [10, 14], persons(14, 10), true],
    ['OwnersLookupId', [10], persons(14, 10), false],
    ['OwnersLookupId', [], undefined, true],
    ['Tags', ['a', 'b'], ['b', 'a'], true],
    ['Tags', ['a'], ['a', 'b'], false],
    ['Done', false, undefined, false],
    ['Title', '1.0', '1', false],
  ])('of %s: %j, %j: %j', async (field, one, other, isSame) => {
    const column = columnOfField(field, await columnsFrom(definitions));
    const read = (value: unknown) => parseJson(JSON.stringify({ value })) as { readonly value?: never };
    if (column === undefined) throw new Error(field);
    expect(sameValue(column, read(one).value, read(other).value)).toBe(isSame);
    expect(sameValue(column, read(other).value, read(one).value)).toBe(isSame);
  });

  test('digits beyond those of a double are not compared', async () => {
    const column = columnOfField('Count', await columnsFrom(definitions)) as Column;
    const [one, other] = ['0.1', '0.10000000000000000001'].map((digits) => parseJson(digits));
    expect(isSameValue(one ?? null, other ?? null)).toBe(false);
    expect(sameValue(column, one, other)).toBe(true);
  });
});

test('what is read and written back leaves an item as it was, and makes a copy of it', async () => {
  await using graph = await graphIn({ schema: booksSchema });
  const columns = await columnsFrom((await graph.send('GET', '/sites/root/lists/Books/columns')).json.value);
  const id = await graph.create({
    ...{ Title: '007 ', Note: 'a\nb', Count: 1.5, Price: 2, Done: false, Status: 'New', Due: '2026-01-31T10:00:00Z' },
    ...{ ShelfLookupId: 3, OwnerLookupId: 10, ...of('Tags', 'Collection(Edm.String)', ['a', 'b']) },
    ...of('ShelvesLookupId', 'Collection(Edm.Int32)', [1, 2]),
    ...of('OwnersLookupId', 'Collection(Edm.Int32)', []),
  });
  const read = async (of: string) => (await graph.send('GET', `${books}/${of}?$expand=fields`)).json.fields;
  const before = await read(id);

  const back = await graph.send('PATCH', `${books}/${id}/fields`, writeForm(before, columns));
  const copy = await graph.create(writeForm(before, columns));

  expect(back.status).toBe(200);
  const version = { '@odata.etag': expect.anything(), _UIVersionString: expect.anything() };
  expect(await read(id)).toEqual({ ...before, ...version });
  expect(await read(copy)).toEqual({ ...before, ...version, id: copy });
});

test('a value that only a user can write stays as it was read', async () => {
  const columns = await columnsFrom([
    { name: 'Photo' },
    { name: 'Terms_0', hidden: true, text: {} },
    { name: 'Sum', calculated: {}, readOnly: true },
  ]);
  const read = { Photo: { Url: 'https://example.com' }, Terms_0: '-1;Red|1', Sum: 3 };
  expect(earlierValues(read, ['Photo', 'Terms_0'], columns)).toEqual({ Photo: read.Photo, Terms_0: read.Terms_0 });
  expect(pickNamed(read, ['Photo', 'Sum'], columns)).toEqual({ Photo: read.Photo });
  expect(annotated({ Photo: ['a'] }, columns)).toEqual({ Photo: ['a'] });
});

describe('what was read may be what was sent', () => {
  test.each([
    ['Title', ' a ', 'a', true],
    ['Title', '', undefined, true],
    ['Title', 'a', 'A', false],
    ['Note', 'a\r\nb', 'a\nb', true],
    ['Note', 'a', '<div class="x">a</div>', true],
    ['Due', '2026-01-31', '2026-01-31T08:00:00Z', true],
    ['Due', '2026-01-31T10:00', '2026-01-31T00:30:00Z', true],
    ['Due', '2026-01-31', '2026-02-01T00:00:00Z', false],
    ['Due', '2026-01-31T10:00:00Z', '2026-01-31T11:00:00Z', false],
    ['Count', 1, 2, false],
    ['Count', null, 7, false],
    ['Count', 0, undefined, false],
    ['OwnerLookupId', 7, '7', true],
    ['OwnersLookupId', [7, 8], undefined, false],
    ['Tags', ['a'], ['a'], true],
    ['Kind', null, 'Book', true],
  ])('%s: sent %j, read %j: %j', async (name, sent, read, expected) => {
    const columns = await columnsFrom([...definitions, { name: 'Kind', text: {}, defaultValue: { value: 'Book' } }]);
    const annotations = { [`${name}@odata.type`]: 'Collection(Edm.String)' };
    expect(mayBeSent(read === undefined ? {} : { [name]: read }, { ...annotations, [name]: sent }, columns)).toBe(
      expected,
    );
  });
});
