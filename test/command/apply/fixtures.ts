/** A user's directory with a manifest in it, over a service: what `apply` is tried in, and tests that have both. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { main } from '../../../src/main.ts';
import { type Run, testHost, type World } from '../../support/test-host.ts';
import { type ManyWorld, manyWorld } from '../bulk/bulk-world.ts';
import { type ItemService, itemService, type JsonFields } from './item-service.ts';

export interface Fixtures {
  readonly service: ItemService;
  readonly world: ApplyWorld;
  /** A list with one to create, one to update, one to delete and one unchanged. */
  readonly changed: { readonly service: ItemService; readonly world: ApplyWorld; readonly writesSince: () => number };
}

/** A test with a service that needs no script, and a directory for manifests. */
export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  service: async ({}, use) => {
    await using service = await itemService();
    await use(service);
  },
  world: async ({ service }, use) => {
    await using world = await applyWorld(service);
    await use(world);
  },
  changed: async ({ service, world }, use) => {
    await world.begin(a, b, c);
    world.manifest({ ...a, Note: 'new' }, b, { Title: 'd' });
    const sentBefore = service.requests.length;
    const writesSince = () => service.requests.slice(sentBefore).filter(({ method }) => method !== 'GET').length;
    await use({ service, world, writesSince });
  },
});

export const a = { Title: 'a', Note: 'x' };
export const b = { Title: 'b', Note: 'y' };
export const c = { Title: 'c', Note: 'z' };

export interface ApplyWorld extends ManyWorld {
  /** Where the state of `manifest.yaml` is. */
  readonly statePath: string;
  manifest(...items: readonly JsonFields[]): void;
  /** `listctl apply manifest.yaml`, and more words. */
  apply(...words: readonly string[]): Promise<Run>;
  /** The first time: with `--init --yes`. Throws where that is no success. */
  begin(...items: readonly JsonFields[]): Promise<void>;
  /** `listctl state VERB manifest.yaml`, and more words. */
  state(verb: string, ...words: readonly string[]): Promise<Run>;
  known(): StateShown;
  hasState(): boolean;
  /** Runs a command line with real waits: another process holds the lock meanwhile. */
  patient(words: readonly string[], world?: World): Promise<Run>;
  /** Runs a command line on a terminal, and types the answer once a prompt with this text is shown. */
  answering(words: readonly string[], typed: string, world?: World, question?: string): Promise<Run>;
}

export interface StateShown {
  readonly lineage: string;
  readonly serial: number;
  readonly origin: string;
  readonly run?: string;
  readonly items: Readonly<Record<string, StateItemShown>>;
}

export interface StateItemShown {
  readonly id?: string;
  readonly etag?: string;
  readonly fields: JsonFields;
  readonly inDoubt?: { readonly idempotencyKey: string | null };
}

export async function applyWorld(service: { readonly url: string }): Promise<ApplyWorld> {
  const world = await manyWorld(service);
  const statePath = join(world.path, 'manifest.yaml.state.json');
  const manifest = (...items: readonly JsonFields[]) => {
    world.file('manifest.yaml', JSON.stringify({ key: 'Title', items }));
  };
  const apply = (...words: readonly string[]) => world.run(['apply', 'manifest.yaml', ...words]);
  return {
    ...{ ...world, statePath, manifest, apply },
    begin: async (...items) => {
      manifest(...items);
      const { exitCode, stderr } = await apply('--init', '--yes', '-o', 'none');
      if (exitCode !== 0) throw new Error(`${exitCode}: ${stderr}`);
    },
    state: (verb, ...words) => world.run(['state', verb, 'manifest.yaml', ...words]),
    known: () => JSON.parse(world.text('manifest.yaml.state.json')) as StateShown,
    hasState: () => existsSync(statePath),
    patient: (words, more) => patient(world, words, more),
    answering: (words, typed, more, question) => answering(world, words, typed, more, question),
  };
}

async function patient({ path, env }: ManyWorld, words: readonly string[], world: World = {}): Promise<Run> {
  const host = testHost({ cwd: path, ...world, env: { ...env, ...world.env } });
  const sleep = (ms: number, stop: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      stop.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(stop.reason);
      });
    });
  const clock = { ...host.clock, monotonicMs: () => performance.now(), sleep };
  return { exitCode: await main(words, { ...host, clock }), ...host.printed, host };
}

async function answering(
  { path, env }: ManyWorld,
  words: readonly string[],
  typed: string,
  world: World = {},
  question = '(y/N)',
) {
  const host = testHost({ terminal: 80, cwd: path, ...world, env: { ...env, ...world.env } });
  const ended = main(words, host);
  let hasEnded = false;
  void ended.finally(() => {
    hasEnded = true;
  });
  while (!hasEnded && !host.printed.stderr.includes(question)) await new Promise((resolve) => setTimeout(resolve, 5));
  host.type(typed);
  return { exitCode: await ended, ...host.printed, host };
}
