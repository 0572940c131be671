/** Decides what to do about a previous run of the same input: resume it, start over or refuse. */
import { keyWindowMs } from '../api/outcome.ts';
import { Failure } from '../core/errors.ts';
import { countOf } from '../core/text.ts';
import { badRowFailure, type Check } from '../rows/check.ts';
import type { RowsFile } from '../rows/read.ts';
import type { BadRow, Row, RowAction } from '../rows/types.ts';
import type { BulkOptions } from './flags.ts';
import type { Journal } from './journal.ts';
import type { JournalHeader, JournalRecord } from './journal-format.ts';
import { type Replay, readJournal } from './journal-read.ts';
import { keyAgeMs, type PresentMoment } from './keys.ts';
import type { RunningCounts, Task } from './outcome.ts';
import { bootId, identityOf } from './record.ts';
import { isComplete, type ReadRun, type RunFile, readRunFile, runsWith } from './runs.ts';

/** What to do about the previous run. */
export type ResumeDecision =
  | { readonly kind: 'new' }
  | { readonly kind: 'resume'; readonly before: Replay }
  /** It completed every row of the same input. */
  | { readonly kind: 'complete'; readonly before: Replay }
  /** Needs confirmation: `yes` follows a yes, and `refusal` everything else. */
  | {
      readonly kind: 'choice';
      readonly question: string;
      readonly yes: Exclude<ResumeDecision, { readonly kind: 'choice' }>;
      readonly refusal: Failure;
    };

/** The input, compared with that of the previous run. */
export interface InputFacts {
  readonly action: RowAction;
  /** For messages. */
  readonly name: string;
  readonly check: Pick<Check, 'rows' | 'sha256'>;
  /** A hash of the options that map columns to fields. */
  readonly mapping: string;
  /** The source of derived keys, as recorded in the journal. */
  readonly keysFrom: string | undefined;
  /** As `findChangedRow` over the input. */
  readonly changedRow: (before: Replay) => Promise<ChangedRow | undefined>;
}

/**
 * Decides what to do about the previous run.
 *
 * @throws {Failure} usage, if `--resume` or `--journal` names a run of another input
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
  if (resume) return { kind: isWhole ? 'complete' : 'resume', before };
  if (!isWhole) return { kind: 'choice', yes: { kind: 'resume', before }, ...unfinished(before, input) };
  // Updates and deletes can be repeated; a second run in the same --journal would replace the first.
  const mayDouble = input.action === 'create' && before.header.rows > 0;
  if (journal === undefined && !mayDouble) return { kind: 'new' };
  return { kind: 'choice', yes: { kind: 'new' }, ...finished(before, input, journal) };
}

/** Why the previous run cannot be of this input; undefined if it can. */
async function differenceOf(before: Replay, input: InputFacts): Promise<Failure | undefined> {
  const { header, counts } = before;
  if (header.input.sha256 === input.check.sha256 && header.mapping === input.mapping) return undefined;
  const changed = await input.changedRow(before);
  if (changed !== undefined && !isComplete(counts)) return rowChanged(before, changed);
  return changed === undefined && header.input.rows === input.check.rows ? undefined : otherInput(before, input);
}

function unfinished({ header, counts }: Replay, { name }: InputFacts): { question: string; refusal: Failure } {
  const states: readonly (readonly [number, string])[] = [
    [counts.left, 'remaining'],
    [counts.failed + counts.invalid, 'failed'],
    [counts.inDoubt, 'in doubt'],
  ];
  const rest = states.filter(([count]) => count > 0).map(([count, state]) => `${count} ${state}`);
  const what = `run ${header.run} of ${name} is incomplete: ${rest.join(', ')} of ${countOf(header.rows, 'row')}`;
  return {
    question: `${capitalized(what)}. Resume it?`,
    refusal: new Failure('usage', what, {
      hint: 'pass --resume to send the remaining rows, or --restart to send every row again; nothing was sent',
    }),
  };
}

