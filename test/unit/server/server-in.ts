import { test as base } from 'vitest';
import type { FaultyService } from '../../../src/server/fault-injection.ts';
import { listItemService } from '../../../src/server/handle.ts';
import { type ServerOptions, startServer } from '../../../src/server/server.ts';
import { openStore } from '../../../src/server/store.ts';
import { type HttpAnswer, type HttpRequest, rawConnection, sendHttp } from '../../support/send-http.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const token = 'the-token-of-these-tests';
export const tasks = '/sites/home/lists/tasks/items';

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  /** Unexpected errors that were passed to it. */
  readonly errors: readonly unknown[];
  /** Sends a request to a path below the base address, with the right token unless the headers say otherwise. */
  send(path: string, request?: HttpRequest): Promise<HttpAnswer>;
  /** All that comes for these bytes until the connection is closed. */
  answerTo(bytes: string): Promise<string>;
  close(): Promise<void>;
}

export async function serving(service: FaultyService, options: Partial<ServerOptions> = {}): Promise<TestServer> {
  const errors: unknown[] = [];
  const server = await startServer(service, {
    host: '127.0.0.1',
    port: 0,
    token,
    onError: (error) => errors.push(error),
    ...options,
  });
  return {
    url: server.url,
    errors,
    send: (path, request = {}) =>
      sendHttp(server.url + path, { ...request, headers: { authorization: `Bearer ${token}`, ...request.headers } }),
    answerTo: async (bytes) => (await rawConnection(server.url, bytes)).closed(),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Serves the service over a store in a directory that is gone afterwards. */
export async function serverIn(options: Partial<ServerOptions> = {}, bytesFree?: () => number): Promise<TestServer> {
  const directory = await temporaryDirectory();
  const store = openStore(directory.path, bytesFree);
  const server = await serving(listItemService(store, Date.now), options);
  return {
    ...server,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** The head of a request to the list, as bytes; `lines` are further headers. */
export function headOf(method: string, lines: readonly string[] = [], path = `/v1.0${tasks}`): string {
  return [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`, ...lines, '\r\n'].join(
    '\r\n',
  );
}

export function createOf(fields: unknown): string {
  const body = JSON.stringify({ fields });
  const head = headOf('POST', ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]);
  return head + body;
}

/** A test with a server of its own. */
export const test = base.extend<{ server: TestServer }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  server: async ({}, use) => {
    await using server = await serverIn();
    await use(server);
  },
});
