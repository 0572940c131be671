/** The run that a word of the command line names: its journal, who is at work on it, and its lock. */

import { basename, resolve } from 'node:path';
import { absolutePath } from '../../absolute-path.ts';
import { fileIo } from '../../bulk/journal-io.ts';
import { readHeader } from '../../bulk/journal-lines.ts';
import type { JournalHeader } from '../../bulk/journal-records.ts';
import { type Replay, readJournal } from '../../bulk/journal-replay.ts';
import { findRun, isRunName, resolveRun } from '../../bulk/run-files.ts';
import { Failure } from '../../errors.ts';
import { resolveLinks } from '../../files.ts';
import type { Host } from '../../host.ts';
import { isLocked, type LockOptions, takeLock } from '../../lock.ts';
import { shellWord } from '../../output/curl-line.ts';
import { findRunsDirectory, runsDirectory } from '../../settings/directories.ts';
import { bootId, journalLock } from '../many/run-record.ts';

/** What RUN is, on help pages. */
export const runWords = 'its id, last, or the path of its journal';

/**
 * The path of the journal that RUN names.
 *
 * @throws {Failure} usage, when there is no such run; local-file, when the folder of runs can't be read
 */
export function pathOfRun(word: string, host: Host): string {
  return isRunName(word)
    ? resolveRun(runsDirectory(host), word, host.clock.now())
    : resolveLinks(absolutePath(word, host));
}

/** The run in the commands of a hint: as it was named, but for `last`, which may be another one by then. */
export function wordForHint(word: string, run: string): string {
  return word === 'last' ? run : shellWord(word);
}

/**
 * The first line of a journal.
 *
 * @throws {Failure} usage, where no run is recorded; local-file, when it can't be read or is damaged
 */
export function headerOfRun(path: string): JournalHeader {
  const start = readHeader(path, fileIo);
  if (start === undefined) throw noRun(path);
  return start.header;
}

/**
 * Reads what is recorded of a run.
 *
 * @throws {Failure} as `headerOfRun`
 */
export async function readRun(path: string): Promise<Replay> {
  const replay = await readJournal(path, { boot: bootId() });
  if (replay === undefined) throw noRun(path);
  return replay;
}

function noRun(path: string): Failure {
  return new Failure('usage', `no run is recorded in ${path}`, {
    hint: 'listctl runs list names the runs; a run with a --journal of its own goes by that path',
  });
}

/** Whether a process is at work on the run, as far as can be known: of those of one input it can only be the last. */
export function isAtWork(path: string, host: Host): boolean {
  const folder = findRunsDirectory(host);
  const lock = journalLock(path, host);
  if (!isLocked(lock, host.processes)) return false;
  // A journal of the user's own has a lock of its own.
  if (folder === undefined || lock === `${path}.lock`) return true;
  return resolve(findRun(folder, basename(lock, '.lock'))?.path ?? path) === path;
}

/**
 * Works on a run while nobody else can.
 *
 * @throws {Failure} locked, when another process is at work on it; as `headerOfRun`
 */
export async function whileLocked<T>(
  path: string,
  options: LockOptions,
  host: Host,
  work: () => Promise<T>,
): Promise<T> {
  // Before the lock: a folder that is not there can take none.
  headerOfRun(path);
  const lock = await takeLock(journalLock(path, host), options, host);
  try {
    return await work();
  } finally {
    lock.release();
  }
}