function finished(
  { header, counts }: Replay,
  { name, action }: InputFacts,
  journal: string | undefined,
): { question: string; refusal: Failure } {
  const rows = counts.skipped === 0 ? 'every row' : `all rows but ${counts.skipped} skipped`;
  const what = `run ${header.run} (started ${header.startedAt}) completed ${rows} of ${name}`;
  const loss = journal === undefined ? '' : ` (replaces the run in ${journal})`;
  return {
    question: `${capitalized(what)}. ${capitalized(action)} them again${loss}?`,
    refusal: new Failure('usage', what, {
      hint: `pass --restart to ${action} every row again${loss}; nothing was sent`,
    }),
  };
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function otherInput({ header }: Replay, { name, check }: InputFacts): Failure {
  const what =
    header.input.rows === check.rows
      ? 'the rows or the input options changed since that run'
      : `its input had ${header.input.rows} rows, but this one has ${check.rows}`;
  return new Failure('usage', `cannot resume run ${header.run} with ${name}: ${what}`, {
    hint: 'pass --restart to start over with this input; nothing was sent',
  });
}

/** Keys of two kinds would not protect against duplicates. */
function otherKeys({ run, keysFrom }: Replay['header']): Failure {
  const own = keysFrom === undefined ? 'uses random keys' : `derives its keys from ${keysFrom}`;
  const fix = keysFrom === undefined ? 'leave out' : 'pass';
  return new Failure('usage', `cannot resume run ${run} with different keys: it ${own}`, {
    hint: `${fix} --idempotency-key-from${keysFrom === undefined ? '' : ` ${keysFrom}`}, or pass --restart to send every row again; nothing was sent`,
  });
}

function otherRecord({ header }: Replay, journal: string): Failure {
  return new Failure('usage', `${journal} is the journal of run ${header.run}, which has another input`, {
    hint: 'pass another file with --journal, or --restart to replace that journal; nothing was sent',
  });
}

/** A row that was sent with other values than the input has now. */
export interface ChangedRow {
  readonly number: number;
  readonly line: number;
}

/** Finds the first row that is done or in doubt in a run, and has changed in its input since. */
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
        return { number: row.number, line: row.line };
      }
    }
  }
  return undefined;
}

function rowChanged({ header }: Pick<Replay, 'header'>, { number, line }: ChangedRow): Failure {
  return new Failure('usage', `row ${number} (line ${line}) changed since run ${header.run} sent it`, {
    hint: 'restore its values, or pass --restart to send every row of this input; nothing was sent',
  });
}

/** The counts at the start of a run. */
export function newCounts(rows: number): RunningCounts {
  return { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: rows };
}

/** Decides about a row in doubt: undefined to keep it so, or a function for the age of its request, to send it again. */
export type DoubtPolicy = (row: number, hash: string) => (() => number) | undefined;

/** The parameters of a `DoubtPolicy`. */
export interface DoubtOptions {
  readonly inDoubt: BulkOptions['inDoubt'];
  /** Repeating a create may make a second item. */
  readonly isCreate: boolean;
  /** The current time, if the service honors keys and their age matters. */
  readonly present: (() => PresentMoment) | undefined;
}

/** Whether the age of keys decides about rows in doubt, which needs the clock of the service. */
export function needsKeyAge(before: Replay, { inDoubt, isCreate }: Omit<DoubtOptions, 'present'>): boolean {
  return isCreate && inDoubt === undefined && before.counts.inDoubt > 0;
}

/** Makes the policy: `--in-doubt` decides; by default only creates are not sent again (docs/decisions.md, doubt-1). */
export function doubtPolicy(before: Replay, { inDoubt, isCreate, present }: DoubtOptions): DoubtPolicy {
  return (row, hash) => {
    if (inDoubt === 'hold') return undefined;
    // An explicit retry ignores the age of the key, but is sent only once.
    if (inDoubt === 'retry' || !isCreate) return () => keyWindowMs;
    const doubt = before.doubtOf(row);
    if (present === undefined || typeof doubt?.key !== 'string' || doubt.hash !== hash) return undefined;
    const msAgo = () => keyAgeMs(doubt, present()) ?? Number.POSITIVE_INFINITY;
    return msAgo() < keyWindowMs ? msAgo : undefined;
  };
}

/** Records every row in doubt as skipped. */
export function skipDoubts(before: Replay, journal: Journal, counts: RunningCounts): void {
  const records: JournalRecord[] = [...before.doubts()].map((row) => ['R', row, 'skipped']);
  for (let at = 0; at < records.length; at += 1000) journal.write(records.slice(at, at + 1000), 0);
  counts.skipped += records.length;
  counts.inDoubt -= records.length;
}

/** Options for making tasks. */
export interface TaskOptions {
  readonly before: Replay | undefined;
  readonly skipDoubts: boolean;
  readonly policy: DoubtPolicy;
  readonly hashOf: (row: Row) => string;
}

/** Makes the tasks for the rows of a file that are not done. */
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
  if (msAgo === undefined) return { kind: 'in-doubt', row, failure: inDoubtFailure(row, key) };
  return { kind: 'send', row, was: 'inDoubt', sent: { key, msAgo } };
}

function inDoubtFailure({ number, line }: Row, key: string | null): Failure {
  return new Failure('in-doubt', `row ${number} (line ${line}) is in doubt and was not sent again`, {
    outcome: 'unknown',
    idempotencyKey: key ?? undefined,
  });
}

/** The action and the place of a run; with the content of its input, its identity. */
export type RunTarget = Pick<JournalHeader, 'action' | 'origin' | 'site' | 'list' | 'shard'>;

