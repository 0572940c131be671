/** Finds and reads the run that an argument names. */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { JournalHeader } from '../../bulk/journal-format.ts';
import { fileIo, readHeader } from '../../bulk/journal-lines.ts';
import { doneRow, journalRecords, type Replay, readJournal } from '../../bulk/journal-read.ts';
import { bootId, isAmongRuns, journalLock, originFlags, runOrigin, takeJournalLock } from '../../bulk/record.ts';
import {
  countUndone,
  findRun,
  isRunAbbreviation,
  isRunName,
  isUndone,
  resolveRun,
  runStatus,
} from '../../bulk/runs.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { absolutePath, resolveLinks } from '../../core/files.ts';
import type { Host } from '../../core/host.ts';
import { checkId, idProblem } from '../../core/item.ts';
import { isLocked, refuseHardLinks } from '../../core/lock.ts';
import { shellWord } from '../../core/text.ts';
import type { RunShown } from '../../output/runs.ts';
import type { ResolvedList } from '../../services/service.ts';
import { findRunsDirectory, runsDirectory } from '../../settings/directories.ts';

export const runWords = 'run id or its start, "last", or path of a journal';

/** Finds the journal of a run id, `last`, abbreviation or path. */
export function findRunPath(word: string, host: Host): string {
  const path = absolutePath(word, host);
  const isRun = isRunName(word) || (isRunAbbreviation(word) && !existsSync(path));
  return isRun ? resolveRun(runsDirectory(host), word, host.clock.now()) : resolveLinks(path);
}

/** The run in later commands: a path as typed, else the id, since `last` and an abbreviation may be other runs by then. */
export function wordForHint(word: string, path: string, run: string, host: Host): string {
  return isAmongRuns(path, host) ? run : shellWord(word);
}

/** @throws {Failure} usage, if there is no journal; local-file */
export function readRunHeader(path: string): JournalHeader {
  const start = readHeader(path, fileIo);
  if (start === undefined) throw noRun(path);
  return start.header;
}

/** @throws {Failure} as `readRunHeader` */
export async function readRun(path: string): Promise<Replay> {
  const replay = await readJournal(path, { boot: bootId() });
  if (replay === undefined) throw noRun(path);
  return replay;
}

function noRun(path: string): Failure {
  return new Failure('usage', `no run is recorded in ${path}`, {
    hint: 'run "listctl runs list" to see the runs; pass the path of the journal for a run with --journal',
  });
}

/** Whether a process holds the lock of the run; of the runs of one input, only the newest can be in progress. */
export function isRunActive(path: string, host: Host): boolean {
  const directory = findRunsDirectory(host);
  const lock = journalLock(path, host);
  if (!isLocked(lock, host.processes)) return false;
  // The file of --journal has its own lock.
  if (directory === undefined || lock === `${path}.lock`) return true;
  return resolve(findRun(directory, basename(lock, '.lock'))?.path ?? path) === path;
}

/** @throws {Failure} locked; as `readRunHeader` */
export async function withLockedRun(
  path: string,
  options: Parameters<typeof takeJournalLock>[1],
  host: Host,
  work: (run: Replay) => Promise<void>,
): Promise<void> {
  // Before the lock, which needs the directory.
  readRunHeader(path);
  const lock = await takeJournalLock(journalLock(path, host), options, host);
  try {
    refuseHardLinks(path);
    await work(await readRun(path));
  } finally {
    lock.release();
  }
}

/**
 * Checks that the command uses the service and list of a run, since ids elsewhere may be the same. --site and --list may be
 * left out; with Microsoft Graph they may be names of it.
 *
 * @throws {Failure} usage
 */
export async function checkTarget(
  { run, origin, site, list, profile }: JournalHeader,
  session: Session,
): Promise<ResolvedList> {
  const here = runOrigin(session);
  if (here !== origin) {
    throw new Failure('usage', `run ${run} used ${origin}, but this command uses ${here}`, {
      hint: `pass ${profile === undefined || profile === session.settings.profile() ? originFlags(origin, here) : `-p ${shellWord(profile)}`}`,
    });
  }
  const { flags } = session.settings.sources;
  const isNamed = flags['--site'] !== undefined || flags['--list'] !== undefined;
  const mayBeNames = isNamed && (await session.service.load()).resolve !== undefined;
  const resolved = mayBeNames ? await session.service.resolve(session.settings.list()) : undefined;
  for (const [name, its] of [['site', site] as const, ['list', list] as const]) {
    const flag = `--${name}`;
    const typed = flags[flag];
    if (typed === undefined || typed === its || resolved?.ids[name] === its) continue;
    throw new Failure('usage', `run ${run} used ${name} "${its}", but ${flag} is "${typed}"`, {
      hint: `leave out ${flag}`,
    });
  }
  const ids = { site: checkId(site, 'site'), list: checkId(list, 'list') };
  return { ids, named: resolved?.named ?? ids };
}

/** The numbers of the rows of a run: all of its input, or those of its shard. */
export function* shardRows({ shard, input }: JournalHeader): Generator<number> {
  const [index = 1, count = 1] = shard?.split('/').map(Number) ?? [];
  for (let row = index; row <= input.rows; row += count) yield row;
}

/** Summarizes a run, without header and counts if its journal is damaged. */
export function toRunSummary(
  known: Pick<RunShown, 'run'> & Partial<RunShown> & { readonly isRunning?: boolean },
): RunShown {
  const { run, header, counts, isRunning = false, undone } = known;
  const status = counts !== undefined && isUndone(counts, undone) ? 'undone' : runStatus(counts);
  if (!isRunning) return { run, status, header, counts, undone };
  // A journal does not tell a request in flight from a lost one.
  const pending = counts && { ...counts, inDoubt: 0, left: counts.left + counts.inDoubt };
  return { run, status: 'running', header, counts: pending, undone };
}

/** Counts the rows of a run that its undo took back; undefined for none. */
export async function undoneRows(path: string, { run }: JournalHeader, host: Host): Promise<number | undefined> {
  return (await countUndone(run, isAmongRuns(path, host) ? undefined : path, dirname(path))) || undefined;
}

/** The item of a row that is done. */
export interface DoneItem {
  readonly row: number;
  readonly id: string;
  readonly etag: string | undefined;
  /** The run is not known to have created it. */
  readonly isFound: boolean;
  /** Why the id is not valid: as returned by the service, or changed in the journal. */
  readonly problem: Failure | undefined;
}

/** Reads the items of the done rows in the order of completion, including rows resolved as applied with an id. */
export async function* doneItems(path: string): AsyncGenerator<DoneItem> {
  for await (const { record } of journalRecords(path)) {
    const done = doneRow(record);
    if (done?.id === undefined) continue;
    const reason = idProblem(done.id, 'item');
    const problem = reason === undefined ? undefined : new Failure('usage', reason);
    yield { ...done, id: done.id, problem };
  }
}
