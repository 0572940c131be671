/**
 * The journals in the directory of runs: naming, finding, listing and compaction. What cannot be read or written is a
 * Failure (local-file).
 */
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { errnoCode, Failure } from '../core/errors.ts';
import { listNames } from '../core/text.ts';
import { replaceWhole } from '../core/write-file.ts';
import { earlierPath, isEarlierFile } from './earlier-values.ts';
import { isTextsFile, textsPath } from './failure-texts.ts';
import {
  encodeLines,
  type JournalGroup,
  type JournalHeader,
  type RowCounts,
  type RunTotals,
} from './journal-format.ts';
import { fileIo, type JournalIo, journalFault, readHeader, readLastGroup } from './journal-lines.ts';
import { type ReplayOptions, readJournal } from './journal-read.ts';

const compactAfterMs = 30 * 24 * 3_600_000;

function isOldEnough(thenMs: number, nowMs: number): boolean {
  return nowMs - thenMs >= compactAfterMs;
}

/** Compacts the journal of a run that completed more than 30 days ago, atomically; returns whether it did. */
async function compactJournal(path: string, nowMs: number, io: JournalIo): Promise<boolean> {
  try {
    const small = await compactBytes(path, nowMs, io);
    if (small === undefined) return false;
    replaceWhole(path, [small], io);
    return true;
  } catch {
    // Damaged, read-only or full: reported when the run is used.
    return false;
  }
}

async function compactBytes(path: string, nowMs: number, io: JournalIo): Promise<Buffer | undefined> {
  const { isShrunk, keepsBefore } = readHeader(path, io)?.header ?? {};
  // The undo of a run that kept earlier values needs its rows.
  if (isShrunk || keepsBefore) return undefined;
  const replay = await readJournal(path, { boot: '', io });
  const session = replay?.sessions.at(-1);
  if (replay?.ended === undefined || session === undefined) return undefined;
  const { header, ended, counts, lastAt, hashOf } = replay;
  // Checked against the records too, since they are lost after compaction.
  const didAll = counts.done === header.rows && ended.done === header.rows;
  if (!didAll || !isOldEnough(lastAt, nowMs)) return undefined;
  const timeMs = Math.max(0, lastAt - session.at);
  const rowsHash = createHash('sha256');
  for (let row = 1; row <= header.input.rows; row += 1) rowsHash.update(hashOf(row) ?? '');
  const shrunk = { ...header, isShrunk: true, rowsHash: rowsHash.digest('hex') } as const;
  return encodeLines(shrunk, [[timeMs, ['B', session], ['E', ended]]]);
}

export interface RunFile {
  readonly run: string;
  readonly path: string;
  /** The first 16 digits of its identity. */
  readonly identityStart: string;
}

/** A run with a readable journal. */
export interface ReadRun extends RunFile {
  readonly header: JournalHeader;
  readonly counts: RowCounts;
}

/** A run with a readable journal, or the failure to read it. */
export type ListedRun = RunFile & Partial<Pick<ReadRun, 'header' | 'counts'>> & { readonly failure?: Failure };

/**
 * Makes the id of a run, `20261120-101530-k3f9`: UTC with milliseconds, so that ids sort by time. The milliseconds are
 * the first two of the last four characters, in base 36.
 *
 * @param after the newest run: the new id sorts after it, even if the clock was set back
 */
export function newRunId(nowMs: number, random: () => number, after?: string): string {
  const lastMs = after === undefined ? undefined : timeOf(after);
  const ms = lastMs === undefined ? nowMs : Math.max(nowMs, lastMs + 1);
  const [date, time] = new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '').split('T');
  const digits = (value: number) => Math.floor(value).toString(36).padStart(2, '0');
  return `${date}-${time}-${digits(ms % 1000)}${digits(random() * 36 ** 2)}`;
}

