/**
 * The plain script that a run is measured beside where a service throttles: eight loops, each of which sends a row and
 * waits as long as its own 429 says.
 *
 * node eight-loops.js <address> <rows>
 */
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const [address = '', rows = '0'] = process.argv.slice(2);
let next = 0;

async function loop() {
  while (next < Number(rows)) {
    next += 1;
    await create(next);
  }
}

async function create(row) {
  for (;;) {
    const response = await fetch(`${address}/sites/home/lists/tasks/items`, {
      method: 'POST',
      headers: { authorization: 'Bearer bench-token', 'content-type': 'application/json' },
      body: JSON.stringify({ fields: { Title: `Row ${row}`, Count: `${row}`, Note: 'some text here' } }),
    });
    await response.text();
    if (response.status === 201) return;
    await sleep(Number(response.headers.get('retry-after')) * 1000);
  }
}

await Promise.all(Array.from({ length: 8 }, loop));
