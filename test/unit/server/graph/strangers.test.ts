/** Clients that Microsoft and PnP wrote, against the service on a port: whether it speaks Graph, they decide. */
import {
  BatchRequestContent,
  BatchResponseContent,
  Client,
  type Context,
  type GraphError,
  HTTPMessageHandler,
  type Middleware,
  type PageCollection,
  PageIterator,
  RetryHandler,
  TelemetryHandler,
} from '@microsoft/microsoft-graph-client';
import type { ColumnDefinition, FieldValueSet, List, ListItem } from '@microsoft/microsoft-graph-types';
import { GraphBrowser, type GraphFI, graphfi } from '@pnp/graph';
import '@pnp/graph/batching.js';
import '@pnp/graph/columns/index.js';
import type { IListItems } from '@pnp/graph/list-item/index.js';
import '@pnp/graph/list-item/index.js';
import type { ILists } from '@pnp/graph/lists/index.js';
import '@pnp/graph/lists/index.js';
import type { ISites } from '@pnp/graph/sites/index.js';
import '@pnp/graph/sites/index.js';
import type { IColumns } from '@pnp/graph/columns/index.js';
import { describe, expect, test } from 'vitest';
import { graphErrorResponder } from '../../../../src/server/graph/errors.ts';
import { graphService } from '../../../../src/server/graph/service.ts';
import type { Service } from '../../../../src/server/message.ts';
import { openStore } from '../../../../src/server/store.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { serving, token } from '../server-in.ts';
import { booksSchema } from './graph-in.ts';

// PnP declares these for a resolution without file extensions.
declare module '@pnp/graph/fi.js' {
  interface GraphFI {
    readonly sites: ISites;
    batched(): [GraphFI, execute: () => Promise<void>];
  }
}
declare module '@pnp/graph/sites/types.js' {
  interface _Site {
    readonly lists: ILists;
  }
}
declare module '@pnp/graph/lists/types.js' {
  interface _List {
    readonly items: IListItems;
    readonly columns: IColumns;
  }
}

const host = 'contoso.sharepoint.com';
const sitePath = '/sites/library';

type Fields = Readonly<Record<string, unknown>>;

/** What a client is asked to do, with the list Books of a site that it finds by its path. */
interface Stranger {
  siteId(): Promise<string | undefined>;
  lists(): Promise<readonly List[]>;
  columns(): Promise<readonly ColumnDefinition[]>;
  create(fields: Fields): Promise<ListItem>;
  get(id: string): Promise<ListItem>;
  /** @returns the fields */
  update(id: string, fields: Fields): Promise<unknown>;
  delete(id: string): Promise<void>;
  /** All items, from pages of this size. */
  all(pageSize: number): Promise<readonly ListItem[]>;
  find(filter: string): Promise<readonly ListItem[]>;
  /** Status and code of an error. */
  readError(error: unknown): Promise<{ readonly status: number; readonly code: string | null }>;
}

/** Microsoft's own handler sends the token to https only. */
class Authentication implements Middleware {
  #next: Middleware | undefined;

  async execute(context: Context): Promise<void> {
    const { headers } = context.options ?? {};
    // The handlers after it put their response into this same object.
    context.options = { ...context.options, headers: { ...headers, Authorization: `Bearer ${token}` } };
    await this.#next?.execute(context);
  }

  setNext(next: Middleware): void {
    this.#next = next;
  }
}

function microsoftClient(url: string): Client {
  const chain = [new Authentication(), new RetryHandler(), new TelemetryHandler(), new HTTPMessageHandler()];
  return Client.initWithMiddleware({ middleware: chain, baseUrl: url.replace('v1.0', ''), defaultVersion: 'v1.0' });
}

