/** Sockets to one service: straight or through a proxy, in clear or with TLS. Both transports get theirs here. */
import type { Socket } from 'node:net';
import { isLoopbackAddress } from '../loopback.ts';
import { notLocal } from './faults.ts';
import type { TlsTrust } from './secure-socket.ts';
import { afterReading, ConnectDeadline, hostOf, openSocket, portOf } from './socket.ts';

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
export async function connectorTo({ base, proxy, trust, isLocal = false }: Destination): Promise<Connector> {
  const isSecure = base.protocol === 'https:';
  const target = { host: hostOf(base), port: portOf(base) };
  const tunnel = proxy === undefined ? undefined : (await import('./tunnel.ts')).tunnelThrough(proxy, trust);
  const secure = isSecure ? await (await import('./secure-socket.ts')).secureTo(target.host, trust) : undefined;
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
  throw Object.assign(new Error(`its name leads to ${remoteAddress}, which is not this machine`), { code: notLocal });
}

function checkSilent(socket: Socket): Socket {
  const { errored, destroyed, readableEnded, readableLength } = socket;
  if (!destroyed && !readableEnded && readableLength === 0) return socket;
  socket.destroy();
  throw errored ?? new Error(readableLength > 0 ? 'it sent bytes before the request' : 'the connection was closed');
}
