/** Where a run over many rows is recorded: its lock, the run before it, and its journal. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { absolutePath } from '../../absolute-path.ts';
import { IdSet } from '../../bulk/id-set.ts';
import { createJournal, type Journal, type NewHeader, reopenJournal } from '../../bulk/journal.ts';
import { fileIo } from '../../bulk/journal-io.ts';
import { beginsAsJournal } from '../../bulk/journal-lines.ts';
import type { SessionStart } from '../../bulk/journal-records.ts';
import { type Replay, readJournal } from '../../bulk/journal-replay.ts';
import {
  findRun,
  isRunName,
  newestRun,
  newRunId,
  type RunFile,
  removeRun,
  renameRun,
  runLock,
  runPath,
  shrinkOldRuns,
} from '../../bulk/run-files.ts';
import { errnoReason } from '../../errno.ts';
import { Failure } from '../../errors.ts';
import { resolveLinks } from '../../files.ts';
import type { Host } from '../../host.ts';
import { type Lock, takeLock } from '../../lock.ts';
import { shellWord } from '../../output/curl-line.ts';
import { makePrivateFolder } from '../../private-folder.ts';
import { findRunsDirectory, runsDirectory } from '../../settings/directories.ts';
import type { RecordFile } from './distinct-files.ts';

/** Which run it is: one with the same is gone on with. */
export interface RunPlace {
  /** 64 hex digits. */
  readonly identity: string;
  /** The absolute path of a file of the user's own, rather than one in the state folder. */
  readonly journal: string | undefined;
  /** That path as it was typed. */
  readonly typedJournal?: string | undefined;
  /** Finds the run to go on with in the folder of runs where none has the identity. */
  readonly findOther?: ((folder: string) => Promise<RunFile | undefined>) | undefined;
}

/** A run that may be begun, or gone on with: nobody else is at work on it. */
export interface RunRecord {
  /** What the run before it did; undefined where there is none. */
  readonly before: Replay | undefined;
  /** The ids that its creates were given. */
  readonly given: IdSet;
  /** Makes a new journal, in the place of the one before if that is the user's own file. */
  create(header: Omit<NewHeader, 'run' | 'identity'>, limit: number): Recorded;
  /** Goes on with the journal of the run before, which has this identity from now on. */
  reopen(limit: number): Recorded;
  /** Lets others at it. */
  release(): void;
}

/** A run that is being recorded. */
export interface Recorded {
  readonly run: string;
  /** The run on a command line, quoted for a shell: its id, or the path of a journal of the user's own. */
  readonly word: string;
  readonly journal: Journal;
}

/** Whether a journal is in the directory of the journals of runs. */
export function isAmongRuns(path: string, host: Pick<Host, 'env' | 'platform' | 'passwdHome'>): boolean {
  const folder = findRunsDirectory(host);
  return folder !== undefined && resolveLinks(dirname(path)) === resolveLinks(folder);
}

/** The lock of the run that a journal records: of one in the folder of runs, that of all runs of the same input. */
export function journalLock(path: string, host: Pick<Host, 'env' | 'platform' | 'passwdHome'>): string {
  const folder = findRunsDirectory(host);
  const [, identity] = /^[0-9a-z-]+\.([0-9a-f]{16})\.journal$/.exec(basename(path)) ?? [];
  return folder !== undefined && identity !== undefined && isAmongRuns(path, host)
    ? runLock(folder, identity)
    : `${path}.lock`;
}

/**
 * Checks what `--journal` names.
 *
 * @throws {Failure} usage, when something is there that is not a regular file: it would be replaced
 */
export function checkJournalPath(typed: string, host: Pick<Host, 'cwd'>): void {
  // A journal is read again and replaced, which no stream can be.
  if (typed !== '' && typed !== '-' && isRegularOrMissing(absolutePath(typed, host))) return;
  throw new Failure(
    'usage',
    `invalid --journal "${typed}": ${typed === '' ? 'expected a file' : 'not a regular file'}`,
    {
      hint: 'pass --journal none to keep no record; nothing was sent',
    },
  );
}

function isRegularOrMissing(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Opening it tells what is wrong with it.
    return true;
  }
}

