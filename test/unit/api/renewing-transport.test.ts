/** Runs that last longer than their token, on a clock that is moved by hand. */
import { expect, test } from 'vitest';
import { RenewingTransport } from '../../../src/api/renewing-transport.ts';
import type { Attempt, Transport } from '../../../src/api/transport.ts';
import type { Token } from '../../../src/settings/token.ts';

const request = { method: 'POST', path: '/x', headers: {} } as const;
const minute = 60_000;

interface World {
  /** The life of a token in milliseconds. */
  readonly life: number;
  /** Whether a token tells its expiry, as a JWT. */
  readonly isJwt: boolean;
  /** The command prints the same token until it is this old; 0 for a new one each time. */
  readonly cachedFor?: number;
  /** Replaces the command. */
  readonly command?: (signal: AbortSignal, issue: () => Token) => Promise<Token>;
  /** The status for a valid token. */
  readonly status?: () => number;
}

/** A service that accepts each token for its life, and the command that prints tokens. */
function worldOf({ life, isJwt, cachedFor = 0, command, status = () => 201 }: World) {
  let ms = 1_700_000_000_000;
  const issued = new Map<string, number>();
  const reads: number[] = [];
  let statuses = { ok: 0, refused: 0 };
  const stop = new AbortController();
  const closed: string[] = [];
  const clock = {
    now: () => ms,
    monotonicMs: () => ms,
    sleep: async (wait: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      ms += wait;
    },
    every: () => () => {},
  };
  const issue = (): Token => {
    const newest = [...issued].at(-1);
    const isCached = newest !== undefined && ms - newest[1] < cachedFor;
    const exp = Buffer.from(JSON.stringify({ exp: (ms + life) / 1000 })).toString('base64url');
    const value = isCached ? newest[0] : `h.${isJwt ? exp : 'x'}.${issued.size}`;
    if (!isCached) issued.set(value, ms);
    const renew = async (signal: AbortSignal) => {
      reads.push(ms);
      return command === undefined ? issue() : command(signal, issue);
    };
    return { value, source: 'a command', renew };
  };
  const open = async ({ value }: Token): Promise<Transport> => ({
    address: 'https://lists.example',
    hide: (text) => text.replaceAll(value, '***'),
    send: async () => {
      const isValid = ms < (issued.get(value) ?? 0) + life;
      if (isValid) statuses.ok += 1;
      else statuses.refused += 1;
      return { response: { status: isValid ? status() : 401, headers: {}, body: new Uint8Array() } };
    },
    close: async () => void closed.push(value),
  });
  const start = async () => {
    const token = issue();
    return new RenewingTransport(await open(token), token, open, { clock, signal: stop.signal });
  };
  const send = (transport: Transport): Promise<Attempt> =>
    transport.send(request, { timeoutMs: 1000, signal: new AbortController().signal });
  return {
    ...{ start, send, stop, reads, issued, closed },
    pass: (wait: number) => {
      ms += wait;
    },
    takeStatuses: () => {
      const taken = statuses;
      statuses = { ok: 0, refused: 0 };
      return taken;
    },
  };
}

test.each([
  { how: 'is read ahead of its expiry', isJwt: true, refused: 0 },
  { how: 'is read when it is refused', isJwt: false, refused: 33 },
])('100,000 rows at 10 a second end with tokens that live five minutes: one that $how', async ({ isJwt, refused }) => {
  const world = worldOf({ life: 5 * minute, isJwt });
  const transport = await world.start();
  for (let row = 0; row < 100_000; row += 1) {
    expect((await world.send(transport)).response?.status).toBe(201);
    world.pass(100);
  }
  expect(world.takeStatuses()).toEqual({ ok: 100_000, refused });
  expect(world.reads.length).toBeLessThanOrEqual(38);
});

