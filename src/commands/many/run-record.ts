/** Where a run over many rows is recorded: its lock, the run before it, and its journal. */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { IdSet } from '../../bulk/id-set.ts';
import { createJournal, type Journal, type NewHeader, reopenJournal } from '../../bulk/journal.ts';
import { fileIo } from '../../bulk/journal-io.ts';
import { beginsAsJournal } from '../../bulk/journal-lines.ts';
import type { SessionStart } from '../../bulk/journal-records.ts';
import { type Replay, readJournal } from '../../bulk/journal-replay.ts';
import { findRun, newestRun, newRunId, removeRun, runLock, runPath, shrinkOldRuns } from '../../bulk/run-files.ts';
import { errnoReason } from '../../errno.ts';
import { Failure } from '../../errors.ts';
import type { Host } from '../../host.ts';
import { type Lock, takeLock } from '../../lock.ts';
import { makePrivateFolder } from '../../private-folder.ts';
import { findRunsDirectory, runsDirectory } from '../../settings/directories.ts';

/** Which run it is: one with the same is gone on with. */
export interface RunPlace {
  /** 64 hex digits. */
  readonly identity: string;
  /** A file of the user's own, rather than one in the state folder. */
  readonly journal: string | undefined;
}

/** A run that may be begun, or gone on with: nobody else is at work on it. */
export interface RunRecord {
  /** What the run before it did; undefined where there is none. */
  readonly before: Replay | undefined;
  /** The ids that its creates were given. */
  readonly given: IdSet;
  /** Makes a new journal, in the place of the one before if that is the user's own file. */
  create(header: Omit<NewHeader, 'run' | 'identity'>, limit: number): Recorded;
  /** Goes on with the journal of the run before. */
  reopen(limit: number): Recorded;
  /** Lets others at it. */
  release(): void;
}

/** A run that is being recorded. */
export interface Recorded {
  readonly run: string;
  readonly journal: Journal;
}

/** The lock of the run that a journal records: of one in the folder of runs, that of all runs of the same input. */
export function journalLock(path: string, host: Pick<Host, 'env' | 'platform' | 'passwdHome'>): string {
  const folder = findRunsDirectory(host);
  const [, identity] = /^[0-9a-z-]+\.([0-9a-f]{16})\.journal$/.exec(basename(path)) ?? [];
  const isOurs = folder !== undefined && identity !== undefined && realPath(dirname(path)) === realPath(folder);
  return isOurs ? runLock(folder, identity) : `${path}.lock`;
}

/** 64 hex digits that stand for what a run is of. */
export function identityOf(...parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** This start of the machine; empty where the system has no name for it. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** How a record is opened. */
export interface RecordOptions {
  readonly lockWaitMs: number;
  readonly breaksLock: boolean;
  /** The version of listctl. */
  readonly tool: string;
  /** Forgets the run before. */
  readonly restarts?: boolean;
  /** Told that a lock of another host was taken. */
  readonly warn: (text: string) => Promise<void>;
}

/**
 * Takes the lock of a run, and reads what is recorded of it.
 *
 * @throws {Failure} locked, when another process is at work on it; local-file, when its journal is damaged, or nothing
 *   can be written there
 */
export async function openRecord(
  { identity, journal }: RunPlace,
  options: RecordOptions,
  host: Host,
): Promise<RunRecord> {
  const folder = journal === undefined ? runsDirectory(host) : dirname(journal);
  makeFolder(folder);
  const lockPath = journal === undefined ? runLock(folder, identity) : `${journal}.lock`;
  const { lockWaitMs, breaksLock, restarts = false, tool, warn } = options;
  const lock = await takeLock(lockPath, { waitMs: lockWaitMs, breaksForeign: breaksLock }, host);
  try {
    for (const holder of lock.broken)
      await warn(`the lock of ${holder} was taken: if that is still at work, stop one of the two now`);
    // The lock was just made: where the clock of this process is ahead of the file system's, nothing is old by it.
    if (journal === undefined) await shrinkOldRuns(folder, Math.min(host.clock.now(), fileIo.modifiedMs(lockPath)));
    const last = journal === undefined ? findRun(folder, identity) : undefined;
    const path = journal ?? last?.path;
    const boot = bootId();
    const given = new IdSet();
    if (restarts && journal !== undefined) refuseOtherFiles(journal);
    const before = path === undefined || restarts ? undefined : await readJournal(path, { boot, given });
    const begin = (limit: number) => ({ boot, limit, tool, at: host.clock.now() });
    const next = newRunId(host.clock.now(), () => host.random(), journal === undefined ? newestRun(folder) : undefined);
    return recordOf({ before, given, path, next, identity, lock, begin, journal, folder });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** @throws {Failure} local-file, when something stands there that no run has written: it is not removed for one */
function refuseOtherFiles(journal: string): void {
  if (beginsAsJournal(journal)) return;
  throw new Failure('local-file', `${journal} is no journal of listctl`, {
    hint: 'nothing was sent, and it was left as it is: name another file with --journal',
  });
}

interface Found {
  readonly before: Replay | undefined;
  readonly given: IdSet;
  /** Of the run before. */
  readonly path: string | undefined;
  /** The id of the next run. */
  readonly next: string;
  readonly identity: string;
  readonly lock: Lock;
  readonly begin: (limit: number) => SessionStart;
  readonly journal: string | undefined;
  readonly folder: string;
}

function recordOf({ before, given, path, next, identity, lock, begin, journal, folder }: Found): RunRecord {
  return {
    before,
    given,
    create: (header, limit) => {
      if (journal !== undefined) removeRun(journal);
      const made = journal ?? runPath(folder, next, identity);
      return { run: next, journal: createJournal(made, { ...header, run: next, identity }, begin(limit)) };
    },
    reopen: (limit) => {
      if (before === undefined || path === undefined) throw new Error('there is no run to go on with');
      return { run: before.header.run, journal: reopenJournal(path, before, begin(limit)) };
    },
    release: () => lock.release(),
  };
}

/** Two ways to one folder are the same lock. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there: whoever needs it will say so.
    return path;
  }
}

function makeFolder(folder: string): void {
  try {
    makePrivateFolder(folder);
  } catch (error) {
    throw new Failure('local-file', `cannot create the directory ${folder}: ${errnoReason(error)}`, {
      hint: 'nothing was sent; name another one with LISTCTL_STATE_DIR, or a file with --journal',
      cause: error,
    });
  }
}
