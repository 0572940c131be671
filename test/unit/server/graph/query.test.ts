/** Pages of items: `$top`, `$filter`, `$select`, and the limits of SharePoint. */
import { describe, expect, test } from 'vitest';
import { books, booksSchema, graphIn } from './graph-in.ts';

const permission = { prefer: 'respond-async, HonorNonIndexedQueriesWarningMayFailRandomly' };

describe('a page', () => {
  test('has 200 items or $top of them, and an opaque link to the next', async () => {
    await using graph = await graphIn();
    await Promise.all(Array.from({ length: 205 }, (_, at) => graph.create({ Title: `Book ${at + 1}` })));
    await graph.send('DELETE', `${books}/2`);
    const pageAt = async (path: string) => {
      const { json } = await graph.send('GET', path);
      const next: string | undefined = json['@odata.nextLink'];
      return { ids: json.value.map(({ id }: { id: string }) => Number(id)), json, next };
    };

    const first = await pageAt(`${books}?$expand=fields($select=Title)`);
    expect(first.ids).toHaveLength(200);
    expect(first.json.value[0]).toMatchObject({ eTag: expect.any(String), fields: { Title: 'Book 1' } });
    expect(first.next).toMatch(
      /^http:\/\/127\.0\.0\.1:7070\/v1\.0\/sites\/root\/lists\/Books\/items\?\$expand=fields\(\$select=Title\)&\$skiptoken=\w+$/,
    );
    const second = await pageAt((first.next ?? '').replace(/^.*\/v1\.0/, ''));
    expect(second).toMatchObject({ ids: [202, 203, 204, 205], next: undefined });
    expect(second.json.value[0].fields).toMatchObject({ Title: 'Book 202' });
    expect((await pageAt(books)).json.value[0]).not.toHaveProperty('fields');
    const three = await pageAt(`${books}?$top=3&%24skiptoken=${first.next?.split('skiptoken=')[1]}`);
    expect(three).toMatchObject({ ids: [202, 203, 204], next: expect.stringMatching(/\?\$top=3&\$skiptoken=\w+$/) });
    expect((await pageAt(`${books}?$top=9999&$select=id`)).ids).toHaveLength(204);
  });

  test('of an empty list is empty', async () => {
    await using graph = await graphIn();

    expect((await graph.send('GET', books)).json).toEqual({ '@odata.context': expect.any(String), value: [] });
  });
});

describe('a filter', () => {
  const items = [
    { Key: "O'Neil", Count: 1, Done: true, Due: '2026-01-31', Code: 'x', ShelfLookupId: 10 },
    { Key: 'b', Count: 2, Done: false, Due: '2026-02-28', Code: 'X y' },
    { Count: 10, Due: '2026-02-28T10:00:00Z', ShelfLookupId: 10 },
  ];

  test.each<[filter: string, ids: readonly string[]]>([
    ["fields/Key eq 'O''Neil'", ['1']],
    ["fields/Key eq 'B'", ['2']],
    ["fields/Key ne 'b'", ['1', '3']],
    ['fields/Key eq null', ['3']],
    ['fields/Count eq 2', ['2']],
    ['fields/Count gt 1.5', ['2', '3']],
    ['fields/Count ge 2 and fields/Count lt 10', ['2']],
    ['(fields/Count le 2) and (fields/Done eq true)', ['1']],
    ["fields/Due gt '2026-01-31T00:00:00Z' and fields/Due le 2026-02-28", ['2']],
    ["startswith(fields/Code,'x')", ['1', '2']],
    ["startswith(fields/Code, 'x ') and fields/Count eq 2", ['2']],
    ['fields/ShelfLookupId eq 10', ['1', '3']],
    ["fields/ShelfLookupId eq '10'", ['1', '3']],
    ['fields/ID gt 1', ['2', '3']],
    ['fields/id eq 3', ['3']],
    ["fields/Count eq 'two'", []],
  ])('%s finds %j', async (filter, ids) => {
    await using graph = await graphIn({ schema: booksSchema });
    for (const fields of items) await graph.create(fields);

    const { json } = await graph.send('GET', `${books}?$filter=${encodeURIComponent(filter)}`);

    expect(json.value.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  test('is paged', async () => {
    await using graph = await graphIn({ schema: booksSchema });
    for (let at = 0; at < 10; at += 1) await graph.create({ Code: at % 2 === 0 ? 'even' : 'odd' });
    const ids: string[] = [];

    for (let path: string | undefined = `${books}?$top=2&$filter=fields/Code%20eq%20'odd'`; path !== undefined; ) {
      const { json } = await graph.send('GET', path);
      ids.push(...json.value.map(({ id }: { id: string }) => id));
      path = json['@odata.nextLink']?.replace(/^.*\/v1\.0/, '');
    }

    expect(ids).toEqual(['2', '4', '6', '8', '10']);
  });

  test('over a column without an index needs a Prefer header', async () => {
    await using graph = await graphIn({ schema: booksSchema });
    await graph.create({ Title: 'Dune' });
    const path = `${books}?$filter=fields/Title eq 'Dune'`;

    expect(await graph.send('GET', path)).toMatchObject({
      status: 400,
      json: {
        error: {
          code: 'invalidRequest',
          message: expect.stringMatching(/^Field 'Title' cannot be referenced in filter .* not indexed/),
        },
      },
    });
    expect((await graph.send('GET', path, undefined, permission)).json.value).toHaveLength(1);
  });

  test.each([
    ["fields/Code eq 'a", 'quote'],
    ["fields/Code eq 'a' or fields/Code eq 'b'", 'or'],
    ["fields/Code eq 'a' and", 'end'],
    ["contains(fields/Code,'a')", 'function'],
    ["Code eq 'a'", 'path'],
    ["(fields/Code eq 'a'", 'parenthesis'],
    ['fields/Code eq a', 'literal'],
    ["fields/Coder eq 'a'", 'column'],
  ])('%s is refused', async (filter) => {
    await using graph = await graphIn({ schema: booksSchema });

    const answer = await graph.send('GET', `${books}?$filter=${encodeURIComponent(filter)}`);

    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalidRequest' } } });
  });
});

describe('the list view threshold', () => {
  const tooMany = { status: 429, json: { error: { code: 'activityLimitReached' } } };

  test.each<[filter: string, answer: object]>([
    ["fields/Code eq 'odd'", { status: 200 }],
    ["fields/Code eq 'even'", tooMany],
    ["fields/Code ge 'even' and fields/Key eq 'k1'", tooMany],
    ["fields/Key eq 'k1' and fields/Code ge 'even'", { status: 200 }],
    ["fields/Title eq 'none'", tooMany],
  ])('of 3 items for %s: %j', async (filter, answer) => {
    await using graph = await graphIn({ schema: booksSchema, viewThreshold: 3 });
    for (const at of [1, 2, 3, 4]) await graph.create({ Key: `k${at}`, Code: 'even' });
    for (const at of [5, 6, 7]) await graph.create({ Key: `k${at}`, Code: 'odd' });

    const response = await graph.send('GET', `${books}?$filter=${filter}`, undefined, permission);

    expect(response).toMatchObject(answer);
    expect(response.headers).not.toHaveProperty('retry-after');
    expect((await graph.send('GET', books)).json.value).toHaveLength(7);
  });
});
