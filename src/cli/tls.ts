/** Whom a run trusts over TLS. To be loaded where that is not simply what Node does. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TlsTrust } from '../api/tls.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, unreadable } from '../core/files.ts';
import type { Host } from '../core/host.ts';

/**
 * Reads the authorities of a file, which are trusted beside Node's own.
 *
 * @throws {Failure} usage, when the file is not there or holds no certificate; local-file, when it cannot be read
 */
export function trustWith(file: string, { env, cwd }: Pick<Host, 'env' | 'cwd'>): TlsTrust {
  const authorities = [certificatesIn(readCertificates(absolutePath(file, { cwd })), file)];
  const { NODE_EXTRA_CA_CERTS: more } = env;
  // Before Node 22.15 naming any authority leaves out these.
  if (more) authorities.push(readOrNothing(absolutePath(more, { cwd })));
  return { authorities, skipVerification: false };
}

function certificatesIn(text: string, file: string): string {
  const blocks = text.match(/-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]+-----END \1?CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0 || !blocks.every(isCertificate)) {
    throw new Failure('usage', `invalid --ca-file "${file}": expected PEM certificates`, {
      hint: 'pass a file with -----BEGIN CERTIFICATE----- lines; nothing was sent',
    });
  }
  return text;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error, '--ca-file: ');
  }
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Node says so itself, and goes on.
    return '';
  }
}
