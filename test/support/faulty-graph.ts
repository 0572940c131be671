/** The built-in service of Microsoft Graph, whose answers to creates and look-ups go wrong as a test says. */
import type { Service, ServiceRequest } from '../../src/server/message.ts';
import { graphServer } from './graph-server.ts';

/**
 * What becomes of a request: `lost` is a connection that is cut, before the request was carried out or after it; `empty` is
 * a look-up that finds nothing.
 */
export type Mishap =
  | 'lost'
  | 'done, lost'
  | '400'
  | '429'
  | '500'
  | 'done, 500'
  | '504'
  | 'done, 504'
  | 'empty'
  | undefined;

export interface FaultyGraph extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly ServiceRequest[];
  /** Of the creates and the look-ups to come, in their order; without a number of the last one for all further ones. */
  readonly mishaps: { creates: Mishap[]; lookUps: Mishap[] };
  /** The fields of all items, by id. */
  items(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>>;
  /** Creates an item, past all mishaps; `seen` changes what look-ups say of who created it, and when. */
  add(fields: object, seen?: { readonly createdDateTime?: string; readonly createdBy?: object }): Promise<void>;
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
  const seenAs = new Map<string, object>();
  const asSeen = (answer: Awaited<ReturnType<Service>> | undefined) => {
    if (answer === undefined || seenAs.size === 0) return answer;
    const page = JSON.parse(String(answer.body)) as { value?: { id: string }[] };
    const value = page.value?.map((item) => ({ ...item, ...seenAs.get(item.id) }));
    return { ...answer, body: JSON.stringify({ ...page, value }) };
  };
  const instead = (status: number, body: object) => ({
    ...{ status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  });
  const fault = { error: { code: 'generalException', message: 'Went wrong.' } };
  const answerTo = (mishap: NonNullable<Mishap>) => {
    if (mishap.endsWith('lost')) return undefined;
    return mishap === 'empty' ? instead(200, { value: [] }) : instead(Number(mishap.replace('done, ', '')), fault);
  };
  const server = await graphServer({ Books: columns }, [], (service: Service) => async (request) => {
    requests.push(request);
    const mishap = mishapOf(request);
    const isDone = mishap === undefined || mishap.startsWith('done');
    const answer = isDone ? await service(request) : undefined;
    if (mishap === undefined) return isLookUp(request) ? asSeen(answer) : answer;
    return answerTo(mishap);
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
    add: async (fields, seen) => {
      const { body } = await send('POST', '/sites/root/lists/Books/items', JSON.stringify({ fields }));
      if (seen !== undefined) seenAs.set((JSON.parse(String(body)) as { id: string }).id, seen);
    },
    counts: () => ({ creates: requests.filter(isCreate).length, lookUps: requests.filter(isLookUp).length }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
