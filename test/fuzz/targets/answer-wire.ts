import { createServer, type Socket } from 'node:net';
import { httpTransport } from '../../../src/api/http.ts';
import type { Transport } from '../../../src/api/transport.ts';
import { undiciTransport } from '../../../src/api/undici.ts';
import { listening } from '../../support/loopback-server.ts';
import { type FuzzTarget, mustHold } from '../target.ts';
import { answerWords, verbs } from './ask.ts';
import { jsonWords } from './words.ts';

const words = [
  ...'HTTP/1.1 200 OK\r\n·HTTP/1.0 ·HTTP/2 ·100 Continue·101 Switching·204·304·429·503·999·\r\n'.split('·'),
  ...'\r\n\r\n·\n\n·\r·Content-Length: ·Content-Length: 5\r\n·Transfer-Encoding: chunked\r\n'.split('·'),
  ...'Connection: close\r\n·Connection: upgrade\r\nUpgrade: h2c\r\n·Content-Encoding: gzip\r\n'.split('·'),
  ...'Retry-After: 2\r\n·Retry-After: 99999999999\r\n·Date: Fri, 20 Nov 2026 10:15:30 GMT\r\n'.split('·'),
  ...'ETag: "1"\r\n·Location: http://a\r\n·X: ·: · : ·\r\n folded·5\r\n·0\r\n\r\n'.split('·'),
  ...'ffffffffffffffff\r\n·-1·Keep-Alive: timeout=1\r\n·Trailer: X\r\n'.split('·'),
  ...['a'.repeat(9000), '\0', '\u00ff'],
];

/** All that a service answers, head and body, as bytes on a socket that is closed behind them; over both transports. */
export const answerWireTarget: FuzzTarget = {
  name: 'answer-wire',
  words: [...words, ...jsonWords.slice(0, 12)],
  fix: (bytes, random) => (random.whole(2) === 0 ? withLength(bytes) : bytes),
  testRuns: 350,
  open: async () => {
    let answer: Buffer = Buffer.alloc(0);
    let count = 0;
    const server = createServer((socket) => answering(socket, () => answer));
    const listener = await listening(server);
    const way = { base: new URL(listener.url), token: 'secret-token', headers: {} };
    const transports = [await httpTransport(way), await undiciTransport(way)].map(onOwnSockets);
    const limits = { timeoutMs: 20_000, retries: 0 };
    return {
      run: async (bytes) => {
        answer = bytes;
        count += 1;
        const verb = verbs[count % verbs.length] ?? 'get';
        const [light = '', many = ''] = await Promise.all(
          transports.map((transport) => answerWords(transport, verb, limits)),
        );
        // A status line counts to Node among the 16 KiB that headers may have, and not to undici.
        const isSame = kindOf(light) === kindOf(many) || bytes.length > 8192;
        mustHold(isSame, `both transports come to the same: ${light} | ${many}`);
        mustHold(!/within 20 s/.test(light + many), 'nothing is waited for that a closed connection can bring no more');
        return light === many ? light : `${light} | ${many}`;
      },
      close: async () => {
        for (const transport of transports) await transport.close();
        await listener[Symbol.asyncDispose]();
      },
    };
  },
};

/** The kind of failure, or what else it came to. */
function kindOf(words: string): string {
  return words.split(/:| item/, 1)[0] ?? '';
}

/** A socket for each request: what an answer leaves behind on a kept one is no matter of chance then. */
function onOwnSockets(transport: Transport): Transport {
  return { ...transport, send: (request, limits) => transport.send(request, { ...limits, isFresh: true }) };
}

/** Waits for a whole request, so that it was sent whatever becomes of it, and answers it with these bytes. */
function answering(socket: Socket, answer: () => Buffer): void {
  let asked = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    asked += chunk.toString('latin1');
    const end = asked.indexOf('\r\n\r\n');
    const length = Number(/content-length: *(\d+)/i.exec(asked)?.[1] ?? 0);
    if (end === -1 || asked.length < end + 4 + length) return;
    asked = '';
    socket.end(answer());
  });
}

/** With the length that its body has. */
function withLength(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return bytes;
  const head = bytes.toString('latin1', 0, end).replace(/\r\ncontent-length:[^\r]*/gi, '');
  return Buffer.concat([
    Buffer.from(`${head}\r\nContent-Length: ${bytes.length - end - 4}\r\n\r\n`, 'latin1'),
    bytes.subarray(end + 4),
  ]);
}
