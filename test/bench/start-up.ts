/**
 * How long listctl takes from start to end, beside a bare Node of the same version. Every round runs every command
 * once, so that what else the machine does falls on all of them alike.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { listctlFile } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { median, serving } from './child.ts';

export interface StartUpRow {
  readonly name: string;
  readonly medianMs: number;
  /** How often bare Node's time it took. */
  readonly ratio: number;
  /** The ratio that it must stay under; bare Node itself has none. */
  readonly bar: number | undefined;
}

interface Command {
  readonly name: string;
  readonly args: readonly string[];
  readonly bar?: number;
  /** What its environment holds in the place of the others' address and token. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts that are thrown away, while the files come into the system's cache. */
const warmUpRounds = 2;

/** Measures every start with this Node, as many times as there are rounds. */
export async function measureStartUp(node: string, rounds: number): Promise<readonly StartUpRow[]> {
  await using home = await temporaryDirectory();
  // In a process of its own, since spawnSync stops this one.
  using service = await serving(execPath, join(import.meta.dirname, 'item-service.js'));
  const empty = join(home.path, 'empty.cjs');
  await writeFile(empty, '');
  const settings = await keepSettings(join(home.path, 'settings'), service.url);
  // Nothing else of our environment: NODE_EXTRA_CA_CERTS alone would cost every start of Node 20 37 ms.
  const childEnv = {
    PATH: env['PATH'],
    HOME: home.path,
    LISTCTL_DATA_DIR: join(home.path, 'data'),
  };
  const serviceEnv = { LISTCTL_TOKEN: 'bench-token', LISTCTL_BASE_URL: service.url };

  const commands = commandsWith(empty, settings);
  const timesMs = commands.map((): number[] => []);
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [at, command] of commands.entries()) {
      const tookMs = timeMs(node, command, { ...childEnv, ...(command.env ?? serviceEnv) });
      if (round >= 0) timesMs[at]?.push(tookMs);
    }
  }

  const medians = timesMs.map(median);
  return commands.map(({ name, bar }, at) => {
    const medianMs = medians[at] ?? Number.NaN;
    return { name, medianMs, ratio: medianMs / (medians[0] ?? Number.NaN), bar };
  });
}

export function startUpTable(rows: readonly StartUpRow[]): string {
  const header = ['', 'ms', 'x bare Node', 'bar', ''];
  const cells = rows.map(({ name, medianMs, ratio, bar }) => [
    name,
    medianMs.toFixed(1),
    ratio.toFixed(2),
    bar?.toFixed(1) ?? '',
    bar !== undefined && ratio > bar ? 'over' : '',
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...cells].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)));
  return [header, ...cells].map((row) => `${line(row).join('  ').trimEnd()}\n`).join('');
}

export function nodeVersion(node: string): string {
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim().replace('v', '');
}

/** The first one is what the others are measured by. */
function commandsWith(empty: string, settings: string): readonly Command[] {
  const list = ['-s', 'home', '-l', 'tasks'];
  const create = ['items', 'create', ...list, '-f', 'Title=Hello'];
  const listctl = (name: string, bar: number, args: readonly string[]) => ({ name, bar, args: [listctlFile, ...args] });
  return [
    { name: 'node empty.cjs', args: [empty] },
    listctl('listctl --version', 1.4, ['--version']),
    listctl('listctl --help', 1.4, ['--help']),
    listctl('listctl items create --help', 1.5, ['items', 'create', '--help']),
    listctl('listctl items get (http)', 2, ['items', 'get', ...list, '1']),
    listctl('listctl items create (http)', 2, create),
    {
      ...listctl('listctl items get (http), profile and stored token', 2, ['items', 'get', '1']),
      env: { LISTCTL_CONFIG_DIR: settings },
    },
    listctl('listctl items create --local', 2.7, [...create, '--local']),
    // What a shell asks at each Tab.
    listctl('listctl __complete: flags', 2, ['__complete', 'current=--', 'items', 'create']),
    {
      ...listctl('listctl __complete: profiles', 2, ['__complete', 'current=', 'items', 'get', '--profile']),
      env: { LISTCTL_CONFIG_DIR: settings },
    },
  ];
}

/** Settings as a user keeps them: a profile that is in use, and its token. */
async function keepSettings(directory: string, baseUrl: string): Promise<string> {
  const bench = { baseUrl, site: 'home', list: 'tasks' };
  const config = { version: 1, current: 'bench', profiles: { bench } };
  const credentials = { version: 1, tokens: { bench: { origin: new URL(baseUrl).origin, token: 'bench-token' } } };
  await mkdir(directory, { mode: 0o700 });
  await writeFile(join(directory, 'config.json'), JSON.stringify(config, undefined, 2), { mode: 0o600 });
  await writeFile(join(directory, 'credentials.json'), JSON.stringify(credentials, undefined, 2), { mode: 0o600 });
  return directory;
}

function timeMs(node: string, { name, args }: Command, childEnv: NodeJS.ProcessEnv): number {
  const startedAt = performance.now();
  const { status, stderr, error } = spawnSync(node, args, { env: childEnv, encoding: 'utf8' });
  const tookMs = performance.now() - startedAt;
  // A command that fails is quick; its time would be no figure at all.
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`, { cause: error });
  return tookMs;
}
