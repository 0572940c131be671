/** What is done about the run before: gone on with, begun anew, or refused. */
import { keyWindowMs } from '../api/outcome.ts';
import { Failure } from '../core/errors.ts';
import { countOf } from '../core/text.ts';
import { badRowFailure, type Check } from '../rows/check.ts';
import type { RowsFile } from '../rows/read.ts';
import type { BadRow, Row, RowAction } from '../rows/types.ts';
import type { BulkOptions } from './flags.ts';
import type { Journal } from './journal.ts';
import type { JournalHeader, JournalRecord, RowCounts } from './journal-format.ts';
import { type Replay, readJournal } from './journal-read.ts';
import { keyAgeMs, type PresentMoment } from './keys.ts';
import type { RunningCounts, Task } from './outcome.ts';
import { bootId, identityOf } from './record.ts';
import { type ReadRun, type RunFile, readRunFile, runsWith } from './runs.ts';

/** What the run before leaves to do. */
export type ResumeDecision =
  | { readonly kind: 'new' }
  | { readonly kind: 'go-on'; readonly before: Replay }
  /** It did every row of the same input. */
  | { readonly kind: 'nothing'; readonly before: Replay }
  /** A person may choose: `yes` is done after a yes to the question, and everything else is refused. */
  | {
      readonly kind: 'choice';
      readonly question: string;
      readonly yes: Exclude<ResumeDecision, { readonly kind: 'choice' }>;
      readonly refusal: Failure;
    };

/** The input, as far as a run is told from another one by it. */
export interface InputFacts {
  readonly action: RowAction;
  /** For messages. */
  readonly name: string;
  readonly check: Pick<Check, 'rows' | 'sha256'>;
  /** A hash of what makes fields of the columns. */
  readonly mapping: string;
  /** What keys are derived from, as a journal records it. */
  readonly keysFrom: string | undefined;
  /** As `findChangedRow` over the input. */
  readonly changedRow: (before: Replay) => Promise<ChangedRow | undefined>;
}

/**
 * Decides what is done about the run before.
 *
 * @param before undefined where there is none
 * @throws {Failure} usage, with --resume where that run is of another input; without it where the journal that was named
 *   records one
 */
export async function decideResume(
  before: Replay | undefined,
  { resume, restart, journal }: Pick<BulkOptions, 'resume' | 'restart' | 'journal'>,
  input: InputFacts,
): Promise<ResumeDecision> {
  if (before === undefined || restart) return { kind: 'new' };
  const isWhole = isComplete(before.counts);
  const difference = await differenceOf(before, input);
  if (resume && difference !== undefined) throw difference;
  if (journal !== undefined && difference !== undefined) throw otherRecord(before, journal);
  if (!isWhole && before.header.keysFrom !== input.keysFrom) throw otherKeys(before.header);
  if (resume) return { kind: isWhole ? 'nothing' : 'go-on', before };
  if (!isWhole) return { kind: 'choice', yes: { kind: 'go-on', before }, ...unfinished(before, input) };
  // What was updated or deleted is so again. A second record in the same file would be the loss of the first.
  const mayDouble = input.action === 'create' && before.header.rows > 0;
  if (journal === undefined && !mayDouble) return { kind: 'new' };
  return { kind: 'choice', yes: { kind: 'new' }, ...finished(before, input, journal) };
}

/** Why the run before cannot be of this input; undefined where it can. */
async function differenceOf(before: Replay, input: InputFacts): Promise<Failure | undefined> {
  const { header, counts } = before;
  if (header.input.sha256 === input.check.sha256 && header.mapping === input.mapping) return undefined;
  const changed = await input.changedRow(before);
  if (changed !== undefined && !isComplete(counts)) return rowChanged(before, changed);
  return changed === undefined && header.input.rows === input.check.rows ? undefined : otherInput(before, input);
}

/** Whether nothing of a run is left to be done. */
export function isComplete({ failed, invalid, inDoubt, left }: RowCounts): boolean {
  return failed + invalid + inDoubt + left === 0;
}

