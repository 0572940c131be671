/** Delta queries: what changed in a list ("listItem: delta"). */
import { expect, test } from 'vitest';
import { books, graphIn } from './graph-in.ts';

const delta = `${books}/delta`;

type Graph = Awaited<ReturnType<typeof graphIn>>;

/** Follows the links from a path to the delta link. */
async function changesFrom(path: string, graph: Graph) {
  const seen: string[] = [];
  let pages = 0;
  for (let next = path; ; ) {
    const { status, json } = await graph.send('GET', next);
    expect({ status, json }).toMatchObject({ status: 200 });
    pages += 1;
    for (const { id, deleted, fields } of json.value) seen.push(deleted?.state ?? `${id} ${fields?.Title}`);
    const link = json['@odata.nextLink'] ?? json['@odata.deltaLink'];
    next = link.slice(link.indexOf('/sites/'));
    if ('@odata.deltaLink' in json) return { seen, pages, link: next };
  }
}

test('a first query lists all items, page by page; its link, what changed since, again and again', async () => {
  await using graph = await graphIn();
  for (const Title of ['a', 'b', 'c', 'd', 'e']) await graph.create({ Title });
  await graph.send('DELETE', `${books}/1`);

  const first = await changesFrom(`${delta}?$expand=fields($select=Title)&$top=2`, graph);
  expect(first).toMatchObject({ seen: ['2 b', '3 c', '4 d', '5 e'], pages: 2 });
  expect(await changesFrom(first.link, graph)).toMatchObject({ seen: [], pages: 1 });

  await graph.send('PATCH', `${books}/2/fields`, { Title: 'B' });
  await graph.send('DELETE', `${books}/3`);
  await graph.send('PATCH', `${books}/2/fields`, { Title: 'BB' });
  await graph.create({ Title: 'f' });

  const second = await changesFrom(first.link, graph);
  expect(second).toMatchObject({ seen: ['2 BB', 'deleted', '2 BB', '6 f'], pages: 2 });
  expect(await changesFrom(first.link, graph)).toEqual(second);
  expect((await changesFrom(second.link, graph)).seen).toEqual([]);
});

test('what changes while all items are listed comes after it', async () => {
  await using graph = await graphIn();
  for (const Title of ['a', 'b']) await graph.create({ Title });

  const { json } = await graph.send('GET', `${delta}?$expand=fields&$top=1`);
  await graph.send('PATCH', `${books}/1/fields`, { Title: 'A' });
  const rest = await changesFrom(json['@odata.nextLink'].replace(/^.*(?=\/sites\/)/, ''), graph);

  expect(rest.seen).toEqual(['2 b']);
  expect((await changesFrom(rest.link, graph)).seen).toEqual(['1 A']);
});

test.each([delta, `${books}/delta()`, `${books}/microsoft.graph.delta()`])(
  '%s begins now with token=latest',
  async (path) => {
    await using graph = await graphIn();
    await graph.create({ Title: 'a' });

    const { seen, link } = await changesFrom(`${path}?token=latest&$expand=fields`, graph);
    await graph.create({ Title: 'b' });

    expect(seen).toEqual([]);
    expect((await changesFrom(link, graph)).seen).toEqual(['2 b']);
  },
);

test('a deleted item has its id and its state, and no fields', async () => {
  await using graph = await graphIn();
  await graph.create({ Title: 'a' });
  const { link } = await changesFrom(`${delta}?$expand=fields`, graph);
  await graph.send('DELETE', `${books}/1`);

  expect((await graph.send('GET', link)).json.value).toEqual([
    {
      id: '1',
      parentReference: { siteId: expect.any(String) },
      contentType: { id: '0x0100', name: 'Item' },
      deleted: { state: 'deleted' },
    },
  ]);
});

test('the token of another store gets 410, with the address that begins anew', async () => {
  await using graph = await graphIn();
  await using other = await graphIn();
  for (const each of [graph, other]) await each.create({ Title: 'a' });
  const { link } = await changesFrom(`${delta}?$top=5`, graph);

  const { status, headers, json } = await other.send('GET', link);

  expect({ status, code: json.error.code }).toEqual({ status: 410, code: 'resyncChangesApplyDifferences' });
  expect(headers['location']).toBe(`http://127.0.0.1:7070/v1.0${delta}?$top=5`);
  expect((await graph.send('GET', `${delta}?token=mine`)).status).toBe(400);
});

test('costs 1 unit with a token, else 2', async () => {
  await using graph = await graphIn({ unitsPerMinute: 10 });
  const remaining = async (path: string) => (await graph.send('GET', path)).headers['ratelimit-remaining'];
  for (let at = 0; at < 3; at += 1) await graph.send('GET', delta);
  expect(await remaining(delta)).toBe('2');
  expect(await remaining(`${delta}?token=latest`)).toBe('1');
});
