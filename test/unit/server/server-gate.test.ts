import { describe, expect } from 'vitest';
import { sendHttp } from '../../support/send-http.ts';
import { serverIn, tasks, test, token } from './server-in.ts';

describe('Host', () => {
  test.for(['localhost', 'localhost:1', 'LOCALHOST', '127.0.0.1', '127.9.9.9:80', '[::1]', '[::1]:7070'])(
    '%s is this server',
    async (host, { server }) => {
      expect((await server.send(`${tasks}/1`, { headers: { host } })).status).toBe(404);
    },
  );

  test.for([
    ...['evil.example', 'evil.example:7070', 'localhost.evil.example', 'evil.localhost', '127.0.0.1.evil.example'],
    ...['128.0.0.1', '0.0.0.0', '[::2]', '::1', 'localhost:x', 'localhost@evil.example', ' '],
  ])('%j is another, and refused', async (host, { server }) => {
    const answer = await server.send(tasks, { fields: {}, headers: { host } });

    expect(answer).toMatchObject({ status: 403, body: '{"error":"the Host header does not name this server"}' });
    expect((await server.send(`${tasks}/1`)).status).toBe(404);
  });

  test.for(['HTTP/1.1', 'HTTP/1.0'])('must be there, in %s too', async (version, { server }) => {
    const answer = await server.answerTo(
      `GET /v1.0${tasks}/1 ${version}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );

    expect(answer).toMatch(/^HTTP\/1.1 403 .*"error":"the Host header/s);
  });

  test('may be any name of the machine on a server that others reach', async () => {
    await using server = await serverIn({ host: '0.0.0.0' });
    const statusFor = async (host: string) => (await server.send(`${tasks}/1`, { headers: { host } })).status;
    const { hostname } = await import('node:os');

    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\.0$/);
    expect(await statusFor(hostname().toUpperCase())).toBe(404);
    expect(await statusFor('0.0.0.0:7070')).toBe(404);
    expect(await statusFor('evil.example')).toBe(403);
  });
});

describe('a web page', () => {
  test.for(['https://evil.example', 'http://localhost:7070', 'null', ''])(
    'at %j is refused, whatever it knows, and nothing invites it',
    async (origin, { server }) => {
      const answer = await server.send(tasks, { fields: {}, headers: { origin } });
      const preflight = await server.send(tasks, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
      });

      for (const { status, headers } of [answer, preflight]) {
        expect(status).toBe(403);
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
      }
      expect((await server.send(`${tasks}/1`)).status).toBe(404);
    },
  );

  test('is refused even where its Origin hides behind a thousand headers', async ({ server }) => {
    const many = Array.from({ length: 2100 }, () => 'a:b').join('\r\n');

    const answer = await server.answerTo(
      `GET /v1.0${tasks}/1 HTTP/1.1\r\nHost: localhost\r\n${many}\r\nOrigin: null\r\nConnection: close\r\n\r\n`,
    );

    expect(answer).toMatch(/^HTTP\/1.1 403 .*web pages/s);
  });

  test('can send no body but JSON', async ({ server }) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      expect(await server.send(tasks, { body: '{"fields":{}}', headers: { 'content-type': type } })).toMatchObject({
        status: 415,
      });
    }
    expect((await server.send(tasks, { fields: {} })).headers['location']).toBe(`/v1.0${tasks}/1`);
  });
});

describe('the token', () => {
  test.for([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Basic ${token}`,
    token,
    'Bearer wrong',
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
    `Bearer ${token} ${token}`,
    `Bearer ${token.toUpperCase()}`,
  ])('is not in %j', async (authorization, { server }) => {
    const answer = await server.send(tasks, { fields: {}, headers: { authorization } });

    expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(answer.body).toBe('{"error":"the bearer token is missing or wrong"}');
    expect((await server.send(`${tasks}/1`)).status).toBe(404);
  });

  test('is known before anything is said of paths', async ({ server }) => {
    for (const path of ['', '/', '/nothing', tasks]) {
      expect((await sendHttp(server.url + path)).status).toBe(401);
    }
    expect((await sendHttp(new URL('/', server.url).href)).status).toBe(401);
  });

  test.for(['bearer', 'BEARER'])('may be announced as %s', async (scheme, { server }) => {
    const answer = await server.send(`${tasks}/1`, { headers: { authorization: `${scheme}  ${token}` } });

    expect(answer.status).toBe(404);
  });
});
