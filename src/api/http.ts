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
import { type AttemptWatch, AttemptWatches } from './deadlines.ts';
import { createResponseReader, declaresTooMuch, type ResponseReader } from './response.ts';
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

/** A socket that has been idle for longer is not used again: servers close theirs after 5 s (reliability, C3). */
const idleSocketMs = 4000;

/** A transport over HTTP/1.1: a socket for each request under way, kept a moment for the next one. */
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
      const exchange = new Exchange(begun, watches, limits, (attempt) => {
        if (attempt.error) ended.abort();
        resolve({ attempt, isStale: begun.reusedSocket && isConnectionFault(attempt) });
      });
      exchange.start(request.body);
    });
  const send = async (request: ApiRequest, limits: AttemptLimits): Promise<Attempt> => {
    if (limits.signal.aborted) return stoppedBefore(limits.signal);
    const { attempt, isStale } = await sendOnce(request, limits);
    // A kept socket was gone before a byte was written to it: that is no attempt.
    return isStale ? send(request, limits) : attempt;
  };
  // Node's way to close a socket opens stderr: 1 ms, which a process that is about to end does not take.
  const close = async () => void setImmediate(() => shared.destroy());
  return { address, hide, send, close };
}

interface Ended {
  readonly attempt: Attempt;
  readonly isStale: boolean;
}

function isConnectionFault({ error, wasSent }: Attempt & { readonly wasSent?: boolean }): boolean {
  return wasSent === false && (error?.kind === 'unreachable' || error?.kind === 'unusable');
}

interface OwnOptions extends RequestOptions {
  readonly servername: string;
  /** Aborts when the attempt that wants a socket has ended without one. */
  readonly ended: AbortSignal;
}

/** Keeps sockets between requests, or each for one alone; a new one comes from the connector, ready to be written to. */
function agentOver(connector: Connector, connectMs: number, keepAlive: boolean): Agent {
  const createConnection = ({ ended }: OwnOptions, settle: (error: unknown, socket?: Socket) => void) => {
    connector(connectMs, ended).then((socket) => settle(null, socket), settle);
  };
  return Object.assign(new Agent({ keepAlive, timeout: idleSocketMs }), { createConnection });
}

/** Ends a socket that speaks while nobody has asked it anything: the next request must not take that for its answer. */
function dropStray(this: Socket): void {
  this.destroy();
}

/** One request and what becomes of it. */
class Exchange implements ResponseConnection {
  readonly #request: ClientRequest;
  readonly #watch: AttemptWatch;
  readonly #resolve: (attempt: Attempt) => void;
  #wasSent = false;
  #hasEnded = false;
  #reader: ResponseReader | undefined;
  #response: IncomingMessage | undefined;

  constructor(
    request: ClientRequest,
    watches: AttemptWatches,
    limits: AttemptLimits,
    resolve: (attempt: Attempt) => void,
  ) {
    this.#request = request;
    this.#resolve = resolve;
    this.#watch = watches.watch(limits, (fault) => this.#fail(fault));
  }

  /** Waits for a socket, and writes the request to it: not a byte before. */
  start(body: ApiRequest['body']): void {
    const request = this.#request;
    request.on('socket', (socket) => {
      // What a kept socket has to say has come by the next turn: bytes nobody asked for, or its end.
      if (request.reusedSocket) void afterReading().then(() => this.#write(socket, body));
      else this.#write(socket, body);
    });
    request.on('error', (error) => {
      // An answer that was whole before stays whole, whatever came behind it.
      if (!this.#response?.complete) this.#fail(toTransportError(error, this.#wasSent));
    });
    request.on('continue', () => this.#fail(notOurs));
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      this.#fail(notOurs);
    });
    request.on('close', () => this.#fail(cut));
    request.on('response', (response) => this.#read(response));
  }

  #write(socket: Socket, body: ApiRequest['body']): void {
    socket.off('data', dropStray);
    if (this.#hasEnded || socket.destroyed) return;
    this.#wasSent = true;
    this.#watch.written();
    this.#request.end(body);
  }

  #read(response: IncomingMessage): void {
    const { statusCode: status = 0, statusMessage: statusText, rawHeaders } = response;
    // 004 is no status (RFC 9110, section 15).
    if (!this.#wasSent || status < 100) {
      this.#fail(notOurs);
      return;
    }
    const isEarly = status === 408 && !this.#request.writableFinished;
    const reader = createResponseReader({ status, statusText, headers: headersIn(rawHeaders), isEarly });
    this.#response = response;
    this.#reader = reader;
    this.#watch.received();
    if (this.#request.method !== 'HEAD' && declaresTooMuch(reader.head)) {
      this.#fail(tooLarge);
      return;
    }
    response.on('data', (piece: Uint8Array) => {
      this.#watch.received();
      const verdict = reader.add(piece);
      if (verdict === 'too-large') this.#fail(tooLarge);
      else if (verdict === 'enough') this.#end({ response: reader.response(this) }, true);
    });
    response.on('error', () => this.#fail(cut));
    response.on('end', () => this.#end({ response: reader.response(this) }, reader.head.status >= 500));
  }

  /** As `ResponseConnection.drop`. */
  drop(): void {
    this.#request.socket?.destroy();
  }

  #fail(error: TransportError): void {
    this.#end({ error, wasSent: this.#wasSent, head: this.#reader?.head }, true);
  }

  #end(attempt: Attempt, isLastOnSocket: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#watch.end();
    // After trouble the next request gets a connection of its own (reliability, C3).
    if (isLastOnSocket) {
      this.#request.destroy();
      // A request that is over is not destroyed, nor is its socket.
      this.#request.socket?.destroy();
    } else this.#request.socket?.on('data', dropStray);
    this.#resolve(attempt);
  }
}

const tooLarge: TransportError = { kind: 'too-large', reason: 'the response is larger than 8 MiB' };
const notOurs: TransportError = { kind: 'unusable', reason: unexpectedResponse };
const cut: TransportError = { kind: 'lost', reason: 'the connection was lost before the response ended' };

/** Headers by name: Node's own object leaves out what comes twice, a second Retry-After for one. */
function headersIn(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}
