/**
 * The light transport: `node:http` starts in 5 ms where undici takes 70 (and 150 on Node 20, which compiles its
 * parser before the process may end). For one request, or a few.
 */
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestOver,
} from 'node:http';
import type { Socket } from 'node:net';
import {
  type ConnectionOptions,
  type Connector,
  createConnector,
  createHeaders,
  stoppedBefore,
  toConnectionParts,
} from './connect.ts';
import { AttemptWatches } from './deadlines.ts';
import { Exchange, type ExchangeParts } from './exchange.ts';
import { afterReading } from './socket.ts';
import {
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  type ResponseConnection,
  type Transport,
  type TransportError,
  toTransportError,
  unexpectedResponse,
} from './transport.ts';

/** Idle sockets are closed after this time, before servers close them after 5 s (limits-2). */
const idleSocketMs = 4000;

/** Creates a transport over HTTP/1.1: one socket per concurrent request, kept briefly for the next one. */
export async function httpTransport(options: ConnectionOptions): Promise<Transport> {
  const { address, prefix, connectMs, hide } = toConnectionParts(options);
  const connector = await createConnector(options);
  const shared = agentOver(connector, connectMs, true);
  const watches = new AttemptWatches(options.monotonicMs);
  const headersFor = createHeaders(options);
  const sendOnce = (request: ApiRequest, limits: AttemptLimits): Promise<Ended> =>
    new Promise((resolve) => {
      const ended = new AbortController();
      const agent = limits.isFresh ? agentOver(connector, connectMs, false) : shared;
      const path = prefix + request.path;
      // The connector knows the name for TLS; to find one itself, Node would take 3 ms to learn what an IPv6 address is.
      const own: OwnOptions = { agent, ended: ended.signal, method: request.method, path, servername: '' };
      const begun = requestOver(own);
      // Not among the options: NODE_DEBUG prints those, and the token with them.
      for (const [name, value] of Object.entries(headersFor(request))) begun.setHeader(name, value);
      begun.setHeader('host', options.base.host);
      if (request.body !== undefined) begun.setHeader('content-length', Buffer.byteLength(request.body));
      const finish = (attempt: Attempt) => {
        if (attempt.error) ended.abort();
        resolve({ attempt, isStale: begun.reusedSocket && isConnectionError(attempt) });
      };
      new HttpExchange(begun, { method: request.method, watches, limits, resolve: finish }).start(request.body);
    });
  const send = async (request: ApiRequest, limits: AttemptLimits): Promise<Attempt> => {
    if (limits.signal.aborted) return stoppedBefore(limits.signal);
    const { attempt, isStale } = await sendOnce(request, limits);
    // A kept socket closed before a byte was written to it does not count as an attempt.
    return isStale ? send(request, limits) : attempt;
  };
  // Closing a socket makes Node open stderr, which takes 1 ms: not before the process ends.
  const close = async () => void setImmediate(() => shared.destroy());
  return { address, hide, send, close };
}

interface Ended {
  readonly attempt: Attempt;
  readonly isStale: boolean;
}

function isConnectionError({ error, wasSent }: Attempt & { readonly wasSent?: boolean }): boolean {
  return wasSent === false && (error?.kind === 'unreachable' || error?.kind === 'unusable');
}

interface OwnOptions extends RequestOptions {
  readonly servername: string;
  /** Aborts when the attempt that wants a socket has ended without one. */
  readonly ended: AbortSignal;
}

/** Creates an agent whose new sockets come from the connector. */
function agentOver(connector: Connector, connectMs: number, keepAlive: boolean): Agent {
  const createConnection = ({ ended }: OwnOptions, settle: (error: unknown, socket?: Socket) => void) => {
    connector(connectMs, ended).then((socket) => settle(null, socket), settle);
  };
  return Object.assign(new Agent({ keepAlive, timeout: idleSocketMs }), { createConnection });
}

/** Closes a socket that receives data between requests: the next request must not take it for its response. */
function dropStray(this: Socket): void {
  this.destroy();
}

class HttpExchange extends Exchange implements ResponseConnection {
  readonly #request: ClientRequest;
  #response: IncomingMessage | undefined;
  protected wasSent = false;

  constructor(request: ClientRequest, parts: ExchangeParts) {
    super(parts);
    this.#request = request;
  }

  protected get connection(): ResponseConnection {
    return this;
  }

  /** Waits for a socket, and writes the request to it: not a byte before. */
  start(body: ApiRequest['body']): void {
    const request = this.#request;
    request.on('socket', (socket) => {
      // By the next turn a kept socket has shown that it was closed, or that it received unrequested bytes.
      if (request.reusedSocket) void afterReading().then(() => this.#write(socket, body));
      else this.#write(socket, body);
    });
    request.on('error', (error) => {
      // A complete response stays complete, whatever follows it.
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
    socket.off('data', dropStray);
    if (this.hasEnded || socket.destroyed) return;
    this.wasSent = true;
    this.written();
    this.#request.end(body);
  }

  #read(response: IncomingMessage): void {
    const { statusCode: status = 0, statusMessage: statusText, rawHeaders } = response;
    // 004 is not a status (RFC 9110, section 15).
    if (!this.wasSent || status < 100) {
      this.fail(unexpected);
      return;
    }
    const isEarly = status === 408 && !this.#request.writableFinished;
    this.#response = response;
    this.begin({ status, statusText, headers: joinHeaders(rawHeaders), isEarly });
    if (this.hasEnded) return;
    response.on('data', (piece: Uint8Array) => this.add(piece));
    response.on('error', () => this.fail(lost));
    response.on('end', () => this.complete());
  }

  drop(): void {
    this.#request.socket?.destroy();
  }

  protected release(isReusable: boolean): void {
    if (isReusable) {
      this.#request.socket?.on('data', dropStray);
      return;
    }
    this.#request.destroy();
    // Destroying a finished request does not destroy its socket.
    this.drop();
  }
}

const unexpected: TransportError = { kind: 'unusable', reason: unexpectedResponse };
const lost: TransportError = { kind: 'lost', reason: 'the connection was lost before the response ended' };

/** Headers by name: Node's own object drops repeated ones, such as a second Retry-After. */
function joinHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}