test('a command that caches its token is run again each minute until it prints another', async () => {
  const world = worldOf({ life: 60 * minute, isJwt: true, cachedFor: 60 * minute });
  const transport = await world.start();
  for (let second = 0; second < 3700; second += 1) {
    expect((await world.send(transport)).response?.status).toBe(201);
    world.pass(1000);
  }
  expect(world.reads).toHaveLength(6);
  expect(world.takeStatuses().refused).toBe(1);
});

test('tokens are read at most once a minute; a refusal waits for it', async () => {
  const world = worldOf({ life: 10_000, isJwt: false });
  const transport = await world.start();
  for (let second = 0; second < 60; second += 1) {
    expect((await world.send(transport)).response?.status).toBe(201);
    world.pass(1000);
  }
  const gaps = world.reads.slice(1).map((at, index) => at - (world.reads[index] ?? 0));
  expect(gaps.length).toBeGreaterThan(2);
  expect(Math.min(...gaps)).toBe(minute);
});

test('a new token that is refused at once is not replaced', async () => {
  const world = worldOf({ life: 0, isJwt: false });
  const transport = await world.start();
  const first = await world.send(transport);
  const second = await world.send(transport);
  expect([first, second].map(({ response }) => response?.status)).toEqual([401, 401]);
  expect(world.reads).toHaveLength(1);
});

test('a stop ends the wait for the next token', async () => {
  const world = worldOf({ life: 10_000, isJwt: false });
  const transport = await world.start();
  world.pass(10_000);
  await world.send(transport);
  world.pass(10_000);
  world.stop.abort(new Error('SIGTERM'));
  expect(await world.send(transport)).toMatchObject({ error: { kind: 'stopped' }, wasSent: false });
  expect(world.reads).toHaveLength(1);
});

test('a stop before the new token is there sends nothing more', async () => {
  const world = worldOf({
    ...{ life: 10_000, isJwt: false },
    command: async (_, issue) => {
      world.stop.abort(new Error('SIGINT'));
      return issue();
    },
  });
  const transport = await world.start();
  world.pass(10_000);
  expect(await world.send(transport)).toMatchObject({ error: { kind: 'stopped', cause: { message: 'SIGINT' } } });
  expect(world.takeStatuses()).toEqual({ ok: 0, refused: 1 });
});

test('once a renewal has failed, the refused token is not sent again', async () => {
  const command = () => Promise.reject(new Error('exit code 1'));
  const world = worldOf({ life: 10_000, isJwt: false, command });
  const transport = await world.start();
  world.pass(10_000);
  for (let row = 0; row < 3; row += 1) expect((await world.send(transport)).response?.status).toBe(401);
  expect(world.takeStatuses()).toEqual({ ok: 0, refused: 1 });
});

test.each([
  { status: 503, reads: 1 },
  { status: 409, reads: 2 },
])('a new token that got $status and then 401: the command has run $reads times', async ({ status, reads }) => {
  const world = worldOf({ life: 10_000, isJwt: false, status: () => status });
  const transport = await world.start();
  for (let turn = 0; turn < 3; turn += 1) {
    await world.send(transport);
    world.pass(10_000);
  }
  expect(world.reads).toHaveLength(reads);
});

test('closing ends a token command that is running, and closes a transport that is opened meanwhile', async () => {
  const world = worldOf({
    ...{ life: 5 * minute, isJwt: true },
    command: (signal, issue) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(issue()))),
  });
  const transport = await world.start();
  world.pass(4.6 * minute);
  await world.send(transport);
  await transport.close();
  expect(world.closed).toEqual([...world.issued.keys()]);
  expect(world.closed).toHaveLength(2);
});

test('every token that was used is hidden', async () => {
  const world = worldOf({ life: 10_000, isJwt: false });
  const transport = await world.start();
  for (let turn = 0; turn < 3; turn += 1) {
    await world.send(transport);
    world.pass(70_000);
  }
  expect(transport.hide([...world.issued.keys()].join(' '))).toBe('*** *** ***');
});
