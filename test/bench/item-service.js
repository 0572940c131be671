/**
 * The smallest list item service there is, so that a bench measures its client: a POST is answered 201 with an item of its
 * own, everything else 200 with item 1. It throttles a share of the requests whatever their rate, and those beyond a rate.
 * Prints its address, and ends when its stdin does.
 *
 * node item-service.js [share, 0 to 1] [requests a second]
 */
import { createServer } from 'node:http';
import process from 'node:process';

const share = Number(process.argv[2] ?? 0);
const perSecond = Number(process.argv[3] ?? Infinity);
const burst = Math.max(1, Math.floor(perSecond / 10));
let created = 0;
let [tokens, filledAt] = [burst, performance.now()];

function isBeyondRate() {
  if (perSecond === Infinity) return false;
  const now = performance.now();
  tokens = Math.min(burst, tokens + ((now - filledAt) * perSecond) / 1000);
  filledAt = now;
  if (tokens < 1) return true;
  tokens -= 1;
  return false;
}

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const isThrottled = Math.random() < share || isBeyondRate();
    const isCreate = request.method === 'POST';
    if (isCreate && !isThrottled) created += 1;
    const item = `{"id":"${isCreate ? created : 1}","fields":{"Title":"Hello"}}`;
    const body = isThrottled ? '{"error":"too many requests"}' : item;
    response.writeHead(isThrottled ? 429 : isCreate ? 201 : 200, {
      'content-type': 'application/json',
      'content-length': body.length,
      ...(isThrottled && { 'retry-after': '1' }),
    });
    response.end(body);
  });
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/v1.0\n`);
});
process.stdin.resume().on('end', () => process.exit());
