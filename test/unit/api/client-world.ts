/** A client with a scripted transport. */

import { type ClientOptions, createClient } from '../../../src/api/client.ts';
import type { Operation } from '../../../src/api/operation.ts';
import type { ApiRequest, Attempt, AttemptLimits, Method, Transport } from '../../../src/api/transport.ts';
import { testHost } from '../../support/test-host.ts';

/** How long each attempt takes. */
export const tookMs = 7;

/** A request with an idempotency key. */
export function requestOf(method: Method): ApiRequest {
  return { method, path: '/x', headers: { 'idempotency-key': '"k1"' }, body: '{}' };
}

/** An operation that returns this value for any 2xx. */
export function operation<T>(value: T, method: Method = 'POST', more: Partial<Operation<T>> = {}): Operation<T> {
  return {
    request: requestOf(method),
    purpose: () => ({ task: 'do it', target: 'it', idempotencyKey: 'k1' }),
    read: () => value,
    ...more,
  };
}

/** Rejects every response as unusable. */
export function unreadable(): never {
  throw new SyntaxError('it is no item');
}

export function answered(status: number, headers = {}, body: string | Uint8Array = '{"id":"1"}'): Attempt {
  return { response: { status, headers, body: Buffer.from(body) } };
}

/** A 200 with an HTML page. */
export const page = answered(200, { 'content-type': 'text/html' }, '<p>');

/** A connection that was lost after the request. */
export const lost: Attempt = { error: { kind: 'lost', reason: 'the line was cut' }, wasSent: true };

/** A client whose transport returns these attempts in order, then the last one again. */
export function clientWith(
  attempts: readonly Attempt[],
  more: Partial<ClientOptions> = {},
  hide: Transport['hide'] = (text) => text,
) {
  const host = testHost();
  const sent: ApiRequest[] = [];
  const limits: AttemptLimits[] = [];
  let nowMs = 0;
  let asleepMs = 0;
  const transport: Transport = {
    address: 'http://here',
    send: async (request, limit) => {
      nowMs += tookMs;
      sent.push(request);
      limits.push(limit);
      return attempts[Math.min(sent.length, attempts.length) - 1] ?? lost;
    },
    hide,
    close: async () => {},
  };
  const clock = {
    ...host.clock,
    now: () => Date.UTC(2026, 10, 20) + nowMs + asleepMs,
    monotonicMs: () => nowMs,
    sleep: async (ms: number, signal: AbortSignal) => {
      await host.clock.sleep(ms, signal);
      nowMs += ms;
    },
  };
  const given = {
    timeoutMs: 1000,
    retries: 4,
    maxWaitMs: 180_000,
    honorsKeys: true,
    signal: host.signal,
  };
  const options = { ...given, clock, random: host.random, ...more };
  /** Suspends the machine: only the wall clock advances. */
  const suspend = (ms: number) => {
    asleepMs += ms;
  };
  return { client: createClient(transport, options), sent, limits, sleptMs: host.sleptMs, suspend };
}
