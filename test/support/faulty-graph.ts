/** The built-in service of Microsoft Graph behind a real socket, whose answers to creates and look-ups go wrong as a test says. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseJson } from '../../src/core/json.ts';
import { parseSchema } from '../../src/service/graph/columns.ts';
import { graphService } from '../../src/service/graph/service.ts';
import { openStore } from '../../src/service/store.ts';
import type { SeenRequest } from './scripted-service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** What becomes of a request: `lost` is a connection that is cut, before the request was carried out or after it. */
export type Mishap = 'lost' | 'done, lost' | '400' | '429' | '500' | 'done, 500' | '504' | 'done, 504' | undefined;

export interface FaultyGraph extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly SeenRequest[];
  /** Of the creates and the look-ups to come, in their order; without a number of the last one for all further ones. */
  readonly mishaps: { creates: Mishap[]; lookUps: Mishap[] };
  /** The fields of all items, by id. */
  items(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>>;
  /** Creates an item, past all mishaps. */
  add(fields: object): Promise<void>;
  counts(): { readonly creates: number; readonly lookUps: number };
}

/** Starts one with a list `Books` of these columns. */
export async function faultyGraph(columns: readonly object[]): Promise<FaultyGraph> {
  const directory = await temporaryDirectory();
  const store = openStore(directory.path);
  const schema = parseSchema(parseJson(JSON.stringify({ lists: [{ title: 'Books', columns }] })));
  const service = graphService(store, () => Date.now(), { schema });
  const requests: SeenRequest[] = [];
  const mishaps: FaultyGraph['mishaps'] = { creates: [], lookUps: [] };
  const send = (method: string, path: string, body = '') => {
    const headers = { host: 'graph.example', 'content-type': 'application/json' };
    return service({ method, path, headers, body: Buffer.from(body) });
  };
  const isCreate = ({ method }: SeenRequest) => method === 'POST';
  const isLookUp = ({ path }: SeenRequest) => path.includes('$filter=');
  const mishapOf = (request: SeenRequest) => {
    const due = isCreate(request) ? mishaps.creates : isLookUp(request) ? mishaps.lookUps : [];
    return due.length > 1 ? due.shift() : due[0];
  };
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    requests.push(request);
    const mishap = mishapOf(request);
    const isDone = mishap === undefined || mishap.startsWith('done');
    const path = request.path.slice('/v1.0'.length);
    const answer = isDone ? await send(request.method, path, request.body) : undefined;
    if (mishap?.endsWith('lost')) return incoming.socket.resetAndDestroy();
    const status = mishap === undefined ? answer?.status : Number(mishap.replace('done, ', ''));
    const error = JSON.stringify({ error: { code: 'generalException', message: 'Went wrong.' } });
    response.writeHead(status ?? 500, { 'content-type': 'application/json' });
    return response.end(mishap === undefined ? answer?.body : error);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    env: {
      LISTCTL_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1.0`,
      ...{ LISTCTL_TOKEN: 'test-token', LISTCTL_SERVICE: 'graph', LISTCTL_SITE: 'root', LISTCTL_LIST: 'Books' },
      LISTCTL_STATE_DIR: directory.path,
    },
    ...{ requests, mishaps },
    items: async () => {
      const { body } = await send('GET', '/sites/root/lists/Books/items?$expand=fields&$top=5000');
      const { value } = JSON.parse(body) as { value: { id: string; fields: Record<string, unknown> }[] };
      return new Map(value.map(({ id, fields }) => [id, fields]));
    },
    add: async (fields) => {
      await send('POST', '/sites/root/lists/Books/items', JSON.stringify({ fields }));
    },
    counts: () => ({ creates: requests.filter(isCreate).length, lookUps: requests.filter(isLookUp).length }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers } = incoming;
  return { method, path, headers, body: Buffer.concat(chunks).toString() };
}