function microsoft(url: string): Stranger {
  const client = microsoftClient(url);
  const site = `/sites/${host}:${sitePath}`;
  const list = `${site}:/lists/Books`;
  const items = `${list}/items`;
  // It knows the addresses of https only.
  const toPath = (link = '') => link.replace(url, '');
  return {
    siteId: async () => (await client.api(site).select('id').get()).id,
    lists: async () => (await client.api(`${site}:/lists`).get()).value,
    columns: async () => (await client.api(`${list}/columns`).get()).value,
    create: (fields) => client.api(items).post({ fields }),
    get: (id) => client.api(`${items}/${id}`).expand('fields').get(),
    update: (id, fields) => client.api(`${items}/${id}/fields`).patch(fields),
    delete: (id) => client.api(`${items}/${id}`).delete(),
    all: async (pageSize) => {
      const all: ListItem[] = [];
      const first: PageCollection = await client.api(items).expand('fields($select=Title)').top(pageSize).get();
      for (let page = first; ; page = await client.api(toPath(page['@odata.nextLink'])).get()) {
        await new PageIterator(client, { value: page.value }, (item: ListItem) => all.push(item) > 0).iterate();
        if (page['@odata.nextLink'] === undefined) return all;
      }
    },
    find: async (filter) => (await client.api(items).filter(filter).expand('fields').get()).value,
    readError: async (error) => {
      const { statusCode, code } = error as GraphError;
      return { status: statusCode, code };
    },
  };
}

function pnpGraph(url: string): GraphFI {
  return graphfi().using(GraphBrowser({ baseUrl: url }), (instance) => {
    instance.on['auth'].replace(async (address: URL, init: RequestInit) => [
      address,
      { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } },
    ]);
    return instance;
  });
}

function pnp(url: string): Stranger {
  const graph = pnpGraph(url);
  const site = () => graph.sites.getByUrl(host, sitePath);
  const list = async () => (await site()).lists.getById('Books');
  const items = async () => (await list()).items;
  return {
    siteId: async () => (await (await site())()).id,
    lists: async () => (await site()).lists(),
    columns: async () => (await list()).columns(),
    create: async (fields) => (await items()).add({ fields: fields as FieldValueSet }),
    get: async (id) => (await items()).getById(id).expand('fields')(),
    update: async (id, fields) => {
      const updated = await (await items()).getById(id).update({ fields: fields as FieldValueSet });
      return updated.fields;
    },
    delete: async (id) => (await items()).getById(id).delete(),
    all: async (pageSize) => {
      const all: ListItem[] = [];
      for await (const page of (await items()).expand('fields($select=Title)').top(pageSize)) {
        all.push(...page);
      }
      return all;
    },
    find: async (filter) => (await items()).filter(filter).expand('fields')(),
    readError: async (error) => {
      const { status, response } = error as { readonly status: number; readonly response: Response };
      return { status, code: ((await response.json()) as { error: { code: string } }).error.code };
    },
  };
}

