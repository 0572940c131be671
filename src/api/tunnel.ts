/** Tunnels through a proxy (RFC 9110, section 9.3.6), which sees only the host and port. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { attempt } from '../core/files.ts';
import { type ConnectDeadline, hostOf, openSocket, portOf } from './socket.ts';
import type { createTlsConnector, TlsTrust } from './tls.ts';

/** Creates a function that opens tunnels to a URL. No error contains the proxy's user name or password. */
export function createTunnel(
  proxy: URL,
  trust: TlsTrust | undefined,
): (target: URL, deadline: ConnectDeadline) => Promise<Socket> {
  const credentials = Buffer.from(`${decoded(proxy.username)}:${decoded(proxy.password)}`).toString('base64');
  const authorization = proxy.username + proxy.password === '' ? undefined : `Basic ${credentials}`;
  let startTls: Promise<ReturnType<typeof createTlsConnector>> | undefined;
  return async (target, deadline) => {
    let socket: Socket;
    try {
      socket = await openSocket(proxy, deadline);
      if (proxy.protocol === 'https:') {
        startTls ??= import('./tls.ts').then((tls) => tls.createTlsConnector(hostOf(proxy), trust));
        socket = await (await startTls)(socket, deadline);
      }
    } catch (error) {
      throw proxyError(proxy, error instanceof Error ? error.message : String(error));
    }
    return openTunnel(socket, target, { proxy, authorization, deadline });
  };
}

async function openTunnel(
  socket: Socket,
  target: URL,
  { proxy, authorization, deadline }: { proxy: URL; authorization: string | undefined; deadline: ConnectDeadline },
): Promise<Socket> {
  const authority = `${target.hostname}:${portOf(target)}`;
  const request = httpRequest({ method: 'CONNECT', path: authority, createConnection: () => socket, setHost: false });
  request.setHeader('host', authority);
  // Not in the options, which NODE_DEBUG prints.
  if (authorization !== undefined) request.setHeader('proxy-authorization', authorization);
  let refusal: Error | undefined;
  const close = () => socket.destroy();
  request.on('error', (error) => {
    refusal ??= proxyError(proxy, error.message);
    close();
  });
  request.on('connect', ({ statusCode = 0 }: IncomingMessage, _, head: Buffer) => {
    if (statusCode >= 200 && statusCode < 300 && head.length === 0) return socket.emit(tunnelOpened);
    refusal = proxyError(proxy, refusalReason(statusCode, head.length > 0));
    return close();
  });
  request.on('response', close);
  request.end();
  try {
    return await deadline.until(socket, tunnelOpened);
  } catch (error) {
    throw refusal ?? error;
  }
}

/** Emitted on the socket once the proxy has accepted the request. */
const tunnelOpened = 'listctl:tunnel';

function refusalReason(status: number, hasData: boolean): string {
  if (status === 407) return 'proxy authentication required (407)';
  return status < 300 && hasData ? 'the server sent data before the request' : `HTTP ${status}`;
}

function proxyError(proxy: URL, reason: string): Error {
  return new Error(`cannot connect through proxy ${proxy.host}: ${reason}`);
}

/** Decodes a user name or password; invalid percent-encoding is taken literally. */
function decoded(text: string): string {
  return attempt(() => decodeURIComponent(text)) ?? text;
}
