/**
 * What a script does without listctl: creates the rows of a file, writes down which are done, and sends what has no
 * answer again. `node naive-client.js <url> <token> <rows.jsonl> <record> <concurrency>`
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { argv } from 'node:process';
import { text } from 'node:stream/consumers';

const [url, token, input, record, concurrency] = argv.slice(2);
const agent = new Agent({ keepAlive: true });
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
const done = new Set(existsSync(record) ? readFileSync(record, 'utf8').split('\n').map(Number.parseFloat) : []);
const rows = readFileSync(input, 'utf8').trimEnd().split('\n').entries();

function create(fields) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: 'POST', headers }, async (answer) => {
      const body = await text(answer).catch(() => '');
      if (answer.statusCode === 201) resolve(JSON.parse(body).id);
      else reject(new Error(`HTTP ${answer.statusCode}`));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ fields }));
  });
}

async function work() {
  for (const [at, line] of rows) {
    for (let id; id === undefined && !done.has(at + 1); ) {
      id = await create(JSON.parse(line)).catch(() => new Promise((resolve) => setTimeout(resolve, 50)));
      if (id !== undefined) appendFileSync(record, `${at + 1} ${id}\n`);
    }
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, work));
agent.destroy();
