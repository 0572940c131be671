import { describe, expect } from 'vitest';
import { serviceIn, tasks, test } from './service-in.ts';

const aBody = { fields: { Title: 'Buy milk' } };

describe('an item', () => {
  test('is created with an id, a place and a tag, and reads as it was sent', async ({ service }) => {
    const created = await service.send('POST', tasks, aBody);
    const read = await service.send('GET', `${tasks}/1`);

    expect(created).toMatchObject({ status: 201, body: '{"id":"1","fields":{"Title":"Buy milk"}}' });
    expect(created.headers).toEqual({
      'content-type': 'application/json',
      location: `${tasks}/1`,
      etag: expect.stringMatching(/^"[^"]+"$/),
    });
    expect(read).toMatchObject({ status: 200, body: created.body, headers: { etag: created.headers['etag'] } });
    expect(read.headers).not.toHaveProperty('location');
  });

  test('changes only in the fields that an update names, in their order', async ({ service }) => {
    await service.create({ Title: 'Milk', Note: 'fresh', Done: false });

    const updated = await service.send('PATCH', `${tasks}/1`, { fields: { Count: 2, Note: 'soy' } });

    expect(updated.status).toBe(200);
    expect(updated.body).toBe('{"id":"1","fields":{"Title":"Milk","Note":"soy","Done":false,"Count":2}}');
    expect((await service.send('GET', `${tasks}/1`)).body).toBe(updated.body);
  });

  test('loses a field that an update sets to null, and keeps a null that it was created with', async ({ service }) => {
    await service.create({ Title: 'Milk', Note: null, Due: 'today' });

    const updated = await service.send('PATCH', `${tasks}/1`, { fields: { Due: null, Never: null } });

    expect(updated.body).toBe('{"id":"1","fields":{"Title":"Milk","Note":null}}');
  });

  test('is missing once it is deleted', async ({ service }) => {
    await service.create({});

    expect(await service.send('DELETE', `${tasks}/1`)).toMatchObject({ status: 204, headers: {}, body: '' });

    for (const method of ['GET', 'DELETE']) {
      expect(await service.send(method, `${tasks}/1`)).toMatchObject({
        status: 404,
        headers: { 'content-type': 'application/json' },
        json: { error: 'no such item in this list' },
      });
    }
    expect((await service.send('PATCH', `${tasks}/1`, aBody)).status).toBe(404);
  });

  test.for([
    '{"n":12345678901234567890,"price":1.10,"code":"007","huge":1e400,"zero":-0}',
    '{"__proto__":{"admin":true},"constructor":1,"toString":null,"":"empty"}',
    '{"deep":[[{"a":[null,true]}]],"lone":"\\ud800","text":"é \\u0000 \u{1f95b}"}',
  ])('comes out as it went in: %s', async (fields, { service }) => {
    const created = await service.send('POST', tasks, `{ "fields" : ${fields} }`);
    await service.reopen();
    const updated = await service.send('PATCH', `${tasks}/1`, '{"fields":{}}');

    expect(created.body).toBe(`{"id":"1","fields":${fields}}`);
    expect(updated.body).toBe(created.body);
  });

  test('takes an update of a field with the name of something that every object inherits', async ({ service }) => {
    await service.create({ Title: 'Milk' });

    const set = await service.send('PATCH', `${tasks}/1`, '{"fields":{"__proto__":1.0,"constructor":"x"}}');
    const cleared = await service.send('PATCH', `${tasks}/1`, '{"fields":{"__proto__":null}}');

    expect(set.body).toBe('{"id":"1","fields":{"Title":"Milk","__proto__":1.0,"constructor":"x"}}');
    expect(cleared.body).toBe('{"id":"1","fields":{"Title":"Milk","constructor":"x"}}');
  });
});

describe('ids', () => {
  test('count from 1 in each list, whatever its name', async ({ service }) => {
    const long = 'é'.repeat(512);
    const lists = [
      'home/lists/tasks',
      'home/lists/notes',
      'work/lists/tasks',
      `${long}/lists/${long}`,
      'a%2Fb/lists/,',
    ];

    for (const list of lists) {
      expect(await service.create({ list }, `/sites/${encodeURI(decodeURI(list))}/items`)).toBe('1');
      expect(await service.create({}, `/sites/${encodeURI(decodeURI(list))}/items`)).toBe('2');
    }

    for (const list of lists) {
      const read = await service.send('GET', `/sites/${encodeURI(decodeURI(list))}/items/1`);
      expect(read.json).toEqual({ id: '1', fields: { list } });
    }
  });

  test('are never given again, not after a delete and not after a restart', async ({ service }) => {
    await service.create({});
    const last = await service.create({});

    await service.send('DELETE', `${tasks}/${last}`);
    await service.reopen();

    expect(await service.create({})).toBe('3');
  });

  test.for(['0', '01', '1.0', '+1', '-1', '1e0', 'x', '%20', '9007199254740993', '99999999999999999999'])(
    'that were never given are not found: %s',
    async (id, { service }) => {
      await service.create({});

      expect((await service.send('GET', `${tasks}/${id}`)).status).toBe(404);
    },
  );

  test('that come percent-encoded are the same ids', async ({ service }) => {
    await service.create({});

    expect((await service.send('GET', '/sites/h%6Fme/lists/tasks/items/%31')).status).toBe(200);
  });
});

