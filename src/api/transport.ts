/**
 * Our end of the wire, as plain data: a request, an answer, and what turns one into the other. Whoever decides
 * (outcomes, retries) stands above this; whoever moves bytes stands below.
 */

/** An HTTP method, in capitals. */
export type Method = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Whether a method only reads (RFC 9110, section 9.2.1): then a lost answer has changed nothing. */
export function isRead(method: Method): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** One HTTP request, relative to the base address. */
export interface ApiRequest {
  readonly method: Method;
  /** Below the base address, beginning with `/`; every id in it is already one encoded segment. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** What stands above the body of an answer. */
export interface ResponseHead {
  readonly status: number;
  /** By lower-case name; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** What the service calls the status, where it says so: `Not Found`. */
  readonly statusText?: string | undefined;
  /** Whether it is a 408 that came before the request was written whole. */
  readonly isEarly?: boolean;
}

/** A complete answer. Of one that says no, the first 64 KiB of the body are enough. */
export interface ServiceResponse extends ResponseHead {
  readonly body: Uint8Array;
  /** Why the body cannot be read, where its coding is not one that is taken; it is empty then. */
  readonly unreadable?: string | undefined;
  /** The connection that it came on, where it came over a network. */
  readonly connection?: ResponseConnection;
}

/** A connection that a complete response came on, and that may be kept for the next request. */
export interface ResponseConnection {
  /** Sends nothing more over it. */
  drop(): void;
}

/**
 * What kind of fault: no connection; one to somebody who cannot prove to be the service; one to another machine, where it
 * must be this one; nothing in time; a connection
 * that broke; an answer that is not HTTP; one that is too large; told to stop.
 */
export type TransportErrorKind =
  | 'unreachable'
  | 'untrusted'
  | 'not-local'
  | 'timeout'
  | 'lost'
  | 'unusable'
  | 'too-large'
  | 'stopped';

/** Why there is no complete response. */
export interface TransportError {
  readonly kind: TransportErrorKind;
  /** What happened, for people: `connection refused`. */
  readonly reason: string;
  readonly cause?: unknown;
}

/** What came of sending a request once. */
export type Attempt =
  | { readonly response: ServiceResponse; readonly error?: undefined; readonly head?: undefined }
  | {
      readonly response?: undefined;
      readonly error: TransportError;
      /** Whether a byte of the request may have been written: if not, it certainly had no effect. */
      readonly wasSent: boolean;
      /** The head of the answer, where that came before the fault. */
      readonly head?: ResponseHead | undefined;
    };

/** Limits of one attempt. */
export interface AttemptLimits {
  /** From connecting to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the attempt when it aborts. */
  readonly signal: AbortSignal;
  /** On a connection of its own: the one before gave an answer that could not be used. */
  readonly isFresh?: boolean;
  /** How long its parts may take; without it as `usualPhases` has it. */
  readonly phases?: PhaseLimits | undefined;
}

/** How long the parts of one attempt may take, in milliseconds of real time. */
export interface PhaseLimits {
  /** From the request to the end of the answer's headers. */
  readonly headersMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
}

/** The usual limits, 60 s and 30 s (reliability, C3). Who gives an attempt more than 120 s gives its parts more. */
export function defaultPhases(timeoutMs: number): PhaseLimits {
  return { headersMs: Math.max(60_000, timeoutMs / 2), idleMs: Math.max(30_000, timeoutMs / 4) };
}

/** Sends requests to one address. */
export interface Transport {
  /** Where it sends to, for messages: never with user info or a query. */
  readonly address: string;
  /** Sends once. Never rejects: whatever happens is told by the attempt. */
  send(request: ApiRequest, limits: AttemptLimits): Promise<Attempt>;
  /** The text without the token, which an answer may have repeated. */
  readonly hide?: (text: string) => string;
  /** Lets go of sockets and files; requests under way are cut off. */
  close(): Promise<void>;
}

/** An answer larger than this is refused while it streams in (rulings, "Responses"). */
export const responseBytesMax = 8 * 1024 * 1024;

/** Of an answer that says no, so much is read (reliability, C3). */
export const errorBytesMax = 64 * 1024;

/** The code of an error, ours: a name that stands for this machine leads to another one. */
export const notLocal = 'ERR_NOT_LOCAL';

const oldTls = 'the server does not support TLS 1.2 or later';
const clientCertificate = 'the server requires a client certificate, which listctl does not support';

/** Error codes, in words. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'DNS lookup failed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed before the response ended',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the connection was closed before the response ended',
  // TLS: as OpenSSL's X509_V_ERR_… are named, and Node's own.
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate signed by an untrusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate signed by an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate signed by an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate signed by an untrusted authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate issued for another host name',
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not yet valid',
  EPROTO: 'TLS handshake failed',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: oldTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: oldTls,
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: oldTls,
  ERR_SSL_WRONG_SSL_VERSION: oldTls,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'the server does not support HTTP/1.1 over TLS',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: clientCertificate,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: clientCertificate,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'TLS handshake failed; the server may require a client certificate',
};

/** How OpenSSL says that what came is no TLS: it depends on the bytes, and on its version. */
const notTls = /wrong version number|packet length too long|http request|unexpected message/;

/** Codes of answers that are no HTTP/1.1: of Node's parser and of undici's, which is the same one. */
const parserCodes = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$)/;

