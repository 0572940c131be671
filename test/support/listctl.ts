/**
 * The built program as a user runs it: a process, with nothing in its environment but what a test says.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { execa, type Options, type ResultPromise } from 'execa';

/** The Node that runs the program: the one of the tests, unless `LISTCTL_TEST_NODE` names another. */
export const testNode = env['LISTCTL_TEST_NODE'] ?? execPath;

/** The program that a user starts. */
export const listctlFile = join(import.meta.dirname, '../../bin/listctl.js');

const defaults = { reject: false, extendEnv: false } as const;

/**
 * Starts listctl; await it for its exit code and both streams, or use its streams while it runs.
 *
 * Its environment is `PATH`, and a `HOME` that is empty, for this run alone and gone after it. Its stdin is at its
 * end, unless the options say otherwise (`input`, or `stdin: 'pipe'`). It never rejects: a failure is a result to look at.
 */
export function listctl<O extends Options = Record<never, never>>(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  options?: O,
): ResultPromise<O & typeof defaults> {
  const home = 'HOME' in environment ? undefined : mkdtempSync(join(tmpdir(), 'listctl-home-'));
  const running = execa(testNode, [listctlFile, ...args], {
    ...stdinOf(options),
    ...options,
    ...defaults,
    env: { PATH: env['PATH'], ...(home === undefined ? {} : { HOME: home }), ...environment },
  });
  if (home !== undefined) void running.finally(() => rmSync(home, { recursive: true, force: true }));
  return running as unknown as ResultPromise<O & typeof defaults>;
}

/** Runs a line of POSIX shell in which `listctl` is the built program; the environment is as for `listctl`. */
export function shell(line: string, environment: Readonly<Record<string, string>> = {}) {
  const program = `listctl() { '${testNode}' '${listctlFile}' "$@"; }`;
  return execa('sh', ['-c', `${program}\n${line}`], {
    ...defaults,
    stdin: 'ignore',
    env: { PATH: env['PATH'], ...environment },
  });
}

function stdinOf(options: Options | undefined): Options {
  const isGiven = ['input', 'inputFile', 'stdin', 'stdio'].some((name) => name in (options ?? {}));
  return isGiven ? {} : { stdin: 'ignore' };
}
