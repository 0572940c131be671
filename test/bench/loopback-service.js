/**
 * The smallest list item service there is, so that a bench measures listctl: every POST is answered 201, everything
 * else 200, with the same item. Prints its address, and ends when its stdin does: with the bench that started it.
 */
import { createServer } from 'node:http';
import process from 'node:process';

const item = JSON.stringify({ id: '1', fields: { Title: 'Hello' } });

const server = createServer((request, response) => {
  request.resume().on('end', () => {
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