describe('an address', () => {
  test.for([
    '',
    '/',
    '/sites/home/lists/tasks',
    '/sites/home/lists/tasks/items/1/versions',
    '/Sites/home/lists/tasks/items',
    '/v1.0/sites/home/lists/tasks/items',
    'sites/home/lists/tasks/items',
  ])('that the document does not name is not found: %j', async (path, { service }) => {
    expect(await service.send('GET', path)).toMatchObject({
      status: 404,
      json: { error: 'no such path' },
    });
  });

  test.for([
    ['/sites/%/lists/tasks/items', 'the site id is not percent-encoded UTF-8'],
    ['/sites/%ff/lists/tasks/items', 'the site id is not percent-encoded UTF-8'],
    ['/sites//lists/tasks/items', 'the site id is empty'],
    ['/sites/../lists/tasks/items', 'the site id is "..", which is not a path segment'],
    ['/sites/home/lists/%2e/items', 'the list id is ".", which is not a path segment'],
    ['/sites/home/lists/a%00b/items', 'the list id has control characters'],
    ['/sites/home/lists/tasks/items/', 'the item id is empty'],
    ['/sites/home/lists/tasks/items/%7F', 'the item id has control characters'],
    [`/sites/${'x'.repeat(1025)}/lists/tasks/items`, 'the site id is longer than 1,024 bytes'],
    ['/sites/home/lists/tasks/items?$expand=fields', 'query parameters are not supported'],
  ] as const)('that names no id is refused: %s', async ([path, error], { service }) => {
    expect(await service.send('POST', path, aBody)).toMatchObject({ status: 400, json: { error } });
  });

  test.for([
    ['GET', tasks, 'POST'],
    ['DELETE', tasks, 'POST'],
    ['POST', `${tasks}/1`, 'GET, PATCH, DELETE'],
    ['PUT', `${tasks}/1`, 'GET, PATCH, DELETE'],
    ['constructor', `${tasks}/1`, 'GET, PATCH, DELETE'],
    ['get', `${tasks}/1`, 'GET, PATCH, DELETE'],
  ] as const)('says what can be done there: %s %s', async ([method, path, allow], { service }) => {
    expect(await service.send(method, path)).toMatchObject({
      status: 405,
      headers: { allow },
      json: { error: `method not allowed: use ${allow}` },
    });
  });
});

describe('a body', () => {
  test.for([
    ['', 'the body is not JSON'],
    ['{"fields":{}', 'the body is not JSON'],
    ['{"fields":{"a":1,"a":2}}', 'the body is not JSON'],
    [`{"fields":${'['.repeat(200)}${']'.repeat(200)}}`, 'the body is not JSON: nested deeper than 128 levels'],
    ['null', 'the body must be {"fields": {…}}'],
    ['[]', 'the body must be {"fields": {…}}'],
    ['{}', 'the body must be {"fields": {…}}'],
    ['{"fields":null}', 'the body must be {"fields": {…}}'],
    ['{"fields":[]}', 'the body must be {"fields": {…}}'],
    ['{"fields":"Title"}', 'the body must be {"fields": {…}}'],
    ['{"fields":1.10}', 'the body must be {"fields": {…}}'],
    ['{"Title":"Milk"}', 'the body must be {"fields": {…}}'],
    ['{"fields":{},"id":"7"}', 'unexpected member "id" in the body'],
    ['{"fields":{},"__proto__":{}}', 'unexpected member "__proto__" in the body'],
  ] as const)('that is not {"fields": {…}} is refused: %s', async ([body, error], { service }) => {
    await service.create({ Title: 'as it was' });
    const json = { error: expect.stringContaining(error) };
    const headers = { 'content-type': 'application/json' };

    expect(await service.send('POST', tasks, body, headers)).toMatchObject({ status: 400, json });
    expect(await service.send('PATCH', `${tasks}/1`, body, headers)).toMatchObject({ status: 400, json });

    expect((await service.send('GET', `${tasks}/1`)).json).toMatchObject({ fields: { Title: 'as it was' } });
    expect(await service.create({})).toBe('2');
  });

  test('in UTF-8 is taken, with a byte order mark or without, and in nothing else', async ({ service }) => {
    const withMark = Buffer.from('\ufeff{"fields":{"Title":"é"}}');
    const latin1 = Buffer.from('{"fields":{"Title":"é"}}', 'latin1');

    expect(await service.send('POST', tasks, withMark)).toMatchObject({
      status: 201,
      json: { fields: { Title: 'é' } },
    });
    expect(await service.send('POST', tasks, latin1)).toMatchObject({
      status: 400,
      json: { error: 'the body is not UTF-8' },
    });
  });

  test.for([
    ['application/json', 201],
    ['application/json; charset=utf-8', 201],
    ['Application/JSON ;charset="utf-8"', 201],
    ['text/plain', 415],
    ['application/jsonp', 415],
    ['application/merge-patch+json', 415],
    ['', 415],
  ] as const)('of type %j is answered with %i', async ([contentType, status], { service }) => {
    expect((await service.send('POST', tasks, aBody, { 'content-type': contentType })).status).toBe(status);
  });

  test('has its type said', async ({ service }) => {
    expect((await service.send('POST', tasks)).status).toBe(415);
    expect((await service.send('PATCH', `${tasks}/1`)).status).toBe(415);
  });

  test('of 8 MiB is taken, of a byte more is not', async ({ service }) => {
    const empty = '{"fields":{"a":""}}';
    const padded = (bytes: number) => `${empty}${' '.repeat(bytes - empty.length)}`;

    expect((await service.send('POST', tasks, padded(8 * 1024 * 1024))).status).toBe(201);
    expect(await service.send('POST', tasks, padded(8 * 1024 * 1024 + 1))).toMatchObject({
      status: 413,
      json: { error: 'the body is over 8 MiB' },
    });
  });

  test('is refused when the item would be more than its reader takes', async ({ service }) => {
    const half = 'x'.repeat(5 * 1024 * 1024);
    const many = (prefix: string) => Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [prefix + at, 1]));
    await service.create({ a: half });
    await service.create(many('a'));

    expect((await service.send('PATCH', `${tasks}/1`, { fields: { b: half } })).status).toBe(413);
    expect((await service.send('PATCH', `${tasks}/2`, { fields: many('b') })).status).toBe(413);

    expect((await service.send('PATCH', `${tasks}/1`, { fields: { a: half } })).status).toBe(200);
  });

  test('has no place in a GET or a DELETE', async ({ service }) => {
    await service.create({});

    expect((await service.send('GET', `${tasks}/1`, '{}')).status).toBe(400);
    expect((await service.send('DELETE', `${tasks}/1`, '{}')).status).toBe(400);
    expect((await service.send('GET', `${tasks}/1`)).status).toBe(200);
  });
});

