/** The journals of runs in their directory: how each is named, found, listed and, when it is old, made small. */
import { dirname, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import { replaceWhole } from '../core/write-file.ts';
import { encodeLine, type JournalHeader, type RowCounts } from './journal-format.ts';
import { fileIo, type JournalIo, journalFault, readHeader, readLastGroup } from './journal-lines.ts';
import { readJournal } from './journal-read.ts';

const compactAfterMs = 30 * 24 * 3_600_000;

/** Whether what happened then is so long ago. */
function isOldEnough(thenMs: number, nowMs: number): boolean {
  return nowMs - thenMs >= compactAfterMs;
}

/**
 * Shrinks a journal, if its run did every row and ended more than 30 days ago. At any moment the file is what it was
 * or what it becomes, also after a power cut.
 *
 * @returns whether it was shrunk now; false too where that cannot be done
 */
async function compactJournal(path: string, nowMs: number, io: JournalIo = fileIo): Promise<boolean> {
  try {
    const small = await compactBytes(path, nowMs, io);
    if (small === undefined) return false;
    replaceWhole(path, [small], io);
    return true;
  } catch {
    // Damaged, read-only, full: whoever needs the run hears of it then.
    return false;
  }
}

async function compactBytes(path: string, nowMs: number, io: JournalIo): Promise<Buffer | undefined> {
  if (readHeader(path, io)?.header.isShrunk === true) return undefined;
  const replay = await readJournal(path, { boot: '', io });
  const session = replay?.sessions.at(-1);
  if (replay?.ended === undefined || session === undefined) return undefined;
  const { header, ended, counts, lastAt } = replay;
  // Not by what it said at its end alone: once it is shrunk nobody can look any more.
  const didAll = counts.done === header.rows && ended.done === header.rows;
  if (!didAll || !isOldEnough(lastAt, nowMs)) return undefined;
  const timeMs = Math.max(0, lastAt - session.at);
  return Buffer.concat([encodeLine({ ...header, isShrunk: true }), encodeLine([timeMs, ['B', session], ['E', ended]])]);
}

/** A run in its directory. */
export interface RunFile {
  readonly run: string;
  readonly path: string;
  /** The first 16 digits of what `--resume` looks for. */
  readonly identityStart: string;
}

/** How a run ended: every row is done, or was skipped; some are still to do, refused or invalid; some are in doubt. */
export type RunStatus = 'done' | 'incomplete' | 'in-doubt';

/** A run whose journal was read. */
export interface ReadRun extends RunFile {
  readonly status: RunStatus;
  readonly header: JournalHeader;
  readonly counts: RowCounts;
  readonly failure?: undefined;
}

/** A run whose journal cannot be read, and why. */
interface DamagedRun extends RunFile {
  readonly status: 'damaged';
  readonly header?: undefined;
  readonly counts?: undefined;
  readonly failure: Failure;
}

/** A run as a list of them shows it. */
export type ListedRun = ReadRun | DamagedRun;

/** What runs are read with. */
export interface RunOptions {
  /** The id of this start of the machine; empty where there is none. */
  readonly boot: string;
  readonly io?: JournalIo;
}

/**
 * A new run's id, as `20261120-101530-k3f9`: UTC, to the millisecond, so that their order is that of time. The
 * milliseconds are the first two of the last four characters, in base 36.
 *
 * @param random gives a number from 0 up to 1
 * @param after the last run in the directory: the new one comes after it, whatever became of the clock since
 */
export function newRunId(nowMs: number, random: () => number, after?: string): string {
  const lastMs = after === undefined ? undefined : timeOf(after);
  const ms = lastMs === undefined ? nowMs : Math.max(nowMs, lastMs + 1);
  const [date, time] = new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '').split('T');
  const digits = (value: number) => Math.floor(value).toString(36).padStart(2, '0');
  return `${date}-${time}-${digits(ms % 1000)}${digits(random() * 36 ** 2)}`;
}

/** Where a new run's journal goes. Its name has the identity too, so that no damage to the file can hide the run. */
export function runPath(directory: string, run: string, identity: string): string {
  return join(directory, `${run}.${identity.slice(0, identityDigits)}.journal`);
}

/**
 * Every run in a directory, newest first. Of a run that ended by itself only the first and the last line are read.
 *
 * One that is under way is told of as it would be if it stopped now: who holds its lock is not known here.
 *
 * @throws {Failure} local-file, when the directory cannot be read
 */
