/** Collections of Microsoft Graph, page by page. */
import { expect, test } from 'vitest';
import type { Client } from '../../../../src/api/client.ts';
import type { Operation } from '../../../../src/api/operation.ts';
import { pagesOf } from '../../../../src/services/graph/pages.ts';

const address = 'https://graph.example/v1.0';

/** A client whose n-th page, from 0, has so many items; there is always another one. */
function endless(itemsOn: (page: number) => number) {
  let page = 0;
  const send = async <T>({ read }: Operation<T>): Promise<T> => {
    const value = Array.from({ length: itemsOn(page) }, () => ({ id: '1' }));
    page += 1;
    const body = { value, '@odata.nextLink': `${address}/items?page=${page}` };
    return read({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) } as never);
  };
  return { client: { send, address } as unknown as Client, pages: () => page };
}

async function readAll(client: Client, max: number): Promise<number> {
  const purpose = { task: 'list the items of list "x"', target: 'list "x"' };
  let pages = 0;
  for await (const _ of pagesOf('/items', { parse: () => 1, purpose }, client)) {
    pages += 1;
    if (pages === max) break;
  }
  return pages;
}

test('a service with empty pages without end is not read without end', async () => {
  const { client, pages } = endless(() => 0);

  await expect(readAll(client, 20_000)).rejects.toThrow(
    'cannot list the items of list "x": 10,000 pages in a row were empty',
  );
  expect(pages()).toBe(10_001);
});

test('empty pages between others count anew', async () => {
  const { client } = endless((page) => (page % 5000 === 0 ? 1 : 0));

  expect(await readAll(client, 15_000)).toBe(15_000);
});