/** The path of a journal. Its name contains the identity, so that a damaged file is still found. */
export function runPath(directory: string, run: string, identity: string): string {
  return join(directory, `${run}.${identity.slice(0, identityDigits)}.journal`);
}

/**
 * Lists the runs in a directory, newest first: at most `limit` of those that started since a time. A run in progress is
 * listed as if it stopped now.
 */
export async function listRuns(
  directory: string,
  options: ReplayOptions,
  { sinceMs = 0, limit }: { readonly sinceMs?: number | undefined; readonly limit?: number | undefined } = {},
): Promise<readonly ListedRun[]> {
  const listed: ListedRun[] = [];
  const files = runFiles(directory, options.io ?? fileIo).filter(({ run }) => (timeOf(run) ?? 0) >= sinceMs);
  for (const file of files.slice(0, limit)) {
    const run = await readRunFile(file, options).catch((error: unknown): ListedRun => {
      if (!(error instanceof Failure)) throw error;
      return { ...file, failure: error };
    });
    if (run !== undefined) listed.push(run);
  }
  return listed;
}

/** Finds the newest run with an identity, by file name. Finds damaged journals too, since their rows must not be sent again. */
export function findRun(directory: string, identity: string): RunFile | undefined {
  return runFiles(directory).find((file) => identity.startsWith(file.identityStart));
}

/** Finds runs by their first line, newest first; skips runs where that cannot be read. */
export function* runsWith(
  directory: string,
  isWanted: (header: JournalHeader, file: RunFile) => boolean,
): Generator<RunFile> {
  for (const file of runFiles(directory)) {
    const start = startOf(file.path);
    if (start !== undefined && start !== 'unreadable' && isWanted(start.header, file)) yield file;
  }
}

/**
 * Renames a journal to another identity. The caller holds both locks.
 *
 * @returns the new path
 */
export function renameRun({ run, path, identityStart }: RunFile, identity: string): string {
  if (identity.startsWith(identityStart)) return path;
  const renamed = runPath(dirname(path), run, identity);
  try {
    fileIo.rename(path, renamed);
    fileIo.syncDirectory(dirname(path));
  } catch (error) {
    throw journalFault('write', path, error);
  }
  return renamed;
}

export function newestRun(directory: string): string | undefined {
  return runFiles(directory)[0]?.run;
}

/** Whether an argument is `last` or a run id rather than the path of a journal. */
export function isRunName(word: string): boolean {
  return word === 'last' || runId.test(word);
}

/** Whether an argument may be the start of a run id, from the year on, or its last four characters. */
export function isRunAbbreviation(word: string): boolean {
  return /^(\d{4,8}|\d{8}-\d{0,6}|\d{8}-\d{6}-[0-9a-z]{0,3}|[0-9a-z]{4})$/.test(word);
}

/**
 * Finds the journal of `last`, the run that was written last, of a run id or of its abbreviation.
 *
 * @throws {Failure} usage, also if several runs have the abbreviation
 */
export function resolveRun(directory: string, word: string, nowMs: number): string {
  return resolveRunFile(directory, word, nowMs).path;
}

/** As `resolveRun`. */
export function resolveRunFile(directory: string, word: string, nowMs: number): RunFile {
  const files = runFiles(directory);
  const last = word === 'last' ? lastWritten(files, nowMs) : undefined;
  const found = word === 'last' ? [last].flatMap((run) => run ?? []) : withAbbreviation(files, word);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const names = listNames(
    found.map(({ run }) => run),
    5,
  );
  const none = word === 'last' ? `no runs in ${directory}` : `run ${word} not found in ${directory}`;
  throw new Failure('usage', only === undefined ? none : `${word} is the abbreviation of several runs: ${names}`, {
    hint: 'run "listctl runs list" to see the runs; pass the path of the journal for a run with --journal',
  });
}

function withAbbreviation(files: readonly RunFile[], word: string): readonly RunFile[] {
  const exact = files.find(({ run }) => run === word);
  return exact === undefined ? files.filter(({ run }) => run.startsWith(word) || run.endsWith(`-${word}`)) : [exact];
}

