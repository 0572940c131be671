import type { ColumnDefinition, List, Site } from '@microsoft/microsoft-graph-types';
import { describe, expect, test } from 'vitest';
import { type Annotated, books, booksSchema, everyColumn, graphIn, schemaOf } from './graph-in.ts';

const longAgo = '2026-01-01T00:00:00Z';

describe('a site', () => {
  test('is found by its path, and by its id from then on, also after a restart', async () => {
    await using graph = await graphIn();

    const { json } = await graph.send('GET', '/sites/contoso.sharepoint.com:/sites/My%20Site');

    expect(json).toEqual({
      '@odata.context': expect.stringMatching(/\/\$metadata#sites\/\$entity$/),
      createdDateTime: longAgo,
      description: '',
      id: expect.stringMatching(/^contoso\.sharepoint\.com,[0-9a-f-]{36},[0-9a-f-]{36}$/),
      lastModifiedDateTime: longAgo,
      name: 'My Site',
      webUrl: 'https://contoso.sharepoint.com/sites/My%20Site',
      displayName: 'My Site',
      root: {},
      siteCollection: { hostname: 'contoso.sharepoint.com' },
    } satisfies Annotated<Site>);
    await graph.restart({});
    for (const path of [
      json.id,
      'contoso.sharepoint.com:/sites/my%20site:',
      'CONTOSO.sharepoint.com:/sites/My%20Site/',
    ]) {
      expect((await graph.send('GET', `/sites/${path}?$select=id`)).json.id).toBe(json.id);
    }
    expect((await graph.send('GET', '/sites/contoso.sharepoint.com:/sites/other')).json.id).not.toBe(json.id);
  });

  test('is the root of a host by the name of that alone', async () => {
    await using graph = await graphIn();
    const idAt = async (path: string) => (await graph.send('GET', `/sites/${path}`)).json.id;

    expect(await idAt('root')).toBe(await idAt('contoso.sharepoint.com'));
    expect(await idAt('fabrikam.sharepoint.com')).not.toBe(await idAt('root'));
  });
});

describe('a list', () => {
  test('of the schema is in every site, by title and by id', async () => {
    await using graph = await graphIn({ schema: schemaOf({ 'My Books': [], Films: [] }) });

    const { json } = await graph.send('GET', '/sites/root/lists');
    const list = {
      '@odata.etag': expect.any(String),
      createdDateTime: longAgo,
      description: '',
      eTag: expect.any(String),
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      lastModifiedDateTime: longAgo,
      name: 'My Books',
      webUrl: 'https://contoso.sharepoint.com/Lists/My%20Books',
      displayName: 'My Books',
      createdBy: { application: expect.anything() },
      parentReference: { siteId: expect.any(String) },
      list: { contentTypesEnabled: false, hidden: false, template: 'genericList' },
    } satisfies Annotated<List>;

    expect(json.value).toEqual([list, { ...list, name: 'Films', displayName: 'Films', webUrl: expect.any(String) }]);
    for (const name of ['My%20Books', 'my books', json.value[0].id]) {
      expect((await graph.send('GET', `/sites/root/lists/${name}`)).json).toMatchObject(json.value[0]);
    }
    const [elsewhere] = (await graph.send('GET', '/sites/fabrikam.sharepoint.com:/sites/x:/lists')).json.value;
    expect(elsewhere).toMatchObject({ webUrl: 'https://fabrikam.sharepoint.com/sites/x/Lists/My%20Books' });
    expect(elsewhere.id).not.toBe(json.value[0].id);
  });

  test('is on a page of $top, with a link to the next', async () => {
    await using graph = await graphIn({ schema: schemaOf({ A: [], B: [], C: [] }) });

    const { json } = await graph.send('GET', '/sites/root/lists?$select=displayName&$top=2');

    expect(json.value).toMatchObject([{ displayName: 'A' }, { displayName: 'B' }]);
    const { json: rest } = await graph.send('GET', json['@odata.nextLink'].replace(/^.*v1\.0/, ''));
    expect(rest.value).toMatchObject([{ displayName: 'C' }]);
    expect(rest).not.toHaveProperty('@odata.nextLink');
  });

  test('exists from its first mention on without a schema, with its id, and takes any field', async () => {
    await using graph = await graphIn();
    expect((await graph.send('GET', '/sites/root/lists')).json.value).toEqual([]);

    const fields = { Title: 'Dune', Any: [1, { a: 1.5 }], 'Tags@odata.type': 'Collection(Edm.String)', Tags: ['x'] };
    await graph.send('POST', '/sites/root/lists/Things/items', { fields });
    await graph.restart({});
    const [list] = (await graph.send('GET', '/sites/root/lists?$select=id,displayName')).json.value;
    const item = await graph.send('GET', `/sites/root/lists/${list.id}/items/1?$expand=fields`);

    expect(list).toEqual({ '@odata.etag': expect.any(String), id: list.id, displayName: 'Things' });
    expect(item.json.fields).toMatchObject({ Title: 'Dune', Any: [1, { a: 1.5 }], Tags: ['x'] });
    expect(item.json.fields).not.toHaveProperty('Tags@odata.type');
    const { value: columns } = (await graph.send('GET', `/sites/root/lists/${list.id}/columns?$select=name`)).json;
    expect(columns).not.toContainEqual({ name: 'Title' });
    expect(columns).toContainEqual({ name: 'Created' });
  });

  test('shows its columns with the facets of the schema, and those that every list has', async () => {
    await using graph = await graphIn({ schema: booksSchema });

    const { value } = (await graph.send('GET', '/sites/root/lists/Books/columns')).json as {
      value: ColumnDefinition[];
    };
    const named = (name: string) => value.find((column) => column.name === name);

    expect(named('Key')).toEqual({
      columnGroup: 'Custom Columns',
      description: '',
      displayName: 'Key',
      enforceUniqueValues: true,
      hidden: false,
      id: expect.any(String),
      indexed: true,
      name: 'Key',
      readOnly: false,
      required: false,
      text: {},
    } satisfies ColumnDefinition);
    for (const column of everyColumn) expect(named(column.name)).toMatchObject(column);
    expect(named('Title')).toMatchObject({ required: true, text: { maxLength: 255 } });
    expect(named('LinkTitle')).toMatchObject({ displayName: 'Title', readOnly: true });
    expect(named('ContentType')).toMatchObject({ readOnly: false });
    expect((await graph.send('GET', '/sites/root/lists/Books?$expand=columns')).json.columns).toEqual(value);
  });

  test('is not the same as one of that title in another site', async () => {
    await using graph = await graphIn();
    await graph.create({ Title: 'Dune' });

    expect((await graph.send('GET', `${books.replace('root', 'fabrikam.sharepoint.com')}/1`)).status).toBe(404);
  });
});
