/** The run that a word of the command line names: its journal, who is at work on it, and its lock. */
import { basename, resolve } from 'node:path';
import type { JournalHeader, RowCounts } from '../../bulk/journal-format.ts';
import { fileIo, readHeader } from '../../bulk/journal-lines.ts';
import { journalRecords, type Replay, readJournal } from '../../bulk/journal-read.ts';
import { bootId, journalLock, runOrigin } from '../../bulk/record.ts';
import { isComplete } from '../../bulk/resume.ts';
import { findRun, isRunName, resolveRun } from '../../bulk/runs.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { absolutePath, resolveLinks } from '../../core/files.ts';
import type { Host } from '../../core/host.ts';
import { checkId, type ListRef } from '../../core/item.ts';
import { isLocked, type LockOptions, takeLock } from '../../core/lock.ts';
import { shellWord } from '../../output/request.ts';
import type { RunShown } from '../../output/runs.ts';
import { findRunsDirectory, runsDirectory } from '../../settings/directories.ts';

/** What RUN is, on help pages. */
export const runWords = 'run id, "last", or path of a journal';

/**
 * The path of the journal that RUN names.
 *
 * @throws {Failure} usage, when there is no such run; local-file, when the directory of runs cannot be read
 */
export function findRunPath(word: string, host: Host): string {
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
 * @throws {Failure} usage, where no run is recorded; local-file, when it cannot be read or is damaged
 */
export function readRunHeader(path: string): JournalHeader {
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
export function isRunActive(path: string, host: Host): boolean {
  const directory = findRunsDirectory(host);
  const lock = journalLock(path, host);
  if (!isLocked(lock, host.processes)) return false;
  // A journal of the user's own has a lock of its own.
  if (directory === undefined || lock === `${path}.lock`) return true;
  return resolve(findRun(directory, basename(lock, '.lock'))?.path ?? path) === path;
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
  // Before the lock: a directory that is not there can take none.
  readRunHeader(path);
  const lock = await takeLock(journalLock(path, host), options, host);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/**
 * The list that a run is of, for requests about its items: those of another service, or of another list, may have the
 * same ids. Site and list need not be named; where flags do, they must be those of the run.
 *
 * @throws {Failure} usage, when this command line leads elsewhere, naming both places
 */
export function checkTarget({ run, origin, site, list }: JournalHeader, session: Session): ListRef {
  const here = runOrigin(session);
  if (here !== origin) {
    throw new Failure('usage', `run ${run} is of ${origin}, and this would go to ${here}`, {
      hint: 'nothing was sent; choose the service of the run with -p or --base-url',
    });
  }
  const { flags } = session.sources;
  for (const [flag, its] of [['--site', site] as const, ['--list', list] as const]) {
    const typed = flags[flag];
    if (typed === undefined || typed === its) continue;
    throw new Failure('usage', `run ${run} is of ${flag.slice(2)} "${its}", and ${flag} names "${typed}"`, {
      hint: `nothing was sent; ${flag} need not be passed`,
    });
  }
  return { site: checkId(site, 'site'), list: checkId(list, 'list') };
}

/** What is known of a run; of a damaged one its id alone. */
export interface KnownRun {
  readonly run: string;
  readonly header?: JournalHeader | undefined;
  readonly counts?: RowCounts | undefined;
  readonly isRunning?: boolean;
}

/** A run as it is shown: of one that takes another back, that one stands for its input. */
export function toRunSummary({ run, header, counts, isRunning = false }: KnownRun): RunShown {
  return {
    run,
    action: header?.action,
    site: header?.site,
    list: header?.list,
    file: header?.file ?? header?.of,
    startedAt: header?.startedAt,
    status: isRunning ? 'running' : statusOf(counts),
    rows: header?.rows,
    done: counts?.done,
    failed: counts && counts.failed + counts.invalid,
    inDoubt: counts?.inDoubt,
    left: counts?.left,
  };
}

function statusOf(counts: RowCounts | undefined): 'done' | 'incomplete' | 'in-doubt' | 'damaged' {
  if (counts === undefined) return 'damaged';
  if (counts.inDoubt > 0) return 'in-doubt';
  return isComplete(counts) ? 'done' : 'incomplete';
}

/** A row that a run did. */
export interface DoneRow {
  readonly row: number;
  readonly id: string;
  /** The entity tag that the item had then, where the service gave one. */
  readonly etag: string | undefined;
  /** What is wrong with the id, where it can be none: the service gave it like that, or somebody changed the journal. */
  readonly problem: Failure | undefined;
}

/**
 * The rows that a run did, those that a person said were done included, in the order of its journal: that in which
 * they were done. Each is there once. Left out is what was settled without an id.
 *
 * @throws {Failure} local-file, when the journal is damaged
 */
export async function* doneRows(path: string): AsyncGenerator<DoneRow> {
  for await (const { record } of journalRecords(path)) {
    if (record[0] === 'D') yield doneRow(record[1], record[2], record[3] ?? undefined);
    else if (record[0] === 'R' && record[2] === 'applied' && record[3] !== '') yield doneRow(record[1], record[3]);
  }
}

function doneRow(row: number, id: string, etag?: string): DoneRow {
  return { row, id, etag, problem: problemOf(id) };
}

function problemOf(id: string): Failure | undefined {
  try {
    checkId(id, 'item');
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}
