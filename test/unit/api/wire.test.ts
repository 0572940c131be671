import { expect, test } from 'vitest';
import type { Purpose } from '../../../src/api/failures.ts';
import type { ApiRequest, Attempt, Transport } from '../../../src/api/transport.ts';
import { type Question, type WireOptions, wireOver } from '../../../src/api/wire.ts';
import { Stopped } from '../../../src/errors.ts';
import { testHost } from '../../support/test-host.ts';

const keyed: ApiRequest = { method: 'POST', path: '/x', headers: { 'idempotency-key': '"k1"' }, body: '{}' };
const purpose: Purpose = { task: 'do it', target: 'it', idempotencyKey: 'k1' };
const question = <T>(value: T, request = keyed): Question<T> => ({
  request,
  purpose: () => purpose,
  read: () => value,
});
const answered = (status: number, headers = {}): Attempt => ({
  answer: { status, headers, body: Buffer.from('{"id":"1"}') },
});
const lost: Attempt = { fault: { kind: 'lost', reason: 'lost' }, wasSent: true };

/** A wire over a transport that gives these attempts in their order, the last one again and again. */
function wireWith(attempts: readonly Attempt[], more: Partial<WireOptions> = {}) {
  const host = testHost();
  const sent: ApiRequest[] = [];
  const transport: Transport = {
    address: 'http://here',
    send: async (request) => {
      sent.push(request);
      return attempts[Math.min(sent.length, attempts.length) - 1] ?? lost;
    },
    close: async () => {},
  };
  const options = { timeoutMs: 1000, retries: 4, maxWaitMs: 180_000, honoursKeys: true, ...host, ...more };
  return { wire: wireOver(transport, options), sent, host };
}

test('a key is sent again with the same bytes, but not for longer than services keep keys', async () => {
  const slow = answered(500, { 'retry-after': '40000' });
  const sleptMs: number[] = [];
  const sleep = async (ms: number) => void sleptMs.push(ms);
  const monotonicMs = () => sleptMs.reduce((sum, ms) => sum + ms, 0);
  const { wire, sent } = wireWith([slow], {
    maxWaitMs: 86_400_000,
    clock: { ...testHost().clock, sleep, monotonicMs },
  });

  const ended = wire.ask(question('done'));

  await expect(ended).rejects.toMatchObject({ kind: 'in-doubt' });
  // 40,001 s twice is within 23 hours, three times is not.
  expect(sleptMs).toHaveLength(2);
  expect(new Set(sent)).toEqual(new Set([keyed]));
});

test('what may have happened stays in doubt, whatever a later attempt is refused for', async () => {
  for (const refusal of [answered(400), answered(401), answered(422), answered(429, { 'retry-after': '9999' })]) {
    const { wire, sent } = wireWith([lost, refusal]);

    await expect(wire.ask(question('done'))).rejects.toMatchObject({
      kind: 'in-doubt',
      details: { outcome: 'unknown', idempotencyKey: 'k1' },
    });
    expect(sent).toHaveLength(2);
  }
});

test('a stop while waiting ends a read with the stop, and a write that may have happened in doubt', async () => {
  const stopped = new Stopped('SIGINT');
  const clock = { ...testHost().clock, sleep: () => Promise.reject(stopped) };
  const read = wireWith([lost], { clock });
  const write = wireWith([lost], { clock });
  const refused = wireWith([answered(429)], { clock });

  await expect(read.wire.ask(question(1, { ...keyed, method: 'GET' }))).rejects.toBe(stopped);
  await expect(write.wire.ask(question(1))).rejects.toMatchObject({ kind: 'in-doubt' });
  await expect(refused.wire.ask(question(1))).rejects.toBe(stopped);
});

test('nothing is sent once listctl was told to stop', async () => {
  const signal = AbortSignal.abort(new Stopped('SIGTERM'));
  const { wire, sent } = wireWith([answered(201)], { signal });

  await expect(wire.ask(question(1))).rejects.toMatchObject({ signal: 'SIGTERM' });
  expect(sent).toEqual([]);
});

test('a POST that was refused first, and then may have happened, is in doubt after those two', async () => {
  const { wire, sent } = wireWith([answered(429), lost], { honoursKeys: false });

  await expect(wire.ask(question(1))).rejects.toMatchObject({ kind: 'in-doubt' });
  expect(sent).toHaveLength(2);
});

test('what an earlier process may have sent is in doubt until it is proven, and its key is as old as that', async () => {
  const refused = wireWith([answered(400)]);
  const gone = wireWith([answered(404)]);
  const tooOld = wireWith([answered(500)]);

  await expect(refused.wire.ask({ ...question(1), sentMsAgo: 1000 })).rejects.toMatchObject({ kind: 'in-doubt' });
  await expect(gone.wire.ask({ ...question(1, { ...keyed, method: 'DELETE' }), sentMsAgo: 1000 })).resolves.toBe(1);
  await expect(tooOld.wire.ask({ ...question(1), sentMsAgo: 23 * 3_600_000 })).rejects.toMatchObject({
    kind: 'in-doubt',
  });
  expect(tooOld.sent).toHaveLength(1);
});
