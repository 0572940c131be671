/**
 * The floor of a listing: a bare loop over undici that follows next links, and prints each item as a line of JSON. It
 * checks nothing, and retries nothing.
 *
 * node pages-loop.js <address>
 */
import { once } from 'node:events';
import process from 'node:process';
import { request } from 'undici';

const [address = ''] = process.argv.slice(2);
const headers = { authorization: 'Bearer bench-token', accept: 'application/json' };

for (let next = `${address}/sites/home/lists/tasks/items?$expand=fields&$top=1000`; next !== undefined; ) {
  const { body } = await request(next, { headers });
  const page = await body.json();
  const text = page.value.map((item) => `${JSON.stringify(item)}\n`).join('');
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  next = page['@odata.nextLink'];
}
