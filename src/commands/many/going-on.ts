/** What is done about the run before: gone on with, begun anew, or refused. */
import type { Journal } from '../../bulk/journal.ts';
import type { JournalRecord } from '../../bulk/journal-records.ts';
import type { Replay } from '../../bulk/journal-replay.ts';
import type { RunningCounts, Task } from '../../bulk/task.ts';
import { Failure } from '../../errors.ts';
import type { Host } from '../../host.ts';
import type { Check } from '../../rows/check-rows.ts';
import type { RowsFile } from '../../rows/open-rows.ts';
import type { BadRow, Row } from '../../rows/row.ts';
import type { ManyOptions } from './flags.ts';

/** What the run before leaves to do. */
export type Beginning =
  | { readonly kind: 'new' }
  | { readonly kind: 'go-on'; readonly before: Replay }
  /** It did every row of the same input. */
  | { readonly kind: 'nothing'; readonly before: Replay };

/** The input, as far as a run is told from another one by it. */
export interface InputFacts {
  readonly check: Check;
  /** A hash of what makes fields of the columns. */
  readonly mapping: string;
}

/**
 * Decides whether a run is a new one (cli.md, "Many items").
 *
 * @throws {Failure} usage, when the run before is half done and neither --resume nor --restart was typed, or when the
 *   input is not the one that it was of
 */
export function beginningOf(
  before: Replay | undefined,
  { resumes, restarts, journal }: Pick<ManyOptions, 'resumes' | 'restarts' | 'journal'>,
  { check, mapping }: InputFacts,
): Beginning {
  if (before === undefined || restarts) return { kind: 'new' };
  const { counts, header } = before;
  const isWhole = counts.failed + counts.invalid + counts.inDoubt + counts.left === 0;
  if (!resumes) {
    if (isWhole && journal === undefined) return { kind: 'new' };
    throw halfDone(before, isWhole);
  }
  const isSame = header.input.sha256 === check.sha256 && header.mapping === mapping;
  if (isWhole && isSame) return { kind: 'nothing', before };
  if (isWhole || header.input.rows !== check.rows) throw changed(before, check);
  return { kind: 'go-on', before };
}

function halfDone({ header, counts }: Replay, isWhole: boolean): Failure {
  const states: readonly (readonly [number, string])[] = [
    [counts.left, 'still to do'],
    [counts.failed + counts.invalid, 'failed'],
    [counts.inDoubt, 'in doubt'],
  ];
  const rest = states.filter(([count]) => count > 0).map(([count, state]) => `${count} ${state}`);
  const what = isWhole ? 'did every row' : `is half done: of ${header.rows} rows ${rest.join(', ')}`;
  return new Failure('usage', `run ${header.run} of this input ${what}`, {
    hint: `nothing was sent; --resume ${isWhole ? 'finds nothing to do' : 'goes on with it'}, --restart starts from the first row again`,
  });
}

function changed({ header }: Replay, check: Check): Failure {
  const what =
    header.input.rows === check.rows
      ? 'has changed since, or is read in another way'
      : `had ${header.input.rows} rows, and has ${check.rows} now`;
  return new Failure('usage', `the input of run ${header.run} ${what}`, {
    hint: 'nothing was sent; --restart sends this input from its first row',
  });
}

/**
 * Checks that the rows that were done, or may have been, are what they were: a run is not gone on with over another
 * input (reliability, P16).
 *
 * @throws {Failure} usage, naming the first row that has changed
 */
export async function checkUnchanged(before: Replay, file: RowsFile, hashOf: (row: Row) => string): Promise<void> {
  for await (const block of file.blocks()) {
    for (const row of block) {
      const state = before.stateOf(row.number);
      if (state !== 'done' && state !== 'in-doubt') continue;
      if (row.problem === undefined && hashOf(row) === before.hashOf(row.number)) continue;
      const was = state === 'done' ? 'was done' : 'may have been done';
      throw new Failure(
        'usage',
        `row ${row.number} (line ${row.line}) ${was} with other values, by run ${before.header.run}`,
        {
          hint: 'nothing was sent; give it back its values, or pass --restart to send every row of this input',
        },
      );
    }
  }
}

