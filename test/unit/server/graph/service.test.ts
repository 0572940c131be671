/** Limits, batches and faults of Microsoft Graph. */
import { describe, expect, test } from 'vitest';
import { injectFaults } from '../../../../src/server/fault-injection.ts';
import { graphErrorResponder } from '../../../../src/server/graph/errors.ts';
import { graphService } from '../../../../src/server/graph/service.ts';
import { openStore } from '../../../../src/server/store.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { serving } from '../server-in.ts';
import { books, booksSchema, graphIn } from './graph-in.ts';

describe('resource units', () => {
  test('are counted by the minute, announced from 80 %, and refused beyond', async () => {
    await using graph = await graphIn({ unitsPerMinute: 10 });
    const limits = async (method: string, path: string, body?: unknown) => {
      const { status, headers } = await graph.send(method, path, body);
      const named = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map(
        (name) => headers[name],
      );
      return [status, ...named];
    };
    const none = [undefined, undefined, undefined, undefined];

    // A write costs 2, an item 1, a page 2.
    expect(await limits('POST', books, {})).toEqual([201, ...none]);
    expect(await limits('PATCH', `${books}/1/fields`, {})).toEqual([200, ...none]);
    expect(await limits('GET', `${books}/1`)).toEqual([200, ...none]);
    graph.now += 20_500;
    expect(await limits('GET', books)).toEqual([200, ...none]);
    expect(await limits('GET', `${books}/9`)).toEqual([404, '10', '2', '40', undefined]);
    expect(await limits('DELETE', `${books}/1`)).toEqual([204, '10', '0', '40', undefined]);
    expect(await limits('GET', `${books}/1`)).toEqual([429, '10', '0', '40', '40']);
    graph.now += 39_500;
    expect(await limits('GET', `${books}/1`)).toEqual([404, ...none]);
  });

  test('of refused requests count against the next minute', async () => {
    await using graph = await graphIn({ unitsPerMinute: 2 });
    for (let sent = 0; sent < 3; sent += 1) await graph.send('GET', books);

    graph.now += 60_000;
    expect((await graph.send('GET', books)).status).toBe(429);
    graph.now += 180_000;
    expect((await graph.send('GET', books)).status).toBe(200);
  });
});

describe('a batch', () => {
  const json = { 'Content-Type': 'application/json' };

  test('carries out up to 20 requests, each with a status of its own', async () => {
    await using graph = await graphIn({ schema: booksSchema });
    const create = (id: string, fields: object) => ({
      id,
      method: 'POST',
      url: books,
      headers: json,
      body: { fields },
    });

    const { status, json: body } = await graph.send('POST', '/$batch', {
      requests: [
        create('1', { Key: 'k1' }),
        create('2', { Key: 'k1' }),
        { id: '3', method: 'GET', url: `${books}/1?$expand=fields`, dependsOn: ['1'] },
        { id: '4', method: 'DELETE', url: books.slice(1).concat('/1'), dependsOn: ['3'] },
        { id: '5', method: 'GET', url: books, dependsOn: ['2'] },
      ],
    });

    expect(status).toBe(200);
    expect(body.responses).toMatchObject([
      { id: '1', status: 201, body: { fields: { Key: 'k1' } } },
      { id: '2', status: 400, body: { error: { code: 'invalidRequest' } } },
      { id: '3', status: 200, body: { id: '1', fields: { Key: 'k1' } } },
      { id: '4', status: 204 },
      { id: '5', status: 424, body: { error: { code: 'failedDependency' } } },
    ]);
    expect(body.responses[3]).not.toHaveProperty('body');
  });

  test('costs what its requests cost; one may be throttled', async () => {
    await using graph = await graphIn({ unitsPerMinute: 4 });
    const requests = ['1', '2', '3'].map((id) => ({ id, method: 'POST', url: books, headers: json, body: {} }));

    const { responses } = (await graph.send('POST', '/$batch', { requests })).json;

    expect(responses.map((response: { status: number }) => response.status)).toEqual([201, 201, 429]);
    expect(responses[2].headers).toMatchObject({ 'Retry-After': '60', 'Content-Type': 'application/json' });
  });

  test.each<[name: string, requests: unknown]>([
    ['no requests', []],
    ['21 requests', Array.from({ length: 21 }, (_, at) => ({ id: String(at), method: 'GET', url: books }))],
    ['two of one id', [1, 2].map(() => ({ id: '1', method: 'GET', url: books }))],
    ['a number for an id', [{ id: 1, method: 'GET', url: books }]],
    ['a batch in it', [{ id: '1', method: 'POST', url: '/$batch', headers: json, body: {} }]],
  ])('with %s is refused', async (_, requests) => {
    await using graph = await graphIn();

    expect(await graph.send('POST', '/$batch', { requests })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalidRequest' } },
    });
  });
});

