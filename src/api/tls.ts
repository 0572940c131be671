/** TLS on a socket, and the certificates to trust. Loaded lazily: `node:tls` takes 5 ms, and the roots 19 more. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { Failure } from '../core/errors.ts';
import { absolutePath, attempt, readAtMost, unreadable } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import type { ConnectDeadline } from './socket.ts';

export interface TlsTrust {
  /** Further CA certificates, in PEM. */
  readonly authorities: readonly string[];
  readonly skipVerification: boolean;
}

/** Creates a function that starts TLS on a socket; its promise resolves once the server's certificate is verified. */
export function createTlsConnector(
  host: string,
  { authorities, skipVerification }: TlsTrust = { authorities: [], skipVerification: false },
): (socket: Socket, deadline: ConnectDeadline) => Promise<Socket> {
  const secureContext = tls.createSecureContext(
    authorities.length === 0 ? {} : { ca: [...defaultAuthorities(), ...authorities] },
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
      // Always set: otherwise Node uses NODE_TLS_REJECT_UNAUTHORIZED.
      rejectUnauthorized: !skipVerification,
    });
    // Node leaves the TCP socket open when it rejects a certificate.
    secured.on('close', () => socket.destroy());
    secured.on('session', (latest: Buffer) => {
      session = latest;
    });
    return deadline.until(secured, 'secureConnect');
  };
}

/** Node's CA certificates; before 22.15 without those of NODE_EXTRA_CA_CERTS. */
function defaultAuthorities(): readonly string[] {
  const {
    getCACertificates,
    rootCertificates,
  }: typeof tls & {
    readonly getCACertificates?: (type: 'default') => readonly string[];
  } = tls;
  return getCACertificates?.('default') ?? rootCertificates;
}

/** Reads the CA certificates of `--ca-file`, to be trusted in addition to Node's. */
export function readTrust(file: string, { env, cwd }: Pick<Host, 'env' | 'cwd'>): TlsTrust {
  const authorities = [checkCertificates(readCertificates(absolutePath(file, { cwd })), file)];
  const { NODE_EXTRA_CA_CERTS: more } = env;
  // Node has already warned about a file that cannot be read.
  if (more) authorities.push(attempt(() => readFileSync(absolutePath(more, { cwd }), 'utf8')) ?? '');
  return { authorities, skipVerification: false };
}

function checkCertificates(text: string, file: string): string {
  const blocks = text.match(/-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]+-----END \1?CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0 || !blocks.every((block) => attempt(() => new X509Certificate(block)))) {
    throw new Failure('usage', `invalid --ca-file "${file}": expected PEM certificates`, {
      hint: 'pass a file with -----BEGIN CERTIFICATE----- lines',
    });
  }
  return text;
}

/** A hundred times the certificates that browsers trust. */
const certificatesBytesMax = 16 * 1024 * 1024;

function readCertificates(file: string): string {
  try {
    return readAtMost(file, certificatesBytesMax).toString();
  } catch (error) {
    throw unreadable(file, error, '--ca-file: ');
  }
}
