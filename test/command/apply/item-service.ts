/** The built-in service behind a real HTTP port, whose answer to each request a test may decide; others are at work on it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listItemService } from '../../../src/server/handle.ts';
import type { ServiceResponse } from '../../../src/server/message.ts';
import type { Key, Store, Transaction } from '../../../src/server/store.ts';
import { listening } from '../../support/loopback-server.ts';
import { type ListRequest, readRequest, type Script, sendAnswer } from '../bulk/list-service.ts';

export type JsonFields = Readonly<Record<string, unknown>>;

/** A running one; whatever is not `readonly` may be replaced at any time. */
export interface ItemService extends AsyncDisposable {
  readonly url: string;
  readonly requests: ListRequest[];
  script: Script;
  /** Else it knows nothing of Idempotency-Key. */
  honorsKeys: boolean;
  /** Else its answers have no ETag. */
  givesEtags: boolean;
  /** Told what was carried out: the id that it was about. */
  onApplied: (request: ListRequest, id: string) => void;
  /** The requests that were no GET, as `POST a`, `PATCH 1` or `DELETE 2`: creates by their title. */
  writes(): readonly string[];
  /** What the list `tasks` of site `home` holds, by id. */
  items(): ReadonlyMap<string, JsonFields>;
  add(fields: JsonFields): Promise<string>;
  change(id: string, fields: JsonFields): Promise<void>;
  remove(id: string): Promise<void>;
}

const listPath = '/sites/home/lists/tasks/items';

export async function itemService(): Promise<ItemService> {
  const store = memoryStore();
  const handle = listItemService(store, () => Date.now());
  const requests: ListRequest[] = [];
  const apply = async (request: ListRequest): Promise<ServiceResponse> => {
    const { method, path, headers, body } = request;
    const { 'idempotency-key': key, ...others } = headers;
    const sent = service.honorsKeys && typeof key === 'string' ? { ...others, 'idempotency-key': key } : others;
    const answer = await handle({
      ...{ method, path: path.replace(/^\/v1\.0/, ''), headers: plain(sent), body: Buffer.from(body) },
    });
    if (answer.status < 300) service.onApplied(request, request.id ?? idOf(answer));
    const { etag, ...rest } = answer.headers;
    return etag === undefined || service.givesEtags ? answer : { ...answer, headers: rest };
  };
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await readRequest(incoming, requests);
    const scripted = service.script(request);
    const own = scripted === undefined || scripted.applies ? await apply(request) : undefined;
    await sendAnswer(response, scripted ?? { ...own, status: own?.status ?? 500 });
  };
  const server = createServer((incoming, response) => void answer(incoming, response));
  const listener = await listening(server);
  const ask = async (method: string, id?: string, fields?: JsonFields) => {
    const headers = fields === undefined ? {} : { 'content-type': 'application/json' };
    const body = Buffer.from(fields === undefined ? '' : JSON.stringify({ fields }));
    const { status, body: text } = await handle({ method, path: id ? `${listPath}/${id}` : listPath, headers, body });
    if (status >= 400) throw new Error(text);
    return text;
  };
  const service: ItemService = {
    ...listener,
    requests,
    ...{ script: () => undefined, honorsKeys: false, givesEtags: true },
    onApplied: () => {},
    writes: () =>
      requests
        .filter(({ method }) => method !== 'GET')
        .map(({ method, id, fields }) => `${method} ${id ?? String(fields['Title'])}`),
    items: () => itemsIn(store.records),
    add: async (fields) => (JSON.parse(await ask('POST', undefined, fields)) as { readonly id: string }).id,
    change: async (id, fields) => void (await ask('PATCH', id, fields)),
    remove: async (id) => void (await ask('DELETE', id)),
  };
  return service;
}

function itemsIn(records: ReadonlyMap<string, string>): ReadonlyMap<string, JsonFields> {
  const items = new Map<string, JsonFields>();
  for (const [name, record] of records) {
    const [kind, , number] = JSON.parse(name) as readonly unknown[];
    if (kind === 'item') items.set(String(number), JSON.parse(record.slice(record.indexOf(' ') + 1)));
  }
  return items;
}

function idOf({ body }: ServiceResponse): string {
  return body === '' ? '' : (JSON.parse(body) as { readonly id: string }).id;
}

function plain(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** A store of the built-in service in memory, for tests that make thousands of them. */
interface MemoryStore extends Store {
  readonly records: ReadonlyMap<string, string>;
}

function memoryStore(): MemoryStore {
  let records = new Map<string, string>();
  return {
    get records() {
      return records;
    },
    get: (key) => records.get(recordName(key)),
    entries: () => [],
    write: async (work) => {
      const changed = new Map(records);
      const result = work(transactionOn(changed));
      records = changed;
      return result;
    },
    close: async () => {},
  };
}

function transactionOn(records: Map<string, string>): Transaction {
  return {
    get: (key) => records.get(recordName(key)),
    put: (key, value) => {
      records.set(recordName(key), value);
    },
    remove: (key) => {
      records.delete(recordName(key));
    },
    // Only asked for keys of a day ago: no test lasts so long.
    entries: () => [],
  };
}

function recordName(key: Key): string {
  return JSON.stringify(key);
}
