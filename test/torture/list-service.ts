/** A list behind a loopback port that can be put back to what it was: its log is the truth of what was sent. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listening } from '../support/loopback-server.ts';

/** An item, with the key of the request that created it. */
export interface StoredItem {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
  readonly version: number;
}

export interface LoggedRequest {
  readonly method: string;
  /** The item that its path names; undefined for a create. */
  readonly id: string | undefined;
  readonly key: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A running list, `tasks` of site `home`. */
export interface ListService extends AsyncDisposable {
  readonly url: string;
  readonly items: ReadonlyMap<string, StoredItem>;
  /** What came since it was put back last. */
  readonly requests: readonly LoggedRequest[];
  onRequest: (request: LoggedRequest) => void;
  /** Remembers what it holds now; calling the result brings that back. */
  keep(): () => void;
}

export const refusedTitle = 'refused';

/** Starts an empty one; `honorsKeys` says whether a key that comes again makes no second item. */
export async function listService(honorsKeys: boolean): Promise<ListService> {
  const items = new Map<string, StoredItem>();
  const requests: LoggedRequest[] = [];
  let nextId = 1;
  const create = ({ key, fields }: LoggedRequest): Answer => {
    if (fields['Title'] === refusedTitle) return { status: 400, body: { error: 'it is refused' } };
    const earlier = [...items].find(([, item]) => honorsKeys && key !== undefined && item.key === key);
    if (earlier !== undefined) return answerOf(201, ...earlier);
    const id = String(nextId);
    nextId += 1;
    const item = { fields, key, version: 1 };
    items.set(id, item);
    return answerOf(201, id, item);
  };
  const apply = (request: LoggedRequest): Answer => {
    const { method, id } = request;
    if (id === undefined) return create(request);
    const item = items.get(id);
    if (item === undefined) return { status: 404, body: { error: 'no such item' } };
    if (method === 'GET') return answerOf(200, id, item);
    items.delete(id);
    if (method === 'DELETE') return { status: 204, body: undefined };
    const changed = { ...item, fields: { ...item.fields, ...request.fields }, version: item.version + 1 };
    items.set(id, changed);
    return answerOf(200, id, changed);
  };
  const server = createServer(async (incoming, response) => {
    const request = await requestOf(incoming);
    requests.push(request);
    service.onRequest(request);
    send(response, apply(request));
  });
  const listener = await listening(server);
  const service: ListService = {
    ...listener,
    items,
    requests,
    onRequest: () => {},
    keep: () => {
      const kept = [...items];
      const keptId = nextId;
      return () => {
        items.clear();
        for (const [id, item] of kept) items.set(id, item);
        nextId = keptId;
        requests.length = 0;
      };
    },
  };
  return service;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly etag?: string;
}

function answerOf(status: number, id: string, { fields, version }: StoredItem): Answer {
  return { status, body: { id, fields }, etag: `"${version}"` };
}

function send(response: ServerResponse, { status, body, etag }: Answer): void {
  response.writeHead(status, {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(etag === undefined ? {} : { etag }),
  });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function requestOf(incoming: IncomingMessage): Promise<LoggedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { method = '', url = '', headers } = incoming;
  const body = Buffer.concat(chunks).toString();
  return {
    method,
    id: /\/items\/([^/?]+)$/.exec(url)?.[1],
    key: String(headers['idempotency-key'] ?? '').replace(/^"(.*)"$/, '$1') || undefined,
    fields: body === '' ? {} : (JSON.parse(body) as { readonly fields: Record<string, unknown> }).fields,
  };
}
