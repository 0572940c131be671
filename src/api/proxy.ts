/** Finds the proxy in the environment, as curl and most other programs do, and tunnels through it. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { isLoopback } from '../core/loopback.ts';
import { type ConnectDeadline, hostOf, openSocket, portOf } from './socket.ts';
import type { createTlsConnector, TlsTrust } from './tls.ts';

/** @throws {Failure} usage, for an invalid URL or a SOCKS proxy; never with the value, which may contain a password */
export function findProxy(base: URL, env: Host['env']): URL | undefined {
  const variable = isLoopback(base) ? undefined : proxyVariable(base, env);
  const text = variable && env[variable];
  if (!text || isExempt(base, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined;
  const proxy = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (proxy !== undefined && /^https?:$/.test(proxy.protocol)) return proxy;
  if (proxy !== undefined && /^socks/.test(proxy.protocol)) {
    throw new Failure('usage', `${variable}: SOCKS proxies are not supported`, {
      hint: 'set HTTPS_PROXY or HTTP_PROXY to an http proxy, or add the host of the service to NO_PROXY',
    });
  }
  throw new Failure('usage', `invalid ${variable}: expected a proxy URL such as http://proxy.example:8080`);
}

/** The variable that sets the proxy for URLs of this scheme. */
export function proxyVariable({ protocol }: URL, env: Host['env']): string | undefined {
  const name = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  // In a CGI program HTTP_PROXY is a header of the request (CVE-2016-5385).
  const isCgi = name === 'http_proxy' && env['REQUEST_METHOD'] !== undefined;
  const names = [name, ...(isCgi ? [] : [name.toUpperCase()]), 'all_proxy', 'ALL_PROXY'];
  return names.find((each) => env[each]);
}

/**
 * Decides whether NO_PROXY lists the URL: `*`; a host or a suffix of it, with or without `.` or `*.` before it; an IP address,
 * IPv6 with or without brackets; each optionally with `:port`.
 */
export function isExempt(base: URL, list: string): boolean {
  const host = hostOf(base).replace(/\.$/, '');
  const port = String(portOf(base));
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const exception = parseException(entry.toLowerCase());
    if (exception.name === '' || (exception.port !== undefined && exception.port !== port)) return false;
    return host === exception.name || host.endsWith(`.${exception.name}`);
  });
}

function parseException(entry: string): { readonly name: string; readonly port: string | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry);
  if (bracketed) return { name: canonical(bracketed[1] ?? ''), port: bracketed[2] };
  // With two colons it is an IPv6 address without a port.
  if (entry.indexOf(':') !== entry.lastIndexOf(':')) return { name: canonical(entry), port: undefined };
  const [name = '', port] = entry.split(':');
  return { name: name.replace(/^\*?\./, '').replace(/\.$/, ''), port };
}

/** An IPv6 address as a URL writes it: `0:0:0:0:0:0:0:1` is `::1`. */
function canonical(address: string): string {
  const url = parseUrl(`http://[${address}]`);
  return url === undefined ? '' : hostOf(url);
}

/** Throws nothing: Node's error contains the whole URL, with the password. */
function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/**
 * Creates a function that opens tunnels to a URL (RFC 9110, section 9.3.6): the proxy sees only its host and port. No
 * error contains the proxy's user name or password.
 */
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
