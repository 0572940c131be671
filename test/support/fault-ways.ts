/** The ways in which the whole program can be run against a fault server, and what holds of every run. */
import { expect } from 'vitest';
import type { ConnectionOptions as ServiceWay } from '../../src/api/connect.ts';
import { httpTransport } from '../../src/api/http.ts';
import type { Transport } from '../../src/api/transport.ts';
import { undiciTransport } from '../../src/api/undici.ts';
import { main } from '../../src/main.ts';
import type { LoggedAttempt } from './fault-items.ts';
import { type FaultServer, type FaultServerOptions, faultServer } from './fault-server.ts';
import type { FaultMethod } from './fault-table.ts';
import { type Run, type TestHost, testHost, type World } from './test-host.ts';

/** One way to run the program: with one of its transports. */
export interface Way {
  readonly name: string;
  readonly transport: (way: ServiceWay) => Promise<Transport>;
  readonly main: (argv: readonly string[], host: TestHost) => Promise<number>;
}

export const ways: readonly Way[] = [
  { name: 'http', transport: httpTransport, main: (argv, host) => main(argv, host, { transport: 'one' }) },
  { name: 'undici', transport: undiciTransport, main: (argv, host) => main(argv, host, { transport: 'many' }) },
];

/** A token that no text but the request's own may hold. */
export const canaryToken = 'canary-7f3a-token';

/** The environment that leads to a server: its list, and the canary as the token. */
export function environmentOf(server: Pick<FaultServer, 'url'>): Record<string, string> {
  return { LISTCTL_BASE_URL: server.url, LISTCTL_TOKEN: canaryToken, LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };
}

export interface FaultWorld extends World {
  /** Another host than the usual one, where waits must do something. */
  readonly host?: (host: TestHost) => TestHost;
}

/** Runs the program one way, and checks what must hold whatever happens (docs/faults.md). */
export async function runOneWay(way: Way, argv: readonly string[], world: FaultWorld = {}): Promise<Run> {
  const made = testHost(world);
  const host = world.host?.(made) ?? made;
  const exitCode = await way.main(argv, host);
  const run = { exitCode, ...made.printed, host };
  expectClean(run);
  return run;
}

/** Nothing on stdout after a failure; on stderr one line and at most two of hints, 1 kB, no control bytes, no token. */
export function expectClean({ exitCode, stdout, stderr }: Pick<Run, 'exitCode' | 'stdout' | 'stderr'>): void {
  // Not a part of it either: a text may be cut in its middle.
  expect(stdout + stderr).not.toContain(canaryToken.slice(0, 8));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(1024);
  if (exitCode === 0) return;
  expect(stdout).toBe('');
  if (stderr.startsWith('{')) expect(Object.keys(JSON.parse(stderr))).toEqual(['error']);
  else expect(stderr).toMatch(/^listctl: [^\n]+\n( {2}[^\n]+\n){0,2}$/);
}

/** Processes all of them with limited concurrency, and returns the results in their order. */
export async function pooled<T, R>(
  all: readonly T[],
  atOnce: number,
  work: (each: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    while (next < all.length) {
      const index = next;
      next += 1;
      results[index] = await work(all[index] as T);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

/** The four verbs, as a user types them. */
export const verbs = {
  create: ['items', 'create', '-f', 'Title=Milk'],
  createKeyed: ['items', 'create', '-f', 'Title=Milk', '--idempotency', 'honored'],
  get: ['items', 'get', '17'],
  update: ['items', 'update', '17', '-f', 'Title=Bread'],
  delete: ['items', 'delete', '17'],
} as const;

/** What a user types for each column of the fault table. */
export const wordsOf: Readonly<Record<FaultMethod, readonly string[]>> = {
  POST: verbs.create,
  GET: verbs.get,
  PATCH: verbs.update,
  DELETE: verbs.delete,
  'keyed POST': verbs.createKeyed,
};

/** A run against a server of its own, and what that server knows of it. */
export interface FaultRun extends Run {
  readonly log: readonly LoggedAttempt[];
  readonly attempts: number;
  readonly methods: readonly string[];
  readonly createdCount: number;
  readonly sentBytes: number;
  readonly port: number;
}

export async function runAgainst(
  way: Way,
  argv: readonly string[],
  options: FaultServerOptions = {},
  world: FaultWorld = {},
): Promise<FaultRun> {
  await using server = await faultServer(options);
  const run = await runOneWay(way, argv, { ...world, env: { ...environmentOf(server), ...world.env } });
  return {
    ...run,
    log: server.log,
    attempts: server.log.length,
    methods: server.log.map(({ method }) => method),
    createdCount: server.createdCount(),
    sentBytes: server.sentBytes(),
    port: server.port,
  };
}

/** A host whose waits run a callback, and take as long as that does. */
export function waiting(host: TestHost, during: (ms: number) => Promise<unknown>): TestHost {
  const sleep = async (ms: number) => {
    host.sleptMs.push(ms);
    await during(ms);
  };
  return { ...host, clock: { ...host.clock, sleep } };
}

/** A host whose clock is wrong by so much. */
export function withClockOff(host: TestHost, byMs: number): TestHost {
  return { ...host, clock: { ...host.clock, now: () => Date.now() + byMs } };
}
