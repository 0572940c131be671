import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect } from 'vitest';
import type { ServiceResponse } from '../../../src/server/message.ts';
import { rawConnection, sendHttp } from '../../support/send-http.ts';
import { createOf, headOf, serverIn, serving, tasks, test, token } from './server-in.ts';

const milk = { Title: 'Buy milk' };
const made: ServiceResponse = { status: 201, headers: {}, body: '{"id":"1","fields":{}}' };
const tooMuch = 9 * 1024 * 1024;

/** A promise, and what settles it. */
function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe('an item', () => {
  test('is created once for one key, whatever becomes of the first answer', async ({ server }) => {
    const headers = { 'idempotency-key': '"k1"' };
    const lost = await rawConnection(server.url, createOf(milk).replace('\r\n', '\r\nIdempotency-Key: "k1"\r\n'));
    await lost.received('201');
    lost.socket.destroy();

    const again = await server.send(tasks, { fields: milk, headers });

    expect(again).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
    expect(JSON.parse(again.body).id).toBe('1');
  });

  test('is not stored on a full disk, and the client gets an error', async () => {
    let bytesFree = Number.POSITIVE_INFINITY;
    await using server = await serverIn({}, () => bytesFree);
    bytesFree = 0;

    expect(await server.send(tasks, { fields: milk })).toMatchObject({
      status: 507,
      body: '{"error":"nothing was stored: no space left on the device"}',
    });
    bytesFree = Number.POSITIVE_INFINITY;
    expect((await server.send(`${tasks}/1`)).status).toBe(404);
    expect(JSON.parse((await server.send(tasks, { fields: milk })).body).id).toBe('1');
  });
});

describe('a path', () => {
  test.for([
    ...['/', '/v1.0', '/v1.00/sites', '/v2.0/sites/a/lists/b/items', '/sites/a/lists/b/items', '*', '//v1.0/sites'],
  ])('%s lacks the version path, which is not a missing item', async (path, { server }) => {
    const answer = await server.answerTo(headOf('GET', ['Connection: close'], path));

    expect(answer).toMatch(/^HTTP\/1.1 400 .*"error":"invalid version/s);
  });

  test('must be ASCII, so that it arrives as it was meant', async ({ server }) => {
    const answer = await server.answerTo(headOf('GET', ['Connection: close'], '/v1.0/sites/é/lists/b/items/1'));

    expect(answer).toMatch(/^HTTP\/1.1 400 .*"error":/s);
  });
});

describe('a body', () => {
  test('of 9 MiB is refused by its head, by its bytes, and before it is sent; nothing is stored', async ({
    server,
  }) => {
    const long = Buffer.alloc(tooMuch, 'x');

    const declared = await server.send(tasks, { body: long });
    const streamed = await server.send(tasks, { body: long, headers: { 'transfer-encoding': 'chunked' } });
    const announced = await rawConnection(
      server.url,
      headOf('POST', ['Content-Type: application/json', `Content-Length: ${tooMuch}`, 'Expect: 100-continue']),
    );

    for (const { status, body, headers } of [declared, streamed]) {
      expect({ status, body }).toEqual({ status: 413, body: '{"error":"the body is over 8 MiB"}' });
      expect(headers.connection).toBe('close');
    }
    expect(await announced.closed()).toMatch(/^HTTP\/1.1 413 /);
    expect((await server.send(`${tasks}/1`)).status).toBe(404);
  });

  test('that is refused may be sent to its end, so that its sender reads why', async ({ server }) => {
    const head = headOf('POST', ['Content-Type: application/json', `Content-Length: ${tooMuch}`]);
    const connection = await rawConnection(server.url, head);
    await connection.received('413');

    const error = await new Promise((resolve) => connection.socket.write(Buffer.alloc(tooMuch, 'x'), resolve));

    expect(error ?? undefined).toBeUndefined();
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 413 .*connection: close.*8 MiB"}$/is);
  });

  test('is asked for where the client waits for that, and only if it may come in', async ({ server }) => {
    const lines = ['Content-Type: application/json', 'Content-Length: 13', 'Expect: 100-continue', 'Connection: close'];

    const welcome = await rawConnection(server.url, headOf('POST', lines));
    await welcome.received('100 Continue');
    welcome.socket.write('{"fields":{}}');
    const stranger = await rawConnection(server.url, headOf('POST', lines).replace(token, 'wrong'));

    expect(await welcome.closed()).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 /);
    expect(await stranger.closed()).toMatch(/^HTTP\/1.1 401 /);
  });

  test('that comes with a wrong token is not kept, and its sender reads why', async ({ server }) => {
    const answer = await server.send(tasks, {
      body: Buffer.alloc(tooMuch),
      headers: { authorization: 'Bearer wrong' },
    });

    expect(answer).toMatchObject({ status: 401, headers: { connection: 'close' } });
  });

  test('that is too deep, or invalid, is refused', async ({ server }) => {
    const deep = `{"fields":{"a":${'['.repeat(200_000)}`;

    for (const body of [deep, '', '{', '[]', '{"fields":1}', '\xff']) {
      expect((await server.send(tasks, { method: 'POST', body })).status).toBe(400);
    }
    expect((await server.send(tasks, { fields: milk })).status).toBe(201);
  });

  test('is discarded if its sender disconnects', async ({ server }) => {
    const whole = createOf(milk);

    const connection = await rawConnection(server.url, whole.slice(0, -5));
    connection.socket.resetAndDestroy();

    // The next one is answered, so the one before has been seen to end.
    expect(JSON.parse((await server.send(tasks, { fields: {} })).body).id).toBe('1');
    expect(server.errors).toEqual([]);
  });
});

