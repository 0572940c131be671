/** TLS on a socket. A file of its own, so that plain http does not load it: that takes 5 ms, and the roots 19 more. */
import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';
import type { ConnectDeadline } from './socket.ts';

/** Whom to trust. */
export interface TlsTrust {
  /** Certificates of more authorities, in PEM. */
  readonly authorities: readonly string[];
  /** Whoever answers is taken for the service. */
  readonly skipVerification: boolean;
}

/** Puts TLS on a socket; resolves once the other side has proved to be the host. */
export type TlsConnector = (socket: Socket, deadline: ConnectDeadline) => Promise<Socket>;

/** Makes what puts TLS on sockets to a host. What is costly is done once, whatever comes of a connection. */
export function createTlsConnector(
  host: string,
  trust: TlsTrust = { authorities: [], skipVerification: false },
): TlsConnector {
  const { authorities, skipVerification } = trust;
  const secureContext = tls.createSecureContext(
    authorities.length === 0 ? {} : { ca: [...usualAuthorities(), ...authorities] },
  );
  let session: Buffer | undefined;
  return (socket, deadline) => {
    const secured = tls.connect({
      socket,
      secureContext,
      host,
      // SNI takes no IP address (RFC 6066, section 3).
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
      ALPNProtocols: ['http/1.1'],
      // Said in any case: else Node would take NODE_TLS_REJECT_UNAUTHORIZED for it.
      rejectUnauthorized: !skipVerification,
    });
    // Node leaves the socket below open when it ends the one above for a bad certificate.
    secured.on('close', () => socket.destroy());
    secured.on('session', (latest: Buffer) => {
      session = latest;
    });
    return deadline.until(secured, 'secureConnect');
  };
}

/** Node's trusted authorities; before 22.15 without NODE_EXTRA_CA_CERTS, which the caller has to add. */
function usualAuthorities(): readonly string[] {
  const { getCACertificates, rootCertificates }: typeof tls & NewerTls = tls;
  return getCACertificates?.('default') ?? rootCertificates;
}

interface NewerTls {
  readonly getCACertificates?: (type: 'default') => readonly string[];
}
