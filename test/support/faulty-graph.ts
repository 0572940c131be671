/** The built-in service of Microsoft Graph, whose answers to creates and look-ups go wrong as a test says. */
import type { Service, ServiceRequest } from '../../src/service/message.ts';
import { graphServer } from './graph-server.ts';

/** What becomes of a request: `lost` is a connection that is cut, before the request was carried out or after it. */
export type Mishap = 'lost' | 'done, lost' | '400' | '429' | '500' | 'done, 500' | '504' | 'done, 504' | undefined;

export interface FaultyGraph extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly ServiceRequest[];
  /** Of the creates and the look-ups to come, in their order; without a number of the last one for all further ones. */
  readonly mishaps: { creates: Mishap[]; lookUps: Mishap[] };
  /** The fields of all items, by id. */
  items(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>>;
  /** Creates an item, past all mishaps. */
  add(fields: object): Promise<void>;
  counts(): { readonly creates: number; readonly lookUps: number };
}

const isCreate = ({ method }: ServiceRequest) => method === 'POST';
const isLookUp = ({ path }: ServiceRequest) => path.includes('$filter=');

/** Starts one with a list `Books` of these columns. */
export async function faultyGraph(columns: readonly object[]): Promise<FaultyGraph> {
  const requests: ServiceRequest[] = [];
  const mishaps: FaultyGraph['mishaps'] = { creates: [], lookUps: [] };
  const mishapOf = (request: ServiceRequest) => {
    const due = isCreate(request) ? mishaps.creates : isLookUp(request) ? mishaps.lookUps : [];
    return due.length > 1 ? due.shift() : due[0];
  };
  const server = await graphServer({ Books: columns }, [], (service: Service) => async (request) => {
    requests.push(request);
    const mishap = mishapOf(request);
    const isDone = mishap === undefined || mishap.startsWith('done');
    const answer = isDone ? await service(request) : undefined;
    if (mishap === undefined || mishap.endsWith('lost')) return mishap === undefined ? answer : undefined;
    const body = JSON.stringify({ error: { code: 'generalException', message: 'Went wrong.' } });
    return { status: Number(mishap.replace('done, ', '')), headers: { 'content-type': 'application/json' }, body };
  });
  const send = (method: string, path: string, body = '') => {
    const headers = { host: 'graph.example', 'content-type': 'application/json' };
    return server.service({ method, path, headers, body: Buffer.from(body) });
  };
  return {
    env: { ...server.env, LISTCTL_SITE: 'root' },
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
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