function unfinished({ header, counts }: Replay, { name }: InputFacts): { question: string; refusal: Failure } {
  const states: readonly (readonly [number, string])[] = [
    [counts.left, 'still to do'],
    [counts.failed + counts.invalid, 'failed'],
    [counts.inDoubt, 'in doubt'],
  ];
  const rest = states.filter(([count]) => count > 0).map(([count, state]) => `${count} ${state}`);
  const what = `run ${header.run} of ${name} is unfinished: of ${countOf(header.rows, 'row')} ${rest.join(', ')}`;
  return {
    question: `${capitalized(what)}. Resume it?`,
    refusal: new Failure('usage', what, {
      hint: 'nothing was sent; pass --resume to send the others, or --restart to send every row again',
    }),
  };
}

function finished(
  { header, counts }: Replay,
  { name, action }: InputFacts,
  journal: string | undefined,
): { question: string; refusal: Failure } {
  const did = counts.skipped === 0 ? 'did every row' : `did every row but ${counts.skipped} that were skipped`;
  const what = `run ${header.run}, begun ${header.startedAt}, ${did} of ${name}`;
  const loss = journal === undefined ? '' : ` (${journal} then records the new run alone)`;
  return {
    question: `${capitalized(what)}. ${capitalized(action)} them again${loss}?`,
    refusal: new Failure('usage', what, {
      hint: `nothing was sent; pass --restart to ${action} every row again${loss}; with --resume nothing is left to do`,
    }),
  };
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function otherInput({ header }: Replay, { name, check }: InputFacts): Failure {
  const what =
    header.input.rows === check.rows
      ? 'its rows were other ones, or are read in another way now'
      : `its input had ${header.input.rows} rows, and this one has ${check.rows}`;
  return new Failure('usage', `cannot resume run ${header.run} with ${name}: ${what}`, {
    hint: 'nothing was sent; pass --restart to send this input from its first row',
  });
}

/** Rows with keys of two kinds would not be protected by either. */
function otherKeys({ run, keysFrom }: Replay['header']): Failure {
  const own = keysFrom === undefined ? 'draws its keys at random' : `derives its keys from ${keysFrom}`;
  const fix = keysFrom === undefined ? 'leave out' : 'pass';
  return new Failure('usage', `cannot resume run ${run} with other keys: it ${own}`, {
    hint: `nothing was sent; ${fix} --idempotency-key-from${keysFrom === undefined ? '' : ` ${keysFrom}`}, or pass --restart to send every row again`,
  });
}

function otherRecord({ header }: Replay, journal: string): Failure {
  return new Failure('usage', `${journal} records run ${header.run} of another input`, {
    hint: 'nothing was sent; name another file with --journal, or pass --restart to replace that record',
  });
}

/** A row that a run did, or may have done, with other values than the input has now. */
export interface ChangedRow {
  readonly number: number;
  readonly line: number;
  readonly state: 'done' | 'in-doubt';
}

/**
 * Compares an input with a run of which the content is another one: the rows that were done, or may have been, must be
 * what they were. Stops at the first that is not.
 */
export async function findChangedRow(
  before: Replay,
  file: RowsFile,
  hashOf: (row: Row) => string,
): Promise<ChangedRow | undefined> {
  for await (const block of file.blocks()) {
    for (const row of block) {
      const state = row.number > before.header.input.rows ? 'pending' : before.stateOf(row.number);
      if (state !== 'done' && state !== 'in-doubt') continue;
      if (row.problem !== undefined || hashOf(row) !== before.hashOf(row.number)) {
        return { number: row.number, line: row.line, state };
      }
    }
  }
  return undefined;
}

/** The failure of a --resume with an input in which a row is not what the run did. */
function rowChanged({ header }: Pick<Replay, 'header'>, { number, line, state }: ChangedRow): Failure {
  const was = state === 'done' ? 'was done' : 'may have been done';
  return new Failure('usage', `row ${number} (line ${line}) ${was} with other values, by run ${header.run}`, {
    hint: 'nothing was sent; give it back its values, or pass --restart to send every row of this input',
  });
}

/** How the rows stand when a new run begins. */
export function newCounts(rows: number): RunningCounts {
  return { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: rows };
}

/**
 * What is done about a row whose outcome is unknown: undefined holds it; else it is sent again, and the function says,
 * when that happens, how many milliseconds ago it was sent before.
 */
export type DoubtPolicy = (row: number, hash: string) => (() => number) | undefined;

/** What decides about rows in doubt. */
export interface DoubtOptions {
  readonly inDoubt: BulkOptions['inDoubt'];
  /** A create may make a second item; anything else leads to the same one. */
  readonly isCreate: boolean;
  /** The present, where the service is known to honor keys and their age matters. */
  readonly present: (() => PresentMoment) | undefined;
}

/** Whether the age of keys decides about rows in doubt: then the service has to say its time first. */
export function needsKeyAge(before: Replay, { inDoubt, isCreate }: Omit<DoubtOptions, 'present'>): boolean {
  return isCreate && inDoubt === undefined && before.counts.inDoubt > 0;
}

/**
 * What is done about rows in doubt: what was typed; else a request that leads to the same item, as a single one would,
 * is sent again, and a create is held.
 */
export function doubtPolicy(before: Replay, { inDoubt, isCreate, present }: DoubtOptions): DoubtPolicy {
  return (row, hash) => {
    if (inDoubt === 'hold') return undefined;
    // What was typed counts more than the age of a key: it may be sent once, and no more after that.
    if (inDoubt === 'retry' || !isCreate) return () => keyWindowMs;
    const doubt = before.doubtOf(row);
    if (present === undefined || typeof doubt?.key !== 'string' || doubt.hash !== hash) return undefined;
    const msAgo = () => keyAgeMs(doubt, present()) ?? Number.POSITIVE_INFINITY;
    return msAgo() < keyWindowMs ? msAgo : undefined;
  };
}

/** Records that every row in doubt is settled without being sent: the user gives it up. */
export function skipDoubts(before: Replay, journal: Journal, counts: RunningCounts): void {
  const records: JournalRecord[] = [...before.doubts()].map((row) => ['R', row, 'skipped']);
  for (let at = 0; at < records.length; at += 1000) journal.write(records.slice(at, at + 1000), 0);
  counts.skipped += records.length;
  counts.inDoubt -= records.length;
}

/** What tasks are made with. */
export interface TaskOptions {
  readonly before: Replay | undefined;
  readonly skipDoubts: boolean;
  readonly policy: DoubtPolicy;
  readonly hashOf: (row: Row) => string;
}

/** What is to be done with the rows of a file: nothing with those that were done. */
export async function* tasksOf(file: RowsFile, options: TaskOptions): AsyncGenerator<readonly Task<Row | BadRow>[]> {
  for await (const block of file.blocks()) {
    const tasks: Task<Row | BadRow>[] = [];
    for (const row of block) {
      const task = taskOf(row, file, options);
      if (task !== undefined) tasks.push(task);
    }
    if (tasks.length > 0) yield tasks;
  }
}

function taskOf(row: Row | BadRow, file: RowsFile, options: TaskOptions): Task<Row | BadRow> | undefined {
  const { before, skipDoubts } = options;
  const state = before?.stateOf(row.number) ?? 'pending';
  if (state === 'done' || state === 'skipped' || (state === 'in-doubt' && skipDoubts)) return undefined;
  const was = states[state];
  if (row.problem !== undefined) return { kind: 'invalid', row, was, failure: badRowFailure(row, file) };
  if (state !== 'in-doubt') return { kind: 'send', row, was };
  return doubtfulTask(row, options);
}

const states = {
  pending: 'left',
  failed: 'failed',
  invalid: 'invalid',
  'in-doubt': 'inDoubt',
} as const;

function doubtfulTask(row: Row, { before, policy, hashOf }: TaskOptions): Task<Row | BadRow> {
  const key = before?.doubtOf(row.number)?.key ?? null;
  const msAgo = policy(row.number, hashOf(row));
  if (msAgo === undefined) return { kind: 'in-doubt', row, failure: heldFailure(row, key) };
  return { kind: 'send', row, was: 'inDoubt', sent: { key, msAgo } };
}

function heldFailure({ number, line }: Row, key: string | null): Failure {
  return new Failure('in-doubt', `in doubt what became of row ${number} (line ${line}): it was not sent again`, {
    outcome: 'unknown',
    idempotencyKey: key ?? undefined,
  });
}

/** What a run does, and where: with the content of its input, its identity. */
export type RunTarget = Pick<JournalHeader, 'action' | 'origin' | 'site' | 'list' | 'shard'>;

/** The input of a run that may be begun. */
export interface RunInput {
  readonly target: RunTarget;
  /** For messages. */
  readonly name: string;
  /** The absolute path; undefined for a stream, which has no path of its own. */
  readonly path: string | undefined;
  readonly rows: number;
  readonly sha256: string;
  /** As `findChangedRow` over the input. */
  readonly changedRow: (before: Replay) => Promise<ChangedRow | undefined>;
}

/** 64 hex digits that stand for a run. */
export function runIdentity({ action, origin, site, list, shard }: RunTarget, sha256: string): string {
  return identityOf(action, origin, site, list, shard, sha256);
}

/** Whether two runs do the same, in the same place. */
export function isSameTarget(one: RunTarget, other: RunTarget): boolean {
  return isSameList(one, other) && one.origin === other.origin && one.shard === other.shard;
}

function isSameList(one: RunTarget, other: RunTarget): boolean {
  return one.action === other.action && one.site === other.site && one.list === other.list;
}

/** The run of an input that was changed where it was not done; and the first one that turned out to be of other rows. */
export interface EditedRun {
  readonly run: RunFile | undefined;
  readonly failure: Failure | undefined;
}

/**
 * Looks for the run of an input that has another content since.
 *
 * @throws {Failure} local-file, when the directory of runs cannot be read, or the journal of a run at that path is damaged
 */
export async function findEditedRun(
  directory: string,
  { target, path, rows, changedRow }: RunInput,
): Promise<EditedRun> {
  const boot = bootId();
  const isAtPath = (header: JournalHeader) => header.file === path && isSameTarget(header, target);
  let failure: Failure | undefined;
  if (path === undefined) return { run: undefined, failure };
  for (const run of runsWith(directory, isAtPath)) {
    const { header, counts } = (await readRunFile(run, { boot })) ?? {};
    const isWhole = counts !== undefined && isComplete(counts);
    if (isWhole && (header?.isShrunk || header?.input.rows !== rows)) continue;
    const before = await readJournal(run.path, { boot });
    if (before === undefined) continue;
    const changed = await changedRow(before);
    if (changed === undefined) return { run, failure };
    if (!isWhole) failure ??= rowChanged(before, changed);
  }
  return { run: undefined, failure };
}

/**
 * The failure of a --resume without a run: it names the unfinished runs of the same rows elsewhere, and what to do.
 *
 * @param directory of runs; undefined where there is none
 * @param journal as it was named, where the run was looked for in that file
 */
export async function nothingToResume(
  directory: string | undefined,
  { target, sha256, name }: RunInput,
  journal: string | undefined,
): Promise<Failure> {
  const isOfRows = (header: JournalHeader) => header.input.sha256 === sha256 && isSameList(header, target);
  const found: ReadRun[] = [];
  if (directory !== undefined) {
    for (const file of runsElsewhere(directory, isOfRows)) {
      // A damaged one is told of by who names it.
      const run = await readRunFile(file, { boot: bootId() }).catch(() => undefined);
      if (run !== undefined && !isComplete(run.counts) && found.length < elsewhereMax) found.push(run);
    }
  }
  const where = journal === undefined ? '' : `${journal} is not there, and `;
  const elsewhere = found.map(({ header }) => `; ${placeOf(header, target, journal)}`).join('');
  const [first] = found;
  const resume = first === undefined ? [] : [`nothing was sent; ${adviceFor(first.header, target, journal)}`];
  // Without --restart a run that shares rows with one of this list is refused as well.
  const isRepeat = found.some(
    ({ header }) => header.origin === target.origin && sharesRows(header.shard, target.shard),
  );
  const how = isRepeat ? 'pass --restart instead of --resume' : 'leave out --resume';
  const start = `${first === undefined ? 'nothing was sent; t' : 't'}o start a new run, ${how}`;
  return new Failure('usage', `cannot resume: ${where}no run of ${name} is recorded here${elsewhere}`, {
    hint: [...resume, start].join('\n'),
  });
}

/**
 * Finds another run that created rows of this input in the same list: of a shard that shares rows with this one, or
 * recorded in the state directory where this one has a --journal.
 */
export async function findOverlappingRun(
  directory: string,
  { target, sha256 }: RunInput,
): Promise<ReadRun | undefined> {
  const isOfRows = (header: JournalHeader) =>
    header.input.sha256 === sha256 &&
    isSameList(header, target) &&
    header.origin === target.origin &&
    sharesRows(header.shard, target.shard);
  for (const file of runsElsewhere(directory, isOfRows)) {
    // A damaged one is reported where it is named.
    const run = await readRunFile(file, { boot: bootId() }).catch(() => undefined);
    if (run !== undefined && run.counts.done + run.counts.inDoubt > 0) return run;
  }
  return undefined;
}

/** As `runsWith`; none where the directory cannot be read, since a run with a --journal does not need it. */
function runsElsewhere(directory: string, isWanted: (header: JournalHeader) => boolean): readonly RunFile[] {
  try {
    return [...runsWith(directory, isWanted)];
  } catch {
    return [];
  }
}

/** Whether two shards have rows in common: row n is of shard `I/N` where n - I is a multiple of N. */
function sharesRows(one: string | null, other: string | null): boolean {
  const [[index, count], [otherIndex, otherCount]] = [shardNumbers(one), shardNumbers(other)];
  return (index - otherIndex) % greatestDivisor(count, otherCount) === 0;
}

function shardNumbers(shard: string | null): readonly [index: number, count: number] {
  const [index = 1, count = 1] = (shard ?? '1/1').split('/').map(Number);
  return [index, count];
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}

/** The choice that such a run leaves. */
export function overlap(
  { header, counts }: ReadRun,
  { target, name }: RunInput,
  journal: string | undefined,
): ResumeDecision {
  const { run, startedAt, shard } = header;
  const where = shard === target.shard ? 'recorded in the state directory' : shardText(shard);
  const created = `created ${countOf(counts.done, 'row')} of ${name} in this list already`;
  const what = `run ${run}, started ${startedAt}, ${where}, ${created}`;
  const resuming = isComplete(counts) ? [] : [`${adviceFor(header, target, journal)} and pass --resume`];
  return {
    kind: 'choice',
    yes: { kind: 'new' },
    question: `${what.replace(/^r/, 'R')}. Create these rows again?`,
    refusal: new Failure('usage', what, {
      hint: ['nothing was sent; pass --restart to create these rows again', ...resuming].join('\n'),
    }),
  };
}

function shardText(shard: string | null): string {
  return shard === null ? 'without --shard' : `as shard ${shard}`;
}

/** A message is no list: the newest ones will do. */
const elsewhereMax = 3;

function placeOf({ run, origin, shard }: JournalHeader, here: RunTarget, journal: string | undefined): string {
  const parts = [
    ...(origin === here.origin ? [] : [`at ${origin}`]),
    ...(shard === here.shard ? [] : [shardText(shard)]),
  ];
  const only = journal === undefined ? 'with an input that was changed since' : 'in the state directory';
  const where = parts.length === 0 ? only : parts.join(', ');
  return `run ${run} of the same rows is unfinished, ${where}`;
}

function adviceFor({ file, origin, shard }: JournalHeader, here: RunTarget, journal: string | undefined): string {
  const flags = [
    ...(journal === undefined ? [] : ['leave out --journal']),
    ...(origin === here.origin ? [] : [`pass --base-url ${origin}`]),
    ...(shard === here.shard ? [] : [shard === null ? 'leave out --shard' : `pass --shard ${shard}`]),
  ];
  return `to resume that run, ${flags.length === 0 ? `pass --from ${file}` : flags.join(' and ')}`;
}
