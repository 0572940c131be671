/** What is done about the run before: gone on with, begun anew, or refused. */
import { keyWindowMs } from '../../api/retry.ts';
import type { Journal } from '../../bulk/journal.ts';
import type { JournalRecord, RowCounts } from '../../bulk/journal-records.ts';
import type { Replay } from '../../bulk/journal-replay.ts';
import { keyAgeMs, type PresentMoment } from '../../bulk/key-age.ts';
import type { RunningCounts, Task } from '../../bulk/task.ts';
import { Failure } from '../../errors.ts';
import { countOf } from '../../output/quantity-text.ts';
import { badRowFailure, type Check } from '../../rows/check-rows.ts';
import type { RowsFile } from '../../rows/open-rows.ts';
import type { BadRow, Row, RowAction } from '../../rows/row.ts';
import type { ManyOptions } from './flags.ts';

/** What the run before leaves to do. */
export type Beginning =
  | { readonly kind: 'new' }
  | { readonly kind: 'go-on'; readonly before: Replay }
  /** It did every row of the same input. */
  | { readonly kind: 'nothing'; readonly before: Replay }
  /** A person may choose: `yes` is done after a yes to the question, and everything else is refused. */
  | {
      readonly kind: 'choice';
      readonly question: string;
      readonly yes: Exclude<Beginning, { readonly kind: 'choice' }>;
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
export async function beginningOf(
  before: Replay | undefined,
  { resumes, restarts, journal }: Pick<ManyOptions, 'resumes' | 'restarts' | 'journal'>,
  input: InputFacts,
): Promise<Beginning> {
  if (before === undefined || restarts) return { kind: 'new' };
  const isWhole = isWhollyDone(before.counts);
  const difference = await differenceOf(before, input);
  if (resumes && difference !== undefined) throw difference;
  if (journal !== undefined && difference !== undefined) throw otherRecord(before, journal);
  if (!isWhole && before.header.keysFrom !== input.keysFrom) throw otherKeys(before.header);
  if (resumes) return { kind: isWhole ? 'nothing' : 'go-on', before };
  if (!isWhole) return { kind: 'choice', yes: { kind: 'go-on', before }, ...unfinished(before, input) };
  // What was updated or deleted is so again. A second record in the same file would be the loss of the first.
  const mayDouble = input.action === 'create' && before.header.rows > 0;
  if (journal === undefined && !mayDouble) return { kind: 'new' };
  return { kind: 'choice', yes: { kind: 'new' }, ...finished(before, input, journal) };
}

/** Why the run before can't be of this input; undefined where it can. */
async function differenceOf(before: Replay, input: InputFacts): Promise<Failure | undefined> {
  const { header, counts } = before;
  if (header.input.sha256 === input.check.sha256 && header.mapping === input.mapping) return undefined;
  const changed = await input.changedRow(before);
  if (changed !== undefined && !isWhollyDone(counts)) return rowChanged(before, changed);
  return changed === undefined && header.input.rows === input.check.rows ? undefined : otherInput(before, input);
}

/** Whether nothing of a run is left to be done. */
export function isWhollyDone({ failed, invalid, inDoubt, left }: RowCounts): boolean {
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
export function rowChanged({ header }: Pick<Replay, 'header'>, { number, line, state }: ChangedRow): Failure {
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
  readonly inDoubt: ManyOptions['inDoubt'];
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
  readonly skipsDoubts: boolean;
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
  const { before, skipsDoubts } = options;
  const state = before?.stateOf(row.number) ?? 'pending';
  if (state === 'done' || state === 'skipped' || (state === 'in-doubt' && skipsDoubts)) return undefined;
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
  if (msAgo === undefined) return { kind: 'held', row, failure: heldFailure(row, key) };
  return { kind: 'send', row, was: 'inDoubt', sent: { key, msAgo } };
}

function heldFailure({ number, line }: Row, key: string | null): Failure {
  return new Failure('in-doubt', `in doubt what became of row ${number} (line ${line}): it was not sent again`, {
    outcome: 'unknown',
    idempotencyKey: key ?? undefined,
  });
}
