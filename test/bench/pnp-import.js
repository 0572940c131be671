/**
 * Imports a CSV file with @pnp/graph as its documentation teaches: `batched()`, `items.add` for each row, 20 to a batch, the
 * default retries. `node pnp-import.js FILE URL TOKEN text|typed`; prints how many rows it takes for created and for failed.
 */
import { readFileSync } from 'node:fs';
import { argv, stdout } from 'node:process';
import { GraphBrowser, graphfi } from '@pnp/graph';
import '@pnp/graph/batching.js';
import '@pnp/graph/list-item/index.js';
import '@pnp/graph/lists/index.js';
import '@pnp/graph/sites/index.js';

const [, , file, baseUrl, token, cells] = argv;

const graph = graphfi().using(GraphBrowser({ baseUrl }), (instance) => {
  instance.on.auth.replace(async (address, init) => [
    address,
    { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } },
  ]);
  return instance;
});

const [names, ...lines] = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split(','));
const rows = lines.map((line) => Object.fromEntries(names.map((name, at) => [name, line[at]])));

/** What a person writes who knows the types of the columns, and how Graph takes them. */
function typed({ Count, Done, Tags, Shelf, ...texts }) {
  return {
    ...texts,
    Count: Number(Count),
    Done: Done === 'true',
    'Tags@odata.type': 'Collection(Edm.String)',
    Tags: Tags.split(';'),
    ShelfLookupId: Number(Shelf),
  };
}

let created = 0;
let failed = 0;
for (let at = 0; at < rows.length; at += 20) {
  const [batched, execute] = graph.batched();
  let answered = 0;
  for (const row of rows.slice(at, at + 20)) {
    // An object cannot be used twice in a batch.
    const add = batched.sites
      .getById('root')
      .lists.getById('Books')
      .items.add({ fields: cells === 'typed' ? typed(row) : row });
    add.then(
      () => {
        created += 1;
        answered += 1;
      },
      () => {
        failed += 1;
        answered += 1;
      },
    );
  }
  try {
    await execute();
  } catch {
    // Without a response to the batch its rows never settle.
    failed += Math.min(20, rows.length - at) - answered;
  }
}
stdout.write(`${JSON.stringify({ created, failed })}\n`);
