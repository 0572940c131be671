/**
 * A wire with faults, between a client and the built-in service: it resets connections before or after a request is
 * carried out, throttles and fails, and writes down what became of every request. Its log is what a run is judged by.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { SeededRandom } from '../support/seeded-random.ts';

const shares: readonly (readonly [Fault, number])[] = [
  ['reset-before', 0.02],
  ['reset-after', 0.02],
  ['failed-before', 0.005],
  ['failed-after', 0.005],
  ['throttled', 0.02],
];

export interface FaultProxy extends Wire {
  /** From now on, the responses to all but the given number of requests are delayed until their clients exit. */
  holdAfter(count: number): void;
}

export interface ProxyOptions {
  /** Whether throttling is among its faults: a run is slow then, since it looks for the rate that is borne. */
  readonly throttles: boolean;
  /**
   * Whether it knows nothing of Idempotency-Key. Else the built-in service gives the item that there is for a create
   * that is sent twice, and nothing that a client does wrong would ever be seen.
   */
  readonly ignoresKeys: boolean;
}

export async function faultProxy(service: string, random: SeededRandom, options: ProxyOptions): Promise<FaultProxy> {
  const { throttles, ignoresKeys } = options;
  const agent = new Agent({ keepAlive: true });
  const requests: ProxiedRequest[] = [];
  const underWay = new Set<Promise<void>>();
  const writes = writeCount();
  let [heldAfter, isCalm] = [Number.POSITIVE_INFINITY, false];
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const luck = random.next();
    const body = await bodyOf(incoming);
    if (body === undefined) return;
    const logged = loggedOf(incoming, body, isCalm ? undefined : faultFor(luck, throttles));
    const isHeld = requests.push(logged) > heldAfter;
    if (logged.method !== 'GET') writes.add();
    if (ignoresKeys) delete incoming.headers['idempotency-key'];
    const answer = await answerTo(logged, () => forward(incoming, body, service, agent));
    if (isHeld && !response.destroyed) await once(response, 'close');
    if (answer === undefined) incoming.socket.resetAndDestroy();
    else await give(response, answer, logged);
  };
  const door = await openDoor((incoming, response) => {
    const work = handle(incoming, response).finally(() => underWay.delete(work));
    underWay.add(work);
  });
  const settled = async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  };
  return {
    url: `http://127.0.0.1:${door.port}${new URL(service).pathname}`,
    requests,
    goDown: door.shut,
    comeUp: door.open,
    writesCame: writes.more,
    setCalm: (isSoNow) => {
      isCalm = isSoNow;
    },
    holdAfter: (count) => {
      heldAfter = count;
    },
    settled,
    close: async () => {
      await door.shut();
      await settled();
      agent.destroy();
    },
  };
}

/** A port that can be shut, with all connections, and opened again. */
async function openDoor(handle: (incoming: IncomingMessage, response: ServerResponse) => void) {
  const sockets = new Set<Socket>();
  const server = createServer(handle);
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    port,
    open: async () => {
      await listen(port);
    },
    shut: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
      await closed;
    },
  };
}

/** What the client is to get; undefined is a reset. */
async function answerTo(
  logged: ProxiedRequest,
  carryOut: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  const { fault } = logged;
  if (fault !== undefined && !fault.endsWith('after')) return answers[fault];
  logged.isForwarded = true;
  const answer = await carryOut();
  if (answer !== undefined) logged.said = { status: answer.status, id: idIn(answer.body) };
  return fault === undefined ? answer : answers[fault];
}

