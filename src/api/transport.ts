/** Requests, responses and transport errors as plain data: below the retry logic, above the transports. */

export type Method = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Safe methods (RFC 9110, section 9.2.1): a lost response has changed nothing. */
export function isRead(method: Method): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

export interface ApiRequest {
  readonly method: Method;
  /** Relative to the base URL, with a leading `/`; ids are percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface ResponseHead {
  readonly status: number;
  /** By lower-case name; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly statusText?: string | undefined;
  /** A 408 that arrived before the request was fully written. */
  readonly isEarly?: boolean;
}

/** A complete response; the body of an error is cut at 64 KiB. */
export interface ServiceResponse extends ResponseHead {
  readonly body: Uint8Array;
  /** The reason why the body cannot be decoded; it is empty then. */
  readonly unreadable?: string | undefined;
  readonly connection?: { drop(): void };
}

/** The cause of a missing or incomplete response. */
export interface TransportError {
  /**
   * `unreachable`: no connection. `untrusted`: TLS verification failed. `not-local`: a local name resolved to another
   * machine. `lost`: the connection broke. `unusable`: the response is not HTTP. `stopped`: canceled.
   */
  readonly kind: 'unreachable' | 'untrusted' | 'not-local' | 'timeout' | 'lost' | 'unusable' | 'too-large' | 'stopped';
  /** `connection refused` */
  readonly reason: string;
  readonly cause?: unknown;
}

export type Attempt =
  | { readonly response: ServiceResponse; readonly error?: undefined; readonly head?: undefined }
  | {
      readonly response?: undefined;
      readonly error: TransportError;
      /** A byte of the request may have been written; if not, it had no effect. */
      readonly wasSent: boolean;
      readonly head?: ResponseHead | undefined;
    };

export interface AttemptLimits {
  /** From connecting to the last byte of the response. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Use a new connection: the previous response was unusable. */
  readonly isFresh?: boolean;
  readonly phases?: ReturnType<typeof defaultPhases> | undefined;
}

/**
 * The time from the request to the end of the headers, and between two chunks of the body: 60 s and 30 s (limits-1);
 * longer where the whole attempt may take more than 120 s.
 */
export function defaultPhases(timeoutMs: number): { readonly headersMs: number; readonly idleMs: number } {
  return { headersMs: Math.max(60_000, timeoutMs / 2), idleMs: Math.max(30_000, timeoutMs / 4) };
}

export interface Transport {
  /** The base URL for messages, without user info or query. */
  readonly address: string;
  /** Sends once. Never rejects. */
  send(request: ApiRequest, limits: AttemptLimits): Promise<Attempt>;
  /** Removes the token, which a response may have repeated, from a string. */
  readonly hide: (text: string) => string;
  /** The advice about the token, after a response with 401. */
  readonly tokenHint?: () => string | undefined;
  /** Closes sockets and files; requests in flight are cut off. */
  close(): Promise<void>;
}

/** The limit of a response body (responses-1). */
export const responseBytesMax = 8 * 1024 * 1024;

/** The limit of the body of an error response (responses-1). */
export const errorBytesMax = 64 * 1024;

export const tooLarge: TransportError = { kind: 'too-large', reason: 'the response is larger than 8 MiB' };

export function isSuccess({ status }: Pick<ResponseHead, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** An error code of our own: a loopback name resolves to another machine. */
export const notLocal = 'ERR_NOT_LOCAL';

const oldTls = 'the server does not support TLS 1.2 or later';
const clientCertificate = 'the server requires a client certificate, which listctl does not support';

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
  // TLS: OpenSSL's X509_V_ERR_… names, and Node's own.
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

/** OpenSSL's messages for data that is not TLS; they depend on the bytes and on its version. */
const notTls = /wrong version number|packet length too long|http request|unexpected message/;

/** Errors of the parser that Node and undici share. */
const parserCodes = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$)/;

export function toTransportError(error: unknown, wasSent: boolean): TransportError {
  // Node tried several addresses, each with its own error.
  if (error instanceof AggregateError && error.errors.length > 0) return toTransportError(error.errors[0], wasSent);
  const cause: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const { name, message } = cause;
  const code = codeOf(cause);
  // undici's parser errors have a name and no code.
  const isParserError = parserCodes.test(code) || name === 'HTTPParserError';
  if (isParserError && /EOF/.test(code + message))
    return { kind: 'lost', reason: reasons['UND_ERR_SOCKET'] ?? '', cause };
  if (isParserError) return notHttp(error);
  // undici's errors for unrequested responses, an unexpected 100, and a 101.
  if (/^bad (response|upgrade)$/.test(message) || code === 'ERR_ASSERTION')
    return { kind: 'unusable', reason: unexpectedResponse, cause };
  return { kind: wasSent ? 'lost' : kindBeforeSending(code), reason: reasonOf(cause), cause };
}

/** The code of a DOMException is a number. */
function codeOf({ code }: NodeJS.ErrnoException): string {
  return typeof code === 'string' ? code : '';
}

function reasonOf(cause: Error): string {
  // OpenSSL's text is in `reason`: the message also has file names and pointers.
  const { message, library, reason }: Error & { readonly library?: string; readonly reason?: string } = cause;
  if (notTls.test(message)) return 'the server does not use TLS; this may be an http port';
  const code = codeOf(cause);
  const text = library === undefined ? message || code : `TLS failed: ${reason ?? code}`;
  // OpenSSL 3.5 (Node 26) renamed the SSLv3 alerts.
  return reasons[code.replace('SSL/TLS_ALERT', 'SSLV3_ALERT')] ?? text;
}

function kindBeforeSending(code: string): TransportError['kind'] {
  if (code === notLocal) return 'not-local';
  return /CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$/.test(code) ? 'untrusted' : 'unreachable';
}

/** An unrequested 100 or 101. */
export const unexpectedResponse = 'unexpected response';

export function notHttp(cause: unknown): TransportError {
  return { kind: 'unusable', reason: 'the response is not HTTP', cause };
}
