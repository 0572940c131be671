/** A list behind a real HTTP port, whose answer to each request a test may decide, and which may be down for a while. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listening } from '../../support/loopback-server.ts';
import type { ScriptedAnswer, SeenRequest } from '../../support/scripted-service.ts';

/** A request, and what it is about. */
export interface ListRequest extends SeenRequest {
  /** From 1, over all of them. */
  readonly nth: number;
  /** The item that its path names; undefined for a create. */
  readonly id: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly title: string | undefined;
  /** The value of `Idempotency-Key`. */
  readonly key: string | undefined;
}

/** What becomes of a request: an answer in the place of the list's own; undefined for that. */
export type Script = (request: ListRequest) => (ScriptedAnswer & { readonly applies?: boolean }) | undefined;

/** A running list. */
export interface ListService extends AsyncDisposable {
  /** Its base address, with the version segment. */
  readonly url: string;
  readonly requests: readonly ListRequest[];
  /** What time it says it is, and forgets keys by after a day: real time by default; `none` says none. */
  time: (() => number) | 'none' | undefined;
  /** What it holds, by id. */
  readonly items: Map<string, Readonly<Record<string, unknown>>>;
  /** How many requests were under way at once, at most. */
  readonly atOnceMax: number;
  /** The titles of the requests, or the ids that they name, in the order in which they came. */
  about(): readonly string[];
  /** Nobody listens any more, and connections are cut. */
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
}

/** Starts a list; it ignores keys unless it is set to honor them. */
export async function listService(script: Script = () => undefined, honorsKeys = false): Promise<ListService> {
  const list = new List(script, honorsKeys);
  await list.comeBack();
  return list;
}

class List implements ListService {
  readonly requests: ListRequest[] = [];
  readonly items = new Map<string, Readonly<Record<string, unknown>>>();
  atOnceMax = 0;
  time: ListService['time'];
  readonly #script: Script;
  readonly #honorsKeys: boolean;
  readonly #ids = new Map<string, { readonly made: string; readonly atMs: number }>();
  #listener: Awaited<ReturnType<typeof listening>> | undefined;
  #port = 0;
  #nextId = 1;
  #underWay = 0;

  constructor(script: Script, honorsKeys: boolean) {
    this.#script = script;
    this.#honorsKeys = honorsKeys;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1.0`;
  }

  about(): readonly string[] {
    return this.requests.map(({ title, id }) => title ?? id ?? '');
  }

  async comeBack(): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response));
    this.#listener = await listening(server, this.#port);
    this.#port = this.#listener.port;
  }

  async goDown(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.goDown();
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#underWay += 1;
    this.atOnceMax = Math.max(this.atOnceMax, this.#underWay);
    response.on('close', () => {
      this.#underWay -= 1;
    });
    const request = await readRequest(incoming, this.requests);
    const scripted = this.#script(request);
    const own = scripted === undefined || scripted.applies ? this.#apply(request) : undefined;
    if (this.time === 'none') response.sendDate = false;
    else if (this.time !== undefined) response.setHeader('date', new Date(this.time()).toUTCString());
    await sendAnswer(response, scripted ?? own ?? { status: 500 });
  }

  #create(fields: ListRequest['fields'], key: string | undefined): ScriptedAnswer {
    const nowMs = typeof this.time === 'function' ? this.time() : Date.now();
    const found = key === undefined || !this.#honorsKeys ? undefined : this.#ids.get(key);
    const known = found !== undefined && nowMs - found.atMs < 86_400_000 ? found : undefined;
    const made = known?.made ?? String(this.#nextId);
    if (known === undefined) this.#nextId += 1;
    if (key !== undefined && known === undefined) this.#ids.set(key, { made, atMs: nowMs });
    this.items.set(made, fields);
    return { status: 201, body: { id: made, fields } };
  }

  #apply({ method, id, fields, key }: ListRequest): ScriptedAnswer {
    if (method === 'POST') return this.#create(fields, key);
    const item = this.items.get(id ?? '');
    if (id === undefined || item === undefined) return { status: 404, body: { error: `there is no item ${id}` } };
    if (method === 'DELETE') {
      this.items.delete(id);
      return { status: 204 };
    }
    const changed = method === 'PATCH' ? { ...item, ...fields } : item;
    this.items.set(id, changed);
    return { status: 200, body: { id, fields: changed } };
  }
}

/** Reads a request, and adds it to those before. */
export async function readRequest(incoming: IncomingMessage, earlier: ListRequest[]): Promise<ListRequest> {
  const { method = '', url: path = '', headers } = incoming;
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  const [, id] = /\/items\/([^/?]+)$/.exec(path) ?? [];
  const fields = body === '' ? {} : (JSON.parse(body) as { fields: Record<string, unknown> }).fields;
  const title = fields['Title'];
  const request = {
    ...{ method, path, headers, body, fields, nth: earlier.length + 1 },
    id: id === undefined ? undefined : decodeURIComponent(id),
    title: typeof title === 'string' ? title : undefined,
    key: headers['idempotency-key'] as string | undefined,
  };
  earlier.push(request);
  return request;
}

export async function sendAnswer(response: ServerResponse, answer: ScriptedAnswer): Promise<void> {
  const { status, headers = {}, body, cut, silent, after } = answer;
  await after;
  if (cut) response.socket?.resetAndDestroy();
  if (cut || silent) return;
  const isText = body === undefined || typeof body === 'string';
  response.writeHead(status, { ...(isText ? {} : { 'content-type': 'application/json' }), ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
