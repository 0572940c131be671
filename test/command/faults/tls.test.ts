/** What TLS ends in, in words: OpenSSL's own have names of its files, and pointers. */
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer, type TlsOptions } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { environmentOf, runOneWay, verbs, ways } from '../../support/fault-ways.ts';
import { listening } from '../../support/loopback-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { run } from '../../support/test-host.ts';
import { newAuthority } from '../../support/tls-certificate.ts';

const authority = newAuthority();
const own = authority.issue({ address: '127.0.0.1' });
const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
const asksClient = { requestCert: true, rejectUnauthorized: true } as const;

const servers: readonly [what: string, options: TlsOptions, says: RegExp][] = [
  ['TLS 1.0 alone', old, /does not support TLS 1\.2/],
  ['HTTP/2 alone', { ALPNProtocols: ['h2'] }, /does not support HTTP\/1\.1/],
  ['a client certificate, TLS 1.3', { ...asksClient, minVersion: 'TLSv1.3' }, /client certificate/],
  ['a client certificate, TLS 1.2', { ...asksClient, maxVersion: 'TLSv1.2' }, /client certificate|connection was/],
  ['a cipher that nobody has', { ciphers: 'PSK-AES128-CBC-SHA256', maxVersion: 'TLSv1.2' }, /TLS handshake failed/],
];

describe.each(ways)('over $name', (way) => {
  test.each(servers)('%s', async (_, options, says) => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'authority.pem');
    await writeFile(file, authority.cert);
    const server = createServer({ ...own, ...options }, (socket) => socket.on('error', () => {}).end());
    server.on('tlsClientError', () => {});
    await using listener = await listening(server);
    const env = environmentOf({ url: listener.url.replace('http', 'https') });

    const words = [...verbs.get, '--ca-file', file, '--retries', '0'];
    const { exitCode, stderr } = await runOneWay(way, words, { env });

    expect(exitCode).toBe(7);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/openssl|routines|[0-9A-F]{8}:|\.c:\d/i);
  });
});

test('a --ca-file that is too large is not read, and nothing is sent', async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'large.pem');
  await writeFile(file, '');
  await truncate(file, 600_000_000);

  const words = [...verbs.get, '--ca-file', file];
  const { exitCode, stderr } = await run(words, { env: environmentOf({ url: 'https://127.0.0.1:1/v1.0' }) });

  expect([exitCode, stderr]).toEqual([
    10,
    expect.stringContaining(`--ca-file: cannot read ${file}: larger than 16 MiB`),
  ]);
});