/** The input of a run. */
export interface RunInput {
  readonly target: RunTarget;
  /** For messages. */
  readonly name: string;
  /** The absolute path; undefined for a stream. */
  readonly path: string | undefined;
  readonly rows: number;
  readonly sha256: string;
  /** As `findChangedRow` over the input. */
  readonly changedRow: (before: Replay) => Promise<ChangedRow | undefined>;
}

/** The identity of a run: 64 hex digits. */
export function runIdentity({ action, origin, site, list, shard }: RunTarget, sha256: string): string {
  return identityOf(action, origin, site, list, shard, sha256);
}

export function isSameTarget(one: RunTarget, other: RunTarget): boolean {
  return isSameList(one, other) && one.origin === other.origin && one.shard === other.shard;
}

function isSameList(one: RunTarget, other: RunTarget): boolean {
  return one.action === other.action && one.site === other.site && one.list === other.list;
}

/** The run of an edited input, or why the first candidate does not match. */
export interface EditedRun {
  readonly run: RunFile | undefined;
  readonly failure: Failure | undefined;
}

/**
 * Finds the run of an input that was edited since.
 *
 * @throws {Failure} local-file
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

/** The failure of a `--resume` without a run; names incomplete runs of the same rows elsewhere. */
export async function nothingToResume(
  directory: string | undefined,
  { target, sha256, name }: RunInput,
  journal: string | undefined,
): Promise<Failure> {
  const isOfRows = (header: JournalHeader) => header.input.sha256 === sha256 && isSameList(header, target);
  const found: ReadRun[] = [];
  if (directory !== undefined) {
    for (const file of runsElsewhere(directory, isOfRows)) {
      // A damaged one is reported when it is used.
      const run = await readRunFile(file, { boot: bootId() }).catch(() => undefined);
      if (run !== undefined && !isComplete(run.counts) && found.length < elsewhereMax) found.push(run);
    }
  }
  const where = journal === undefined ? '' : `${journal} does not exist, and `;
  const elsewhere = found.map(({ header }) => `; ${placeOf(header, target, journal)}`).join('');
  const [first] = found;
  const resume = first === undefined ? [] : [`${adviceFor(first.header, target, journal)}; nothing was sent`];
  // Without --restart a run that shares rows with one of this list is refused as well.
  const isRepeat = found.some(
    ({ header }) => header.origin === target.origin && sharesRows(header.shard, target.shard),
  );
  const how = isRepeat ? 'pass --restart instead of --resume' : 'leave out --resume';
  const start = `${how} to start a new run${first === undefined ? '; nothing was sent' : ''}`;
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

/** The choice after an overlapping run. */
export function overlap(
  { header, counts }: ReadRun,
  { target, name }: RunInput,
  journal: string | undefined,
): ResumeDecision {
  const { run, startedAt, shard } = header;
  const where = shard === target.shard ? 'recorded in the state directory' : shardText(shard);
  const what = `run ${run} (started ${startedAt}, ${where}) already created ${countOf(counts.done, 'row')} of ${name} in this list`;
  const resuming = isComplete(counts) ? [] : [adviceFor(header, target, journal, ['pass --resume'])];
  return {
    kind: 'choice',
    yes: { kind: 'new' },
    question: `${what.replace(/^r/, 'R')}. Create these rows again?`,
    refusal: new Failure('usage', what, {
      hint: ['pass --restart to create these rows again; nothing was sent', ...resuming].join('\n'),
    }),
  };
}

function shardText(shard: string | null): string {
  return shard === null ? 'without --shard' : `as shard ${shard}`;
}

/** The most runs in a message. */
const elsewhereMax = 3;

function placeOf({ run, origin, shard }: JournalHeader, here: RunTarget, journal: string | undefined): string {
  const parts = [
    ...(origin === here.origin ? [] : [`at ${origin}`]),
    ...(shard === here.shard ? [] : [shardText(shard)]),
  ];
  const only = journal === undefined ? 'with an input that was changed since' : 'in the state directory';
  const where = parts.length === 0 ? only : parts.join(', ');
  return `run ${run} of the same rows is incomplete, ${where}`;
}

function adviceFor(
  { file, origin, shard }: JournalHeader,
  here: RunTarget,
  journal: string | undefined,
  more: readonly string[] = [],
): string {
  const flags = [
    ...(journal === undefined ? [] : ['leave out --journal']),
    ...(origin === here.origin ? [] : [`pass --base-url ${origin}`]),
    ...(shard === here.shard ? [] : [shard === null ? 'leave out --shard' : `pass --shard ${shard}`]),
  ];
  const advice = [...(flags.length === 0 ? [`pass --from ${file}`] : flags), ...more];
  return `${advice.join(' and ')} to resume that run`;
}
