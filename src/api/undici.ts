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
import { AttemptWatches } from './deadlines.ts';
import { Exchange, type ExchangeParts } from './exchange.ts';
import {
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  notHttp,
  type ResponseConnection,
  type Transport,
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
      const exchange = new UndiciExchange(connections, connection, { method, watches, limits, resolve });
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

  /** A connection that is not reusable is closed (limits-2). */
  giveBack(connection: Connection, isReusable: boolean): void {
    if (isReusable && !connection.client.destroyed) {
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
  // Newer undicis enable HTTP/2; one failure model is enough. No pipelining, so that no request waits behind another.
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

class UndiciExchange extends Exchange implements Dispatcher.DispatchHandler {
  protected readonly connection: Connection;
  readonly #connections: Connections;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(connections: Connections, connection: Connection, parts: ExchangeParts) {
    super(parts);
    this.#connections = connections;
    this.connection = connection;
  }

  protected get wasSent(): boolean {
    return this.#controller !== undefined;
  }

  /** undici calls this before the first byte is written; a request that ended in the queue is not sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.hasEnded) {
      controller.abort(ended);
      return;
    }
    this.#controller = controller;
    this.written();
  }

  onResponseStart(_: unknown, status: number, headers: UndiciHeaders, statusText?: string): void {
    if (status < 200) return;
    const isEarly = status === 408 && this.connection.isWriting;
    this.begin({ status, statusText, headers: joinHeaders(headers), isEarly });
  }

  onResponseData(_: unknown, piece: Buffer): void {
    this.add(piece);
  }

  onResponseEnd(): void {
    this.complete();
  }

  onResponseError(_: unknown, error: NodeJS.ErrnoException): void {
    const isLengthMismatch = error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
    // 204 and 304 have no body, whatever length they announce (RFC 9112, section 6.3).
    if (isLengthMismatch && [204, 304].includes(this.head?.status ?? 0)) {
      this.complete();
      return;
    }
    // undici reports a broken head that announces a length the same way.
    const isBrokenHead = this.head === undefined && isLengthMismatch;
    this.fail(isBrokenHead ? notHttp(error) : toTransportError(error, this.wasSent));
  }

  protected release(isReusable: boolean): void {
    this.#connections.giveBack(this.connection, isReusable);
    this.#controller?.abort(ended);
  }
}

const ended = new Error('the attempt has ended');

type UndiciHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Headers by lower-case name, repeated ones joined. Mostly none is, and the object that undici made will do. */
function joinHeaders(headers: UndiciHeaders): Readonly<Record<string, string | undefined>> {
  if (!hasLists(headers)) return headers as Readonly<Record<string, string | undefined>>;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

function hasLists(headers: UndiciHeaders): boolean {
  for (const name in headers) if (Array.isArray(headers[name])) return true;
  return false;
}
