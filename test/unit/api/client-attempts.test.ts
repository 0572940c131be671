/** Single attempts: their results and limits. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AttemptReport } from '../../../src/api/attempts.ts';
import type { ClientOptions } from '../../../src/api/client.ts';
import type { ErrorWording } from '../../../src/api/failures.ts';
import { ForeignResponse, parseServiceError } from '../../../src/api/response.ts';
import type { Attempt, Method } from '../../../src/api/transport.ts';
import { Stopped } from '../../../src/core/errors.ts';
import { answered, clientWith, lost, operation, page, requestOf, tookMs, unreadable } from './client-world.ts';

describe('the result of an attempt', () => {
  test('has the value, with or without a trace', async () => {
    const done = { isDone: true, value: 'done', outcome: 'applied', service: 'ok', tookMs };
    const watched = { onAttempt: async () => {} };

    expect(
      await clientWith([answered(201)])
        .client.startAttempts(operation('done'))
        .attempt(),
    ).toEqual(done);
    expect(
      await clientWith([answered(201)], watched)
        .client.startAttempts(operation('done'))
        .attempt(),
    ).toEqual(done);
  });

  test('has the wait before the next attempt, and whether the service requested it', async () => {
    const attempts = clientWith([
      answered(429, { 'retry-after': '2' }),
      answered(500),
      answered(422),
    ]).client.startAttempts(operation(1));
    const itself = { isDone: false, scope: 'row', tookMs };

    expect(await attempts.attempt()).toMatchObject({
      ...itself,
      ...{ outcome: 'refused', service: 'throttled', waitMs: 2100, isRetryAfter: true },
    });
    expect(await attempts.attempt()).toMatchObject({
      ...itself,
      ...{ outcome: 'unknown', service: 'unreachable', waitMs: 500, isRetryAfter: false },
    });
    expect(await attempts.attempt()).toMatchObject({
      ...itself,
      ...{ outcome: 'refused', service: 'ok', waitMs: undefined, isRetryAfter: false },
    });
  });

  test('has no wait for RateLimit-Reset where nothing is throttled', async () => {
    const budget = { 'ratelimit-remaining': '0', 'ratelimit-reset': '1800' };
    const { client } = clientWith([answered(500, budget)]);

    const step = await client.startAttempts(operation(1)).attempt();

    expect(step).toMatchObject({ waitMs: 250, isRetryAfter: false, scope: 'row' });
  });

  test('has the scope of the failure', async () => {
    const scopeOf = async (response = answered(200), method: 'GET' | 'POST' = 'POST') => {
      const step = await clientWith([response])
        .client.startAttempts(operation(1, method, { read: unreadable }))
        .attempt();
      return 'scope' in step ? step.scope : 'it is done';
    };

    expect(await scopeOf(page)).toBe('run');
    expect(await scopeOf(answered(201))).toBe('run-until-first-success');
    expect(await scopeOf(answered(404, { 'content-type': 'text/html' }), 'GET')).toBe('run-until-first-success');
    expect(await scopeOf(answered(422))).toBe('row');
  });

  test('ends the run if Retry-After is longer than --max-wait', async () => {
    const { client } = clientWith([answered(503, { 'retry-after': '500' })]);

    const step = await client.startAttempts(operation(1)).attempt();

    expect(step).toMatchObject({ isDone: false, waitMs: undefined, isRetryAfter: false, scope: 'run' });
    expect('failure' in step && step.failure()).toMatchObject({ message: expect.stringContaining('wait 500 s') });
  });
});

describe('a response whose meaning is not in its status', () => {
  const meant = (meaning: ReturnType<ErrorWording['meaning']>): ErrorWording => ({
    ...{ freshAfter: [503], parse: parseServiceError, kind: () => undefined, hint: () => undefined },
    meaning: () => meaning,
  });

  test.each([
    [500, 'throttled', { outcome: 'refused', service: 'throttled', waitMs: 500 }],
    [422, 'retryable', { outcome: 'refused', service: 'ok', waitMs: 250 }],
    [503, 'final', { outcome: 'refused', service: 'ok', waitMs: undefined }],
    [500, undefined, { outcome: 'unknown', service: 'unreachable', waitMs: 250 }],
  ] as const)('%i, %s', async (status, meaning, result) => {
    const attempts = clientWith([answered(status)]).client.startAttempts(
      operation(1, 'PATCH', { errors: meant(meaning) }),
    );

    expect(await attempts.attempt()).toMatchObject({ isDone: false, ...result });
  });

  test('leaves no doubt behind', async () => {
    const sending = clientWith([answered(500)], { retries: 0 }).client.send(
      operation(1, 'POST', { errors: meant('final') }),
    );

    await expect(sending).rejects.toMatchObject({ details: { outcome: 'refused' } });
  });

  test('asks for another connection', async () => {
    const { client, limits } = clientWith([answered(503), answered(500), answered(200)]);
    await client.send(operation(1, 'GET', { errors: meant(undefined) }));

    expect(limits.map(({ isFresh }) => isFresh)).toEqual([false, true, false]);
  });
});

test('a response to another request ends its connection, and the run if it is to a create', async () => {
  const drop = vi.fn();
  const { response } = answered(200);
  const foreign = { response: { ...response, connection: { drop } } } as Attempt;
  const read = () => {
    throw new ForeignResponse('it is about another item');
  };
  const step = (method: Method) =>
    clientWith([foreign])
      .client.startAttempts(operation(1, method, { read }))
      .attempt();

  expect(await step('POST')).toMatchObject({ outcome: 'unknown', scope: 'run' });
  expect(drop).toHaveBeenCalledTimes(1);
  expect(await step('GET')).toMatchObject({ scope: 'row', waitMs: 250 });
  const unconnected = clientWith([answered(200)]).client.startAttempts(operation(1, 'GET', { read }));
  expect(await unconnected.attempt()).toMatchObject({ scope: 'row' });
  await clientWith([foreign])
    .client.startAttempts(operation(1, 'GET', { read: unreadable }))
    .attempt();
  expect(drop).toHaveBeenCalledTimes(2);
});

test('an attempt has the rest of the budget, done or not', async () => {
  const headers = { 'ratelimit-remaining': '40', 'ratelimit-reset': '30' };
  const { client } = clientWith([answered(500, headers), answered(201, headers)]);
  const attempts = client.startAttempts(operation(1));

  const budget = { remaining: 40, resetMs: 30_000 };
  expect([await attempts.attempt(), await attempts.attempt()]).toMatchObject([
    { isDone: false, budget },
    { isDone: true, budget },
  ]);
});

test('the time of the service is that of its newest Date, less its Age, and advances', async () => {
  const date = (second: number) => ({ date: new Date(Date.UTC(2026, 10, 20, 0, 0, second)).toUTCString() });
  const { client } = clientWith([
    ...[answered(200, { ...date(1), age: '5' }), answered(200, date(1)), answered(200, { date: 'now' })],
    ...[answered(200, { ...date(9), age: 'old' })],
  ]);
  const times = [];
  for (const _ of Array(4)) {
    await client.startAttempts(operation(1, 'GET')).attempt();
    times.push((client.serviceMs() ?? Number.NaN) - Date.UTC(2026, 10, 20));
  }

  expect(times).toEqual([6000, 6000 + tookMs, 6000 + 2 * tookMs, 9000]);
});

describe('onAttempt', () => {
  test('is called for each attempt before the next step', async () => {
    const reports: (AttemptReport | string)[] = [];
    const onAttempt = async (report: AttemptReport) => {
      await Promise.resolve();
      reports.push(report);
    };
    const attempts = clientWith([answered(500), answered(201)], { onAttempt, retries: 2 }).client.startAttempts(
      operation('done'),
    );

    for (const step of ['the first', 'the second']) {
      await attempts.attempt();
      reports.push(step);
    }

    const same = { request: requestOf('POST'), tookMs, numberMax: 3 };
    expect(reports).toEqual([
      { ...same, attempt: answered(500), outcome: 'unknown', number: 1, waitMs: 250 },
      'the first',
      { ...same, attempt: answered(201), outcome: 'applied', number: 2, waitMs: undefined },
      'the second',
    ]);
  });

  test('gets no wait after the last attempt', async () => {
    const waits: (number | undefined)[] = [];
    const onAttempt = async ({ waitMs }: AttemptReport) => void waits.push(waitMs);

    await expect(clientWith([lost], { onAttempt, retries: 1 }).client.send(operation(1))).rejects.toThrow();

    expect(waits).toEqual([250, undefined]);
  });

  test('may fail without any effect', async () => {
    const onAttempt = () => Promise.reject(new Error('no space left'));
    const { client } = clientWith([answered(500), answered(201)], { onAttempt });

    await expect(client.send(operation('done'))).resolves.toBe('done');
  });
});

describe('the limits of an attempt', () => {
  const reason = new Stopped('SIGTERM');

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** The signals of a read and of two writes with one client. */
  async function limitsOf(signal: AbortSignal, more: Pick<Partial<ClientOptions>, 'stopGraceMs' | 'forceStop'> = {}) {
    const phases = { headersMs: 1, idleMs: 2 };
    const { client, limits } = clientWith([answered(200)], { signal, timeoutMs: 42, phases, ...more });
    for (const method of ['GET', 'POST', 'DELETE'] as const) await client.startAttempts(operation(1, method)).attempt();
    expect(limits).toMatchObject(Array(3).fill({ timeoutMs: 42, phases }));
    return limits.map((limit) => limit.signal);
  }

  test('end a read at the stop, and a write some time later, with the same reason', async () => {
    const stop = new AbortController();
    const signals = await limitsOf(stop.signal, { stopGraceMs: 500 });
    const aborted = () => signals.map((signal) => signal.aborted);

    vi.advanceTimersByTime(10_000);
    expect(aborted()).toEqual([false, false, false]);
    stop.abort(reason);
    vi.advanceTimersByTime(499);
    expect(aborted()).toEqual([true, false, false]);
    vi.advanceTimersByTime(1);
    expect(aborted()).toEqual([true, true, true]);
    expect(signals.map((signal) => signal.reason)).toEqual([reason, reason, reason]);
  });

  test('give a write that starts after the stop the same time, 2 s by default', async () => {
    const [, write, other] = await limitsOf(AbortSignal.abort(reason));

    expect(write).toBe(other);
    vi.advanceTimersByTime(1999);
    expect(write?.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(write?.aborted).toBe(true);
  });

  test('end a write at the stop if the caller waits itself', async () => {
    const { signal } = new AbortController();

    expect((await limitsOf(signal, { stopGraceMs: 0 })).every((each) => each === signal)).toBe(true);
  });

  test('end a write at once when the stop is forced', async () => {
    const [stop, force] = [new AbortController(), new AbortController()];
    const [read, write] = await limitsOf(stop.signal, { forceStop: () => force.signal });

    stop.abort(reason);
    expect([read?.aborted, write?.aborted]).toEqual([true, false]);
    force.abort();
    expect(write?.reason).toBe(reason);
  });

  test('add one listener for any number of writes', async () => {
    const { signal } = new AbortController();
    const listening = vi.spyOn(signal, 'addEventListener');

    const [, write, other] = await limitsOf(signal);

    expect(write).toBe(other);
    expect(listening).toHaveBeenCalledTimes(1);
  });
});