describe('an invalid request', () => {
  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n', 400],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['two lengths', headOf('POST', ['Content-Length: 1', 'Content-Length: 2']), 400],
    ['a length beside chunks', headOf('POST', ['Content-Length: 3', 'Transfer-Encoding: chunked']), 400],
    ['two Hosts', headOf('GET', ['Host: localhost', 'Connection: close']), 400],
    ['two Hosts, whatever their case', headOf('GET', ['HOST: evil.example', 'Connection: close']), 400],
    ['a coding beside chunked', headOf('POST', ['Transfer-Encoding: gzip, chunked']), 501],
    ['CONNECT', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n', 405],
    ['another expectation', headOf('POST', ['Expect: x', 'Content-Length: 2']), 417],
    ['a head over 16 KiB', headOf('GET', [`X: ${'x'.repeat(20_000)}`]), 431],
    ['a path over 16 KiB', headOf('GET', [], `/v1.0/${'x'.repeat(20_000)}`), 431],
  ])("is refused with the document's error: %s", async (_name, bytes, status) => {
    // Two of them may be followed by another request: their connection is closed once it is idle.
    await using server = await serverIn({ limits: { idleMs: 500 } });

    const answer = await server.answerTo(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({ error: expect.any(String) });
    expect(server.errors).toEqual([]);
  });

  test('never receives the response to the previous request', async () => {
    const answer = deferred<ServiceResponse>();
    await using server = await serving(() => answer.promise);
    const connection = await rawConnection(server.url, `${createOf(milk)}garbage\r\n\r\n`);

    // By now the server has read the first bytes of a connection that came later.
    expect((await sendHttp(server.url)).status).toBe(401);
    answer.resolve(made);

    const received = await connection.closed();
    expect(received).toMatch(/^HTTP\/1.1 201 /);
    expect(received.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  test('after an answer is refused for itself', async ({ server }) => {
    const connection = await rawConnection(server.url, createOf(milk));
    await connection.received('"fields"');

    connection.socket.write('garbage\r\n\r\n');

    expect(await connection.closed()).toMatch(/^HTTP\/1.1 201 .*}HTTP\/1.1 400 /s);
  });

  test('within a body ends the connection, and stores nothing', async ({ server }) => {
    const head = headOf('POST', ['Content-Type: application/json', 'Transfer-Encoding: chunked']);

    expect(await server.answerTo(`${head}d\r\n{"fields":{}}\r\nnot a chunk\r\n`)).toMatch(/^HTTP\/1.1 400 /);
    expect((await server.send(`${tasks}/1`)).status).toBe(404);
  });
});

test('requests that come at once on a connection are answered in their order', async () => {
  const first = deferred<ServiceResponse>();
  await using server = await serving(({ path }) =>
    path === '/1' ? first.promise : Promise.resolve({ ...made, body: '"second"' }),
  );

  const connection = await rawConnection(
    server.url,
    headOf('GET', [], '/v1.0/1') + headOf('GET', ['Connection: close'], '/v1.0/2'),
  );
  first.resolve({ ...made, body: '"first"' });

  expect(await connection.closed()).toMatch(/"first".*"second"$/s);
});

test('an expectation that cannot be met says nothing to those without the token', async ({ server }) => {
  const connection = await rawConnection(server.url, 'GET /v1.0/ HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n');

  expect(await connection.received('}')).toMatch(/^HTTP\/1.1 401 /);
});

describe('a client that sends many requests and reads nothing', () => {
  const body = JSON.stringify('x'.repeat(7_000_000));

  test('has no more answered than it takes, and all of them once it reads', async () => {
    let answered = 0;
    await using server = await serving(async () => {
      answered += 1;
      return { ...made, body };
    });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).pause();
    socket.write(headOf('GET').repeat(29) + headOf('GET', ['Connection: close']));

    // Requests that come later are answered, so those before have had their time.
    for (let times = 0; times < 3; times += 1) await sendHttp(server.url);
    expect(answered).toBeLessThanOrEqual(3);

    let bytes = 0;
    for await (const chunk of socket) bytes += chunk.length;
    expect([answered, bytes > 30 * body.length]).toEqual([30, true]);
  });

  test('is cut at a thousand that wait', async () => {
    await using server = await serving(() => new Promise(() => {}), { limits: { endMs: 1 } });

    expect(await server.answerTo(headOf('GET').repeat(1002))).toBe('');
  });
});

describe('a connection', () => {
  test('that does nothing, or stops in the middle, is cut; one that waits for us is not', async () => {
    const answer = deferred<ServiceResponse>();
    await using server = await serving(() => answer.promise, { limits: { idleMs: 300 } });
    const waiting = await rawConnection(server.url, createOf(milk));

    const idle = await Promise.all(
      ['', 'POST /v1.0', headOf('GET').slice(0, -2), createOf(milk).slice(0, -1)].map((bytes) =>
        rawConnection(server.url, bytes),
      ),
    );
    await Promise.all(idle.map((connection) => connection.closed()));
    answer.resolve(made);

    await waiting.received(made.body);
    // And once it has its answer, it is idle like any other.
    await waiting.closed();
  });

  test('whose request is sent slowly is closed with an error, during head or body', async () => {
    await using server = await serverIn({ limits: { headMs: 50, requestMs: 100, idleMs: 10_000 } });
    const head = await rawConnection(server.url, 'GET /v1.0 HTTP/1.1\r\n');
    const body = await rawConnection(server.url, createOf(milk).slice(0, -5));

    expect(await head.closed()).toMatch(/^HTTP\/1.1 408 .*"error":/s);
    expect(await body.closed()).toMatch(/^HTTP\/1.1 408 .*"error":/s);
    expect((await server.send(`${tasks}/1`)).status).toBe(404);
  });

  test('that is idle costs the others nothing, and there may be 1,000', async ({ server }) => {
    const { hostname, port } = new URL(server.url);
    const idle = Array.from({ length: 1000 }, () => connect(Number(port), hostname));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));

    const answers = await Promise.all(Array.from({ length: 50 }, () => server.send(tasks, { fields: milk })));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(idle.filter(({ closed }) => closed)).toEqual([]);
    await server.close();
    await Promise.all(idle.map((socket) => socket.closed || once(socket, 'close')));
  });

  test('is reset where the service does not answer', async () => {
    await using server = await serving(async () => undefined);

    await expect(server.send(tasks, { fields: milk })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(server.errors).toEqual([]);
  });
});

