/** Sockets to one service: straight or through a proxy, in clear or with TLS. Both transports get theirs here. */
import type { Socket } from 'node:net';
import { createHider } from '../core/hide.ts';
import { isLoopbackAddress } from '../core/loopback.ts';
import { afterReading, ConnectDeadline, hostOf, openSocket, portOf } from './socket.ts';
import type { TlsTrust } from './tls.ts';
import { type ApiRequest, notLocal } from './transport.ts';

/** Where sockets lead. */
export interface Destination {
  /** Of the service: its scheme, host and port count. */
  readonly base: URL;
  /** The proxy on the way, with its user name and password if it wants them; undefined where there is none. */
  readonly proxy?: URL | undefined;
  /** Whom to trust over TLS; without it, as Node does. */
  readonly trust?: TlsTrust | undefined;
  /** Whether the service must be on this machine: a connection to another one is a failure. */
  readonly isLocal?: boolean;
}

/**
 * Opens a socket that is ready for the first byte of a request: whatever fails before has sent none. One on which bytes
 * came before, which answer nothing that was requested, is a failure.
 *
 * @param connectMs how long it may take, TLS and proxy included
 */
export type Connector = (connectMs: number, signal: AbortSignal) => Promise<Socket>;

/** Makes the connector for a destination. TLS and proxies are loaded where they are needed alone: TLS takes 20 ms. */
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

/** The way to a service: what a transport is made of. */
export interface ConnectionOptions extends Destination {
  /** The address with its version segment: `https://host/v1.0`, with or without a slash at its end. */
  readonly base: URL;
  readonly token: string;
  /** Sent with every request, beside the token; by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** How long connecting may take, TLS and proxy included, in milliseconds (10 s: reliability, C3). */
  readonly connectMs?: number;
  /** Milliseconds of monotonic time, by which attempts are watched. */
  readonly monotonicMs?: () => number;
}

/** What both transports need of a way. */
export interface ConnectionParts {
  /** Where it leads, for messages. */
  readonly address: string;
  /** What stands before the path of each request. */
  readonly prefix: string;
  readonly connectMs: number;
  readonly hide: (text: string) => string;
}

/** Reads a way. */
export function toConnectionParts({ base, token, connectMs = 10_000 }: ConnectionOptions): ConnectionParts {
  const prefix = base.pathname.replace(/\/$/, '');
  return { address: base.origin + prefix, prefix, connectMs, hide: createHider(token) };
}

/**
 * Makes the headers of requests, the token among them: they go into no message, and into no options that Node may print.
 * Not the host and the body's length, which undici has of its own.
 */
export function createHeaders({ token, headers }: ConnectionOptions): (request: ApiRequest) => Record<string, string> {
  const ours = {
    authorization: `Bearer ${token}`,
    ...headers,
    // One coding can be decoded within bounds; none is asked for (reliability, C3).
    'accept-encoding': 'identity',
  };
  // Not spread: that makes a slow object of it, and costs 4 µs for each of many requests.
  return ({ headers: asked }) => Object.assign({}, ours, asked);
}

/** The fault of an attempt that was ended before it began. */
export function stoppedBefore(signal: AbortSignal) {
  return { error: { kind: 'stopped', reason: 'stopped', cause: signal.reason }, wasSent: false } as const;
}