/** How the rows stand when a new run begins. */
export function newCounts(rows: number): RunningCounts {
  return { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: rows };
}

/** What is done about a row whose outcome is unknown. */
export type DoubtPolicy = (row: number, hash: string) => 'hold' | 'retry';

/** What decides about rows in doubt. */
export interface DoubtOptions {
  readonly inDoubt: ManyOptions['inDoubt'];
  /** A create may make a second item; anything else leads to the same one. */
  readonly isCreate: boolean;
  /** Whether the service is known to honour the keys. */
  readonly honoursKeys: boolean;
  readonly nowMs: number;
}

/** A key is known to a service for a day; an hour is kept in hand (reliability, C4). */
const keyWindowMs = 23 * 3_600_000;

/**
 * What is done about rows in doubt: what was typed; else a request that leads to the same item, as a single one would,
 * is sent again, and a create is held.
 */
export function doubtPolicy(before: Replay, { inDoubt, isCreate, honoursKeys, nowMs }: DoubtOptions): DoubtPolicy {
  return (row, hash) => {
    if (inDoubt === 'hold' || inDoubt === 'retry') return inDoubt;
    if (!isCreate) return 'retry';
    const doubt = before.doubtOf(row);
    const isKeyKnown = honoursKeys && typeof doubt?.key === 'string' && doubt.hash === hash;
    return isKeyKnown && nowMs - doubt.sentAt < keyWindowMs ? 'retry' : 'hold';
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
  readonly host: Pick<Host, 'clock'>;
}

/** What is to be done with the rows of a file: nothing with those that were done. */
export async function* tasksOf(file: RowsFile, options: TaskOptions): AsyncGenerator<readonly Task<Row | BadRow>[]> {
  for await (const block of file.blocks()) {
    const tasks: Task<Row | BadRow>[] = [];
    for (const row of block) {
      const task = taskOf(row, options);
      if (task !== undefined) tasks.push(task);
    }
    if (tasks.length > 0) yield tasks;
  }
}

function taskOf(row: Row | BadRow, options: TaskOptions): Task<Row | BadRow> | undefined {
  const { before, skipsDoubts } = options;
  const state = before?.stateOf(row.number) ?? 'pending';
  if (state === 'done' || state === 'skipped' || (state === 'in-doubt' && skipsDoubts)) return undefined;
  const was = states[state];
  if (row.problem !== undefined) return { kind: 'invalid', row, was, failure: invalidFailure(row) };
  if (state !== 'in-doubt') return { kind: 'send', row, was };
  return doubtfulTask(row, options);
}

const states = {
  pending: 'left',
  failed: 'failed',
  invalid: 'invalid',
  'in-doubt': 'inDoubt',
} as const;

function doubtfulTask(row: Row, { before, policy, hashOf, host }: TaskOptions): Task<Row | BadRow> {
  const doubt = before?.doubtOf(row.number);
  const hash = hashOf(row);
  const key = doubt?.key ?? null;
  if (policy(row.number, hash) === 'hold') return { kind: 'held', row, failure: heldFailure(row, key) };
  const msAgo = Math.max(0, host.clock.now() - (doubt?.sentAt ?? 0));
  return { kind: 'send', row, was: 'inDoubt', sent: { key, msAgo } };
}

function invalidFailure({ line, column, problem }: BadRow): Failure {
  const where = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
  return new Failure('usage', `${where}: ${problem}`, { outcome: 'not-sent' });
}

function heldFailure({ number, line }: Row, key: string | null): Failure {
  return new Failure('in-doubt', `in doubt what became of row ${number} (line ${line}): it was not sent again`, {
    outcome: 'unknown',
    idempotencyKey: key ?? undefined,
  });
}
