/** A user's directory for runs over many rows: the files of it, the state that runs leave there, and runs in it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalGroup, JournalRecord, RunTotals } from '../../../src/bulk/journal-format.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Run, run, type World } from '../../support/test-host.ts';

/** Such a directory. */
export interface ManyWorld extends AsyncDisposable {
  readonly path: string;
  /** Where the journals of runs are. */
  readonly runs: string;
  readonly env: Readonly<Record<string, string>>;
  /** Puts a file there, and gives its path. */
  file(name: string, content: string | Uint8Array): string;
  text(name: string): string;
  /** Runs a command line in it. */
  run(words: readonly string[], world?: World): Promise<Run>;
  /** The paths of the journals in the state directory, oldest first. */
  journals(): readonly string[];
  /** What else there is in that directory: nothing, once a run has ended. */
  leftovers(): readonly string[];
  /** What the newest of them, or the one that is named, holds. */
  records(path?: string): readonly JournalRecord[];
}

/** Makes a directory, for runs over a service. */
export async function manyWorld(service: { readonly url: string }): Promise<ManyWorld> {
  const { path, [Symbol.asyncDispose]: remove } = await temporaryDirectory();
  const state = join(path, 'state');
  const runs = join(state, 'runs');
  mkdirSync(join(path, 'home'));
  const env = {
    ...{ LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' },
    ...{ LISTCTL_STATE_DIR: state, LISTCTL_DATA_DIR: join(path, 'data'), HOME: join(path, 'home') },
  };
  const journals = () =>
    existsSync(runs)
      ? readdirSync(runs)
          .filter((name) => name.endsWith('.journal'))
          .sort()
          .map((name) => join(runs, name))
      : [];
  return {
    ...{ path, runs, env, journals },
    file: (name, content) => {
      writeFileSync(join(path, name), content);
      return join(path, name);
    },
    text: (name) => readFileSync(join(path, name), 'utf8'),
    run: (words, world = {}) => run(words, { cwd: path, ...world, env: { ...env, ...world.env } }),
    leftovers: () => (existsSync(runs) ? readdirSync(runs).filter((name) => !name.endsWith('.journal')) : []),
    records: (journal = journals().at(-1)) => (journal === undefined ? [] : recordsOf(journal)),
    [Symbol.asyncDispose]: remove,
  };
}

function recordsOf(journal: string): readonly JournalRecord[] {
  const lines = readFileSync(journal, 'latin1').split('\n').slice(1, -1);
  const jsonOf = (line: string) => Buffer.from(line, 'latin1').subarray(9).toString();
  return lines.flatMap((line) => (JSON.parse(jsonOf(line)) as JournalGroup).slice(1) as JournalRecord[]);
}

/** The totals with which the newest journal ends. */
export function endOf(world: ManyWorld): RunTotals {
  const last = world.records().at(-1);
  if (last?.[0] !== 'E') throw new Error(`the journal ends with ${JSON.stringify(last)}`);
  return last[1];
}

/** A CSV with the given number of rows, titled `t1`, `t2`, …. */
export function titles(count: number): string {
  return `Title\n${numbered(count).join('\n')}\n`;
}

/** `t1`, `t2`, … */
export function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `t${index + 1}`);
}

/** The lines of a stream, as JSON. */
export function jsonLines(text: string): readonly Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

/** `items create --from FILE`, and more words. */
export function create(file: string, ...more: readonly string[]): readonly string[] {
  return ['items', 'create', '--from', file, ...more];
}
