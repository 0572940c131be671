/** Opens sockets for both transports: direct or through a proxy, plain or over TLS. */
import type { Socket } from 'node:net';
import { createHider } from '../core/hide.ts';
import { isLoopbackAddress } from '../core/loopback.ts';
import { afterReading, ConnectDeadline, hostOf, openSocket, portOf } from './socket.ts';
import type { TlsTrust } from './tls.ts';
import { type ApiRequest, notLocal } from './transport.ts';

export interface Destination {
  readonly base: URL;
  /** With user name and password where it needs them. */
  readonly proxy?: URL | undefined;
  readonly trust?: TlsTrust | undefined;
  /** Fail if the host name resolves to another machine. */
  readonly isLocal?: boolean;
}

/**
 * Opens a socket on which a request can be written; fails if the server sends data first.
 *
 * @param connectMs the time limit, including TLS and proxy
 */
export type Connector = (connectMs: number, signal: AbortSignal) => Promise<Socket>;

/** TLS and proxy support are loaded only where needed: TLS takes 20 ms. */
export async function createConnector({ base, proxy, trust, isLocal = false }: Destination): Promise<Connector> {
  const isSecure = base.protocol === 'https:';
  const target = { host: hostOf(base), port: portOf(base) };
  const tunnel = proxy === undefined ? undefined : (await import('./tunnel.ts')).tunnelThrough(proxy, trust);
  const secure = isSecure ? await (await import('./tls.ts')).createTlsConnector(target.host, trust) : undefined;
  return async (connectMs, signal) => {
    const deadline = new ConnectDeadline(connectMs, signal);
    try {
      const socket = await (tunnel?.(target, deadline) ?? openSocket(target, deadline));
      if (isLocal) checkLocal(socket);
      const ready = await (secure?.(socket, deadline) ?? socket);
      await afterReading();
      return checkSilent(ready);
    } finally {
      deadline.end();
    }
  };
}

function checkLocal(socket: Socket): void {
  const { remoteAddress = '' } = socket;
  if (isLoopbackAddress(remoteAddress)) return;
  socket.destroy();
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

export interface ConnectionOptions extends Destination {
  /** The address with its version segment: `https://host/v1.0`, with or without a slash at its end. */
  readonly base: URL;
  readonly token: string;
  /** Sent with every request; by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The time limit of a connection, including TLS and proxy, in milliseconds (default 10 s; limits-1). */
  readonly connectMs?: number;
  readonly monotonicMs?: () => number;
}

export interface ConnectionParts {
  readonly address: string;
  /** The path of the base URL. */
  readonly prefix: string;
  readonly connectMs: number;
  readonly hide: (text: string) => string;
}

export function toConnectionParts({ base, token, connectMs = 10_000 }: ConnectionOptions): ConnectionParts {
  const prefix = base.pathname.replace(/\/$/, '');
  return { address: base.origin + prefix, prefix, connectMs, hide: createHider(token) };
}

/**
 * Creates the headers of requests, with the token: never put into messages, or into options that Node may print. Without
 * Host and Content-Length, which undici adds.
 */
export function createHeaders({ token, headers }: ConnectionOptions): (request: ApiRequest) => Record<string, string> {
  const ours = {
    authorization: `Bearer ${token}`,
    ...headers,
    // requests-2
    'accept-encoding': 'identity',
  };
  // Object.assign, since spread makes a slow object: 4 µs per request.
  return ({ headers: asked }) => Object.assign({}, ours, asked);
}

/** The result of an attempt that was stopped before it began. */
export function stoppedBefore(signal: AbortSignal) {
  return { error: { kind: 'stopped', reason: 'stopped', cause: signal.reason }, wasSent: false } as const;
}
