/** A directory with runs in it, for tests of `listctl runs`: by the program itself over the built-in service, or as written here. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { createJournal, type NewHeader } from '../../src/bulk/journal.ts';
import type { JournalRecord, RunTotals, SessionStart } from '../../src/bulk/journal-format.ts';
import { payloadHash } from '../../src/bulk/keys.ts';
import { runPath } from '../../src/bulk/runs.ts';
import type { Fields } from '../../src/core/item.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type Run, run, type World } from '../support/test-host.ts';

export interface RunsWorld extends AsyncDisposable {
  readonly path: string;
  readonly runs: string;
  /** Without an address, a token, a site or a list. */
  readonly env: Readonly<Record<string, string>>;
  /** `--base-url` and the built-in service in this directory. */
  readonly local: readonly string[];
  run(words: readonly string[], world?: World): Promise<Run>;
  file(name: string, content: string): string;
  /** Creates an item for each title, and gives the id of the run. */
  create(titles: readonly string[], more?: readonly string[]): Promise<string>;
  /** Writes a journal into the directory of runs, or to the path that is named; gives its path. */
  journal(given: GivenRun, path?: string): Promise<string>;
  names(): readonly string[];
}

/** A run as recorded in its journal; the rest is a create of the given number of rows on this boot. */
export interface GivenRun {
  readonly header?: Partial<NewHeader>;
  readonly rows: number;
  readonly session?: Partial<SessionStart>;
  readonly groups: readonly (readonly JournalRecord[])[];
  readonly apartMs?: number;
}

export const givenRun = '20261120-101530-k3f9';
const givenStart = Date.UTC(2026, 10, 20, 10, 15, 30);

/** A test in an empty one. */
export const test = base.extend<{ readonly world: RunsWorld }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  world: async ({}, use) => {
    await using world = await runsWorld();
    await use(world);
  },
});

export async function runsWorld(): Promise<RunsWorld> {
  const { path, [Symbol.asyncDispose]: remove } = await temporaryDirectory();
  const runs = join(path, 'state', 'runs');
  mkdirSync(runs, { recursive: true });
  const env = { LISTCTL_STATE_DIR: join(path, 'state'), LISTCTL_DATA_DIR: join(path, 'data'), HOME: path };
  const local = ['--base-url', `local:${join(path, 'items')}`];
  const runIn = (words: readonly string[], world: World = {}) =>
    run(words, { cwd: path, random: Math.random, ...world, env: { ...env, ...world.env } });
  const file = (name: string, content: string) => {
    writeFileSync(join(path, name), content);
    return join(path, name);
  };
  return {
    ...{ path, runs, env, local, file, run: runIn },
    create: async (titles, more = []) => {
      const from = file('tasks.csv', `Title\n${titles.join('\n')}\n`);
      const words = ['items', 'create', ...local, '-s', 'home', '-l', 'tasks', '--from', from, '-o', 'none'];
      const ended = await runIn([...words, ...more]);
      if (ended.exitCode !== 0) throw new Error(ended.stderr);
      return (await runIn(['runs', 'show', 'last', '-q', 'run'])).stdout.trim();
    },
    journal: (given, own) => writeJournal(given, runs, own),
    names: () => readdirSync(runs).sort(),
    [Symbol.asyncDispose]: remove,
  };
}

export async function writeJournal(
  { header, rows, session, groups, apartMs = 1 }: GivenRun,
  directory: string,
  own?: string,
) {
  const whole: NewHeader = {
    ...{ run: givenRun, tool: '0.1.0', action: 'create', origin: 'https://lists.example/v1.0' },
    ...{ site: 'home', list: 'tasks', file: '/data/tasks.csv', identity: 'ab'.repeat(32) },
    ...{ input: { bytes: 12, sha256: '0f'.repeat(32), rows }, rows, mapping: '00', shard: null },
    ...{ idempotency: 'unknown', startedAt: new Date(givenStart).toISOString() },
    ...header,
  } as const;
  const path = own ?? runPath(directory, whole.run, whole.identity);
  const journal = createJournal(path, whole, { boot: 'here', limit: 4, tool: '0.1.0', at: givenStart, ...session });
  for (const [index, records] of groups.entries()) journal.write(records, (index + 1) * apartMs);
  await journal.close();
  return path;
}

export function intent(row: number, fields: Fields, attempt = 1): JournalRecord {
  return ['I', row, row, attempt, `key-${row}`, payloadHash(undefined, fields)];
}

export function done(row: number, id: string, etag: string | null = null, tookMs = 12): JournalRecord {
  return ['D', row, id, etag, tookMs];
}

export function ended(totals: Partial<RunTotals>): JournalRecord {
  const none = { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };
  return ['E', { ...none, ms: 1000, sent: 0, retries: 0, throttledMs: 0, ...totals }];
}

/** A run that created these items, with these fields and tags; its row is done, or in doubt where there is no id. */
export function created(
  origin: string,
  items: readonly { readonly id?: string; readonly fields?: Fields; readonly etag?: string }[],
): GivenRun {
  const groups = items.map(({ id, fields = { Title: 'a' }, etag }, at): JournalRecord[] => {
    const row = at + 1;
    return [
      intent(row, fields),
      id === undefined ? ['U', row, 'no complete response', 900] : done(row, id, etag ?? null),
    ];
  });
  return { header: { origin }, rows: items.length, groups };
}
