/** Behavior that both transports share; the fault table tests them with the whole program. */
import { createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import type { ConnectionOptions } from '../../../src/api/connect.ts';
import { httpTransport } from '../../../src/api/http.ts';
import { type AttemptLimits, type Transport, toTransportError } from '../../../src/api/transport.ts';
import { undiciTransport } from '../../../src/api/undici.ts';
import { listening } from '../../support/loopback-server.ts';
import { scriptedService } from '../../support/scripted-service.ts';

const read = { method: 'GET', path: '/x', headers: {} } as const;
const limits: AttemptLimits = { timeoutMs: 5000, signal: new AbortController().signal };

describe.each([
  { name: 'http', open: httpTransport },
  { name: 'undici', open: undiciTransport },
])('over $name', ({ open }) => {
  test('a response that stalls before its headers, or in its body, is cut off', async () => {
    await using silent = await rawServer(() => '');
    await using pausing = await rawServer(() => 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc');
    const phases = { headersMs: 80, idleMs: 80 };

    const late = await timed(open, silent, { ...limits, phases });
    const paused = await timed(open, pausing, { ...limits, phases });

    expect(late.attempt).toMatchObject({
      error: { kind: 'timeout', reason: 'no response within 0.08 s' },
      wasSent: true,
    });
    expect(paused.attempt).toMatchObject({
      error: { kind: 'timeout', reason: 'the response stalled: no data within 0.08 s' },
      wasSent: true,
      head: { status: 200 },
    });
    for (const { ms } of [late, paused]) expect(ms).toBeLessThan(limits.timeoutMs);
  });

  test('a socket is reused, for 4 s at most and never after a stray byte', async () => {
    let strayed = false;
    await using server = await rawServer((socket, count) => {
      if (count === 2) {
        setTimeout(() => {
          strayed = true;
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged');
        }, 20);
      }
      return 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    });
    const transport = await open(optionsFor(server));

    const bodies = [];
    for (let at = 0; at < 4; at += 1) {
      const { response } = await transport.send(read, limits);
      bodies.push(Buffer.from(response?.body ?? '').toString());
      if (at === 1) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await transport.close();

    expect({ strayed, bodies, connections: server.connections() }).toEqual({
      strayed: true,
      bodies: ['ok', 'ok', 'ok', 'ok'],
      connections: 2,
    });
  });

  test('a connection that receives bytes before the request is closed, and nothing is sent', async () => {
    const seen: Buffer[] = [];
    await using server = await rawServer(
      () => '',
      (socket) => {
        socket.on('data', (bytes: Buffer) => seen.push(bytes));
        socket.write('HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{"id":"9"}');
      },
    );
    const transport = await open(optionsFor(server));

    const attempt = await transport.send({ ...read, method: 'POST', body: '{}' }, limits);
    await transport.close();

    const error = { kind: 'unreachable', reason: 'the server sent data before the request' };
    expect(attempt).toMatchObject({ error, wasSent: false });
    expect(seen).toEqual([]);
  });

  test('a 408 is early if it arrives before the request is fully written', async () => {
    await using server = await rawServer((socket) => {
      socket.pause();
      return 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
    });
    const transport = await open(optionsFor(server));

    const whole = await transport.send({ ...read, method: 'POST', body: '{}' }, limits);
    const early = await transport.send({ ...read, method: 'POST', body: Buffer.alloc(2 ** 25) }, limits);
    await transport.close();

    expect([whole.response?.isEarly, early.response?.isEarly]).toEqual([undefined, true]);
  });

  test('a dropped connection is not reused', async () => {
    await using server = await rawServer(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const transport = await open(optionsFor(server));

    const { response } = await transport.send(read, limits);
    response?.connection?.drop();
    const after = await transport.send(read, limits);
    await transport.close();

    expect([after.response?.status, server.connections()]).toEqual([200, 2]);
  });

  test('many concurrent requests print no leak warning, and a stop ends all of them', async () => {
    await using service = await scriptedService({ status: 200, silent: true });
    const warnings: string[] = [];
    const listen = (warning: Error) => warnings.push(warning.message);
    process.on('warning', listen);
    const stop = new AbortController();
    const transport = await open({ base: new URL(service.url), token: 'secret-token', headers: {} });

    const sent = Array.from({ length: 30 }, () => transport.send(read, { ...limits, signal: stop.signal }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    stop.abort(new Error('enough'));
    const kinds = new Set((await Promise.all(sent)).map(({ error }) => error?.kind));
    await transport.close();
    process.off('warning', listen);

    expect({ kinds, warnings }).toEqual({ kinds: new Set(['stopped']), warnings: [] });
  });

  test('a request in flight fails when the transport closes', async () => {
    await using service = await scriptedService({ status: 200, silent: true });
    const transport = await open({ base: new URL(service.url), token: 'secret-token', headers: {} });

    const sent = transport.send(read, limits);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await transport.close();

    expect(await sent).toMatchObject({ error: expect.anything(), wasSent: true });
  });
});

test('an aborted wait for a socket, whose code is a number, is no connection', () => {
  const aborted = new DOMException('This operation was aborted', 'AbortError');
  expect(toTransportError(aborted, false)).toMatchObject({ kind: 'unreachable', reason: 'This operation was aborted' });
});

async function timed(
  open: (options: ConnectionOptions) => Promise<Transport>,
  server: RawServer,
  within: AttemptLimits,
) {
  const transport = await open(optionsFor(server));
  const startedAt = performance.now();
  const attempt = await transport.send(read, within);
  const ms = performance.now() - startedAt;
  await transport.close();
  return { attempt, ms };
}

function optionsFor({ port }: RawServer): ConnectionOptions {
  return { base: new URL(`http://127.0.0.1:${port}/v1.0`), token: 'secret-token', headers: {} };
}

interface RawServer extends AsyncDisposable {
  readonly port: number;
  readonly connections: () => number;
}

/**
 * A server that responds to each request, counted over all connections from 1, with these bytes.
 *
 * @param greet is called for each new connection
 */
async function rawServer(
  response: (socket: Socket, count: number) => string,
  greet: (socket: Socket) => void = () => {},
): Promise<RawServer> {
  let connections = 0;
  let count = 0;
  const server = createServer((socket) => {
    connections += 1;
    greet(socket);
    socket.on('data', () => {
      count += 1;
      socket.write(response(socket, count));
    });
  });
  return { ...(await listening(server)), connections: () => connections };
}
