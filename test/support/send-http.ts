/** HTTP as a test speaks it: whole requests with node:http, and bytes as they are on a socket. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a test says of a request; a `fields` is sent as the body of a create or an update. */
export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
  readonly fields?: unknown;
}

/** Sends a request on a connection of its own. Rejects when the connection breaks before the answer is whole. */
export function sendHttp(url: string, { method, headers = {}, body, fields }: HttpRequest = {}): Promise<HttpAnswer> {
  const content = fields === undefined ? body : JSON.stringify({ fields });
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      method: method ?? (content === undefined ? 'GET' : 'POST'),
      headers: {
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
      },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.end(content);
  });
}

export interface RawConnection {
  readonly socket: Socket;
  /** Resolves with all that came once it holds this text. */
  received(text: string): Promise<string>;
  /** Resolves with all that came once the other side has closed the connection. */
  closed(): Promise<string>;
}

export async function rawConnection(url: string, bytes = ''): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  let isClosed = false;
  const waiting = new Set<() => void>();
  const until = (condition: () => boolean) =>
    new Promise<string>((resolve) => {
      const look = () => {
        if (!condition()) return;
        waiting.delete(look);
        resolve(received);
      };
      waiting.add(look);
      look();
    });
  const changed = () => {
    for (const look of [...waiting]) look();
  };
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    changed();
  });
  socket.on('close', () => {
    isClosed = true;
    changed();
  });
  // A reset is a close, too.
  socket.on('error', () => {});
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.write(bytes);
  return { socket, received: (text) => until(() => received.includes(text)), closed: () => until(() => isClosed) };
}