/** The journal that `--journal` names, with what is kept beside it. */
export function journalFiles(path: string): RecordFile {
  return { path, endings: ['.lock'] };
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
export async function openRecord(place: RunPlace, options: RecordOptions, host: Host): Promise<RunRecord> {
  const { identity, journal } = place;
  const folder = journal === undefined ? runsDirectory(host) : dirname(journal);
  makeFolder(folder);
  const { restarts = false, tool } = options;
  const locks = new Map<string, Lock>();
  const lock = async (path: string) => {
    if (!locks.has(path)) locks.set(path, await takeRunLock(path, options, host));
  };
  try {
    await lock(journal === undefined ? runLock(folder, identity) : journalLock(journal, host));
    const last = journal === undefined ? await lastRun(folder, place, restarts, lock, host) : undefined;
    if (restarts && journal !== undefined) refuseOtherFiles(journal);
    const boot = bootId();
    const path = journal ?? last?.path;
    const given = new IdSet();
    const before = path === undefined || restarts ? undefined : await readJournal(path, { boot, given });
    const { clock } = host;
    const begin = (limit: number) => ({ boot, limit, tool, at: clock.now(), monotonicMs: clock.monotonicMs() });
    const next = newRunId(host.clock.now(), () => host.random(), journal === undefined ? newestRun(folder) : undefined);
    const { typedJournal } = place;
    const word = typedJournal === undefined ? undefined : journalWord(typedJournal);
    return recordOf({ before, given, last, next, identity, locks, begin, journal, folder, word });
  } catch (error) {
    for (const held of locks.values()) held.release();
    throw error;
  }
}

async function takeRunLock(path: string, { lockWaitMs, breaksLock, warn }: RecordOptions, host: Host): Promise<Lock> {
  const lock = await takeLock(path, { waitMs: lockWaitMs, breaksForeign: breaksLock }, host);
  for (const holder of lock.broken)
    await warn(`the lock of ${holder} was taken: if that is still at work, stop one of the two now`);
  return lock;
}

/** The run in the folder of runs that this one continues or comes after; under its lock. */
async function lastRun(
  folder: string,
  { identity, findOther }: RunPlace,
  restarts: boolean,
  lock: (path: string) => Promise<void>,
  host: Host,
): Promise<RunFile | undefined> {
  // The lock was just made: where the clock of this process is ahead of the file system's, nothing is old by it.
  await shrinkOldRuns(folder, Math.min(host.clock.now(), fileIo.modifiedMs(runLock(folder, identity))));
  const last = findRun(folder, identity);
  if (last !== undefined || restarts) return last;
  for (let other = await findOther?.(folder); other !== undefined; ) {
    await lock(runLock(folder, other.identityStart));
    // A process that held that lock meanwhile may have gone on with the run, and given it another identity.
    const again: RunFile | undefined = await findOther?.(folder);
    if (again?.path === other.path) return other;
    other = again;
  }
  return undefined;
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
  /** The run before, in the folder of runs. */
  readonly last: RunFile | undefined;
  /** The id of the next run. */
  readonly next: string;
  readonly identity: string;
  readonly locks: ReadonlyMap<string, Lock>;
  readonly begin: (limit: number) => SessionStart;
  readonly journal: string | undefined;
  readonly folder: string;
  /** Undefined for the id of the run. */
  readonly word: string | undefined;
}

function recordOf({ before, given, last, next, identity, locks, begin, journal, folder, word }: Found): RunRecord {
  const recorded = (run: string, opened: Journal) => ({ run, word: word ?? run, journal: opened });
  return {
    before,
    given,
    create: (header, limit) => {
      if (journal !== undefined) removeRun(journal);
      const made = journal ?? runPath(folder, next, identity);
      return recorded(next, createJournal(made, { ...header, run: next, identity }, begin(limit)));
    },
    reopen: (limit) => {
      const path = journal ?? (last && renameRun(last, identity));
      if (before === undefined || path === undefined) throw new Error('there is no run to go on with');
      return recorded(before.header.run, reopenJournal(path, before, begin(limit)));
    },
    release: () => {
      for (const lock of locks.values()) lock.release();
    },
  };
}

/** The path of a journal on a command line, where it must not be taken for the name of a run or for a flag. */
function journalWord(typed: string): string {
  return shellWord(isRunName(typed) || typed.startsWith('-') ? `./${typed}` : typed);
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
