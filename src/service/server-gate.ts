import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopbackHost } from './loopback-host.ts';
import { Refusal } from './message.ts';

/** Looks at the head of a request; throws a Refusal when it may not come in. */
export type ServerGate = (request: Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'socket'>) => void;

/**
 * The checks of a server that strangers can reach, from the head of a request alone.
 *
 * A web page can make a browser send requests here: its `Origin` is refused, whatever it is, and so is a `Host` that
 * is not ours, by which a page would pass for us once its own name leads to this address (DNS rebinding). Whoever is
 * left must know the token.
 *
 * @param names the names of this server in lower case, beside those of loopback and the address that was called
 */
export function serverGate(token: string, names: readonly string[]): ServerGate {
  const expected = digestOf(token);
  const ourNames = new Set(names);
  return ({ headers, rawHeaders, socket }) => {
    // Node keeps the first of several; another program on the way may go by the last (RFC 9112, section 3.2).
    if (rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1) {
      throw new Refusal(400, 'there is more than one Host header');
    }
    const name = hostNameOf(headers.host);
    if (name === undefined || !(ourNames.has(name) || isLoopbackHost(name) || name === calledAddress(socket))) {
      throw new Refusal(403, 'the Host header does not name this server');
    }
    if (headers.origin !== undefined) throw new Refusal(403, 'web pages may not use this service');
    // Of digests, which are of one length, so that the time says nothing about either token.
    if (!timingSafeEqual(digestOf(bearerOf(headers.authorization)), expected)) {
      throw new Refusal(401, 'the bearer token is missing or wrong', { 'www-authenticate': 'Bearer' });
    }
  };
}

/** The name in a Host header, in lower case, without brackets and port. Whatever the port: it may be forwarded. */
function hostNameOf(host: string | undefined): string | undefined {
  const { v6, name } = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? '')?.groups ?? {};
  return (v6 ?? name)?.toLowerCase();
}

/** The address of ours that a connection came to: a name that no DNS can give to somebody else. */
function calledAddress({ localAddress }: IncomingMessage['socket']): string | undefined {
  return localAddress?.replace(/^::ffff:/, '');
}

function bearerOf(authorization = ''): string {
  return /^Bearer +(?<token>[\x21-\x7e]+)$/i.exec(authorization)?.groups?.['token'] ?? '';
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
