/** Idle connections, and what they cost the active ones. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import autocannon from 'autocannon';
import { serveDirectory, token } from '../support/served-directory.ts';

export interface IdleEnd {
  readonly connections: number;
  /** Answers a second without them, and beside them. */
  readonly aloneRate: number;
  readonly besideRate: number;
  /** After how long the service had closed the first and the last of them, in seconds. */
  readonly closedAfter: readonly [first: number, last: number];
  readonly broken: readonly string[];
}

const loadSeconds = 5;
/** An idle connection is closed after 10 s (docs/faults.md, P29); the load may make that late, never early. */
const idleMs = 10_000;
const lateMs = 10_000;

/** Serves a directory to a number of idle connections, and to a few active ones. */
export async function idleConnections(directory: string, connections: number): Promise<IdleEnd> {
  const service = await serveDirectory(directory);
  try {
    const { hostname, port } = new URL(service.url);
    const alone = await readLoad(service.url);
    const startedAt = performance.now();
    const closedAt: number[] = [];
    const idle = Array.from({ length: connections }, () => connect(Number(port), hostname));
    const closings = idle.map((socket) => closing(socket).then(() => closedAt.push(performance.now() - startedAt)));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    const beside = await readLoad(service.url);
    const isInTime = await Promise.race([
      Promise.all(closings).then(() => true),
      new Promise<false>((resolve) => setTimeout(() => resolve(false), idleMs + lateMs).unref()),
    ]);
    for (const socket of idle) socket.destroy();
    const first = Math.min(...closedAt);
    const failed = alone.errors + alone.non2xx + beside.errors + beside.non2xx;
    return {
      ...{ connections, aloneRate: alone.requests.average, besideRate: beside.requests.average },
      closedAfter: [first / 1000, Math.max(...closedAt) / 1000],
      broken: [
        ...(failed > 0 ? [`${failed} reads were not answered well`] : []),
        ...(isInTime ? [] : [`${connections - closedAt.length} idle connections are open after 20 s`]),
        ...(first < idleMs - 500 ? [`a connection was closed after ${(first / 1000).toFixed(1)} s`] : []),
      ],
    };
  } finally {
    await service.kill();
  }
}

function closing(socket: Socket): Promise<unknown> {
  // What was sent is of no interest, but it has to be read for the end to be seen.
  socket.resume().on('error', () => {});
  return once(socket, 'close');
}

async function readLoad(url: string): Promise<autocannon.Result> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const items = `${url}/sites/home/lists/tasks/items`;
  const answer = await fetch(items, { method: 'POST', headers, body: '{"fields":{"Title":"read often"}}' });
  const { id } = (await answer.json()) as { readonly id: string };
  return autocannon({ url: `${items}/${id}`, headers, connections: 8, duration: loadSeconds });
}
