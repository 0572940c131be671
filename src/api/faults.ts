/** Errors of sockets, of TLS and of both HTTP parsers, as faults. */
import type { Fault } from './transport.ts';

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
};

/** How OpenSSL says that what came is no TLS: it depends on the bytes, and on its version. */
const notTls = /wrong version number|packet length too long|http request|unexpected message/;

/** Codes of answers that are no HTTP/1.1: of Node's parser and of undici's, which is the same one. */
const parserCodes = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$)/;

/** What an error of the socket or the parser means for an attempt. */
export function faultOf(error: unknown, wasSent: boolean): Fault {
  // Several addresses were tried: each has its own error, and the first tells enough.
  if (error instanceof AggregateError && error.errors.length > 0) return faultOf(error.errors[0], wasSent);
  const { name, code = '', message }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const cause = error;
  // undici's parser has the same errors as Node's, by name and without a code.
  const isOfParser = parserCodes.test(code) || name === 'HTTPParserError';
  if (isOfParser && /EOF/.test(code + message)) return { kind: 'lost', reason: reasons['UND_ERR_SOCKET'] ?? '', cause };
  if (isOfParser) return notHttp(error);
  // undici says so of what no request asked for, and of a 100 that nobody waits for; or, of a 101, that it never thought of it.
  if (/^bad (response|upgrade)$/.test(message) || code === 'ERR_ASSERTION')
    return { kind: 'unusable', reason: unasked, cause };
  const reason = notTls.test(message)
    ? 'it does not speak TLS; this may be a port for http'
    : (reasons[code] ?? (message || code));
  if (wasSent) return { kind: 'lost', reason, cause };
  return { kind: isDistrust(code) ? 'untrusted' : 'unreachable', reason, cause };
}

/** What a 100 or a 101 is that nobody asked for. */
export const unasked = 'the answer is none to the request';

/** What comes from something else than a server of HTTP/1.1. */
export function notHttp(cause: unknown): Fault {
  return { kind: 'unusable', reason: 'the answer is not HTTP', cause };
}

/** Whether the code is TLS's. */
function isDistrust(code: string): boolean {
  return /CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$/.test(code);
}
