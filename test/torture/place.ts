/** Where a scenario takes place: a directory that holds all that listctl writes, and a service; both can be put back. */
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { env, kill } from 'node:process';
import { execa } from 'execa';
import { listctlFile, testNode } from '../support/listctl.ts';
import type { ListService } from './list-service.ts';

export interface Ended {
  /** Undefined where a signal ended it, or it came to no end. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** What became of it where it has no exit code. */
  readonly otherwise: string | undefined;
}

export interface RunOptions {
  readonly input?: string | undefined;
  /** Arguments before it: strace, with its flags. */
  readonly wrapper?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Told of the process, to kill it. */
  readonly onStart?: (process: { kill(signal: 'SIGKILL'): boolean }) => void;
}

export interface Place {
  readonly service: ListService;
  readonly root: string;
  /** A path below it: `work/rows.csv`. Commands start in `work`. */
  path(...parts: readonly string[]): string;
  run(words: readonly string[], options?: RunOptions): Promise<Ended>;
  /** The files below it, as paths from there, in their order. */
  files(): readonly string[];
  /** Remembers the directory and the service as they are; calling the result brings both back. */
  keep(): () => void;
}

/** A run that takes longer has hung, in milliseconds. */
const longestRunMs = 60_000;

/**
 * Makes the place in a directory.
 *
 * @param beside a directory outside, for what is not under test: copies of the place
 */
export function makePlace(root: string, beside: string, service: ListService): Place {
  const path = (...parts: readonly string[]) => join(root, ...parts);
  for (const name of ['work', 'tmp', 'home']) mkdirSync(path(name), { recursive: true, mode: 0o700 });
  const variables = {
    PATH: env['PATH'],
    HOME: path('home'),
    TMPDIR: path('tmp'),
    LISTCTL_CONFIG_DIR: path('config'),
    LISTCTL_STATE_DIR: path('state'),
    LISTCTL_DATA_DIR: path('data'),
    LISTCTL_BASE_URL: service.url,
    LISTCTL_TOKEN: 'the-token-of-the-torture',
    LISTCTL_SITE: 'home',
    LISTCTL_LIST: 'tasks',
  };
  return {
    service,
    root,
    path,
    run: async (words, { input, wrapper = [], environment = {}, onStart = () => {} } = {}) => {
      const [program = testNode, ...before] = [...wrapper, testNode, listctlFile];
      const running = execa(program, [...before, ...words], {
        ...{ cwd: path('work'), extendEnv: false, reject: false, detached: true },
        ...(input === undefined ? { stdin: 'ignore' } : { input }),
        env: { ...variables, ...environment },
      });
      onStart(running);
      let hangs = false;
      const timer = setTimeout(() => {
        hangs = true;
        // The whole group: without strace, what it traced would go on.
        if (running.pid !== undefined) kill(-running.pid, 'SIGKILL');
      }, longestRunMs);
      const { exitCode, stdout, stderr, signal } = await running;
      clearTimeout(timer);
      const otherwise = hangs ? 'it came to no end' : signal && `it ended by ${signal}`;
      return { exitCode, stdout: String(stdout), stderr: String(stderr), otherwise };
    },
    files: () => filesIn(root),
    keep: () => {
      const copy = join(beside, `copy-${copies++}`);
      cpSync(root, copy, { recursive: true });
      const putBack = service.keep();
      return () => {
        for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
        cpSync(copy, root, { recursive: true });
        putBack();
      };
    },
  };
}

let copies = 0;

function filesIn(root: string): readonly string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}
