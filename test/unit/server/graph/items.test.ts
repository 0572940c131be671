/** Items as Microsoft Graph has them; what an answer holds is checked with Microsoft's published types. */
import type { FieldValueSet, ListItem, PublicErrorResponse } from '@microsoft/microsoft-graph-types';
import { describe, expect, test } from 'vitest';
import { listItemService } from '../../../../src/server/handle.ts';
import { type Annotated, books, booksSchema, graphIn } from './graph-in.ts';

const dune = { Title: 'Dune', Count: 2 };
const now = '2026-11-22T12:00:51Z';
const tag = (version: number) => expect.stringMatching(new RegExp(`^"[0-9a-f-]{36},${version}"$`));

/** The fields of item 1, as a client reads them. */
const systemFields = {
  id: '1',
  ContentType: 'Item',
  Modified: now,
  Created: now,
  AuthorLookupId: '6',
  EditorLookupId: '6',
  _UIVersionString: '1.0',
  Attachments: false,
  Edit: '',
  LinkTitleNoMenu: 'Dune',
  LinkTitle: 'Dune',
  ItemChildCount: '0',
  FolderChildCount: '0',
  _ComplianceFlags: '',
  _ComplianceTag: '',
  _ComplianceTagWrittenTime: '',
  _ComplianceTagUserId: '',
  AppAuthorLookupId: '6',
  AppEditorLookupId: '6',
};
const identity = { application: { id: expect.any(String), displayName: 'listctl serve' } };
const plainItem = {
  '@odata.context': expect.stringMatching(/^http:\/\/127\.0\.0\.1:7070\/v1\.0\/\$metadata#sites\(.*\/items\/\$entity$/),
  '@odata.etag': tag(1),
  createdDateTime: now,
  eTag: tag(1),
  id: '1',
  lastModifiedDateTime: now,
  webUrl: 'https://contoso.sharepoint.com/Lists/Books/1_.000',
  createdBy: identity,
  lastModifiedBy: identity,
  parentReference: { id: expect.any(String), siteId: expect.stringMatching(/^contoso\.sharepoint\.com,/) },
  contentType: { id: '0x0100', name: 'Item' },
} satisfies Annotated<ListItem>;

describe('an item', () => {
  test('is created with all its fields, and read without them unless they are expanded', async () => {
    await using graph = await graphIn({ schema: booksSchema });

    const created = await graph.send('POST', books, { fields: dune });
    const fields = { '@odata.etag': tag(1), ...dune, ...systemFields } satisfies Annotated<FieldValueSet>;

    expect(created).toMatchObject({ status: 201, json: { ...plainItem, fields } });
    expect(created.json.eTag).toBe(created.json['@odata.etag']);
    expect(created.headers).not.toHaveProperty('etag');
    expect((await graph.send('GET', `${books}/1`)).json).toEqual(plainItem);
    expect((await graph.send('GET', `${books}/1?$expand=fields`)).json).toEqual(created.json);
    expect((await graph.send('GET', `${books}/1?$select=id&$expand=fields($select=Title,ID)`)).json).toEqual({
      '@odata.context': expect.any(String),
      '@odata.etag': tag(1),
      id: '1',
      fields: { '@odata.etag': tag(1), Title: 'Dune', id: '1' },
    });
  });

  test('is updated by its bare fields, or as a whole; null clears a field', async () => {
    await using graph = await graphIn({ schema: booksSchema });
    await graph.create(dune);
    graph.now += 3_600_000;

    const bare = await graph.send('PATCH', `${books}/1/fields`, { Count: null, Code: 'x' });
    const whole = await graph.send('PATCH', `${books}/1`, { fields: { Count: 3 } });

    expect(bare).toMatchObject({ status: 200, json: { '@odata.etag': tag(2), Title: 'Dune', Code: 'x', id: '1' } });
    expect(bare.json).not.toHaveProperty('Count');
    expect(bare.json).not.toHaveProperty('fields');
    expect(whole).toMatchObject({
      status: 200,
      json: { eTag: tag(3), lastModifiedDateTime: '2026-11-22T13:00:51Z', fields: { Count: 3, Created: now } },
    });
    const { '@odata.context': _context, ...read } = (await graph.send('GET', `${books}/1/fields`)).json;
    expect(read).toEqual(whole.json.fields);
  });

  test('does not exist once it is deleted, and its id is not used again', async () => {
    await using graph = await graphIn();
    await graph.create(dune);

    expect(await graph.send('DELETE', `${books}/1`)).toMatchObject({ status: 204, body: '' });

    for (const [method, path, body] of [
      ['GET', `${books}/1`],
      ['GET', `${books}/1/fields`],
      ['PATCH', `${books}/1/fields`, {}],
      ['DELETE', `${books}/1`],
      ['GET', `${books}/abc`],
    ] as const) {
      const answer = await graph.send(method, path, body);
      expect(answer).toMatchObject({ status: 404, json: { error: { code: 'itemNotFound' } } });
    }
    expect(await graph.create(dune)).toBe('2');
  });

  test('is the same after a restart, and has another tag in another store', async () => {
    await using graph = await graphIn({ schema: booksSchema });
    await using other = await graphIn({ schema: booksSchema });
    other.now += 1;
    for (const each of [graph, other]) await each.create(dune);
    const read = await graph.send('GET', `${books}/1?$expand=fields`);

    await graph.restart({ schema: booksSchema });

    expect((await graph.send('GET', `${books}/1?$expand=fields`)).json).toEqual(read.json);
    expect((await other.send('GET', `${books}/1`)).json.eTag).not.toBe(read.json.eTag);
  });
});

test('the ordinary service reads and changes the items of the same store, which keep their times', async () => {
  await using graph = await graphIn();
  await graph.create(dune);
  const { parentReference } = (await graph.send('GET', `${books}/1`)).json;
  const path = `/sites/${encodeURIComponent(parentReference.siteId)}/lists/${parentReference.id}/items/1`;
  const send = async (method: string, fields?: object) => {
    const body = Buffer.from(fields === undefined ? '' : JSON.stringify({ fields }));
    const headers = { 'content-type': 'application/json' };
    return (await listItemService(graph.store, () => graph.now)({ method, path, headers, body })).body;
  };

  expect(await send('GET')).toBe('{"id":"1","fields":{"Title":"Dune","Count":2}}');
  await send('PATCH', { Count: 3 });
  expect((await graph.send('GET', `${books}/1?$expand=fields`)).json).toMatchObject({
    eTag: tag(2),
    createdDateTime: now,
    fields: { Title: 'Dune', Count: 3 },
  });
});

describe('If-Match', () => {
  test.each([
    ['PATCH', `${books}/1/fields`, {}],
    ['PATCH', `${books}/1`, { fields: {} }],
    ['DELETE', `${books}/1`, undefined],
  ] as const)('is honored by %s %s', async (method, path, body) => {
    await using graph = await graphIn();
    const { eTag } = (await graph.send('POST', books, { fields: dune })).json;
    const send = (ifMatch: string) => graph.send(method, path, body, { 'if-match': ifMatch });

    expect(await send('"other,1"')).toMatchObject({ status: 412, json: { error: { code: 'resourceModified' } } });
    expect((await send('nonsense')).status).toBe(400);
    expect((await send(eTag)).status).toBeLessThan(300);
  });
});

describe('an update without If-Match', () => {
  test('is refused with 409 while another of the same item is on its way, and may be repeated', async () => {
    await using graph = await graphIn();
    for (const each of [dune, dune]) await graph.create(each);
    const send = (id: number, headers = {}) => graph.send('PATCH', `${books}/${id}/fields`, { Count: 1 }, headers);

    const [first, second, other, conditional] = await Promise.all([
      send(1),
      send(1),
      send(2),
      send(1, { 'if-match': '*' }),
    ]);

    expect(second).toMatchObject({ status: 409, json: { error: { code: 'resourceModified' } } });
    expect([first?.status, other?.status, conditional?.status]).toEqual([200, 200, 200]);
    expect((await send(1)).status).toBe(200);
  });
});

describe('an error', () => {
  test('has a code, a message and the ids of its request', async () => {
    await using graph = await graphIn();
    const clientRequestId = '00000000-1111-2222-3333-444444444444';

    const { status, headers, json } = await graph.send('GET', `${books}/7`, undefined, {
      'client-request-id': clientRequestId,
    });

    expect(status).toBe(404);
    expect(json).toEqual({
      error: {
        code: 'itemNotFound',
        message: 'The specified item was not found',
        innerError: {
          date: '2026-11-22T12:00:51',
          'request-id': headers['request-id'],
          'client-request-id': clientRequestId,
        } as object,
      },
    } satisfies PublicErrorResponse);
    expect(headers['client-request-id']).toBe(clientRequestId);
    expect(headers['request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ['GET', '/groups', 400, 'BadRequest'],
    ['GET', '/sites/root/drives', 400, 'BadRequest'],
    ['GET', '/sites/root/lists//items', 400, 'BadRequest'],
    ['PUT', `${books}/1`, 405, 'notAllowed'],
    ['GET', '/sites/home/lists/tasks/items', 400, 'invalidRequest'],
    ['GET', '/sites/%ff/lists/tasks/items', 400, 'invalidRequest'],
    ['GET', `/sites/contoso.sharepoint.com,${'0'.repeat(36)},${'0'.repeat(36)}`, 404, 'itemNotFound'],
    ['GET', '/sites/root/lists/00000000-0000-0000-0000-000000000000', 404, 'itemNotFound'],
    ['GET', '/sites/root/lists/Films', 404, 'itemNotFound'],
    ['GET', `${books}?$orderby=fields/Title`, 400, 'invalidRequest'],
    ['GET', `${books}?$top=0`, 400, 'invalidRequest'],
    ['GET', `${books}?$skiptoken=x`, 400, 'invalidRequest'],
    ['GET', `${books}?$expand=fields(select=Title)`, 400, 'invalidRequest'],
  ])('is the response to %s %s: %i %s', async (method, path, status, code) => {
    await using graph = await graphIn({ schema: booksSchema });

    expect(await graph.send(method, path)).toMatchObject({ status, json: { error: { code } } });
  });

  test.each(['{', '[]', 'null', '{"fields":[]}', '{"Title":"Dune"}'])(
    'is the response to a create with the body %s',
    async (body) => {
      await using graph = await graphIn();

      expect(await graph.send('POST', books, body)).toMatchObject({
        status: 400,
        json: { error: { code: 'invalidRequest' } },
      });
    },
  );
});
