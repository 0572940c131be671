/** Writes in doubt that a later response, or one read, resolves. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Finding, VerifyingRead, WriteCheck } from '../../../src/api/operation.ts';
import type { Attempt, ServiceResponse } from '../../../src/api/transport.ts';
import { Failure, Stopped } from '../../../src/core/errors.ts';
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

test.each([
  ['in-doubt', 400, true],
  ['refused', 422, true],
  ['refused', 400, false],
])('a create that may exist already is %s after %i: %s', async (kind, status, mayExist) => {
  const creating = clientWith([answered(status)]).client.send(operation(1, 'POST', { isRepeatable: true, mayExist }));

  await expect(creating).rejects.toMatchObject({ kind });
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

  test('of a create that may be repeated is no outage if it had a response', async () => {
    const servedBy = async (verifying: Attempt, isRepeatable: boolean) => {
      const changes = { isRepeatable, check: check({ read: () => undefined, mayDisprove: false }).check };
      const cut = { ...lost, head: { status: 412, headers: {} } } as Attempt;
      const attempts = clientWith([cut, verifying]).client.startAttempts(operation('done', 'POST', changes));
      return (await attempts.attempt()).service;
    };

    expect(await servedBy(answered(200), true)).toBe('ok');
    expect(await servedBy(answered(200), false)).toBe('unreachable');
    expect(await servedBy(answered(404), true)).toBe('unreachable');
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

describe('a look-up after a create that stays in doubt', () => {
  const look = { ...requestOf('GET'), path: '/look' };
  const isMissing = { isMissing: true, reason: 'it is not there' } as const;
  const isTaken = { isMissing: false, isTaken: true, reason: 'item 7 is there' } as const;
  const isSeveral = { isMissing: false, reason: 'there are two' } as const;
  const create = (finding: Finding<string>) =>
    operation('done', 'POST', {
      ...{ isRepeatable: true, request: { ...requestOf('POST'), headers: {} } },
      lookUp: () => operation(finding, 'GET', { request: look }),
    });
  const fault = answered(500);
  const found = answered(200);

  test.each<[string, kind: string, says: string, attempts: readonly Attempt[], Finding<string>]>([
    ['finds nothing', 'in-doubt', isMissing.reason, [lost, found], isMissing],
    ['finds nothing after one fault', 'in-doubt', isMissing.reason, [fault, found], isMissing],
    ['finds nothing after a fault and no response', 'in-doubt', isMissing.reason, [fault, lost, found], isMissing],
    ['finds nothing after no response and a fault', 'in-doubt', isMissing.reason, [lost, fault, found], isMissing],
    ['finds nothing after a gap in faults', 'in-doubt', isMissing.reason, [fault, lost, fault, found], isMissing],
    ['finds nothing after a 403', 'in-doubt', isMissing.reason, [lost, answered(403), found], isMissing],
    ['finds several after a 400', 'in-doubt', isSeveral.reason, [lost, answered(400), found], isSeveral],
    ['finds several after faults', 'in-doubt', isSeveral.reason, [fault, fault, found], isSeveral],
    ['is refused itself', 'in-doubt', '; cannot do it (HTTP 403', [lost, answered(400), answered(403)], isMissing],
    ['finds nothing after faults only', 'unavailable', 'cannot do it (HTTP 500', [fault, fault, found], isMissing],
    [
      'finds nothing after no response and a 400',
      'in-doubt',
      isMissing.reason,
      [lost, answered(400), found],
      isMissing,
    ],
    [
      'finds nothing after a fault and a 400',
      'refused',
      'cannot do it (HTTP 400',
      [fault, answered(400), found],
      isMissing,
    ],
    ['finds an item in its place', 'refused', 'cannot do it: item 7 is there', [lost, answered(400), found], isTaken],
  ])('that %s makes it %s', async (_what, kind, says, attempts, finding) => {
    const { client, sent } = clientWith(attempts, { retries: attempts.length - 2 });

    await expect(client.send(create(finding))).rejects.toMatchObject({ kind, message: expect.stringContaining(says) });
    expect(sent.map(({ path }) => path)).toEqual([...Array(attempts.length - 1).fill('/x'), '/look']);
  });

  test('that finds the item completes it', async () => {
    await expect(clientWith([lost, found], { retries: 0 }).client.send(create({ value: 'found' }))).resolves.toBe(
      'found',
    );
  });

  test('is not sent after a refusal, or a stop', async () => {
    const stop = new AbortController();
    const onAttempt = async () => stop.abort();
    const refused = clientWith([answered(422)]);
    const stopped = clientWith([lost], { retries: 0, signal: stop.signal, onAttempt });

    await expect(refused.client.send(create(isMissing))).rejects.toMatchObject({ kind: 'refused' });
    await expect(stopped.client.send(create(isMissing))).rejects.toMatchObject({ kind: 'in-doubt' });
    expect([refused.sent.length, stopped.sent.length]).toEqual([1, 1]);
  });

  test('is for callers that attempt one at a time a step of its own', async () => {
    const settled = async (attempts: readonly Attempt[], finding: Finding<string>, sentMsAgo?: number) => {
      const { client } = clientWith(attempts, { retries: 0 });
      const step = client.startAttempts({ ...create(finding), sentMsAgo });
      for (const _ of attempts.slice(1)) await step.attempt();
      const result = await step.settle?.();
      const error = result?.isDone === false ? result.failure() : undefined;
      return { ...result, failure: error instanceof Failure ? error.message : error };
    };
    const info = { service: 'ok', tookMs: 7 };
    const open = { isDone: false, waitMs: undefined, isRetryAfter: false, scope: 'row', ...info };
    const stop: Attempt = { error: { kind: 'stopped', reason: '', cause: new Stopped('SIGINT') }, wasSent: true };
    const earlier = 'listctl ended before the response arrived; it is not there';

    expect(await settled([lost, found], { value: 'a' })).toEqual({
      ...{ isDone: true, value: 'a', outcome: 'applied', ...info },
    });
    expect(await settled([fault, fault, found], isMissing)).toMatchObject({ ...open, outcome: 'refused' });
    expect(await settled([lost, found], isMissing)).toMatchObject({ ...open, outcome: 'unknown' });
    expect(await settled([lost, stop], isMissing)).toMatchObject({
      failure: expect.stringMatching(/; the look-up was stopped$/),
    });
    expect(await settled([found], isMissing, 1000)).toMatchObject({
      ...open,
      failure: expect.stringContaining(earlier),
    });
    expect(clientWith([lost]).client.startAttempts(operation(1)).settle).toBeUndefined();
  });
});
