/** What every kind of service promises, against the built-in server of the kind. */
import { expect, test } from 'vitest';
import { createClient } from '../../../src/api/client.ts';
import { defaultRetries } from '../../../src/api/outcome.ts';
import type { Transport } from '../../../src/api/transport.ts';
import { Failure } from '../../../src/core/errors.ts';
import { builtInServer, builtInServers } from '../../../src/server/index.ts';
import { openStore } from '../../../src/server/store.ts';
import { factsOf } from '../../../src/services/index.ts';
import { type ServiceKind, serviceKinds } from '../../../src/settings/setting.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testHost } from '../../support/test-host.ts';
import { booksSchema } from '../server/graph/graph-in.ts';

/** A service of a kind, and a client of its built-in server; it counts requests. */
async function serviceOf(kind: ServiceKind) {
  const directory = await temporaryDirectory();
  const host = testHost();
  const store = openStore(directory.path);
  const options = builtInServer(kind).takesSchema ? { schema: booksSchema } : undefined;
  const { service: handle } = await builtInServer(kind).open(store, () => host.clock.now(), options);
  let requests = 0;
  const transport: Transport = {
    address: 'local:',
    hide: (text) => text,
    send: async ({ method, path, headers, body = '' }) => {
      requests += 1;
      const { status, headers: named, body: text } = await handle({ method, path, headers, body: Buffer.from(body) });
      const lower = Object.entries(named).map(([name, value]) => [name.toLowerCase(), value]);
      return { response: { status, headers: Object.fromEntries(lower), body: Buffer.from(text) } };
    },
    close: async () => {},
  };
  const limits = { timeoutMs: 10_000, signal: host.signal, clock: host.clock, random: host.random, honorsKeys: false };
  const client = createClient(transport, { ...limits, ...defaultRetries });
  const list = kind === 'graph' ? { site: 'root', list: 'Books' } : { site: 'home', list: 'tasks' };
  const service = await factsOf(kind).load();
  const close = async () => {
    await store.close();
    await directory[Symbol.asyncDispose]();
  };
  return { service, facts: factsOf(kind), client, list, requests: () => requests, [Symbol.asyncDispose]: close };
}

/** The kinds with a built-in server. */
const kinds = serviceKinds.filter((kind) => kind in builtInServers);

const kindOf = (error: unknown) => (error instanceof Failure ? error.kind : error);

test.for(kinds)('%s: an item is created, read, changed under its tag, and deleted', async (kind) => {
  await using of = await serviceOf(kind);
  const { items } = of.service;
  const created = await of.client.send(items.create(of.list, { Title: 'a' }, undefined));
  const ref = { ...of.list, id: created.id };
  const read = await of.client.send(items.get(ref));

  expect(read).toMatchObject({ id: created.id, fields: { Title: 'a' }, etag: expect.any(String) });
  await of.client.send(items.update(ref, { Title: 'b' }, read.etag));
  expect(await of.client.send(items.update(ref, { Title: 'c' }, read.etag)).catch(kindOf)).toBe('conflict');
  await of.client.send(items.delete(ref));
  expect(await of.client.send(items.get(ref)).catch(kindOf)).toBe('not-found');
});

test.for(kinds)('%s: what it lacks is absent, and what it has comes as a whole', async (kind) => {
  await using of = await serviceOf(kind);
  const { service, facts } = of;
  const has = (member: keyof typeof service) => service[member] !== undefined;

  // A create of unknown outcome is found by a key of one sort or the other.
  expect(has('keyColumns')).toBe(!facts.takesKeys);
  expect(has('setup')).toBe(facts.takesListUrl);
  expect(has('resolve')).toBe(has('probe'));
  expect([has('list'), has('changes'), has('keyColumns'), has('systemFields')]).toEqual(Array(4).fill(has('schema')));
});

test.for(kinds)('%s: the facts of a kind name it to people, and to its operators', (kind) => {
  const { title, userAgent } = factsOf(kind);

  expect(title).toMatch(/\w/);
  expect(userAgent('1.2.3', undefined)).toMatch(/listctl\/1\.2\.3$/);
});

test.for(serviceKinds.filter((kind) => factsOf(kind).takesListUrl))(
  '%s: a list is found by its names, and its ids stay as they are without a request',
  async (kind) => {
    await using of = await serviceOf(kind);
    const { resolve = async () => of.list } = of.service;
    const ids = await resolve(of.list, async () => of.client);
    const asked = of.requests();

    expect(await resolve(ids, async () => of.client)).toEqual(ids);
    expect([asked > 0, of.requests()]).toEqual([true, asked]);
    await expect(resolve({ ...of.list, list: 'nothing' }, async () => of.client)).rejects.toMatchObject({
      kind: 'not-found',
    });
  },
);

test.for(kinds.filter((kind) => !factsOf(kind).takesKeys))(
  '%s: lists, changes, columns and keys agree on the items that there are',
  async (kind) => {
    await using of = await serviceOf(kind);
    const { items, schema, list, changes, keyColumns } = of.service;
    if (!(schema && list && changes && keyColumns)) throw new Error('not all are there');
    const columns = await schema(of.list, of.client);
    const fields = { Title: 'a', Count: 2, Done: true, Tags: ['a', 'b'] };
    const { id } = await of.client.send(items.create(of.list, columns.toSent(fields), undefined));

    const read = await of.client.send(items.get({ ...of.list, id }));
    const decoded = columns.decode(read.fields);
    const encoded = columns.encoder({})?.fields(Object.entries(decoded.fields));
    expect(decoded.fields).toMatchObject(fields);
    expect(encoded).toEqual({ fields: columns.toSent(decoded.fields), problems: [] });
    expect(columns.mayBeSent(read.fields, fields)).toBe(true);
    expect(columns.isSame('Count', 2, 2.0)).toBe(true);

    const pages: string[] = [];
    for await (const page of list(of.list, { where: [{ column: 'Count', value: '2' }] }, of.client)) {
      pages.push(...page.map((item) => item.id));
    }
    expect(pages).toEqual([id]);

    const first = await changes(of.list, { select: undefined, mark: undefined }, of.client);
    expect([...first.items()].map((item) => item.id)).toEqual([id]);

    const key = await keyColumns.open('Key', of.list, of.client);
    const keyed = await of.client.send(keyColumns.operations(key).create(of.list, { Title: 'k' }, { key: 'key-1' }));
    const found = await of.client.send(keyColumns.lookUp(of.list, { column: key.column, key: 'key-1' }));
    expect(found).toMatchObject({ value: { id: keyed.id } });
    const later = await changes(of.list, { select: undefined, mark: first.mark }, of.client);
    expect([...later.items()].map((item) => item.id)).toEqual([keyed.id]);
  },
);

test('a kind without a built-in server is refused by serve and local:', () => {
  expect(() => builtInServer('airtable')).toThrow(
    expect.objectContaining({ kind: 'usage', message: 'there is no built-in server for --service airtable' }),
  );
});
