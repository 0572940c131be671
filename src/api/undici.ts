/**
 * The transport for many: undici's `dispatch` sends three times as many requests a second as `node:http`. To be loaded
 * late, where many are to be sent. The door to undici: only what is needed of it is bundled, and its own retry is not.
 */
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
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
import {
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  notHttp,
  type ResponseConnection,
  type Transport,
  type TransportError,
  toTransportError,
} from './transport.ts';

/** A transport over HTTP/1.1 through undici: a socket for each request under way, kept a moment for the next one. */
export async function undiciTransport(options: ConnectionOptions): Promise<Transport> {
  const { address, prefix, connectMs, hide } = toConnectionParts(options);
  const connections = new Connections(options.base.origin, await createConnector(options), connectMs);
  const watches = new AttemptWatches(options.monotonicMs);
  const headersFor = createHeaders(options);
  const send = (request: ApiRequest, limits: AttemptLimits): Promise<Attempt> => {
    if (limits.signal.aborted) return Promise.resolve(stoppedBefore(limits.signal));
    return new Promise((resolve) => {
      const { method, body = null } = request;
      const connection = connections.take(limits.isFresh === true);
      const exchange = new Exchange(method, connection, watches, limits, (attempt) => {
        connections.giveBack(connection, (attempt.response?.status ?? 500) < 500);
        resolve(attempt);
      });
      connection.client.dispatch({ method, path: prefix + request.path, headers: headersFor(request), body }, exchange);
    });
  };
  return { address, hide, send, close: () => connections.close() };
}

/** A client, which holds one socket at a time. */
class Connection implements ResponseConnection {
  readonly client: Client;
  #socket: Socket | undefined;

  /** @param open opens a socket to the origin */
  constructor(origin: string, open: () => Promise<Socket>) {
    const connect: Client.Options['connect'] = (_, settle) => {
      open().then(
        (socket) => {
          this.#socket = socket;
          settle(null, socket);
        },
        (error: unknown) => settle(error instanceof Error ? error : new Error(String(error)), null),
      );
    };
    this.client = new Client(origin, { ...clientOptions, connect });
  }

  /** Whether a part of the request has not been taken by the system yet. */
  get isWriting(): boolean {
    return (this.#socket?.writableLength ?? 0) > 0;
  }

  drop(): void {
    void this.client.destroy();
  }
}

/**
 * A client for each request under way; each holds one socket. undici's own pool would do, but cannot be told to drop the
 * socket on which trouble came.
 */
class Connections {
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #closing = new AbortController();
  readonly #make: () => Connection;

  constructor(origin: string, connector: Connector, connectMs: number) {
    setMaxListeners(0, this.#closing.signal);
    this.#make = () => new Connection(origin, () => connector(connectMs, this.#closing.signal));
  }

  /** The client that was used last, so that the others' sockets may fall idle; or a new one. */
  take(isFresh: boolean): Connection {
    let connection = isFresh ? undefined : this.#idle.pop();
    while (connection?.client.destroyed) {
      this.#all.delete(connection);
      connection = this.#idle.pop();
    }
    connection ??= this.#make();
    this.#all.add(connection);
    return connection;
  }

  /** After trouble its socket is dropped (reliability, C3). */
  giveBack(connection: Connection, isGood: boolean): void {
    if (isGood && !connection.client.destroyed) {
      this.#idle.push(connection);
      return;
    }
    this.#all.delete(connection);
    connection.drop();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('closed'));
    await Promise.all([...this.#all].map(({ client }) => client.destroy()));
  }
}

const clientOptions: Client.Options = {
  // Newer undicis turn HTTP/2 on; one failure model is enough. And no request may stand behind another one.
  allowH2: false,
  pipelining: 1,
  // Servers close theirs after 5 s. What a server says of its own may shorten this, not lengthen it.
  keepAliveTimeout: 4000,
  keepAliveMaxTimeout: 4000,
  keepAliveTimeoutThreshold: 500,
  maxHeaderSize: 16 * 1024,
  // Ours watch each attempt: undici's run in steps of half a second.
  headersTimeout: 0,
  bodyTimeout: 0,
};

/** One request and what becomes of it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #method: ApiRequest['method'];
  readonly #connection: Connection;
  readonly #watch: AttemptWatch;
  readonly #resolve: (attempt: Attempt) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #hasEnded = false;
  #reader: ResponseReader | undefined;

  constructor(
    method: ApiRequest['method'],
    connection: Connection,
    watches: AttemptWatches,
    limits: AttemptLimits,
    resolve: (attempt: Attempt) => void,
  ) {
    this.#method = method;
    this.#connection = connection;
    this.#resolve = resolve;
    this.#watch = watches.watch(limits, (fault) => this.#fail(fault));
  }

  /** undici calls this before the first byte is written; what ended in the queue is not begun. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#hasEnded) {
      controller.abort(ended);
      return;
    }
    this.#controller = controller;
    this.#watch.written();
  }

  onResponseStart(_: unknown, status: number, headers: UndiciHeaders, statusText?: string): void {
    if (status < 200) return;
    const isEarly = status === 408 && this.#connection.isWriting;
    this.#reader = createResponseReader({ status, statusText, headers: joined(headers), isEarly });
    this.#watch.received();
    if (this.#method !== 'HEAD' && declaresTooMuch(this.#reader.head)) this.#fail(tooLarge);
  }

  onResponseData(_: unknown, piece: Buffer): void {
    if (this.#hasEnded || this.#reader === undefined) return;
    this.#watch.received();
    const verdict = this.#reader.add(piece);
    if (verdict === 'too-large') this.#fail(tooLarge);
    else if (verdict === 'enough') this.#end({ response: this.#reader.response(this.#connection) });
  }

  onResponseEnd(): void {
    if (this.#reader !== undefined) this.#end({ response: this.#reader.response(this.#connection) });
  }

  onResponseError(_: unknown, error: NodeJS.ErrnoException): void {
    const isOfLength = error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
    // The head is all of a 204 and a 304, whatever length it announces (RFC 9112, section 6.3).
    if (isOfLength && [204, 304].includes(this.#reader?.head.status ?? 0)) {
      this.onResponseEnd();
      return;
    }
    // undici says so of a broken head, too, where that announces a length.
    const isBrokenHead = this.#reader === undefined && isOfLength;
    this.#fail(isBrokenHead ? notHttp(error) : toTransportError(error, this.#controller !== undefined));
  }

  #fail(error: TransportError): void {
    this.#end({ error, wasSent: this.#controller !== undefined, head: this.#reader?.head });
  }

  #end(attempt: Attempt): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#watch.end();
    this.#resolve(attempt);
    this.#controller?.abort(ended);
  }
}

const ended = new Error('the attempt has ended');
const tooLarge: TransportError = { kind: 'too-large', reason: 'the response is larger than 8 MiB' };

type UndiciHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Headers by lower-case name, repeated ones joined. Mostly none is, and the object that undici made will do. */
function joined(headers: UndiciHeaders): Readonly<Record<string, string | undefined>> {
  if (!hasLists(headers)) return headers as Readonly<Record<string, string | undefined>>;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

function hasLists(headers: UndiciHeaders): boolean {
  for (const name in headers) if (Array.isArray(headers[name])) return true;
  return false;
}