test('an unexpected error is a 500 without details, and the next request is served', async () => {
  let isBroken = true;
  const bug = new Error(`secret: ${token}`);
  await using server = await serving(async () => {
    if (isBroken) throw bug;
    return made;
  });

  const failed = await server.send(tasks, { fields: milk });
  isBroken = false;

  expect(failed).toMatchObject({ status: 500, body: '{"error":"the service failed"}' });
  expect(server.errors).toEqual([bug]);
  expect((await server.send(tasks, { fields: milk })).status).toBe(201);
});

describe('a server that ends', () => {
  test('takes nothing new, finishes what is under way, and lets idle connections go', async () => {
    const begun = deferred<void>();
    const answer = deferred<ServiceResponse>();
    await using server = await serving(() => {
      begun.resolve();
      return answer.promise;
    });
    const idle = await rawConnection(server.url);
    const underWay = await rawConnection(server.url, createOf(milk));
    await begun.promise;

    const closed = server.close();
    await idle.closed();
    await expect(server.send(tasks)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answer.resolve(made);

    expect(await underWay.closed()).toMatch(/^HTTP\/1.1 201 .*connection: close.*"id":"1"/is);
    await closed;
  });

  test('waits for no request for ever', async () => {
    const begun = deferred<void>();
    await using server = await serving(
      () => {
        begun.resolve();
        return new Promise(() => {});
      },
      { limits: { endMs: 20 } },
    );
    const underWay = await rawConnection(server.url, createOf(milk));
    await begun.promise;

    await Promise.all([server.close(), server.close()]);

    expect(await underWay.closed()).toBe('');
  });
});

describe('a server does not start', () => {
  const failureOf = async (host: string, port: number): Promise<unknown> => {
    try {
      await using _server = await serving(async () => made, { host, port });
    } catch (error) {
      return error;
    }
    throw new Error('it did');
  };

  test.each(['192.0.2.1', 'no-such-host.invalid'])('on %s, which is not an address of this machine', async (host) => {
    expect(await failureOf(host, 0)).toMatchObject({ kind: 'usage', message: expect.stringContaining(host) });
  });
});