async function libraryServer() {
  const directory = await temporaryDirectory();
  const store = openStore(directory.path);
  const respondError = graphErrorResponder(Date.now);
  const service = graphService(store, Date.now, { schema: booksSchema });
  const requests: string[] = [];
  const recording: Service = (request) => {
    requests.push(`${request.method} ${request.path}`);
    return service(request);
  };
  const server = await serving(recording, { respondError });
  return {
    ...server,
    requests,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

describe.each([
  ['@microsoft/microsoft-graph-client', microsoft],
  ['@pnp/graph', pnp],
] as const)('%s', (_, connect) => {
  test('finds site, list and columns', async () => {
    await using server = await libraryServer();
    const stranger = connect(server.url);

    expect(await stranger.siteId()).toMatch(/^contoso\.sharepoint\.com,/);
    expect(await stranger.lists()).toMatchObject([
      { displayName: 'Books', webUrl: `https://${host}${sitePath}/Lists/Books` },
    ]);
    expect(await stranger.columns()).toContainEqual(
      expect.objectContaining({ name: 'Key', enforceUniqueValues: true }),
    );
  });

  test('creates, reads, updates and deletes an item', async () => {
    await using server = await libraryServer();
    const stranger = connect(server.url);

    const created = await stranger.create({ Title: 'Dune', Count: 2, ShelfLookupId: 3 });
    expect(created).toMatchObject({ id: '1', fields: { Title: 'Dune', Count: 2, ShelfLookupId: '3' } });
    expect((await stranger.get('1')).fields).toEqual(created.fields);
    expect(await stranger.update('1', { Count: null, Done: true })).toMatchObject({ Title: 'Dune', Done: true });
    expect((await stranger.get('1')).fields).not.toHaveProperty('Count');
    await stranger.delete('1');
    expect(await stranger.all(10)).toEqual([]);
  });

  test('reads all pages, and what a filter finds', async () => {
    await using server = await libraryServer();
    const stranger = connect(server.url);
    for (const title of ["O'Neil", 'Emma', 'Dune']) await stranger.create({ Title: title, Code: title });

    const all = await stranger.all(2);

    expect(all).toMatchObject([
      { id: '1', fields: { Title: "O'Neil" } },
      { id: '2', fields: { Title: 'Emma' } },
      { id: '3', fields: { Title: 'Dune' } },
    ]);
    expect(await stranger.find("fields/Code eq 'O''Neil'")).toMatchObject([{ id: '1' }]);
  });

  test.each<[name: string, status: number, code: string, work: (stranger: Stranger) => Promise<unknown>]>([
    ['a missing item', 404, 'itemNotFound', (stranger) => stranger.get('9')],
    ['an unknown column', 400, 'invalidRequest', (stranger) => stranger.create({ Titel: 'x' })],
    ['an unindexed filter', 400, 'invalidRequest', (stranger) => stranger.find("fields/Title eq 'x'")],
    ['a value of the wrong shape', 500, 'generalException', (stranger) => stranger.create({ Tags: ['a'] })],
  ])('understands the error for %s', async (_name, status, code, work) => {
    await using server = await libraryServer();
    const stranger = connect(server.url);

    const error = await work(stranger).then(
      () => undefined,
      (reason: unknown) => stranger.readError(reason),
    );

    expect(error).toEqual({ status, code });
  });
});

test("Microsoft's client reads the response to its batch", async () => {
  await using server = await libraryServer();
  // Without the version, which it would leave in the relative URL (msgraph-sdk-javascript#1178).
  const books = 'https://graph.microsoft.com/sites/root/lists/Books/items';
  const create = (Key: string) =>
    new Request(books, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ fields: { Key } }),
    });
  const content = new BatchRequestContent([
    { id: '1', request: create('k1') },
    { id: '2', request: create('k1'), dependsOn: ['1'] },
  ]);

  const sent = await microsoftClient(server.url)
    .api('/$batch')
    .post(await content.getContent());

  const answers = new BatchResponseContent(sent);
  expect(answers.getResponseById('1').status).toBe(201);
  expect(answers.getResponseById('2').status).toBe(400);
  expect(await answers.getResponseById('1').json()).toMatchObject({ id: '1', fields: { Key: 'k1' } });
});

test('PnP reads the response to its batch', async () => {
  await using server = await libraryServer();
  const [graph, execute] = pnpGraph(server.url).batched();
  // Objects cannot be used twice in a batch (PnPjs, "Batching").
  const create = (fields: Fields) =>
    graph.sites
      .getById('root')
      .lists.getById('Books')
      .items.add({ fields: fields as FieldValueSet });
  const both = [create({ Title: 'Dune' }), create({ Titel: 'Emma' })];

  const settled = Promise.allSettled(both);
  await execute();

  expect(await settled).toMatchObject([
    { status: 'fulfilled', value: { id: '1', fields: { Title: 'Dune' } } },
    { status: 'rejected', reason: { status: 400 } },
  ]);
  expect(server.requests).toEqual(['POST /$batch']);
});
