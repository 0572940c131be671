/**
 * A service on a raw socket that fails where a test says (tests-1): at one of eight points of an
 * exchange, in one of six ways. Its log is the only truth about what arrived and what was done.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { faultExchange } from './fault-exchange.ts';
import { faultItems, faultLog, type KeyColumn, type LoggedAttempt, type StoredItem } from './fault-items.ts';
import type { Plan } from './fault-plan.ts';
import { listening } from './loopback-server.ts';
import type { ServerCertificate } from './tls-certificate.ts';

/** What a test says of a server; without anything it is one on which all goes well, and which ignores keys. */
export interface FaultServerOptions {
  readonly plan?: Plan;
  readonly honorsKeys?: boolean;
  /** The column of Microsoft Graph that keys are written into. */
  readonly keys?: KeyColumn;
  /** Answers with so much padding that no drip of one ends within three seconds. */
  readonly padded?: boolean;
  readonly certificate?: ServerCertificate;
  readonly port?: number;
}

export interface FaultServer extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  readonly port: number;
  readonly log: readonly LoggedAttempt[];
  readonly items: ReadonlyMap<string, StoredItem>;
  connectionCount(): number;
  sentBytes(): number;
  /** Items beside the one that was there from the beginning: what was created. */
  createdCount(): number;
}

export async function faultServer(options: FaultServerOptions = {}): Promise<FaultServer> {
  const {
    plan = () => undefined,
    honorsKeys = false,
    padded = false,
    certificate,
    port: wantedPort = 0,
    keys,
  } = options;
  const items = faultItems({ honorsKeys, keys });
  const log = faultLog();
  const sockets = new Set<Socket>();
  let connectionCount = 0;
  let sentBytes = 0;
  const accept = (socket: Socket) => {
    connectionCount += 1;
    sockets.add(socket);
    // A client that resets is the client's affair.
    socket
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(socket);
        sentBytes += socket.bytesWritten;
      });
    faultExchange({ socket, connection: connectionCount, plan, log, padded, apply: items.apply });
  };
  // Half open: a client that ends is answered all the same, and a FIN of ours is no reset.
  const server: Server =
    certificate === undefined
      ? createServer({ allowHalfOpen: true }, accept)
      : createTlsServer({ ...certificate, allowHalfOpen: true }, accept);
  server.on('tlsClientError', () => {});
  const { port, [Symbol.asyncDispose]: end } = await listening(server, wantedPort);
  const origin = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  return {
    url: `${origin}/v1.0`,
    origin,
    port,
    log: log.attempts,
    items: items.stored,
    connectionCount: () => connectionCount,
    sentBytes: () => [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, sentBytes),
    createdCount: () => [...items.stored.keys()].filter((id) => id !== '17').length,
    [Symbol.asyncDispose]: end,
  };
}
