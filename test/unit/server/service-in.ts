import { expect } from 'vitest';
import { listItemService } from '../../../src/server/handle.ts';
import type { ServiceResponse } from '../../../src/server/message.ts';
import { openStore } from '../../../src/server/store.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { test as base } from '../../support/test-in-directory.ts';

export interface ReadAnswer extends ServiceResponse {
  readonly json: unknown;
}

/** A service over a real store in a separate directory, and a clock that is set manually. */
export interface TestService extends AsyncDisposable {
  readonly directory: string;
  /** What the service takes for now, in milliseconds since 1970. */
  now: number;
  /** Sends a request; a body that is not a string is sent as JSON, and what has a body is `application/json`. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ReadAnswer>;
  create(fields: unknown, list?: string): Promise<string>;
  /** Closes the store and opens it again, as the next process would. */
  reopen(): Promise<void>;
}

export const tasks = '/sites/home/lists/tasks/items';

export async function serviceIn(given?: TemporaryDirectory): Promise<TestService> {
  const directory = given ?? (await temporaryDirectory());
  let store = openStore(directory.path);
  const service: TestService = {
    directory: directory.path,
    now: Date.UTC(2026, 0, 1),
    async send(method, path, body, headers = {}) {
      const bytes = body instanceof Uint8Array ? body : Buffer.from(textOf(body));
      const contentType = bytes.length > 0 ? { 'content-type': 'application/json' } : {};
      const handle = listItemService(store, () => service.now);
      const answer = await handle({ method, path, headers: { ...contentType, ...headers }, body: bytes });
      return { ...answer, json: answer.body === '' ? undefined : JSON.parse(answer.body) };
    },
    async create(fields, list = tasks) {
      const answer = await service.send('POST', list, { fields });
      expect(answer.status).toBe(201);
      return (answer.json as { id: string }).id;
    },
    async reopen() {
      await store.close();
      store = openStore(directory.path);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      if (given === undefined) await directory[Symbol.asyncDispose]();
    },
  };
  return service;
}

function textOf(body: unknown): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** A test with a service of its own, and a directory for another one. */
export const test = base.extend<{ service: TestService }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  service: async ({}, use) => {
    await using service = await serviceIn();
    await use(service);
  },
});