/** Graph behind a port of its own, with faults. */
async function graphServer(faults: Parameters<typeof injectFaults>[1] = {}) {
  const directory = await temporaryDirectory();
  const store = openStore(directory.path);
  const respondError = graphErrorResponder(Date.now);
  const clock = { now: Date.now, wait: async () => {} };
  const service = injectFaults(graphService(store, Date.now), faults, clock, respondError);
  const server = await serving(service, { respondError });
  return {
    ...server,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

describe('over HTTP', () => {
  test('an item is created, read by its next link, and the token is checked, with the errors of Graph', async () => {
    await using server = await graphServer();

    expect((await server.send(books, { fields: { Title: 'Dune' } })).status).toBe(201);
    expect((await server.send(books, { fields: { Title: 'Emma' } })).status).toBe(201);
    const { '@odata.nextLink': link } = JSON.parse((await server.send(`${books}?$top=1`)).body);
    expect(link.startsWith(`${server.url}${books}?`)).toBe(true);
    expect(JSON.parse((await server.send(link.slice(server.url.length))).body).value).toMatchObject([{ id: '2' }]);

    const refused = await server.send(books, {
      headers: { authorization: 'Bearer wrong', 'client-request-id': 'mine' },
    });
    expect(refused).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer', 'client-request-id': 'mine' },
    });
    expect(JSON.parse(refused.body).error).toMatchObject({
      code: 'InvalidAuthenticationToken',
      innerError: { 'client-request-id': 'mine', 'request-id': refused.headers['request-id'] },
    });
    expect(JSON.parse((await server.send('/../beta/sites/root')).body).error).toHaveProperty('code');
    expect(server.errors).toEqual([]);
  });

  test('injected faults are errors of Graph; an update may collide, unless it is conditional', async () => {
    await using server = await graphServer({ failRate: 1, seed: 3, withCollisions: true });
    const seen = async (headers = {}) => {
      const statuses = new Set<number>();
      for (let sent = 0; sent < 60; sent += 1) {
        const answer = await server
          .send(`${books}/1/fields`, { method: 'PATCH', body: '{}', headers })
          .catch(() => undefined);
        if (answer !== undefined) expect(JSON.parse(answer.body).error.innerError).toHaveProperty('request-id');
        statuses.add(answer?.status ?? 0);
      }
      return statuses;
    };

    expect(await seen()).toEqual(new Set([0, 409, 500, 503, 504]));
    expect(await seen({ 'if-match': '*' })).toEqual(new Set([0, 500, 503, 504]));
  });

  test('a throttled request is one with Retry-After', async () => {
    await using server = await graphServer({ throttlePerSecond: 0.1 });
    await server.send(books);

    const { status, headers, body } = await server.send(books);

    expect({ status, retryAfter: headers['retry-after'] }).toEqual({
      status: 429,
      retryAfter: expect.stringMatching(/^\d+$/),
    });
    expect(JSON.parse(body).error.code).toBe('activityLimitReached');
  });
});