/** The coarsest resolution of file times. */
const tickMs = 2000;

/** Finds the newest run, or one resumed after it; ignores file times if the clock was wrong when the newest run started. */
function lastWritten(files: readonly RunFile[], nowMs: number): RunFile | undefined {
  const newest = files.find(({ path }) => startOf(path) !== undefined);
  if (newest === undefined) return undefined;
  const since = fileIo.modifiedMs(newest.path);
  if (since + tickMs < (timeOf(newest.run) ?? 0) || since > nowMs + tickMs) return newest;
  const later = files
    .map((file) => ({ file, ms: fileIo.modifiedMs(file.path) }))
    .filter(({ ms }) => ms > since && ms <= nowMs + tickMs)
    .sort((one, other) => other.ms - one.ms);
  const resumed = later.find(({ file: { path } }) => {
    const start = startOf(path);
    // Compaction writes a file as well.
    return start !== undefined && (start === 'unreadable' || start.header.isShrunk !== true);
  });
  return resumed?.file ?? newest;
}

/** Removes a journal with the other files of its run, if they exist. The caller holds its lock. */
export function removeRun(path: string): void {
  const [earlier, texts] = [earlierPath(path), textsPath(path)];
  if (isEarlierFile(earlier)) removeIfThere(earlier);
  if (isTextsFile(texts)) removeIfThere(texts);
  removeIfThere(path);
}

function removeIfThere(path: string): void {
  try {
    fileIo.remove(path);
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT') throw journalFault('remove', path, error);
  }
}

/**
 * Compacts the journals of runs that completed more than 30 days ago to their first and last line. Looks at names and
 * file times first, so that it costs little if none is due. Failures are ignored.
 *
 * @returns the compacted runs
 */
export async function compactOldRuns(
  directory: string,
  nowMs: number,
  io: JournalIo = fileIo,
): Promise<readonly string[]> {
  const names = new Set(fileNames(directory, io));
  const compacted: string[] = [];
  for (const { run, path, identityStart } of filesAmong(directory, names)) {
    if (names.has(`${identityStart}.lock`) || !isOldEnough(timeOf(run) ?? nowMs, nowMs)) continue;
    if (!isOldEnough(io.modifiedMs(path), nowMs)) continue;
    if (await compactJournal(path, nowMs, io)) compacted.push(run);
  }
  return compacted;
}

export function runLock(directory: string, identity: string): string {
  return join(directory, `${identity.slice(0, identityDigits)}.lock`);
}

/** Names the run that the holder of a lock sends; undefined if it did not begin, or ended already. */
export function runUnderLock(lock: string): string | undefined {
  const [, identity] = /^([0-9a-f]{16})\.lock$/.exec(basename(lock)) ?? [];
  const path = identity === undefined ? lock.replace(/\.lock$/, '') : findRun(dirname(lock), identity)?.path;
  const start = path === undefined ? undefined : readHeader(path, fileIo);
  if (path === undefined || start === undefined) return undefined;
  if (totalsIn(readLastGroup(path, start, fileIo)) !== undefined) return undefined;
  const { run, file } = start.header;
  return file === null ? `run ${run}` : `run ${run} of ${file === '-' ? 'standard input' : basename(file)}`;
}

const identityDigits = 16;
const runId = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-[0-9a-z]{4}$/;

function runFiles(directory: string, io: JournalIo = fileIo): readonly RunFile[] {
  return filesAmong(directory, fileNames(directory, io));
}

function filesAmong(directory: string, names: Iterable<string>): readonly RunFile[] {
  const files: RunFile[] = [];
  for (const name of names) {
    const [, run = '', identityStart] = /^([0-9a-z-]+)\.([0-9a-f]{16})\.journal$/.exec(name) ?? [];
    if (identityStart !== undefined && runId.test(run)) files.push({ run, path: join(directory, name), identityStart });
  }
  return files.sort((one, other) => (one.run < other.run ? 1 : -1));
}