describe('If-Match', () => {
  test('has a tag that changes with each update, and is other in another store', async () => {
    await using service = await serviceIn();
    await using another = await serviceIn();
    const tags = new Set<string | undefined>();

    tags.add((await service.send('POST', tasks, aBody)).headers['etag']);
    for (const title of ['Soy', 'Oat', 'Soy']) {
      tags.add((await service.send('PATCH', `${tasks}/1`, { fields: { Title: title } })).headers['etag']);
    }
    tags.add((await another.send('POST', tasks, { fields: { Title: 'Something else' } })).headers['etag']);

    expect(tags.size).toBe(5);
  });

  test.for([
    ['the tag', true, (tag: string) => tag],
    ['any tag', true, () => '*'],
    ['any tag, with spaces', true, () => ' * '],
    ['the tag among others', true, (tag: string) => `"x", ${tag} ,"y,z"`],
    ['a list with empty places', true, (tag: string) => `, ${tag},,`],
    ['another tag', false, () => '"x"'],
    ['the tag, but weak', false, (tag: string) => `W/${tag}`],
    ['the tag inside another', false, (tag: string) => `"x${tag.slice(1)}`],
  ] as const)('with %s lets a write through: %s', async ([_, passes, headerFor], { service }) => {
    const { headers } = await service.send('POST', tasks, aBody);
    const ifMatch = { 'if-match': headerFor(headers['etag'] ?? '') };

    const updated = await service.send('PATCH', `${tasks}/1`, { fields: {} }, ifMatch);
    const deleted = await service.send('DELETE', `${tasks}/1`, undefined, {
      'if-match': headerFor(updated.headers['etag'] ?? headers['etag'] ?? ''),
    });

    expect(updated.status).toBe(passes ? 200 : 412);
    expect(deleted.status).toBe(passes ? 204 : 412);
  });

  test.for(['', 'x', '"x" y', 'W/*', '"x', '*, "x"'])(
    'that is not a list of tags is refused: %j',
    async (header, { service }) => {
      await service.create({});

      expect((await service.send('DELETE', `${tasks}/1`, undefined, { 'if-match': header })).status).toBe(400);
    },
  );

  test('says nothing about an item that is not there', async ({ service }) => {
    expect((await service.send('DELETE', `${tasks}/1`, undefined, { 'if-match': '*' })).status).toBe(404);
  });

  test('lets one of two that read the same state write', async ({ service }) => {
    const { headers } = await service.send('POST', tasks, aBody);
    const ifMatch = { 'if-match': headers['etag'] ?? '' };

    const answers = await Promise.all([
      service.send('PATCH', `${tasks}/1`, { fields: { By: 'Ann' } }, ifMatch),
      service.send('PATCH', `${tasks}/1`, { fields: { By: 'Bob' } }, ifMatch),
    ]);

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412]);
  });
});
