/** What a list holds, asked of the service itself, without the faults in between. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ServiceKind } from '../../src/settings/setting.ts';
import { token } from '../support/served-directory.ts';

/** The fields of an item; all of them are text here. */
export type TextFields = Readonly<Record<string, string>>;

const underWayMax = 16;

/** After this number of ids without an item there are no further items. */
const beyond = 32;

export interface ListContents {
  /** Adds an item for each of these, and gives their ids in the same order. */
  add(items: readonly TextFields[]): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
  /** Every item whose id is at most that number, by its id: the service counts them from 1. And those right after. */
  upTo(idMax: number): Promise<ReadonlyMap<string, TextFields>>;
}

export function listContents(service: string, path: string, kind: ServiceKind = 'list-item'): ListContents {
  const send = async (agent: Agent, method: string, url: string, body = ''): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const { authorization } = headers;
    const sent = request(url, { agent, method, headers: body === '' ? { authorization } : headers });
    const answer = new Promise<IncomingMessage>((resolve, reject) => sent.on('response', resolve).on('error', reject));
    sent.end(body);
    const { statusCode: status = 0 } = await answer;
    return { status, body: await text(await answer) };
  };
  /** Does the work for every number from 0 up to `count`. */
  const each = async (count: number, work: (at: number, agent: Agent) => Promise<void>) => {
    const agent = new Agent({ keepAlive: true, maxSockets: underWayMax });
    let at = 0;
    const one = async () => {
      for (; at < count; ) {
        at += 1;
        await work(at - 1, agent);
      }
    };
    await Promise.all(Array.from({ length: underWayMax }, one));
    agent.destroy();
  };
  return {
    add: async (items) => {
      const ids: string[] = [];
      await each(items.length, async (at, agent) => {
        const { status, body } = await send(agent, 'POST', service + path, JSON.stringify({ fields: items[at] }));
        if (status !== 201) throw new Error(`the service does not take an item: ${status} ${body}`);
        ids[at] = JSON.parse(body).id;
      });
      return ids;
    },
    remove: (id) =>
      each(1, async (_, agent) => {
        const { status, body } = await send(agent, 'DELETE', `${service}${path}/${id}`);
        if (status !== 204) throw new Error(`the service does not remove an item: ${status} ${body}`);
      }),
    upTo: async (idMax) => {
      const items = new Map<string, TextFields>();
      const read = (from: number, count: number) =>
        each(count, async (at, agent) => {
          const id = String(from + at);
          const query = kind === 'graph' ? '?$expand=fields' : '';
          const { status, body } = await send(agent, 'GET', `${service}${path}/${id}${query}`);
          if (status === 404) return;
          if (status !== 200) throw new Error(`the service does not give an item: ${status} ${body}`);
          items.set(id, ownFields(JSON.parse(body).fields));
        });
      await read(1, idMax);
      for (let [from, before] = [idMax + 1, -1]; items.size > before; from += beyond) {
        before = items.size;
        await read(from, beyond);
      }
      return items;
    },
  };
}

/** Without those that Microsoft Graph adds. */
function ownFields(fields: TextFields): TextFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => ownNames.has(name)));
}

const ownNames: ReadonlySet<string> = new Set(['Row', 'Title', 'Note', 'Kept', 'Mark']);

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Whether two items hold the same; undefined is one that is not there. */
export function isSame(one: TextFields | undefined, other: TextFields | undefined): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(fields: TextFields | undefined) {
  return fields === undefined ? undefined : Object.entries(fields).sort();
}
