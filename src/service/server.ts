/** The service on a port: HTTP/1.1 in front of its one function. */
import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { Failure } from '../errors.ts';
import type { UnsteadyService } from './bad-day.ts';
import { isLoopbackHost } from './loopback-host.ts';
import { answerOverHttp, type Exchange, versionPath } from './server-answer.ts';
import { type Connections, trackConnections } from './server-connections.ts';
import { serverGate } from './server-gate.ts';

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

const usualLimits: ServerLimits = { headMs: 10_000, requestMs: 60_000, idleMs: 10_000, endMs: 5000 };

/** Enough for 1,000 that do nothing, and all who work. */
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
  /** Told of what nobody foresaw while a request was worked on; its client gets a 500. */
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
export async function startServer(service: UnsteadyService, options: ServerOptions): Promise<Server> {
  const { host, token, onError } = options;
  const limits = { ...usualLimits, ...options.limits };
  const connections = trackConnections();
  let closed: Promise<void> | undefined;
  const parts = {
    gate: serverGate(token, namesOf(host)),
    service,
    // What fails because the server ends is nobody's fault.
    onError: (error: unknown) => {
      if (closed === undefined) onError(error);
    },
    isLast: (request: IncomingMessage) => closed !== undefined || connections.isBroken(request),
  };
  const server = httpServer(limits);
  server.on('connection', connections.add);
  const answer = (exchange: Exchange) => {
    connections.begin(exchange, () => void answerOverHttp(exchange, parts));
  };
  server.on('request', (request, response) => answer({ request, response, expects: 'nothing' }));
  server.on('checkContinue', (request, response) => answer({ request, response, expects: 'continue' }));
  server.on('checkExpectation', (request, response) => answer({ request, response, expects: 'other' }));
  server.on('connect', (_, socket) => {
    // Node lets go of the socket: nobody else would listen.
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
    // Newer Nodes wait a second longer than they tell the client.
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
      return new Failure('local-file', `${what}: another program does`, {
        hint: 'pass another --port, or --port 0 for one that is free',
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
      return new Failure('usage', `${what}: it is no address of this machine`, {
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

/** The host in an address for clients on this machine; loopback stands for all of its addresses. */
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
