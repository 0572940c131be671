/** Tunnels through a proxy (RFC 9110, section 9.3.6), which sees only the host and port. */
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { type ConnectDeadline, hostOf, openSocket, portOf, type SocketTarget } from './socket.ts';
import type { TlsConnector, TlsTrust } from './tls.ts';

/** Opens a tunnel: a socket on which the target answers. */
export type Tunnel = (target: SocketTarget, deadline: ConnectDeadline) => Promise<Socket>;

/** Makes what opens tunnels through a proxy, over TLS where its address says so; its user name and password go to it alone, and in no message. */
export function tunnelThrough(proxy: URL, trust: TlsTrust | undefined): Tunnel {
  const credentials = Buffer.from(`${decoded(proxy.username)}:${decoded(proxy.password)}`).toString('base64');
  const authorization = proxy.username + proxy.password === '' ? undefined : `Basic ${credentials}`;
  const address = { host: hostOf(proxy), port: portOf(proxy) };
  let secure: Promise<TlsConnector> | undefined;
  return async (target, deadline) => {
    let socket: Socket;
    try {
      socket = await openSocket(address, deadline);
      if (proxy.protocol === 'https:') {
        secure ??= import('./tls.ts').then(({ createTlsConnector }) => createTlsConnector(address.host, trust));
        socket = await (await secure)(socket, deadline);
      }
    } catch (error) {
      throw proxyError(proxy, error instanceof Error ? error.message : String(error));
    }
    return openTunnel(socket, target, { proxy, authorization, deadline });
  };
}

interface TunnelOptions {
  readonly proxy: URL;
  readonly authorization: string | undefined;
  readonly deadline: ConnectDeadline;
}

async function openTunnel(socket: Socket, target: SocketTarget, options: TunnelOptions): Promise<Socket> {
  const { proxy, authorization, deadline } = options;
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  const asked = request({
    method: 'CONNECT',
    path: authority,
    createConnection: () => socket,
    setHost: false,
  });
  asked.setHeader('host', authority);
  // Not among the options: NODE_DEBUG prints those.
  if (authorization !== undefined) asked.setHeader('proxy-authorization', authorization);
  let refusal: Error | undefined;
  const closed = () => socket.destroy();
  asked.on('error', (error) => {
    refusal ??= proxyError(proxy, error.message);
    closed();
  });
  asked.on('connect', ({ statusCode = 0 }: IncomingMessage, _, head: Buffer) => {
    const isOpen = statusCode >= 200 && statusCode < 300 && head.length === 0;
    if (isOpen) return socket.emit(tunnelled);
    refusal = proxyError(proxy, refusalReason(statusCode, head.length > 0));
    return closed();
  });
  asked.on('response', () => closed());
  asked.end();
  try {
    return await deadline.until(socket, tunnelled);
  } catch (error) {
    throw refusal ?? error;
  }
}

/** Ours, on the socket: the proxy has let us through. */
const tunnelled = 'listctl:tunnelled';

function refusalReason(status: number, hasMore: boolean): string {
  if (status === 407) return 'proxy authentication required (407)';
  return status < 300 && hasMore ? 'the server sent data before the request' : `HTTP ${status}`;
}

function proxyError(proxy: URL, reason: string): Error {
  return new Error(`cannot connect through proxy ${proxy.host}: ${reason}`);
}

/** Decodes a user name or password; invalid percent-encoding is taken literally. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
