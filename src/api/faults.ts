/** Errors of sockets, of TLS and of both HTTP parsers, as faults. */
import type { Fault, FaultKind } from './transport.ts';

/** The code of an error, ours: a name that stands for this machine leads to another one. */
export const notLocal = 'ERR_NOT_LOCAL';

const oldTls = 'it offers no version of TLS that is safe (1.2 or later)';
const clientCertificate = 'it requires a client certificate, which listctl cannot send';

/** Error codes, in words. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'no answer while connecting',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed before the answer ended',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the connection was closed before the answer ended',
  // TLS: as OpenSSL's X509_V_ERR_… are named, and Node's own.
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is signed by an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by an authority that is not trusted here',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  EPROTO: 'TLS could not be agreed on',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: oldTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: oldTls,
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: oldTls,
  ERR_SSL_WRONG_SSL_VERSION: oldTls,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'it does not speak HTTP/1.1 over TLS',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: clientCertificate,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: clientCertificate,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'TLS could not be agreed on; it may require a client certificate',
};

/** How OpenSSL says that what came is no TLS: it depends on the bytes, and on its version. */
const notTls = /wrong version number|packet length too long|http request|unexpected message/;

/** Codes of answers that are no HTTP/1.1: of Node's parser and of undici's, which is the same one. */
const parserCodes = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$)/;

/** What an error of the socket or the parser means for an attempt. */
export function faultOf(error: unknown, wasSent: boolean): Fault {
  // Several addresses were tried: each has its own error, and the first tells enough.
  if (error instanceof AggregateError && error.errors.length > 0) return faultOf(error.errors[0], wasSent);
  const cause: TlsError = error instanceof Error ? error : new Error(String(error));
  const { name, message } = cause;
  const code = codeOf(cause);
  // undici's parser has the same errors as Node's, by name and without a code.
  const isOfParser = parserCodes.test(code) || name === 'HTTPParserError';
  if (isOfParser && /EOF/.test(code + message)) return { kind: 'lost', reason: reasons['UND_ERR_SOCKET'] ?? '', cause };
  if (isOfParser) return notHttp(error);
  // undici says so of what no request asked for, and of a 100 that nobody waits for; or, of a 101, that it never thought of it.
  if (/^bad (response|upgrade)$/.test(message) || code === 'ERR_ASSERTION')
    return { kind: 'unusable', reason: unasked, cause };
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
  if (notTls.test(message)) return 'it does not speak TLS; this may be a port for http';
  const code = codeOf(cause);
  const text = library === undefined ? message || code : `TLS failed: ${reason ?? code}`;
  // As OpenSSL 3.5 (Node 26) names the alerts that older ones call SSLv3's.
  return reasons[code.replace('SSL/TLS_ALERT', 'SSLV3_ALERT')] ?? text;
}

function kindBeforeSending(code: string): FaultKind {
  if (code === notLocal) return 'not-local';
  return /CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$/.test(code) ? 'untrusted' : 'unreachable';
}

/** What a 100 or a 101 is that nobody asked for. */
export const unasked = 'the answer is none to the request';

/** What comes from something else than a server of HTTP/1.1. */
export function notHttp(cause: unknown): Fault {
  return { kind: 'unusable', reason: 'the answer is not HTTP', cause };
}
