/** Serves the service over HTTP/1.1. */
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { hostname } from 'node:os';
import type { Duplex } from 'node:stream';
import { Failure } from '../core/errors.ts';
import { isLoopbackHost } from '../core/loopback.ts';
import type { FaultyService } from './fault-injection.ts';
import { type HttpExchange, respondOverHttp, serverGate } from './http-message.ts';
import { type ErrorResponder, errorResponse, versionPath } from './message.ts';

/** The time to read the error after breaking the protocol. */
const lingerMs = 1000;

/** Pipelined requests that may wait on a connection. */
const waitingMax = 1000;

interface Connection {
  readonly socket: Socket;
  readonly waiting: (() => void)[];
  unanswered: number;
  last: ServerResponse | undefined;
  isBroken: boolean;
}

/** Tracks the responses that are due on each connection, so that an error is never sent in their place. */
class Connections {
  readonly #connections = new Map<Duplex, Connection>();

  add(socket: Socket): void {
    this.#connections.set(socket, { socket, waiting: [], unanswered: 0, last: undefined, isBroken: false });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** Responds to a request after the one before it, so that the responses to a client that reads none take no memory. */
  begin({ request: { socket }, response }: HttpExchange, respond: () => void): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.last = response;
    connection.unanswered += 1;
    response.once('close', () => {
      connection.unanswered -= 1;
      if (!socket.destroyed) connection.waiting.shift()?.();
    });
    if (connection.unanswered === 1) respond();
    else if (connection.waiting.length < waitingMax) connection.waiting.push(respond);
    else socket.destroy();
  }

  /** Whether a connection closes once the responses that are due have been sent. */
  isBroken({ socket }: IncomingMessage): boolean {
    return this.#connections.get(socket)?.isBroken === true;
  }

  /** Responds to what is not HTTP, too long or too late, and closes the connection. */
  refuse(error: Error & { readonly code?: string }, socket: Duplex): void {
    // Refused already, and open only for the client to read it.
    if (socket.writableEnded) return;
    const connection = this.#connections.get(socket);
    if (connection !== undefined && owesOthers(connection)) connection.isBroken = true;
    else if (!socket.writable || error.code === 'ECONNRESET' || isResponding(connection)) socket.destroy();
    else refuseNow(error, socket);
  }

  /** Closes connections without a request; that of Node.js leaves those that never had one. */
  closeIdle(): void {
    for (const { socket, unanswered } of this.#connections.values()) if (unanswered === 0) socket.destroy();
  }
}

/** Whether responses are due, except to a request that broke off in its body. */
function owesOthers({ unanswered, last }: Connection): boolean {
  return unanswered > (last?.req.complete === false ? 1 : 0);
}

function isResponding(connection: Connection | undefined): boolean {
  return connection !== undefined && connection.unanswered > 0 && connection.last?.headersSent === true;
}

function refuseNow({ code }: { readonly code?: string }, socket: Duplex): void {
  const [status, reason] = refusals[code ?? ''] ?? [400, 'not an HTTP/1.1 request'];
  const body = JSON.stringify({ error: reason });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** By the error codes of Node.js; CONNECT is a method. */
const refusals: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the head is over 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are over 16 KiB'],
  CONNECT: [405, 'this server is not a proxy'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request timeout'],
};

/**
 * Time limits of the head of a request, of a request, of an idle connection unless its client waits for a response, and
 * of requests in progress when the server closes.
 */
const defaultLimits = { headMs: 10_000, requestMs: 60_000, idleMs: 10_000, endMs: 5000 };

const notAProxy = Object.assign(new Error('CONNECT'), { code: 'CONNECT' });

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly token: string;
  /** Receives unexpected errors; the client gets a 500. */
  readonly onError: (error: unknown) => void;
  readonly limits?: Partial<typeof defaultLimits>;
  /** Words the server's own refusals as the service would (default: as the ordinary one). */
  readonly respondError?: ErrorResponder | undefined;
}

/**
 * @returns its base URL for clients on this machine, and a function that closes it after the requests in progress, or
 *   after 5 s
 * @throws {Failure} local-file, if the port is in use or not allowed; usage, if the host is not an address of this machine
 */
export async function startServer(service: FaultyService, options: ServerOptions) {
  const { host, token, onError } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const connections = new Connections();
  let closed: Promise<void> | undefined;
  const parts = {
    gate: serverGate(token, namesOf(host)),
    service,
    respondError: options.respondError ?? errorResponse,
    // Errors caused by the shutdown are expected.
    onError: (error: unknown) => {
      if (closed === undefined) onError(error);
    },
    isLast: (request: IncomingMessage) => closed !== undefined || connections.isBroken(request),
  };
  const server = httpServer(limits);
  server.on('connection', (socket) => connections.add(socket));
  const respond = (exchange: HttpExchange) => {
    connections.begin(exchange, () => void respondOverHttp(exchange, parts));
  };
  server.on('request', (request, response) => respond({ request, response, expects: 'nothing' }));
  server.on('checkContinue', (request, response) => respond({ request, response, expects: 'continue' }));
  server.on('checkExpectation', (request, response) => respond({ request, response, expects: 'other' }));
  server.on('connect', (_, socket) => {
    // Node detaches the socket, so errors need a listener.
    socket.on('error', () => socket.destroy());
    connections.refuse(notAProxy, socket);
  });
  server.on('clientError', (error, socket) => connections.refuse(error, socket));
  const port = await listen(server, options);
  server.on('error', parts.onError);
  return {
    url: `http://${urlHostOf(host)}:${port}${versionPath}`,
    close: (): Promise<void> => {
      closed ??= end(server, connections, limits.endMs);
      return closed;
    },
  };
}

function httpServer({ headMs, requestMs, idleMs }: typeof defaultLimits): HttpServer {
  const server = createServer({
    // Each is set here, so that NODE_OPTIONS cannot loosen it.
    maxHeaderSize: 16 * 1024,
    insecureHTTPParser: false,
    headersTimeout: headMs,
    requestTimeout: requestMs,
    // Newer versions of Node.js wait a second longer.
    keepAliveTimeout: Math.ceil(idleMs * 0.9),
    connectionsCheckingInterval: Math.ceil(headMs / 10),
    // The gate refuses a request without Host, with the error of the service.
    requireHostHeader: false,
  });
  server.timeout = idleMs;
  // Enough for 1,000 idle connections and all active ones.
  server.maxConnections = 5000;
  // With a limit, Node.js drops further headers, even Origin; their size is limited anyway.
  server.maxHeadersCount = 0;
  return server;
}

function listen(server: HttpServer, { host, port }: ServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(listenFailure(error, host, port));
    server.once('error', fail);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function listenFailure(error: NodeJS.ErrnoException, host: string, port: number): Failure {
  const what = `cannot listen on ${host} port ${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return new Failure('local-file', `${what}: the port is in use`, {
        hint: 'pass another --port, or --port 0 for any free port',
        cause: error,
      });
    case 'EACCES':
      return new Failure('local-file', `${what}: permission denied`, {
        hint: 'pass a --port above 1023',
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new Failure('usage', `${what}: not an address of this machine`, {
        hint: 'pass another --host, such as 127.0.0.1',
        cause: error,
      });
    default:
      return new Failure('local-file', `${what}: ${error.message}`, { cause: error });
  }
}

/** The names of this server in Host headers, besides loopback and its address. */
function namesOf(host: string): readonly string[] {
  const name = host.toLowerCase();
  return isLoopbackHost(name) ? [name] : [name, hostname().toLowerCase()];
}

function urlHostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function end(server: HttpServer, connections: Connections, endMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), endMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    connections.closeIdle();
  });
}
