/** Servers of tests on a port of this machine. */
import type { AddressInfo, Server, Socket } from 'node:net';

/** Listens on a port, a free one by default. `url` is for a service over http; at its end all connections are cut. */
export async function listening(server: Server, wantedPort = 0, host = '127.0.0.1') {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    // What is cut is no error of the test.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(wantedPort, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/v1.0`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
