/**
 * The light transport: `node:http` starts in 5 ms where undici takes 70 (and 150 on Node 20, which compiles its
 * parser before the process may end). For one request, or a few.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import * as http from 'node:http';
import {
  type Answer,
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  answerBytesMax,
  type Fault,
  type Transport,
} from './transport.ts';

/** Connecting, TLS included, may take this long (reliability, C3). */
const connectMsMax = 10_000;

/**
 * A transport over HTTP/1.1.
 *
 * @param base the address with its version segment, without a trailing slash: `https://host/v1.0`
 * @param headers sent with every request; the token is among them, so they appear in no message
 */
export async function httpTransport(base: URL, headers: Readonly<Record<string, string>>): Promise<Transport> {
  const client = base.protocol === 'https:' ? (await import('./https-client.ts')).httpsClient : http;
  const agent = new client.Agent({ keepAlive: true });
  const prefix = base.pathname.replace(/\/$/, '');
  const target: RequestOptions = {
    agent,
    protocol: base.protocol,
    // A URL keeps the brackets of an IPv6 address, a socket does not want them.
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    port: base.port,
  };
  return {
    address: base.origin + prefix,
    send: (request, limits) => {
      const asked = client.request({ ...target, method: request.method, path: prefix + request.path });
      // Not among the options: with NODE_DEBUG=http Node prints those, and the token is among the headers.
      const all = { ...headers, ...request.headers, ...lengthOf(request) };
      for (const [name, value] of Object.entries(all)) asked.setHeader(name, value);
      return exchange(asked, request.body, limits);
    },
    close: async () => agent.destroy(),
  };
}

function lengthOf({ body }: ApiRequest): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}

function exchange(request: ClientRequest, body: ApiRequest['body'], limits: AttemptLimits): Promise<Attempt> {
  return new Promise((resolve) => {
    let wasSent = false;
    const end = (attempt: Attempt) => {
      clearTimeout(deadline);
      clearTimeout(connecting);
      limits.signal.removeEventListener('abort', stop);
      resolve(attempt);
      if (attempt.fault) request.destroy();
    };
    const fail = (fault: Fault) => end({ fault, wasSent });
    const stop = () => fail({ kind: 'stopped', reason: 'stopped', cause: limits.signal.reason });
    const deadline = setTimeout(
      () => fail({ kind: 'timeout', reason: `no complete answer within ${limits.timeoutMs / 1000} s` }),
      limits.timeoutMs,
    );
    const connecting = setTimeout(
      () => fail({ kind: 'unreachable', reason: `no connection within ${connectMsMax / 1000} s` }),
      connectMsMax,
    );
    const connected = () => {
      clearTimeout(connecting);
      wasSent = true;
    };
    if (limits.signal.aborted) return stop();
    limits.signal.addEventListener('abort', stop);
    request.on('socket', (socket) => {
      // A socket that was kept alive is connected already; over TLS the head is written after the handshake.
      if (!socket.connecting && request.reusedSocket) connected();
      else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected);
    });
    request.on('error', (error: NodeJS.ErrnoException) => fail(faultOf(error, wasSent)));
    request.on('response', (response) => {
      collect(response).then(
        (answer) => end({ answer }),
        (fault: Fault) => fail(fault),
      );
    });
    request.end(body);
  });
}

/** Resolves to the whole answer; rejects with a Fault. */
function collect(response: IncomingMessage): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let sizeBytes = 0;
    response.on('data', (chunk: Uint8Array) => {
      sizeBytes += chunk.length;
      if (sizeBytes > answerBytesMax) reject({ kind: 'unusable', reason: 'the answer is larger than 8 MiB' });
      else chunks.push(chunk);
    });
    response.on('error', () => reject({ kind: 'lost', reason: 'the connection was lost before the answer ended' }));
    response.on('end', () => {
      const headers = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(', ') : value,
        ]),
      );
      resolve({ status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks) });
    });
  });
}

/** Error codes of Node's sockets and its parser, in words. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'no answer while connecting',
  EPIPE: 'the connection was closed',
};

function faultOf(error: NodeJS.ErrnoException, wasSent: boolean): Fault {
  const code = error.code ?? '';
  // Several addresses were tried: each has its own error, and the first tells enough.
  const [first] = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [];
  if (first) return faultOf(first, wasSent);
  const reason = reasons[code] ?? (error.message || code);
  if (code.startsWith('HPE_')) return { kind: 'unusable', reason: 'the answer is not HTTP', cause: error };
  if (wasSent) return { kind: 'lost', reason, cause: error };
  return { kind: isDistrust(code) ? 'untrusted' : 'unreachable', reason, cause: error };
}

/** Whether the code is TLS's: names as OpenSSL's X509_V_ERR_… and Node's ERR_TLS_… and ERR_SSL_…. */
function isDistrust(code: string): boolean {
  return /CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$/.test(code);
}
