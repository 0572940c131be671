import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopbackHost } from '../core/loopback.ts';
import type { FaultyService } from './fault-injection.ts';
import { type ErrorResponder, maxBodyBytes, Refusal, type ServiceResponse, tooLong, versionPath } from './message.ts';

/** Thrown when the client disconnected before its request was complete. */
class ClientDisconnected extends Error {
  override readonly name = 'ClientGone';
}

/** The part of a refused body that is read before the connection is cut. */
const discardedBytesMax = 2 * maxBodyBytes;

/** Whether a request has a body (RFC 9112, section 6). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** @param begin called before the body is read */
function readBody(request: IncomingMessage, begin: () => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLong();
    begin();
    const chunks: Uint8Array[] = [];
    let sizeBytes = 0;
    request.on('data', (chunk: Uint8Array) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= maxBodyBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(tooLong());
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', (error) => reject(new ClientDisconnected('the connection was lost', { cause: error })));
  });
}

/**
 * Reads the rest of a refused body, up to a limit: closing a connection with unread bytes resets it, and the client may
 * lose the response (RFC 9112, section 9.6).
 */
function discardBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let sizeBytes = 0;
    request.on('data', (chunk: Uint8Array) => {
      sizeBytes += chunk.length;
      if (sizeBytes > discardedBytesMax) resolve();
    });
    request.on('close', () => resolve());
    request.on('error', () => resolve());
    request.resume();
  });
}

/**
 * Makes the checks of a server that others can reach. Requests of web pages are refused by their `Origin`, and after DNS
 * rebinding by their `Host`; all others need the token.
 *
 * @param names the names of this server in lower case, besides loopback and its address
 * @returns checks the head of a request; throws a Refusal
 */
export function serverGate(token: string, names: readonly string[]) {
  const expected = digestOf(token);
  const ourNames = new Set(names);
  return ({ headers, rawHeaders, socket }: IncomingMessage): void => {
    // Node.js uses the first one, but a proxy may use the last (RFC 9112, section 3.2).
    if (rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1) {
      throw new Refusal(400, 'more than one Host header');
    }
    const name = hostNameOf(headers.host);
    if (name === undefined || !(ourNames.has(name) || isLoopbackHost(name) || name === calledAddress(socket))) {
      throw new Refusal(403, 'the Host header does not name this server');
    }
    if (headers.origin !== undefined) throw new Refusal(403, 'requests from web pages are not allowed');
    // Digests have the same length, as timingSafeEqual requires.
    if (!timingSafeEqual(digestOf(bearerOf(headers.authorization)), expected)) {
      throw new Refusal(401, 'the bearer token is missing or wrong', { 'www-authenticate': 'Bearer' });
    }
  };
}

/** The name in a Host header, in lower case; any port, since it may be forwarded. */
function hostNameOf(host: string | undefined): string | undefined {
  const { v6, name } = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? '')?.groups ?? {};
  return (v6 ?? name)?.toLowerCase();
}

/** The local address of the connection, which DNS rebinding cannot forge. */
function calledAddress({ localAddress }: IncomingMessage['socket']): string | undefined {
  return localAddress?.replace(/^::ffff:/, '');
}

function bearerOf(authorization = ''): string {
  return /^Bearer +(?<token>[\x21-\x7e]+)$/i.exec(authorization)?.groups?.['token'] ?? '';
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The Expect header: `continue` for `100-continue`. */
  readonly expects: 'nothing' | 'continue' | 'other';
}

interface ServerContext {
  readonly gate: ReturnType<typeof serverGate>;
  readonly service: FaultyService;
  readonly respondError: ErrorResponder;
  /** Receives unexpected errors; the client gets a 500. */
  readonly onError: (error: unknown) => void;
  /** Whether the connection closes after this request. */
  readonly isLast: (request: IncomingMessage) => boolean;
}

/** Responds to a request; never rejects. */
export async function respondOverHttp(exchange: HttpExchange, parts: ServerContext): Promise<void> {
  const { socket } = exchange.request;
  try {
    const result = await respond(exchange, parts);
    if (result === undefined) socket.resetAndDestroy();
    else await send(result, exchange, parts);
  } catch (error) {
    if (!(error instanceof ClientDisconnected)) parts.onError(error);
    socket.destroy();
  }
}

async function respond(
  exchange: HttpExchange,
  { gate, service, respondError, onError }: ServerContext,
): Promise<ServiceResponse | undefined> {
  const { request, response, expects } = exchange;
  // Only Set-Cookie is a list.
  const headers = request.headers as Readonly<Record<string, string | undefined>>;
  try {
    gate(request);
    if (expects === 'other') throw new Refusal(417, 'unsupported Expect header: only 100-continue is supported');
    refuseCoding(request);
    const path = pathOf(request.url ?? '');
    const body = await readBody(request, () => {
      if (expects === 'continue') response.writeContinue();
    });
    spareFromIdleCut(response);
    return await service({ method: request.method ?? '', path, headers, body });
  } catch (error) {
    if (error instanceof Refusal) return respondError(error, { headers });
    if (error instanceof ClientDisconnected) throw error;
    onError(error);
    return respondError(new Refusal(500, 'the service failed'), { headers });
  }
}

/** Refuses other transfer codings than `chunked`, which Node.js does not decode. */
function refuseCoding({ headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined || coding.trim().toLowerCase() === 'chunked') return;
  throw new Refusal(501, 'unsupported transfer coding: only chunked is supported');
}

function pathOf(address: string): string {
  // Node.js decodes other bytes than ASCII as Latin 1.
  if (/[^\x21-\x7e]/.test(address)) throw new Refusal(400, 'the path must be percent-encoded');
  if (address.startsWith(`${versionPath}/`)) return address.slice(versionPath.length);
  // As Microsoft Graph does, so that a missing version is not taken for a missing item.
  throw new Refusal(400, `invalid version: paths begin with ${versionPath}/sites/`);
}

/** Cuts an idle connection only if the client does not read the response, not while it waits for one. */
function spareFromIdleCut(response: ServerResponse): void {
  response.on('timeout', () => {
    if (response.writableEnded) response.socket?.destroy();
  });
}

async function send(
  { status, headers, body }: ServiceResponse,
  { request, response, expects }: HttpExchange,
  { isLast }: ServerContext,
): Promise<void> {
  const isUnread = hasBody(request) && !request.readableEnded;
  if (isUnread || isLast(request)) response.shouldKeepAlive = false;
  const { location } = headers;
  response.writeHead(status, {
    ...headers,
    ...(location === undefined ? {} : { location: versionPath + location }),
    ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  });
  if (!isUnread || expects === 'continue') {
    response.end(body);
    return;
  }
  // Without the end, which would close the connection while the client is still sending.
  response.write(body);
  await discardBody(request);
  response.end();
}