function fileNames(directory: string, io: JournalIo): readonly string[] {
  try {
    return io.list(directory);
  } catch (error) {
    throw journalFault('list', directory, error);
  }
}

function timeOf(run: string): number | undefined {
  const iso = run.replace(runId, '$1-$2-$3T$4:$5:$6Z');
  const ms = iso === run ? Number.NaN : Date.parse(iso) + Number.parseInt(run.slice(-4, -2), 36);
  return Number.isNaN(ms) ? undefined : ms;
}

function startOf(path: string): ReturnType<typeof readHeader> | 'unreadable' {
  try {
    return readHeader(path, fileIo);
  } catch {
    return 'unreadable';
  }
}

/**
 * Reads a run for a list; only the first and the last line if it ended by itself.
 *
 * @returns undefined if there is no file
 */
export async function readRunFile(file: RunFile, { boot, io = fileIo }: ReplayOptions): Promise<ReadRun | undefined> {
  const start = readHeader(file.path, io);
  if (start === undefined) return undefined;
  const ended = totalsIn(readLastGroup(file.path, start, io));
  if (ended !== undefined) {
    const counts = countsAmong(ended);
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { ...file, header: { ...start.header, rows, file: ended.file ?? start.header.file }, counts };
  }
  const replay = await readJournal(file.path, { boot, io });
  return replay && { ...file, header: replay.header, counts: replay.counts };
}

/** The totals that end a session. */
function totalsIn(group: JournalGroup | undefined): RunTotals | undefined {
  const last = group?.at(-1);
  return Array.isArray(last) && last[0] === 'E' ? (last[1] as RunTotals) : undefined;
}

function countsAmong({ done, failed, invalid, inDoubt, skipped, left }: RowCounts): RowCounts {
  return { done, failed, invalid, inDoubt, skipped, left };
}

/** Whether every row of a run is done or skipped. */
export function isComplete({ failed, invalid, inDoubt, left }: RowCounts): boolean {
  return failed + invalid + inDoubt + left === 0;
}

/**
 * Counts the rows of a run that its undo took back, with those whose items were missing.
 *
 * @param journal the path of its journal, if that is not in the directory of runs
 */
export async function countUndone(run: string, journal: string | undefined, directory: string): Promise<number> {
  return (await findUndo(run, journal, directory))?.counts.done ?? 0;
}

/** Finds the newest undo of a run, as `countUndone`. */
export async function findUndo(
  run: string,
  journal: string | undefined,
  directory: string,
): Promise<ReadRun | undefined> {
  const isUndo = ({ action, of }: JournalHeader) => action === 'undo' && of === run;
  const beside = { run, path: `${journal}.undo`, identityStart: '' };
  const [file] = journal === undefined ? runsWith(directory, isUndo) : [beside];
  // Every line, since rows that were undone are sent again. A damaged one is reported when it is used.
  const undo = file && (await readJournal(file.path, { boot: '' }).catch(() => undefined));
  if (file === undefined || undo === undefined || !isUndo(undo.header)) return undefined;
  return { ...file, header: undo.header, counts: countsAmong(undo.counts) };
}

/** Whether a run was undone completely. */
export function isUndone({ done, inDoubt }: RowCounts, undone = 0): boolean {
  return undone > 0 && undone >= done && inDoubt === 0;
}

export function hasBegun({ done, inDoubt, skipped }: RowCounts): boolean {
  return done + inDoubt + skipped > 0;
}

/** The status of a run in a list; without counts its journal is damaged. */
export function runStatus(counts: RowCounts | undefined): 'done' | 'incomplete' | 'in-doubt' | 'damaged' {
  if (counts === undefined) return 'damaged';
  if (counts.inDoubt > 0) return 'in-doubt';
  return isComplete(counts) ? 'done' : 'incomplete';
}
