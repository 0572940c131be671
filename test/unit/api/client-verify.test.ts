/** Writes in doubt that a later response, or one read, resolves. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Attempt, ServiceResponse } from '../../../src/api/transport.ts';
import type { VerifyingRead, WriteCheck } from '../../../src/api/verify-write.ts';
import { answered, clientWith, lost, operation, requestOf, unreadable } from './client-world.ts';

describe('a delete', () => {
  test.each([404, 410])('whose response was lost is done if the next attempt gets %i', async (status) => {
    const read = ({ status: said, headers, body }: ServiceResponse) => [said, headers, body.length];

    await expect(
      clientWith([lost, answered(status)]).client.send(operation<unknown>(1, 'DELETE', { read })),
    ).resolves.toEqual([204, {}, 0]);
  });

  test('whose response was lost stays in doubt after a 404 with HTML, which is not from the service', async () => {
    const sending = clientWith([lost, answered(404, { 'content-type': 'text/html' }, '<p>')]).client.send(
      operation(1, 'DELETE'),
    );

    await expect(sending).rejects.toMatchObject({ kind: 'in-doubt' });
  });

  test('that gets 404 at the first attempt has deleted nothing', async () => {
    await expect(clientWith([answered(404)]).client.send(operation(1, 'DELETE'))).rejects.toMatchObject({
      kind: 'not-found',
    });
  });

  test('whose first response was lost after the head of a 404 is not done', async () => {
    const cut: Attempt = { ...lost, head: { status: 404, headers: {} } } as Attempt;

    expect(await clientWith([cut]).client.startAttempts(operation(1, 'DELETE')).attempt()).toMatchObject({
      isDone: false,
    });
  });

  test('that is then refused for another reason is in doubt', async () => {
    const refused = clientWith([lost, answered(403)]).client.send(operation(1, 'DELETE'));

    await expect(refused).rejects.toMatchObject({ kind: 'in-doubt' });
  });
});

test.each([
  [
    'is not found if the next attempt gets 404',
    answered(404),
    'not-found',
    /; an earlier attempt, which had no response/,
  ],
  [
    'is not found if the next attempt gets 410',
    answered(410),
    'not-found',
    /; an earlier attempt, which had no response/,
  ],
  ['is in doubt after a 404 with HTML', answered(404, { 'content-type': 'text/html' }, '<p>'), 'in-doubt', /^in doubt/],
  ['is in doubt if it is then refused', answered(403), 'in-doubt', /^in doubt/],
] as const)('an update whose response was lost %s', async (_, next, kind, message) => {
  const update = clientWith([lost, next]).client.send(operation(1, 'PATCH'));

  await expect(update).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
});

test('an update that gets 404 at once had no earlier attempt', async () => {
  const update = clientWith([answered(404)]).client.send(operation(1, 'PATCH'));

  await expect(update).rejects.toMatchObject({ kind: 'not-found', message: expect.not.stringContaining('earlier') });
});

describe('a read that verifies a write', () => {
  const look = { ...requestOf('GET'), path: '/look' };
  type Changes = { readonly read?: VerifyingRead<string>['read']; readonly mayDisprove?: boolean };
  const isProven: VerifyingRead<string>['read'] = ({ body }) => (String(body) === '{"id":"1"}' ? 'proven' : undefined);
  const check = ({ read = isProven, mayDisprove = true }: Changes = {}) => ({
    check: (): WriteCheck<string> => ({
      findRead: ({ status }, address) =>
        status === 412 && address === 'http://here' ? { request: look, read } : undefined,
      mayDisprove,
    }),
  });
  const updated = async (attempts: readonly Attempt[], more: Changes = {}) => {
    const world = clientWith(attempts);
    const step = await world.client
      .send(operation('done', 'PATCH', check(more)))
      .catch((error: { readonly kind?: string }) => error.kind ?? error);
    return { step, ...world };
  };

  test('is sent once, on a new connection, and its result is that of the write', async () => {
    const { step, sent, limits } = await updated([lost, answered(412), answered(200)]);

    expect(step).toBe('proven');
    expect(sent).toEqual([requestOf('PATCH'), requestOf('PATCH'), look]);
    expect(limits.map(({ isFresh }) => isFresh)).toEqual([false, false, true]);
  });

  test('is decoded', async () => {
    const coded = answered(200, { 'content-encoding': 'gzip' }, gzipSync('{"id":"1"}'));

    expect((await updated([lost, answered(412), coded])).step).toBe('proven');
  });

  test('completes the attempt, with the outcome of the last one', async () => {
    const exchange = clientWith([lost, answered(412), answered(200)]).client.startAttempts(
      operation('done', 'PATCH', check()),
    );
    await exchange.attempt();

    expect(await exchange.attempt()).toEqual({
      ...{ isDone: true, value: 'proven', outcome: 'refused', service: 'ok' },
      tookMs: expect.any(Number),
    });
  });

  test('is not sent if nothing is in doubt, or the response allows no read', async () => {
    const sure = await updated([answered(412)]);
    const elsewhere = await updated([lost, answered(422)]);

    expect([sure.step, sure.sent.length]).toEqual(['conflict', 1]);
    expect([elsewhere.step, elsewhere.sent.length]).toEqual(['in-doubt', 2]);
  });

  test('disproves the write by a different item, where that is possible', async () => {
    const other = answered(200, {}, '{"id":"2"}');

    expect((await updated([lost, answered(412), other])).step).toBe('conflict');
    expect((await updated([lost, answered(412), other], { mayDisprove: false })).step).toBe('in-doubt');
  });

  test.each([
    ['it finds nothing', answered(404), {}],
    ['its answer is a cut one', answered(206), {}],
    ['it gets no response', lost, {}],
    ['its answer is no item', answered(200), { read: unreadable }],
  ])('proves nothing if %s', async (_what, response, more) => {
    expect((await updated([lost, answered(412), response], more)).step).toBe('in-doubt');
  });

  test('does not hide a bug in parsing its response', async () => {
    const bug = new TypeError('a bug');
    const read = () => {
      throw bug;
    };

    expect((await updated([lost, answered(412), answered(200)], { read })).step).toBe(bug);
  });

  test('uses the head of a response that broke off after it', async () => {
    const cut = { ...lost, head: { status: 412, headers: {} } } as Attempt;

    expect((await updated([cut, answered(200)])).step).toBe('proven');
  });
});
