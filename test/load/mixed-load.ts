/** Creates, reads, updates and deletes by autocannon at full speed, while the service is killed now and then. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Pool } from 'undici';
import { type ServedDirectory, serveDirectory, token } from '../support/served-directory.ts';
import { Acknowledged } from './acknowledged.ts';

export interface LoadEnd {
  readonly kills: number;
  readonly requests: number;
  /** Items that the service said it had created. */
  readonly items: number;
  readonly requestsPerSecond: number;
  /** A sentence for everything that must not be: it is empty. */
  readonly broken: readonly string[];
}

export interface LoadOptions {
  readonly seconds: number;
  /** The service is killed so often, at moments that chance gives, and once more at the end. */
  readonly kills: number;
  readonly connections: number;
}

const comparedAtOnce = 64;
const itemsPath = '/sites/home/lists/tasks/items';

/** Loads a service of its own, in this directory; its process is gone at the end. */
export async function mixedLoad(directory: string, options: LoadOptions): Promise<LoadEnd> {
  const service = await serveDirectory(directory);
  try {
    return await loadAndCompare(service, options);
  } finally {
    await service.kill();
  }
}

async function loadAndCompare(
  service: ServedDirectory,
  { seconds, kills, connections }: LoadOptions,
): Promise<LoadEnd> {
  const acknowledged = new Acknowledged();
  const unexpected: string[] = [];
  const legMs = (seconds * 1000) / (kills + 1);
  let requests = 0;
  let tookMs = 0;
  for (let leg = 0; leg <= kills; leg += 1) {
    if (leg > 0) await service.start();
    const startedAt = performance.now();
    requests += await loadUntilKilled(service, {
      ...{ acknowledged, unexpected, connections, leg },
      // Kills are at random times, and the load has a fixed duration.
      lastsMs: legMs * (0.5 + randomInt(1000) / 1000),
    });
    tookMs += performance.now() - startedAt;
  }
  await service.start();
  const differing = await compareAll(service, acknowledged);
  return {
    ...{ kills: kills + 1, requests, items: acknowledged.size },
    requestsPerSecond: (requests * 1000) / tookMs,
    broken: [...unexpected, ...acknowledged.broken, ...differing],
  };
}

interface Leg {
  readonly acknowledged: Acknowledged;
  readonly unexpected: string[];
  readonly connections: number;
  readonly leg: number;
  readonly lastsMs: number;
}

/**
 * One start of the service, from first request to kill. Each has an autocannon of its own: after a lost connection it
 * takes an answer for the one to the request that was lost, and that is not to be mistaken for the service's.
 *
 * @returns how many requests were answered
 */
async function loadUntilKilled(service: ServedDirectory, { lastsMs, connections, ...leg }: Leg): Promise<number> {
  const { pathname } = new URL(service.url);
  const running = autocannon({
    url: new URL(service.url).origin,
    connections,
    // It is stopped.
    duration: 3600,
    requests: [...requestsOf(`${pathname}${itemsPath}`, leg)] as autocannon.Request[],
  });
  try {
    // It ends before only where it cannot begin, and then it throws.
    await Promise.race([sleep(lastsMs), running]);
    await service.kill();
  } finally {
    // Its types have the promise alone: it is what tells and ends the load, too, where there is one (its README,
    // "autocannon.stop").
    (running as unknown as { stop?: () => void }).stop?.();
  }
  const { '2xx': good, non2xx } = await running;
  return good + non2xx;
}

/** What a connection keeps from one request to the next. */
interface Turn {
  id?: string;
}

interface LoadRequest {
  readonly method: string;
  setupRequest(request: object, turn: Turn): object | undefined;
  onResponse(status: number, body: string, turn: Turn): void;
}

/** What each connection does, again and again: an item that is changed and stays, and one that goes. */
function requestsOf(path: string, leg: Pick<Leg, 'acknowledged' | 'unexpected' | 'leg'>): readonly LoadRequest[] {
  const { acknowledged, unexpected } = leg;
  // New ones each time: autocannon writes a length into them, which would stay.
  const headers = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
  let made = 0;
  const isAnswered = (what: string, wanted: number, status: number, body: string) => {
    if (status !== wanted) unexpected.push(`${what} was answered ${status}: ${body}`);
    return status === wanted;
  };
  const create: LoadRequest = {
    method: 'POST',
    setupRequest: (request) => {
      made += 1;
      const fields = { Title: titleOf(leg.leg, made), Row: made };
      return { ...request, path, headers: headers(), body: JSON.stringify({ fields }) };
    },
    onResponse: (status, body, turn) => {
      if (!isAnswered('a create', 201, status, body)) return;
      const { id, fields } = JSON.parse(body);
      const { Title: title, Row: row } = fields;
      if (title !== titleOf(leg.leg, row)) unexpected.push(`a create was answered with other fields: ${body}`);
      acknowledged.created(id, { title, row });
      turn.id = id;
    },
  };
  /** A request about the item of this turn; without an item, the turn starts over. */
  const about = (method: string, toSend: (id: string) => object, taken: LoadRequest['onResponse']): LoadRequest => ({
    method,
    setupRequest: (request, { id }) =>
      id === undefined ? undefined : { ...request, path: `${path}/${id}`, headers: headers(), ...toSend(id) },
    onResponse: taken,
  });
  const update = about(
    'PATCH',
    (id) => {
      const note = `of leg ${leg.leg}, ${made}`;
      acknowledged.updating(id, note);
      return { body: JSON.stringify({ fields: { Note: note } }) };
    },
    (status, body, { id = '' }) => {
      if (isAnswered('an update', 200, status, body)) acknowledged.updated(id);
    },
  );
  const read = about(
    'GET',
    () => ({}),
    (status, body, { id }) => {
      if (isAnswered('a read', 200, status, body) && JSON.parse(body).id !== id) unexpected.push(`${id} is ${body}`);
    },
  );
  const remove = about(
    'DELETE',
    (id) => {
      acknowledged.deleting(id);
      return {};
    },
    (status, body, { id = '' }) => {
      if (isAnswered('a delete', 204, status, body)) acknowledged.deleted(id);
    },
  );
  return [create, update, read, create, remove];
}

function titleOf(leg: number, row: number): string {
  return `${leg}-${row}`;
}

async function compareAll({ url }: ServedDirectory, acknowledged: Acknowledged): Promise<readonly string[]> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: comparedAtOnce });
  try {
    return await acknowledged.compare(async (id) => {
      const path = `${pathname}${itemsPath}/${id}`;
      const answer = await pool.request({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } });
      const body = await answer.body.text();
      if (answer.statusCode === 404) return undefined;
      if (answer.statusCode !== 200) throw new Error(`a read was answered ${answer.statusCode}: ${body}`);
      return JSON.parse(body).fields;
    }, comparedAtOnce);
  } finally {
    await pool.close();
  }
}