export async function listRuns(directory: string, { boot, io = fileIo }: RunOptions): Promise<readonly ListedRun[]> {
  const listed: ListedRun[] = [];
  for (const file of runFiles(directory, io)) {
    const run = await readRunFile(file, { boot, io }).catch((error: unknown): ListedRun => {
      if (!(error instanceof Failure)) throw error;
      return { ...file, status: 'damaged', failure: error };
    });
    if (run !== undefined) listed.push(run);
  }
  return listed;
}

/**
 * The last run with an identity, by the names of the journals; undefined where there is none. That it can be read is not
 * said: a damaged one is found too, since what is not known of a run may not be done again.
 *
 * @throws {Failure} local-file, when the directory cannot be read
 */
export function findRun(directory: string, identity: string, io: JournalIo = fileIo): RunFile | undefined {
  return runFiles(directory, io).find((file) => identity.startsWith(file.identityStart));
}

/**
 * The runs in a directory whose header passes, newest first. One without a header that can be read is left out: what it is
 * of is not known.
 *
 * @throws {Failure} local-file, when the directory cannot be read
 */
export function* runsWith(
  directory: string,
  isWanted: (header: JournalHeader) => boolean,
  io: JournalIo = fileIo,
): Generator<RunFile> {
  for (const file of runFiles(directory, io)) {
    try {
      const start = readHeader(file.path, io);
      if (start === undefined || !isWanted(start.header)) continue;
    } catch {
      continue;
    }
    yield file;
  }
}

/**
 * Gives a run another identity, by the name of its journal. The caller holds the locks of both.
 *
 * @returns the new path
 * @throws {Failure} local-file
 */
export function renameRun({ run, path, identityStart }: RunFile, identity: string, io: JournalIo = fileIo): string {
  if (identity.startsWith(identityStart)) return path;
  const renamed = runPath(dirname(path), run, identity);
  try {
    io.rename(path, renamed);
    io.syncDirectory(dirname(path));
  } catch (error) {
    throw journalFault('write', path, error);
  }
  return renamed;
}

/**
 * The id of the newest run in a directory: ids go by the order in which runs began, also where a clock did not.
 *
 * @throws {Failure} local-file, when the directory cannot be read
 */
export function newestRun(directory: string, io: JournalIo = fileIo): string | undefined {
  return runFiles(directory, io)[0]?.run;
}

/** Whether a word of the command line is `last` or the id of a run, rather than the path of a journal. */
export function isRunName(word: string): boolean {
  return word === 'last' || runId.test(word);
}

/**
 * The journal of `last`, the run that was written last, or of the run with an id.
 *
 * @throws {Failure} usage, when there is no such run; local-file, when the directory cannot be read
 */
export function resolveRun(directory: string, word: string, nowMs: number, io: JournalIo = fileIo): string {
  const isId = runId.test(word);
  const files = runFiles(directory, io);
  const found = isId ? files.find(({ run }) => run === word) : lastWritten(files, nowMs, io);
  if (found !== undefined) return found.path;
  throw new Failure('usage', isId ? `there is no run ${word} in ${directory}` : `there is no run in ${directory}`, {
    hint: 'listctl runs list names them; a run with a --journal of its own goes by that path',
  });
}

/** A file system may tell the time of a write as that of the tick before; some have ticks of two seconds. */
const tickMs = 2000;

/** The newest run, or one that was resumed since then: where the newest one's clock was wrong, times say nothing. */
function lastWritten(files: readonly RunFile[], nowMs: number, io: JournalIo): RunFile | undefined {
  const newest = files.find(({ path }) => startOf(path, io) !== undefined);
  if (newest === undefined) return undefined;
  const since = io.modifiedMs(newest.path);
  if (since + tickMs < (timeOf(newest.run) ?? 0) || since > nowMs + tickMs) return newest;
  const later = files
    .map((file) => ({ file, ms: io.modifiedMs(file.path) }))
    .filter(({ ms }) => ms > since && ms <= nowMs + tickMs)
    .sort((one, other) => other.ms - one.ms);
  const resumed = later.find(({ file: { path } }) => {
    const start = startOf(path, io);
    // One that is shrunk was written by whatever command came after 30 days.
    return start !== undefined && (start === 'unreadable' || start.header.isShrunk !== true);
  });
  return resumed?.file ?? newest;
}

