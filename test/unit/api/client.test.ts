/** Requests with their retries and outcomes. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Attempt, ServiceResponse } from '../../../src/api/transport.ts';
import { Stopped } from '../../../src/core/errors.ts';
import { testHost } from '../../support/test-host.ts';
import { answered, clientWith, lost, operation, page, requestOf, unreadable } from './client-world.ts';

describe('a request is retried', () => {
  test('up to the limit, with growing waits, and then fails with the last attempt', async () => {
    const { client, sent, sleptMs } = clientWith([answered(500)], { retries: 3 });

    await expect(client.send(operation(1, 'GET'))).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'cannot do it (HTTP 500; tried 4 times)',
    });
    expect(sent).toEqual(Array(4).fill(requestOf('GET')));
    expect(sleptMs).toEqual([250, 500, 1000]);
  });

  test('not at all with no retries', async () => {
    const { client, sent, sleptMs } = clientWith([answered(500)], { retries: 0 });

    await expect(client.send(operation(1, 'GET'))).rejects.toMatchObject({ message: 'cannot do it (HTTP 500)' });
    expect([sent.length, sleptMs]).toEqual([1, []]);
  });

  test('not if it was refused', async () => {
    const { client, sent } = clientWith([answered(422)]);

    await expect(client.send(operation(1))).rejects.toMatchObject({ kind: 'refused', details: { outcome: 'refused' } });
    expect(sent).toHaveLength(1);
  });

  test('after the requested wait, unless that is longer than --max-wait', async () => {
    const given = clientWith([answered(429, { 'retry-after': '180' }), answered(201)], { random: () => 0 });
    const longer = clientWith([answered(429, { 'retry-after': '181' }), answered(201)]);

    await expect(given.client.send(operation('done'))).resolves.toBe('done');
    expect(given.sleptMs).toEqual([180_000]);
    await expect(longer.client.send(operation('done'))).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('asks to wait 181 s, longer than --max-wait (180 s)'),
    });
    expect(longer.sent).toHaveLength(1);
  });
});

test('a compressed response is decoded', async () => {
  const { client } = clientWith([answered(200, { 'content-encoding': 'gzip' }, gzipSync('{"id":"17"}'))]);
  const read = ({ body }: ServiceResponse) => Buffer.from(body).toString();

  await expect(client.send(operation('', 'GET', { read }))).resolves.toBe('{"id":"17"}');
});

describe('an unusable 2xx', () => {
  const item = answered(200);
  const cut = answered(200, {}, '{"id":');
  const coded = answered(200, { 'content-encoding': 'br' });

  test.each([
    { what: 'a page, to a read', method: 'GET', response: page, times: 1 },
    { what: 'a page, to an update', method: 'PATCH', response: page, times: 1 },
    { what: 'other JSON, to a read', method: 'GET', response: item, times: 1 },
    { what: 'other JSON, to an update', method: 'PATCH', response: item, times: 5 },
    { what: 'JSON that was cut, to a read', method: 'GET', response: cut, times: 5 },
    { what: 'a coding that is not taken, to a read', method: 'GET', response: coded, times: 1 },
    { what: 'a coding that is not taken, to an update', method: 'PATCH', response: coded, times: 5 },
    { what: 'other JSON, to a create whose key is honored', method: 'POST', response: item, times: 5 },
  ] as const)('is retried if that may help: $what', async ({ method, response, times }) => {
    const { client, sent } = clientWith([response]);

    const kind = method === 'GET' ? 'refused' : 'in-doubt';
    await expect(client.send(operation(1, method, { read: unreadable }))).rejects.toMatchObject({ kind });
    expect(sent).toHaveLength(times);
  });

  test('is reported with the reason and the outcome', async () => {
    const read = clientWith([answered(200)]).client.send(operation(1, 'GET', { read: unreadable }));
    const create = clientWith([answered(201)], { honorsKeys: false }).client.send(
      operation(1, 'POST', { read: unreadable }),
    );
    const encoded = clientWith([coded]).client.send(operation(1, 'GET'));

    await expect(read).rejects.toMatchObject({
      message: 'cannot do it: it is no item',
      details: { outcome: 'unknown', status: 200 },
    });
    await expect(create).rejects.toMatchObject({
      message: expect.stringMatching(/\(HTTP 201\).*: it is no item$/),
    });
    await expect(encoded).rejects.toMatchObject({ message: expect.stringContaining('unsupported content encoding') });
  });

  test('is retried on a new connection; other attempts may reuse one', async () => {
    const cutThenLost = clientWith([cut, lost, answered(500), answered(200)]);
    const read = ({ body }: ServiceResponse) => JSON.parse(Buffer.from(body).toString()).id;

    await expect(cutThenLost.client.send(operation('', 'GET', { read }))).resolves.toBe('1');
    expect(cutThenLost.limits.map(({ isFresh }) => isFresh)).toEqual([false, true, false, false]);
  });

  test('does not hide a bug in parsing it', async () => {
    const bug = new TypeError('a bug');
    const read = () => {
      throw bug;
    };

    await expect(clientWith([answered(200)]).client.send(operation(1, 'GET', { read }))).rejects.toBe(bug);
  });
});

describe('an idempotency key', () => {
  const hours = 3_600_000;
  const slow = (status: number) => answered(status, { 'retry-after': '40000' });
  const patient = { maxWaitMs: 24 * hours, random: () => 0 };

  test('is sent again unchanged, but not for longer than services keep keys', async () => {
    const { client, sent, sleptMs } = clientWith([slow(500)], patient);

    await expect(client.send(operation('done'))).rejects.toMatchObject({ kind: 'in-doubt' });
    // 40,000 s twice is within 23 hours, three times is not.
    expect(sleptMs).toEqual([40_000_000, 40_000_000]);
    expect(sent).toEqual(Array(3).fill(requestOf('POST')));
  });

  test.each([
    ['a create that was only refused', 'POST', 429],
    ['an update', 'PATCH', 500],
  ] as const)('has no say in how long %s is tried', async (_what, method, status) => {
    const { client, sent } = clientWith([slow(status)], patient);

    await expect(client.send(operation('done', method))).rejects.toThrow();
    expect(sent).toHaveLength(5);
  });

  test('is as old as its first attempt, in this or an earlier process', async () => {
    const waits = [23 * hours - 1000 - 7, 23 * hours - 1000 - 6].map(async (sentMsAgo) => {
      const { client } = clientWith([answered(500, { 'retry-after': '1' })], patient);
      return client.startAttempts(operation(1, 'POST', { sentMsAgo })).attempt();
    });

    expect(await Promise.all(waits)).toMatchObject([{ waitMs: 1000 }, { waitMs: undefined }]);
  });

  test('ages while the machine sleeps, during an attempt or a wait: it is not sent again', async () => {
    const during = clientWith([lost, answered(201)], patient);
    const exchange = during.client.startAttempts(operation(1));
    const step = exchange.attempt();
    during.suspend(25 * hours);
    expect(await step).toMatchObject({ isDone: false, waitMs: undefined });

    const waiting = clientWith([lost, answered(201)], patient);
    const again = waiting.client.startAttempts(operation(1));
    expect(await again.attempt()).toMatchObject({ waitMs: expect.any(Number) });
    waiting.suspend(25 * hours);
    const held = await again.attempt();
    expect(held).toMatchObject({
      ...{ isDone: false, outcome: 'unknown', service: 'ok', tookMs: 0 },
      ...{ waitMs: undefined, isRetryAfter: false, scope: 'row' },
    });
    // A hint to send the key again would create a duplicate.
    const hint = expect.not.stringContaining('--idempotency-key');
    expect(held.isDone || held.failure()).toMatchObject({ kind: 'in-doubt', details: { hint } });
    expect(waiting.sent).toHaveLength(1);
  });

  test('ages by the clock of the service', async () => {
    const date = (hour: number) => ({ date: new Date(Date.UTC(2026, 10, 20, hour)).toUTCString() });
    const { client } = clientWith([answered(503, date(0)), answered(503, date(1)), answered(503, date(26))], patient);

    expect(client.serviceMs()).toBeUndefined();
    await client.startAttempts(operation(1, 'GET')).attempt();
    expect(client.serviceMs()).toBe(Date.UTC(2026, 10, 20));
    const exchange = client.startAttempts(operation(1));
    expect(await exchange.attempt()).toMatchObject({ waitMs: expect.any(Number) });
    expect(await exchange.attempt()).toMatchObject({ waitMs: undefined });
  });

  test('that has expired before the first attempt is not sent', async () => {
    const { client, sent } = clientWith([answered(201)], patient);

    const old = await client.startAttempts(operation(1, 'POST', { sentMsAgo: Number.POSITIVE_INFINITY })).attempt();
    const young = await client.startAttempts(operation(1, 'POST', { sentMsAgo: 23 * hours })).attempt();

    expect([old.isDone, young.isDone, sent.length]).toEqual([false, true, 1]);
  });

  test('does not make a create safe to retry unless the service is known to honor it', async () => {
    const { client, sent } = clientWith([answered(429), lost], { honorsKeys: false });
    const keyless = clientWith([lost]);

    await expect(client.send(operation(1))).rejects.toMatchObject({ kind: 'in-doubt' });
    await expect(
      keyless.client.send(operation(1, 'POST', { request: { ...requestOf('POST'), headers: {} } })),
    ).rejects.toMatchObject({ kind: 'in-doubt' });
    expect([sent.length, keyless.sent.length]).toEqual([2, 1]);
  });
});

test('a conflict with the first attempt is retried, any other one is not', async () => {
  const own = clientWith([lost, answered(409), answered(201)]);
  const other = clientWith([answered(409)]);
  const update = clientWith([lost, answered(409)], { honorsKeys: false });

  await expect(own.client.send(operation('done'))).resolves.toBe('done');
  await expect(other.client.send(operation('done'))).rejects.toMatchObject({ kind: 'conflict' });
  await expect(update.client.send(operation('done', 'PATCH'))).rejects.toMatchObject({ kind: 'in-doubt' });
  expect([other.sent.length, update.sent.length]).toEqual([1, 2]);
});

test('a write in doubt stays in doubt when a later attempt is refused', async () => {
  const refusals = [400, 401, 404, 410, 422].map((status) => answered(status));
  for (const refusal of [...refusals, answered(429, { 'retry-after': '9999' })]) {
    const { client, sent } = clientWith([lost, refusal]);

    await expect(client.send(operation('done'))).rejects.toMatchObject({
      kind: 'in-doubt',
      message: expect.stringContaining('the line was cut; tried 2 times'),
      details: { outcome: 'unknown', idempotencyKey: 'k1' },
    });
    expect(sent).toHaveLength(2);
  }
});

test('a write that an earlier process may have sent is in doubt until it is proven', async () => {
  const refused = clientWith([answered(400)]);
  const gone = clientWith([answered(404)]);

  await expect(refused.client.send(operation(1, 'POST', { sentMsAgo: 1000 }))).rejects.toMatchObject({
    kind: 'in-doubt',
    message: 'in doubt: cannot confirm the request to do it: listctl ended before the response arrived',
  });
  await expect(gone.client.send(operation(1, 'DELETE', { sentMsAgo: 1000 }))).resolves.toBe(1);
});

describe('a stop', () => {
  const stopped = new Stopped('SIGINT');

  test('during a wait ends a read with the stop, and a write in doubt as such', async () => {
    const clock = { ...testHost().clock, sleep: () => Promise.reject(stopped) };
    const read = clientWith([lost], { clock });
    const write = clientWith([lost], { clock });
    const refused = clientWith([answered(429)], { clock });

    await expect(read.client.send(operation(1, 'GET'))).rejects.toBe(stopped);
    await expect(write.client.send(operation(1))).rejects.toMatchObject({ kind: 'in-doubt' });
    await expect(refused.client.send(operation(1))).rejects.toBe(stopped);
  });

  test('during an attempt is the result, unless a write is in doubt', async () => {
    const cut = (wasSent: boolean): Attempt => ({ error: { kind: 'stopped', reason: 'stopped' }, wasSent });
    const stop = new AbortController();
    const outcome = (method: 'GET' | 'POST', wasSent: boolean) => {
      const { client } = clientWith([cut(wasSent)], { signal: stop.signal });
      return client.send(operation(1, method));
    };
    const ended = [outcome('GET', true), outcome('POST', false), outcome('POST', true)];
    stop.abort(stopped);

    const reasons = (await Promise.allSettled(ended)).map((each) => each.status === 'rejected' && each.reason);
    expect(reasons).toEqual([stopped, stopped, expect.objectContaining({ kind: 'in-doubt' })]);
  });

  test('prevents further requests', async () => {
    const { client, sent } = clientWith([answered(201)], { signal: AbortSignal.abort(stopped) });

    await expect(client.send(operation(1))).rejects.toBe(stopped);
    expect(sent).toEqual([]);
  });
});

test('a failure has the address, and never the token that a response repeats', async () => {
  const hide = (text: string) => text.replaceAll('s3cret', '***');
  const { client } = clientWith([answered(422, {}, '{"error":"bad s3cret"}')], {}, hide);
  const refused: Attempt = { error: { kind: 'unreachable', reason: 'connection refused' }, wasSent: false };
  const unreachable = clientWith([refused], { retries: 0 });

  await expect(client.send(operation(1))).rejects.toMatchObject({ message: 'cannot do it (HTTP 422: bad ***)' });
  await expect(unreachable.client.send(operation(1))).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'cannot do it: http://here is unreachable (connection refused)',
  });
  expect(client.address).toBe('http://here');
});