/** What an error of the socket or the parser means for an attempt. */
export function toTransportError(error: unknown, wasSent: boolean): TransportError {
  // Several addresses were tried: each has its own error, and the first tells enough.
  if (error instanceof AggregateError && error.errors.length > 0) return toTransportError(error.errors[0], wasSent);
  const cause: TlsError = error instanceof Error ? error : new Error(String(error));
  const { name, message } = cause;
  const code = codeOf(cause);
  // undici's parser has the same errors as Node's, by name and without a code.
  const isOfParser = parserCodes.test(code) || name === 'HTTPParserError';
  if (isOfParser && /EOF/.test(code + message)) return { kind: 'lost', reason: reasons['UND_ERR_SOCKET'] ?? '', cause };
  if (isOfParser) return notHttp(error);
  // undici says so of what no request asked for, and of a 100 that nobody waits for; or, of a 101, that it never thought of it.
  if (/^bad (response|upgrade)$/.test(message) || code === 'ERR_ASSERTION')
    return { kind: 'unusable', reason: unexpectedResponse, cause };
  return { kind: wasSent ? 'lost' : kindBeforeSending(code), reason: reasonOf(cause), cause };
}

/** An error of OpenSSL has its words in `reason`: its message has names of files and pointers, too. */
interface TlsError extends NodeJS.ErrnoException {
  readonly library?: string;
  readonly reason?: string;
}

/** The code of an error, where it is one of Node's: a DOMException, as an aborted wait has, has a number there. */
function codeOf({ code }: { readonly code?: unknown }): string {
  return typeof code === 'string' ? code : '';
}

function reasonOf(cause: TlsError): string {
  const { message, library, reason } = cause;
  if (notTls.test(message)) return 'the server does not use TLS; this may be an http port';
  const code = codeOf(cause);
  const text = library === undefined ? message || code : `TLS failed: ${reason ?? code}`;
  // As OpenSSL 3.5 (Node 26) names the alerts that older ones call SSLv3's.
  return reasons[code.replace('SSL/TLS_ALERT', 'SSLV3_ALERT')] ?? text;
}

function kindBeforeSending(code: string): TransportErrorKind {
  if (code === notLocal) return 'not-local';
  return /CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$/.test(code) ? 'untrusted' : 'unreachable';
}

/** What a 100 or a 101 is that nobody asked for. */
export const unexpectedResponse = 'unexpected response';

/** What comes from something else than a server of HTTP/1.1. */
export function notHttp(cause: unknown): TransportError {
  return { kind: 'unusable', reason: 'the response is not HTTP', cause };
}