/**
 * Forgets a run. The caller holds its lock.
 *
 * @throws {Failure} local-file; a run that is not there is no failure
 */
export function removeRun(path: string, io: JournalIo = fileIo): void {
  try {
    io.remove(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw journalFault('remove', path, error);
  }
}

/**
 * Shrinks the runs that did every row and ended more than 30 days ago to their first and last line: what is asked of
 * them is whether they were done. Looks at names first, so that it costs next to nothing where none is due; the time of
 * the file must be old too, since a name is by the clock of then.
 *
 * What cannot be shrunk stays as it is, and is no failure: this is tidying.
 *
 * @returns the runs that were shrunk
 */
export async function compactOldRuns(
  directory: string,
  nowMs: number,
  io: JournalIo = fileIo,
): Promise<readonly string[]> {
  const names = new Set(listNames(directory, io));
  const shrunk: string[] = [];
  for (const { run, path, identityStart } of filesAmong(directory, names)) {
    // Somebody is at work on it.
    if (names.has(`${identityStart}.lock`) || !isOldEnough(timeOf(run) ?? nowMs, nowMs)) continue;
    if (!isOldEnough(io.modifiedMs(path), nowMs)) continue;
    if (await compactJournal(path, nowMs, io)) shrunk.push(run);
  }
  return shrunk;
}

/** The lock of all runs with an identity. */
export function runLock(directory: string, identity: string): string {
  return join(directory, `${identity.slice(0, identityDigits)}.lock`);
}

const identityDigits = 16;
const runId = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-[0-9a-z]{4}$/;

function runFiles(directory: string, io: JournalIo): readonly RunFile[] {
  return filesAmong(directory, listNames(directory, io));
}

/** The journals among the names in a directory, newest first. */
function filesAmong(directory: string, names: Iterable<string>): readonly RunFile[] {
  const files: RunFile[] = [];
  for (const name of names) {
    const [, run = '', identityStart] = /^([0-9a-z-]+)\.([0-9a-f]{16})\.journal$/.exec(name) ?? [];
    if (identityStart !== undefined && runId.test(run)) files.push({ run, path: join(directory, name), identityStart });
  }
  return files.sort((one, other) => (one.run < other.run ? 1 : -1));
}

function listNames(directory: string, io: JournalIo): readonly string[] {
  try {
    return io.list(directory);
  } catch (error) {
    throw journalFault('list', directory, error);
  }
}

/** When a run began, by its id, in milliseconds since the Unix epoch. */
function timeOf(run: string): number | undefined {
  const iso = run.replace(runId, '$1-$2-$3T$4:$5:$6Z');
  const ms = iso === run ? Number.NaN : Date.parse(iso) + Number.parseInt(run.slice(-4, -2), 36);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Its first line; undefined where no run was begun. What is wrong with one that is there is said by who reads it. */
function startOf(path: string, io: JournalIo): ReturnType<typeof readHeader> | 'unreadable' {
  try {
    return readHeader(path, io);
  } catch {
    return 'unreadable';
  }
}

/**
 * Reads what a list of runs shows of one. Of a run that ended by itself only the first and the last line are read.
 *
 * @returns undefined where no run was begun
 * @throws {Failure} local-file, when its journal cannot be read or is damaged
 */
export async function readRunFile(file: RunFile, { boot, io = fileIo }: RunOptions): Promise<ReadRun | undefined> {
  const start = readHeader(file.path, io);
  if (start === undefined) return undefined;
  const last = readLastGroup(file.path, start.lengthBytes, io)?.at(-1);
  const ended = Array.isArray(last) && last[0] === 'E' ? (last[1] as RowCounts) : undefined;
  const counts = ended ?? (await readJournal(file.path, { boot, io }))?.counts;
  if (counts === undefined) return undefined;
  return { ...file, header: start.header, counts: countsAmong(counts), status: statusOf(counts) };
}

/** The counts of rows alone: totals have more members. */
function countsAmong({ done, failed, invalid, inDoubt, skipped, left }: RowCounts): RowCounts {
  return { done, failed, invalid, inDoubt, skipped, left };
}

/** The status of a run whose rows stand so. */
function statusOf({ failed, invalid, inDoubt, left }: RowCounts): RunStatus {
  if (inDoubt > 0) return 'in-doubt';
  return failed + invalid + left > 0 ? 'incomplete' : 'done';
}
