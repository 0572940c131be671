/** Opens sockets for both transports: directly or through a proxy, with or without TLS. */
import type { Socket } from 'node:net';
import { createHider } from '../core/hide.ts';
import { isLoopbackAddress } from '../core/loopback.ts';
import { AttemptDeadlines } from './exchange.ts';
import { afterReading, ConnectDeadline, connectionClosed, hostOf, openSocket } from './socket.ts';
import type { TlsTrust } from './tls.ts';
import { type ApiRequest, notLocal } from './transport.ts';

export interface ConnectionOptions {
  /** With the version segment: `https://host/v1.0`. */
  readonly base: URL;
  /** With user name and password, if it needs them. */
  readonly proxy?: URL | undefined;
  readonly trust?: TlsTrust | undefined;
  /** Fail if the host name resolves to another machine. */
  readonly isLocal?: boolean;
  readonly token: string;
  /** Sent with every request; by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The time limit of a connection, including TLS and proxy, in milliseconds (default 10 s; limits-1). */
  readonly connectMs?: number;
  readonly monotonicMs?: () => number;
}

/**
 * Creates a function that opens sockets, and fails if the server sends data first. TLS, which takes 20 ms to load, and
 * proxy support are loaded only where needed.
 */
export async function createConnector({
  base,
  proxy,
  trust,
  isLocal = false,
}: Pick<ConnectionOptions, 'base' | 'proxy' | 'trust' | 'isLocal'>): Promise<
  (connectMs: number, signal: AbortSignal) => Promise<Socket>
> {
  const isSecure = base.protocol === 'https:';
  const openTunnel = proxy === undefined ? undefined : (await import('./proxy.ts')).createTunnel(proxy, trust);
  const startTls = isSecure ? (await import('./tls.ts')).createTlsConnector(hostOf(base), trust) : undefined;
  return async (connectMs, signal) => {
    const deadline = new ConnectDeadline(connectMs, signal);
    try {
      const socket = await (openTunnel?.(base, deadline) ?? openSocket(base, deadline));
      if (isLocal) checkLocal(socket);
      const ready = await (startTls?.(socket, deadline) ?? socket);
      await afterReading();
      return checkSilent(ready);
    } finally {
      deadline.end();
    }
  };
}

function checkLocal(socket: Socket): void {
  const { remoteAddress } = socket;
  if (remoteAddress !== undefined && isLoopbackAddress(remoteAddress)) return;
  socket.destroy();
  // The other end has closed it already.
  if (remoteAddress === undefined) throw connectionClosed();
  throw Object.assign(new Error(`the host name resolves to ${remoteAddress}, which is not this machine`), {
    code: notLocal,
  });
}

function checkSilent(socket: Socket): Socket {
  const { errored, destroyed, readableEnded, readableLength } = socket;
  if (!destroyed && !readableEnded && readableLength === 0) return socket;
  socket.destroy();
  throw (
    errored ?? new Error(readableLength > 0 ? 'the server sent data before the request' : 'the connection was closed')
  );
}

/** Creates what both transports need; `prefix` is the path of the base URL. */
export async function prepareTransport(options: ConnectionOptions) {
  const { base, token, connectMs = 10_000 } = options;
  const prefix = base.pathname.replace(/\/$/, '');
  const connector = await createConnector(options);
  // requests-2
  const headers = { authorization: `Bearer ${token}`, ...options.headers, 'accept-encoding': 'identity' };
  return {
    address: base.origin + prefix,
    prefix,
    hide: createHider(token),
    deadlines: new AttemptDeadlines(options.monotonicMs),
    openSocket: (signal: AbortSignal) => connector(connectMs, signal),
    /** Contains the token: never pass it in options, which Node may print. Spread creates a slower object, by 4 µs. */
    toHeaders: (request: ApiRequest): Record<string, string> => Object.assign({}, headers, request.headers),
  };
}

/** The result of an attempt that was stopped before it began. */
export function stoppedBefore(signal: AbortSignal) {
  return { error: { kind: 'stopped', reason: 'stopped', cause: signal.reason }, wasSent: false } as const;
}
