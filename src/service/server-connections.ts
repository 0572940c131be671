import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

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
export function trackConnections(): Connections {
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
  const [status, reason] = refusals[code ?? ''] ?? [400, 'this is no HTTP/1.1 request'];
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
  CONNECT: [405, 'this is no proxy'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time'],
};
