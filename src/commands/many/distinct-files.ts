/** Files of one command line that must not be the same one: a result would take the place of what it was made from. */
import { fstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { absolutePath } from '../../absolute-path.ts';
import { Failure } from '../../errors.ts';
import { resolveLinks } from '../../files.ts';
import type { Host } from '../../host.ts';
import { descriptorNamed } from '../../output-file.ts';
import { findRunsDirectory } from '../../settings/directories.ts';

/** The files of a command line: what named each, and its path as it was typed; undefined where it was not. */
export interface CommandFiles {
  readonly inputs?: Readonly<Record<string, string | undefined>>;
  /** What listctl keeps of a run or a list, with the endings of the files that it keeps beside it. */
  readonly records?: Readonly<Record<string, RecordFile | undefined>>;
  readonly outputs?: Readonly<Record<string, string | undefined>>;
}

/** A file that listctl keeps. */
export interface RecordFile {
  readonly path: string;
  readonly endings: readonly string[];
}

/**
 * Refuses a file that is written and is another one of the command at the same time, whatever the two are called: also
 * one that a stream of the process leads to, and one that listctl keeps beside another.
 *
 * @throws {Failure} usage
 */
export function refuseSameFile({ inputs = {}, records = {}, outputs = {} }: CommandFiles, host: SameFileHost): void {
  const seen = new Map<string, string>();
  for (const [name, path] of named(inputs)) add(seen, name, absolutePath(path, host));
  // Later, since what is read alone may well be standard input by another name.
  for (const [identity, name] of openStreams()) seen.set(identity, name);
  for (const [name, { path: typed, endings }] of named(records)) {
    const path = resolveLinks(absolutePath(typed, host));
    add(seen, name, path);
    for (const ending of endings) add(seen, `the ${ending} file of ${name}`, `${path}${ending}`);
  }
  for (const [name, path] of named(outputs)) {
    const descriptor = descriptorNamed(path, host);
    if (descriptor === undefined) {
      add(seen, name, absolutePath(path, host));
      refuseAmongRuns(name, absolutePath(path, host), host);
    } else add(seen, name, path, `descriptor ${descriptor}`);
  }
}

function named<T>(files: Readonly<Record<string, T | undefined>>): readonly (readonly [string, T])[] {
  return Object.entries(files).flatMap(([name, file]) => (file === undefined ? [] : [[name, file] as const]));
}

function add(seen: Map<string, string>, name: string, path: string, identity = identify(path)): void {
  if (identity === undefined) return;
  const other = seen.get(identity);
  if (other !== undefined) throw sameFile(other, name, path);
  seen.set(identity, name);
}

type SameFileHost = Pick<Host, 'cwd' | 'env' | 'platform' | 'passwdHome'>;

function sameFile(one: string, other: string, path: string): Failure {
  return new Failure('usage', `${one} and ${other} are the same file: ${path}`, {
    hint: 'nothing was sent; name another file for one of them',
  });
}

/** The journals of other runs have names that are not known here. */
function refuseAmongRuns(name: string, path: string, host: SameFileHost): void {
  const runs = findRunsDirectory(host);
  if (runs === undefined || dirname(resolveLinks(path)) !== resolveLinks(absolutePath(runs, host))) return;
  throw new Failure('usage', `${name} cannot be in the directory of the journals of runs: ${path}`, {
    hint: 'nothing was sent; name a file elsewhere',
  });
}

function openStreams(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [descriptor, name] of ['standard input', 'standard output', 'standard error'].entries()) {
    try {
      const status = fstatSync(descriptor, { bigint: true });
      if (status.isFile()) found.set(`${status.dev}:${status.ino}`, name);
    } catch {
      // It is closed.
    }
  }
  return found;
}

/** What tells a file from another one; undefined for a pipe or a device, of which nothing is replaced. */
function identify(path: string): string | undefined {
  try {
    const status = statSync(path, { bigint: true });
    return status.isFile() || status.isDirectory() ? `${status.dev}:${status.ino}` : undefined;
  } catch {
    // It is not there yet, or opening it tells what is wrong with it.
    return resolveLinks(path);
  }
}
