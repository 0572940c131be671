/**
 * The smallest list item service there is, so that a bench measures listctl: every POST is answered 201 with an item
 * of its own, everything else 200 with item 1. Prints its address, and ends when its stdin does: with the bench that
 * started it.
 */
import { createServer } from 'node:http';
import process from 'node:process';

let last = 0;
const itemOf = (id) => `{"id":"${id}","fields":{"Title":"Hello"}}`;

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    if (request.method === 'POST') last += 1;
    const item = itemOf(request.method === 'POST' ? last : 1);
    response.writeHead(request.method === 'POST' ? 201 : 200, {
      'Content-Type': 'application/json',
      'Content-Length': item.length,
    });
    response.end(item);
  });
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/v1.0\n`);
});
process.stdin.resume().on('end', () => process.exit());
