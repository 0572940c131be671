/**
 * How many durable creates a second `listctl serve` takes at 16 in flight, beside lmdb alone: as many writes of as
 * many bytes, each acknowledged when it is on disk. The two take turns, on the same disk.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { open } from 'lmdb';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { median, startServe } from './child.ts';

/** Durable writes a second, the medians of all rounds. */
export interface ServeFigures {
  readonly createsPerSecond: number;
  readonly lmdbPerSecond: number;
}

const createsBar = 8000;

const inFlight = 16;
const roundMs = 2000;
const token = 'bench-token';
const body = JSON.stringify({ fields: { Title: 'Buy milk', Note: 'two litres, and not the one with the red lid' } });

/** Measures both with this Node; the first round of each only warms up. */
export async function measureServe(node: string, rounds: number): Promise<ServeFigures> {
  await using directory = await temporaryDirectory();
  await using server = await startServe(node, ['--data', join(directory.path, 'served')], token);
  const database = open<string>({
    path: join(directory.path, 'alone'),
    noSubdir: false,
    overlappingSync: false,
    encoding: 'string',
  });
  using clients = await connectClients(server.url);
  const creates: number[] = [];
  const writes: number[] = [];
  let writeCount = 0;
  const write = () => {
    writeCount += 1;
    return database.put(writeCount, body);
  };
  for (let round = 0; round <= rounds; round += 1) {
    const createRate = await ratePerSecond(clients.works);
    const writeRate = await ratePerSecond(Array.from({ length: inFlight }, () => write));
    if (round === 0) continue;
    creates.push(createRate);
    writes.push(writeRate);
  }
  await database.close();
  return { createsPerSecond: median(creates), lmdbPerSecond: median(writes) };
}

export function serveLines({ createsPerSecond, lmdbPerSecond }: ServeFigures): string {
  const rate = (perSecond: number) => Math.round(perSecond).toString().padStart(7);
  return [
    `listctl serve, durable creates a second  ${rate(createsPerSecond)}  at least ${createsBar}${createsPerSecond < createsBar ? '  under' : ''}`,
    `lmdb alone, durable writes a second      ${rate(lmdbPerSecond)}`,
    `of lmdb alone                            ${(createsPerSecond / lmdbPerSecond).toFixed(2).padStart(7)}`,
    '',
  ].join('\n');
}

/** Does each work again as soon as it is done, for one round; gives how often that was in a second. */
async function ratePerSecond(works: readonly (() => Promise<unknown>)[]): Promise<number> {
  let doneCount = 0;
  const startedAt = performance.now();
  await Promise.all(
    works.map(async (work) => {
      for (; performance.now() - startedAt < roundMs; doneCount += 1) await work();
    }),
  );
  return (doneCount * 1000) / (performance.now() - startedAt);
}

/** Connections that send one create at a time. By hand: node:http's own client would be what is measured. */
async function connectClients(url: string): Promise<{ readonly works: readonly (() => Promise<void>)[] } & Disposable> {
  const { hostname, port, pathname } = new URL(url);
  const head = [
    `POST ${pathname}/sites/home/lists/tasks/items HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ].join('\r\n');
  const sockets = Array.from({ length: inFlight }, () => connect(Number(port), hostname).setNoDelay());
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const works = sockets.map((socket) => () => exchange(socket, `${head}\r\n\r\n${body}`));
  return {
    works,
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function exchange(socket: Socket, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const take = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (!isWhole(answer)) return;
      socket.off('data', take).off('close', fail);
      if (answer.startsWith('HTTP/1.1 201 ')) resolve();
      else fail();
    };
    const fail = () => reject(new Error(`no item was created: ${answer}`));
    socket.on('data', take).once('close', fail).write(request);
  });
}

function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4;
  const length = /^content-length: (?<length>\d+)/im.exec(answer)?.groups?.['length'];
  return bodyAt > 3 && answer.length - bodyAt === Number(length);
}
