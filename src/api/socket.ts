/** TCP connections and their time limit. */
import { connect, type Socket } from 'node:net';

export function openSocket(url: URL, deadline: ConnectDeadline): Promise<Socket> {
  const address = { host: hostOf(url), port: portOf(url) };
  return deadline.until(
    connect({ ...address, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }),
    'connect',
  );
}

/** Resolves after pending data has been read: the second immediate runs after the next poll of the sockets. */
export function afterReading(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

/** The host for a socket: without the brackets that a URL has around an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

export function connectionClosed(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
}

/** The time limit of one connection, across TCP, proxy and TLS. */
export class ConnectDeadline {
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = () => this.#expire(this.#signal.reason);
  /** Fails the current step. */
  #fail: (error: unknown) => void = () => {};
  #expired: { readonly error: unknown } | undefined;

  constructor(connectMs: number, signal: AbortSignal) {
    this.#signal = signal;
    const expire = () => this.#expire(new Error(`no connection within ${connectMs / 1000} s`));
    this.#timer = setTimeout(expire, connectMs);
    if (signal.aborted) this.#stop();
    else signal.addEventListener('abort', this.#stop, { once: true });
  }

  /** Resolves once the socket emits the event; destroys it and rejects if it fails or the time is up. */
  until(socket: Socket, event: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        socket.off(event, done);
        socket.off('close', closed);
        socket.destroy();
        reject(error);
      };
      const done = () => {
        socket.off('close', closed);
        resolve(socket);
      };
      const closed = () => fail(connectionClosed());
      this.#fail = fail;
      // Never removed: errors after this step must not crash the process.
      socket.on('error', fail);
      socket.once('close', closed);
      socket.once(event, done);
      if (this.#expired) fail(this.#expired.error);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#stop);
  }

  #expire(error: unknown): void {
    this.#expired = { error };
    this.#fail(error);
  }
}
