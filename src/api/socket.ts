/** TCP connections, and the time that they may take. */
import { connect, type Socket } from 'node:net';

/** A host and a port, as a socket wants them. */
export interface SocketTarget {
  readonly host: string;
  readonly port: number;
}

/** Opens a TCP connection. */
export function openSocket({ host, port }: SocketTarget, deadline: ConnectDeadline): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
  return deadline.until(socket, 'connect');
}

/**
 * Resolves once the sockets have been read: what had come by now has been told. The first immediate may run before the
 * next look at them, the second one runs after.
 */
export function afterReading(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

/** The host of a URL, as a socket wants it: a URL keeps the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** The port of an http or https URL. */
export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** The time that one connection has to come about, through all of its steps. */
export class ConnectDeadline {
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = () => this.#end(this.#signal.reason);
  /** Ends the step under way. */
  #fail: (error: unknown) => void = () => {};
  #over: { readonly error: unknown } | undefined;

  constructor(connectMs: number, signal: AbortSignal) {
    this.#signal = signal;
    const late = () => this.#end(new Error(`no connection within ${connectMs / 1000} s`));
    this.#timer = setTimeout(late, connectMs);
    if (signal.aborted) this.#stop();
    else signal.addEventListener('abort', this.#stop, { once: true });
  }

  /** Resolves with the socket once it has emitted the event; rejects, and destroys it, when it fails or is late. */
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
      const closed = () => fail(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }));
      this.#fail = fail;
      // It stays: errors after this step must not crash the process.
      socket.on('error', fail);
      socket.once('close', closed);
      socket.once(event, done);
      if (this.#over) fail(this.#over.error);
    });
  }

  /** It came about, or it did not: nothing is waited for any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#stop);
  }

  #end(error: unknown): void {
    this.#over = { error };
    this.#fail(error);
  }
}
