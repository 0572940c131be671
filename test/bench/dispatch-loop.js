/**
 * The floor of a run: a bare loop over undici's dispatch, so many requests at once, the same ones that listctl sends,
 * an idempotency key for each included. No file is read, nothing is recorded, nothing can go wrong.
 *
 * node dispatch-loop.js <address> <rows> <at once>
 */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { Pool } from 'undici';

const [address = '', rows = '0', atOnce = '1'] = process.argv.slice(2);
const { origin, pathname, host } = new URL(address);
const pool = new Pool(origin, { connections: Number(atOnce), pipelining: 1 });
let [next, done] = [0, 0];

function send() {
  if (next === Number(rows)) return;
  next += 1;
  const body = `{"fields":{"Title":"Row ${next}","Count":"${next}","Note":"some text here"}}`;
  const headers = {
    host,
    authorization: 'Bearer bench-token',
    'user-agent': 'listctl/0.1.0',
    'accept-encoding': 'identity',
    accept: 'application/json',
    'content-type': 'application/json',
    'idempotency-key': `"${randomBytes(13).toString('hex')}"`,
  };
  const pieces = [];
  pool.dispatch(
    { method: 'POST', path: `${pathname}/sites/home/lists/tasks/items`, headers, body },
    {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData: (_, piece) => pieces.push(piece),
      onResponseEnd: () => {
        if (!JSON.parse(Buffer.concat(pieces).toString()).id) throw new Error('that is not an item');
        done += 1;
        if (done === Number(rows)) void pool.destroy();
        else send();
      },
      onResponseError: (_, error) => {
        throw error;
      },
    },
  );
}

for (let at = 0; at < Number(atOnce); at += 1) send();