/** The service's answer; undefined where it breaks off. */
function forward(incoming: IncomingMessage, body: Buffer, service: string, agent: Agent): Promise<Answer | undefined> {
  const { hostname: host, port } = new URL(service);
  const { method, url: path } = incoming;
  const { host: _, connection: __, ...headers } = incoming.headers;
  return new Promise((resolve) => {
    const sent = request({ agent, host, port, method, path, headers }, (answer) => {
      void bodyOf(answer).then((bytes) => {
        resolve(bytes && { status: answer.statusCode ?? 0, headers: answer.headers, body: bytes });
      });
    });
    sent.on('error', () => resolve(undefined));
    sent.end(body);
  });
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const json = { 'content-type': 'application/json' };
const failed: Answer = { status: 500, headers: json, body: Buffer.from('{"error":"a fault of the crash loop"}') };

/** What the client gets in the place of the service's answer; undefined is a reset. */
const answers: Readonly<Record<Fault, Answer | undefined>> = {
  'reset-before': undefined,
  'reset-after': undefined,
  throttled: { ...failed, status: 429, headers: { ...json, 'retry-after': '0.05' } },
  'failed-before': failed,
  'failed-after': failed,
};

function faultFor(luck: number, throttles: boolean): Fault | undefined {
  let below = 0;
  for (const [fault, share] of shares) {
    below += share;
    if (luck < below) return fault === 'throttled' && !throttles ? undefined : fault;
  }
  return undefined;
}

function loggedOf({ method = '', url = '', headers }: IncomingMessage, body: Buffer, fault: Fault | undefined) {
  const key = headers['idempotency-key'];
  const logged: ProxiedRequest = {
    method,
    path: url,
    key: Array.isArray(key) ? key.join() : key,
    bodyHash: createHash('sha256').update(body).digest('hex').slice(0, 16),
    fault,
    atMs: performance.now(),
    isForwarded: false,
    said: undefined,
    answered: undefined,
  };
  return logged;
}

function idIn(body: Buffer): string | undefined {
  return body.length === 0 ? undefined : (JSON.parse(body.toString()) as { readonly id?: string }).id;
}

/** Gives the answer; it counts as answered only where all of it went out. */
async function give(response: ServerResponse, { status, headers, body }: Answer, logged: ProxiedRequest) {
  if (response.destroyed) return;
  const { 'content-length': _, 'transfer-encoding': __, connection: ___, 'keep-alive': ____, ...kept } = headers;
  const length = status === 204 ? {} : { 'content-length': body.length };
  response.writeHead(status, { ...kept, ...length });
  response.end(body);
  await Promise.race([once(response, 'finish'), once(response, 'close')]).catch(() => {});
  if (response.writableFinished) logged.answered = status;
}

/** All bytes of a message; undefined where it breaks off. */
async function bodyOf(message: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return message.complete ? Buffer.concat(chunks) : undefined;
}

/** What goes wrong with a request; each is drawn for every request anew (tests-3). */
export type Fault = 'reset-before' | 'reset-after' | 'throttled' | 'failed-before' | 'failed-after';

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  /** The first 16 hex digits of the SHA-256 of its body. */
  readonly bodyHash: string;
  readonly fault: Fault | undefined;
  /** When it came, by `performance.now()`. */
  readonly atMs: number;
  isForwarded: boolean;
  /** What the service said, and the id in that; undefined where it said nothing. */
  said: { readonly status: number; readonly id: string | undefined } | undefined;
  /** The status that the client was sent, whole; undefined where it was not. */
  answered: number | undefined;
}

/** A wire to the service. */
export interface Wire {
  /** The address of the service for clients, version segment included. */
  readonly url: string;
  readonly requests: readonly ProxiedRequest[];
  /** Refuses connections and breaks those that there are, as where the service is gone. */
  goDown(): Promise<void>;
  /** Takes them again, at the same address. */
  comeUp(): Promise<void>;
  writesCame(count: number): Promise<void>;
  /** Whether faults cease from now on. */
  setCalm(isCalm: boolean): void;
  /** Resolves when the service owes nothing any more. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Counts writes, and resolves those who wait for a number of them. */
export function writeCount() {
  let count = 0;
  const waiting = new Set<{ readonly until: number; readonly tell: () => void }>();
  return {
    add: () => {
      count += 1;
      for (const each of waiting) {
        if (each.until > count) continue;
        waiting.delete(each);
        each.tell();
      }
    },
    more: (writes: number) => new Promise<void>((tell) => waiting.add({ until: count + writes, tell })),
  };
}
