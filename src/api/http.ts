/** The transport for one request or a few: `node:http` loads in 5 ms, undici in 70 (bulk-6). */
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type ConnectionOptions, prepareTransport, stoppedBefore } from './connect.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { afterReading } from './socket.ts';
import {
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  type Transport,
  type TransportError,
  toTransportError,
  unexpectedResponse,
} from './transport.ts';

/** Shorter than the 5 s of most servers (limits-2). */
const idleSocketMs = 4000;

/** Creates a transport over HTTP/1.1 with one socket for each concurrent request. */
export async function httpTransport(options: ConnectionOptions): Promise<Transport> {
  const { address, prefix, hide, deadlines, openSocket, toHeaders } = await prepareTransport(options);
  const shared = createAgent(openSocket, true);
  const sendOnce = (request: ApiRequest, limits: AttemptLimits): Promise<{ attempt: Attempt; isStale: boolean }> =>
    new Promise((resolve) => {
      const ended = new AbortController();
      const agent = limits.isFresh ? createAgent(openSocket, false) : shared;
      const path = prefix + request.path;
      // With an empty servername Node does not derive one, which takes 3 ms; the connector knows it.
      const forAgent = { agent, ended: ended.signal, servername: '' };
      const outgoing = httpRequest({ method: request.method, path, ...forAgent });
      // Not in the options: NODE_DEBUG prints them, with the token.
      for (const [name, value] of Object.entries(toHeaders(request))) outgoing.setHeader(name, value);
      outgoing.setHeader('host', options.base.host);
      if (request.body !== undefined) outgoing.setHeader('content-length', Buffer.byteLength(request.body));
      const finish = (attempt: Attempt) => {
        if (attempt.error) ended.abort();
        resolve({ attempt, isStale: outgoing.reusedSocket && isConnectionError(attempt) });
      };
      new HttpExchange(outgoing, { method: request.method, deadlines, limits, resolve: finish }).start(request.body);
    });
  const send = async (request: ApiRequest, limits: AttemptLimits): Promise<Attempt> => {
    if (limits.signal.aborted) return stoppedBefore(limits.signal);
    const { attempt, isStale } = await sendOnce(request, limits);
    // A kept socket that was closed before a byte was written to it does not count as an attempt.
    return isStale ? send(request, limits) : attempt;
  };
  // Deferred: closing a socket makes Node open stderr, which takes 1 ms.
  const close = async () => void setImmediate(() => shared.destroy());
  return { address, hide, send, close };
}

function isConnectionError({ error, wasSent }: Attempt & { readonly wasSent?: boolean }): boolean {
  return wasSent === false && (error?.kind === 'unreachable' || error?.kind === 'unusable');
}

function createAgent(openSocket: (signal: AbortSignal) => Promise<Socket>, keepAlive: boolean): Agent {
  /** `ended` aborts when the attempt that is waiting for a socket has ended. */
  const createConnection = (
    { ended }: { readonly ended: AbortSignal },
    settle: (error: unknown, socket?: Socket) => void,
  ) => {
    openSocket(ended).then((socket) => settle(null, socket), settle);
  };
  return Object.assign(new Agent({ keepAlive, timeout: idleSocketMs }), { createConnection });
}

/** Closes a socket that receives data between requests, which would be read as the next response. */
function destroyOnData(this: Socket): void {
  this.destroy();
}

class HttpExchange extends Exchange {
  readonly #request: ClientRequest;
  #response: IncomingMessage | undefined;
  protected wasSent = false;

  constructor(request: ClientRequest, options: ExchangeOptions) {
    super(options);
    this.#request = request;
  }

  start(body: ApiRequest['body']): void {
    const request = this.#request;
    request.on('socket', (socket) => {
      // By then a kept socket that was closed, or received data, has been noticed.
      if (request.reusedSocket) void afterReading().then(() => this.#write(socket, body));
      else this.#write(socket, body);
    });
    request.on('error', (error) => {
      // An error after a complete response does not matter.
      if (!this.#response?.complete) this.fail(toTransportError(error, this.wasSent));
    });
    request.on('continue', () => this.fail(unexpected));
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      this.fail(unexpected);
    });
    request.on('close', () => this.fail(lost));
    request.on('response', (response) => this.#read(response));
  }

  #write(socket: Socket, body: ApiRequest['body']): void {
    socket.off('data', destroyOnData);
    if (this.hasEnded || socket.destroyed) return;
    this.wasSent = true;
    this.written();
    this.#request.end(body);
  }

  #read(response: IncomingMessage): void {
    const { statusCode: status = 0, statusMessage: statusText, rawHeaders } = response;
    // A status starts at 100 (RFC 9110, section 15).
    if (!this.wasSent || status < 100) {
      this.fail(unexpected);
      return;
    }
    const isEarly = status === 408 && !this.#request.writableFinished;
    this.#response = response;
    this.begin({ status, statusText, headers: joinHeaders(rawHeaders), isEarly });
    if (this.hasEnded) return;
    response.on('data', (chunk: Uint8Array) => this.add(chunk));
    response.on('error', () => this.fail(lost));
    response.on('end', () => this.complete());
  }

  drop(): void {
    this.#request.socket?.destroy();
  }

  protected release(isReusable: boolean): void {
    if (isReusable) {
      this.#request.socket?.on('data', destroyOnData);
      return;
    }
    this.#request.destroy();
    // Destroying a finished request does not destroy its socket.
    this.drop();
  }
}

const unexpected: TransportError = { kind: 'unusable', reason: unexpectedResponse };
const lost: TransportError = { kind: 'lost', reason: 'the connection was lost before the response ended' };

/** Joins repeated headers; Node's own object drops them, such as a second Retry-After. */
function joinHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}
