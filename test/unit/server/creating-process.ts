/**
 * A process of its own that creates items: `creating-process.ts <directory> <how many> <bytes in each>`. It prints each
 * answer's status and id once it has it, and stops at the first that is not 201.
 */
import { writeSync } from 'node:fs';
import { argv } from 'node:process';
import { listItemService } from '../../../src/server/handle.ts';
import { openStore } from '../../../src/server/store.ts';

const [, , directory = '', count = '', bytes = ''] = argv;
const store = openStore(directory);
const handle = listItemService(store, Date.now);
const headers = { 'content-type': 'application/json' };
const body = Buffer.from(JSON.stringify({ fields: { Text: 'x'.repeat(Number(bytes)) } }));
for (let created = 0; created < Number(count); created += 1) {
  const answer = await handle({ method: 'POST', path: '/sites/home/lists/tasks/items', headers, body });
  writeSync(1, `${answer.status} ${JSON.parse(answer.body).id}\n`);
  if (answer.status !== 201) break;
}
await store.close();
