/** The built-in service of Microsoft Graph behind a real port, and a directory for manifests of its list `Books`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseJson } from '../../../src/core/json.ts';
import { parseSchema } from '../../../src/server/graph/columns.ts';
import type { ScriptedAnswer } from '../../support/scripted-service.ts';
import { type Run, run } from '../../support/test-host.ts';
import { graphIn, type schemaOf } from '../../unit/server/graph/graph-in.ts';
import { type ManyWorld, manyWorld } from '../bulk/bulk-world.ts';
import type { StateShown } from './fixtures.ts';
import type { JsonFields } from './item-service.ts';

export type ColumnDefinitions = Parameters<typeof schemaOf>[0][string];

/** An answer in the place of the service's own, which may have been carried out all the same. */
export type GraphScript = (
  request: string,
  body: string,
) => (ScriptedAnswer & { readonly applies?: boolean }) | undefined;

export interface GraphWorld extends AsyncDisposable {
  readonly url: string;
  /** As `GET /sites/…`, oldest first. */
  readonly requests: string[];
  /** The bodies of the requests that were no GET. */
  readonly bodies: string[];
  script: GraphScript;
  file: ManyWorld['file'];
  text: ManyWorld['text'];
  /** Runs a command line in the directory; its state is that of `books.csv` or `books.yaml`. */
  run(...words: readonly string[]): Promise<Run>;
  /** The requests that were no GET, as `POST`, `PATCH 1` or `DELETE 2`. */
  writes(): readonly string[];
  /** Somebody else adds an item, in the form in which it is written; returns its id. */
  add(fields: JsonFields): Promise<string>;
  change(id: string, fields: JsonFields): Promise<void>;
  remove(id: string): Promise<void>;
  fields(id: string): Promise<JsonFields>;
  known(name: string): StateShown;
}

const items = '/sites/root/lists/Books/items';

/** @param columns undefined for a list that may have any field */
export async function graphWorld(columns?: ColumnDefinitions): Promise<GraphWorld> {
  const users = [{ id: 7, EMail: 'ann@contoso.com' }];
  const schema = JSON.stringify({ lists: [{ title: 'Books', columns }], users });
  const graph = await graphIn(columns === undefined ? {} : { schema: parseSchema(parseJson(schema)) });
  const server = createServer((incoming, response) => {
    void (async () => {
      const { method = '', url = '', headers } = incoming;
      const body = await textOf(incoming);
      const path = url.replace(/^\/v1\.0/, '');
      const request = `${method} ${path}`;
      world.requests.push(request);
      if (method !== 'GET') world.bodies.push(body);
      const scripted = world.script(request, body);
      const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      const isCarriedOut = scripted === undefined || scripted.applies === true;
      const own = isCarriedOut ? await graph.send(method, path, body || undefined, plain) : undefined;
      respond(scripted ?? own ?? { status: 500 }, response);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1.0`;
  const many = await manyWorld({ url });
  const env = { ...many.env, LISTCTL_SERVICE: 'graph', LISTCTL_SITE: 'root', LISTCTL_LIST: 'Books' };
  const send = async (...request: Parameters<typeof graph.send>) => {
    const answer = await graph.send(...request);
    if (answer.status >= 300) throw new Error(answer.body);
    return answer.json;
  };
  const world: GraphWorld = {
    url,
    requests: [],
    bodies: [],
    script: () => undefined,
    ...{ file: many.file, text: many.text },
    run: (...words) => run(words, { cwd: many.path, env }),
    writes: () =>
      world.requests
        .filter((request) => !request.startsWith('GET'))
        .map((request) => request.replace(/^(\w+) .*?items(?:\/(\d+))?(?:\/fields)?$/, '$1 $2').trim()),
    add: async (fields) => (await send('POST', items, { fields })).id,
    change: async (id, fields) => void (await send('PATCH', `${items}/${id}/fields`, fields)),
    remove: async (id) => void (await send('DELETE', `${items}/${id}`)),
    fields: async (id) => (await send('GET', `${items}/${id}?$expand=fields`)).fields,
    known: (name) => JSON.parse(many.text(join('.', name))) as StateShown,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await many[Symbol.asyncDispose]();
      await graph[Symbol.asyncDispose]();
    },
  };
  return world;
}

function respond({ status, headers, body, cut }: ScriptedAnswer, response: ServerResponse): void {
  if (cut) response.destroy();
  else response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
