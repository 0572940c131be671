/** An HTTP proxy on a loopback port, which records everything that it received before a tunnel was open. */
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { listening } from './loopback-server.ts';
import type { ServerCertificate } from './tls-certificate.ts';

export interface ProxyRequest {
  /** `CONNECT host:443 HTTP/1.1`, or a whole request with an absolute address. */
  readonly line: string;
  /** All of it, as it came. */
  readonly head: string;
}

export interface ConnectProxyOptions {
  /** The loopback port that every tunnel leads to, whatever the name that was asked for. */
  readonly port?: number;
  /** Answers so, in the place of a tunnel. */
  readonly refusal?: Uint8Array;
  readonly certificate?: ServerCertificate;
}

export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly requests: readonly ProxyRequest[];
  connectionCount(): number;
}

export async function connectProxy({ port = 0, refusal, certificate }: ConnectProxyOptions): Promise<ConnectProxy> {
  const requests: ProxyRequest[] = [];
  let connectionCount = 0;
  const serve = (client: Socket) => {
    connectionCount += 1;
    client.on('error', () => {});
    let head = '';
    const listen = (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      client.off('data', listen);
      const [line = ''] = head.split('\r\n', 1);
      requests.push({ line, head });
      if (refusal !== undefined) return client.end(refusal);
      const target = connect(port, '127.0.0.1');
      client.on('close', () => target.destroy());
      target.on('error', () => {});
      target.once('connect', () => {
        if (line.startsWith('CONNECT ')) client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        else target.write(head, 'latin1');
        client.pipe(target).pipe(client);
      });
      return undefined;
    };
    client.on('data', listen);
  };
  const server = certificate === undefined ? createServer(serve) : createSecureServer(certificate, serve);
  const listener = await listening(server);
  const host = `127.0.0.1:${listener.port}`;
  return {
    ...listener,
    url: `${certificate === undefined ? 'http' : 'https'}://${host}`,
    host,
    requests,
    connectionCount: () => connectionCount,
  };
}
