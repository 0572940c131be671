/** The service on a port: HTTP/1.1 in front of its one function. */
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
import { type HttpExchange, respondOverHttp, serverGate, versionPath } from './http-message.ts';

/** How long a connection that broke the protocol may take to read why, in milliseconds. */
const lingerMs = 1000;

/** Requests that may wait on one connection: no client sends so many ahead, and each takes memory. */
const waitingMax = 1000;

/** What is owed on the connections of a server. */
export interface Connections {
  /** Remembers a connection until it is closed. */
  add(socket: Socket): void;
  /**
   * Remembers that this request is to be answered, and answers it once the one before it has been: else a client that
   * sends many and reads nothing would have all of their answers kept in memory.
   */
  begin(exchange: { readonly request: IncomingMessage; readonly response: ServerResponse }, answer: () => void): void;
  /** Whether the connection is beyond use, once the answers that are owed on it have been given. */
  isBroken(request: IncomingMessage): boolean;
  /** Answers what is no HTTP, is too long, or does not come: `{"error": …}`, and the end of the connection. */
  refuse(error: Error & { readonly code?: string }, socket: Duplex): void;
  /** Closes the connections on which nothing is owed; Node's own does not, where nothing ever came. */
  closeIdle(): void;
}

interface Connection {
  readonly socket: Socket;
  readonly waiting: (() => void)[];
  unanswered: number;
  last: ServerResponse | undefined;
  isBroken: boolean;
}

/** Keeps the books of a server's connections, so that what breaks on one is never taken for an answer owed on it. */
function trackConnections(): Connections {
  const connections = new Map<Duplex, Connection>();
  return {
    add: (socket) => {
      connections.set(socket, { socket, waiting: [], unanswered: 0, last: undefined, isBroken: false });
      socket.once('close', () => connections.delete(socket));
    },
    begin: ({ request: { socket }, response }, answer) => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.last = response;
      connection.unanswered += 1;
      response.once('close', () => {
        connection.unanswered -= 1;
        if (!socket.destroyed) connection.waiting.shift()?.();
      });
      if (connection.unanswered === 1) answer();
      else if (connection.waiting.length < waitingMax) connection.waiting.push(answer);
      else socket.destroy();
    },
    isBroken: ({ socket }) => connections.get(socket)?.isBroken === true,
    refuse: (error, socket) => {
      // It was refused already, and is only given time to read that.
      if (socket.writableEnded) return;
      const connection = connections.get(socket);
      if (connection !== undefined && owesOthers(connection)) connection.isBroken = true;
      else if (!socket.writable || error.code === 'ECONNRESET' || isAnswering(connection)) socket.destroy();
      else refuseNow(error, socket);
    },
    closeIdle: () => {
      for (const { socket, unanswered } of connections.values()) if (unanswered === 0) socket.destroy();
    },
  };
}

/** Whether answers are owed beside the one to a request that broke off within its body. */
function owesOthers({ unanswered, last }: Connection): boolean {
  return unanswered > (last?.req.complete === false ? 1 : 0);
}

function isAnswering(connection: Connection | undefined): boolean {
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

/** By the codes of Node's parser and of its server; CONNECT is a method. */
const refusals: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the head is over 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are over 16 KiB'],
  CONNECT: [405, 'this server is not a proxy'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request timeout'],
};

/** How long things may take, in milliseconds. */
export interface ServerLimits {
  /** The head of a request, from its first byte to its last. */
  readonly headMs: number;
  /** A whole request. */
  readonly requestMs: number;
  /** A connection on which nothing moves, unless its client waits for an answer. Clients reuse one for 4 s. */
  readonly idleMs: number;
  /** What is under way when the server ends. */
  readonly endMs: number;
}

const defaultLimits: ServerLimits = { headMs: 10_000, requestMs: 60_000, idleMs: 10_000, endMs: 5000 };

/** Enough for 1,000 idle connections and all active ones. */
const connectionsMax = 5000;

const notAProxy = Object.assign(new Error('CONNECT'), { code: 'CONNECT' });

/** The longest head of a request, in bytes. */
const headBytesMax = 16 * 1024;

/** How to serve. */
export interface ServerOptions {
  /** The address or name to listen on. */
  readonly host: string;
  /** 0 for one that is free. */
  readonly port: number;
  /** What a client must send as its bearer token. */
  readonly token: string;
  /** Receives unexpected errors; the client gets a 500. */
  readonly onError: (error: unknown) => void;
  readonly limits?: Partial<ServerLimits>;
}

/** A server that takes requests. */
export interface Server {
  /** The base address for clients on this machine, version segment included. */
  readonly url: string;
  /** Takes no new requests, finishes those under way, and cuts what is left after 5 s. */
  close(): Promise<void>;
}

/**
 * Starts to serve.
 *
 * @throws {Failure} local-file, when the port is taken or not allowed; usage, when the host is no address of this
 *   machine
 */
export async function startServer(service: FaultyService, options: ServerOptions): Promise<Server> {
  const { host, token, onError } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const connections = trackConnections();
  let closed: Promise<void> | undefined;
  const parts = {
    gate: serverGate(token, namesOf(host)),
    service,
    // Errors caused by the shutdown are expected.
    onError: (error: unknown) => {
      if (closed === undefined) onError(error);
    },
    isLast: (request: IncomingMessage) => closed !== undefined || connections.isBroken(request),
  };
  const server = httpServer(limits);
  server.on('connection', connections.add);
  const answer = (exchange: HttpExchange) => {
    connections.begin(exchange, () => void respondOverHttp(exchange, parts));
  };
  server.on('request', (request, response) => answer({ request, response, expects: 'nothing' }));
  server.on('checkContinue', (request, response) => answer({ request, response, expects: 'continue' }));
  server.on('checkExpectation', (request, response) => answer({ request, response, expects: 'other' }));
  server.on('connect', (_, socket) => {
    // Node detaches the socket, so errors need a listener.
    socket.on('error', () => socket.destroy());
    connections.refuse(notAProxy, socket);
  });
  server.on('clientError', connections.refuse);
  const port = await listen(server, options);
  server.on('error', parts.onError);
  return {
    url: `http://${urlHostOf(host)}:${port}${versionPath}`,
    close: () => {
      closed ??= end(server, connections, limits.endMs);
      return closed;
    },
  };
}

function httpServer({ headMs, requestMs, idleMs }: ServerLimits): HttpServer {
  const server = createServer({
    // Each is said here, so that NODE_OPTIONS does not loosen it.
    maxHeaderSize: headBytesMax,
    insecureHTTPParser: false,
    headersTimeout: headMs,
    requestTimeout: requestMs,
    // Newer Nodes wait a second longer than they announce.
    keepAliveTimeout: Math.ceil(idleMs * 0.9),
    connectionsCheckingInterval: Math.ceil(headMs / 10),
    // A request without Host is refused by the gate, with the document's error.
    requireHostHeader: false,
  });
  server.timeout = idleMs;
  server.maxConnections = connectionsMax;
  // Headers beyond a number of them would be dropped unseen, Origin among them; their size is limited anyway.
  server.maxHeadersCount = 0;
  return server;
}

/** Listens, and gives the port. */
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

/** What others may call this server in their Host header, beside loopback's names and the address they call. */
function namesOf(host: string): readonly string[] {
  const name = host.toLowerCase();
  return isLoopbackHost(name) ? [name] : [name, hostname().toLowerCase()];
}

/** The host in the URL for clients on this machine. */
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
