/**
 * A list item service with nothing in it, so that a bench measures its client: every request is answered 201 with an
 * item of its own. By hand on sockets, since node:http would be slower than what is measured. Prints its address, and ends
 * when its stdin does.
 *
 * node echo-service.js [milliseconds before each answer]
 */
import { createServer } from 'node:net';
import process from 'node:process';

const delayMs = Number(process.argv[2] ?? 0);
// Ids of one width, so that every answer has the same head.
let last = 10_000_000;
const tail = '","fields":{"Title":"Hello"}}';
const head = [
  'HTTP/1.1 201 Created',
  'Content-Type: application/json',
  `Content-Length: ${`{"id":"${last}${tail}`.length}`,
  '',
  '{"id":"',
].join('\r\n');

function answers(count) {
  let text = '';
  for (let left = count; left > 0; left -= 1) {
    last += 1;
    text += head + last + tail;
  }
  return text;
}

const server = createServer({ noDelay: true }, (socket) => {
  let begun = '';
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    begun += bytes.latin1Slice();
    let count = 0;
    for (let end = endOfRequest(begun); end !== -1; end = endOfRequest(begun)) {
      begun = begun.slice(end);
      count += 1;
    }
    if (count === 0) return;
    const reply = () => socket.write(answers(count));
    if (delayMs === 0) reply();
    else setTimeout(reply, delayMs);
  });
});

/** Where the first request ends, or -1. */
function endOfRequest(text) {
  const bodyAt = text.indexOf('\r\n\r\n') + 4;
  if (bodyAt < 4) return -1;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, bodyAt))?.[1] ?? 0;
  return text.length >= bodyAt + Number(length) ? bodyAt + Number(length) : -1;
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/v1.0\n`);
});
process.stdin.resume().on('end', () => process.exit());
