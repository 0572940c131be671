/** The tasks of a run: the rows of its input that are not done, and what becomes of those in doubt. */
import type { SentEarlier } from '../api/operation.ts';
import { keyWindowMs } from '../api/outcome.ts';
import { Failure } from '../core/errors.ts';
import type { Clock } from '../core/host.ts';
import { badRowFailure } from '../rows/check.ts';
import type { RowsFile } from '../rows/read.ts';
import type { BadRow, Row } from '../rows/types.ts';
import type { BulkOptions } from './flags.ts';
import type { Journal } from './journal.ts';
import type { JournalRecord } from './journal-format.ts';
import type { Doubt, Replay } from './journal-read.ts';
import { type ClockReading, keyAgeMs, payloadHash } from './keys.ts';
import { bootId } from './record.ts';
import type { NumberedRow, RunningCounts, Task } from './task.ts';

/** The counts at the start of a run. */
export function newCounts(rows: number): RunningCounts {
  return { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: rows };
}

/** The counts of a resumed run, with the rows that were added to its input. */
export function resumedCounts({ header, counts }: Replay, rows: number): RunningCounts {
  return { ...counts, left: counts.left + rows - header.rows };
}

/** Skips rows that are not done, and records it if there is a journal. */
export function skipRows(
  rows: Iterable<number>,
  before: Replay | undefined,
  journal: Journal | undefined,
  counts: RunningCounts,
): void {
  const records: JournalRecord[] = [];
  for (const row of rows) {
    const state = before?.stateOf(row) ?? 'pending';
    if (state === 'done' || state === 'skipped') continue;
    records.push(['R', row, 'skipped']);
    counts[states[state]] -= 1;
  }
  counts.skipped += records.length;
  for (let at = 0; at < records.length; at += 1000) journal?.write(records.slice(at, at + 1000), 0);
}

export interface TaskOptions {
  readonly before: Replay | undefined;
  readonly inDoubt: BulkOptions['inDoubt'];
  /** The current time, if the service honors keys and their age matters. */
  readonly present: (() => ClockReading) | undefined;
  /** Creates in doubt are looked up by their keys, or refused if they are repeated. */
  readonly isProvable?: boolean;
  /** Rows that are not sent. */
  readonly skipped?: ReadonlySet<number> | undefined;
  /** The number of a later row that is done and has the same id, if there is one. */
  readonly overtakenBy?: ((row: Row) => number | undefined) | undefined;
  /** By which the age of a request is told to a look-up. */
  readonly clock?: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** The age of the request of a row in doubt at a time of the service; undefined if unknown. */
export function doubtAge(doubt: Doubt | undefined, clock: Pick<Clock, 'now' | 'monotonicMs'>): SentEarlier['ageMs'] {
  const present = (serviceMs: number) => ({
    ...{ nowMs: clock.now(), monotonicMs: clock.monotonicMs(), boot: bootId(), serviceMs },
  });
  return (serviceMs) => doubt && keyAgeMs(doubt, present(serviceMs));
}

/** Makes the tasks for the rows of a file that are not done. */
export async function* tasksOf(file: RowsFile, options: TaskOptions): AsyncGenerator<readonly Task<Row | BadRow>[]> {
  for await (const block of file.blocks()) {
    const tasks = block.flatMap((row) => taskOf(row, file, options) ?? []);
    if (tasks.length > 0) yield tasks;
  }
}

function taskOf(row: Row | BadRow, file: RowsFile, options: TaskOptions): Task<Row | BadRow> | undefined {
  const { before, inDoubt } = options;
  const state = before?.stateOf(row.number) ?? 'pending';
  if (state === 'done' || state === 'skipped' || (state === 'in-doubt' && inDoubt === 'skip')) return undefined;
  if (options.skipped?.has(row.number)) return undefined;
  const was = states[state];
  if (row.problem !== undefined) return { kind: 'invalid', row, was, failure: badRowFailure(row, file) };
  const later = options.overtakenBy?.(row);
  if (later !== undefined) return overtaken(row, was, later);
  if (state !== 'in-doubt') return { kind: 'send', row, was };
  const isCreate = file.options.action === 'create';
  return doubtTask(row, before?.doubtOf(row.number), { ...options, isCreate, hash: hashOf(row) });
}

function overtaken(row: Row, was: keyof RunningCounts, later: number): Task<Row> {
  const message = `not sent: row ${later} of the same item is done, and this one would overwrite it`;
  if (was === 'inDoubt') return { kind: 'in-doubt', row, failure: inDoubtFailure(null, message) };
  return { kind: 'invalid', row, was, failure: new Failure('conflict', message, { outcome: 'not-sent' }) };
}

/** Makes the task of a row in doubt: it is sent again, or only reported. */
export function doubtTask<R extends NumberedRow>(
  row: R,
  doubt: Doubt | undefined,
  how: Omit<TaskOptions, 'before'> & { readonly isCreate: boolean; readonly hash: string },
): Task<R> {
  const key = doubt?.key ?? null;
  const msAgo = msSinceSent(doubt, how);
  if (msAgo === undefined) return { kind: 'in-doubt', row, failure: inDoubtFailure(key) };
  const earlier = how.clock && { earlier: { ageMs: doubtAge(doubt, how.clock) } };
  return { kind: 'send', row, was: 'inDoubt', sent: { key, msAgo, ...earlier } };
}

/** How a row counts that is sent again. */
export const states = {
  pending: 'left',
  failed: 'failed',
  invalid: 'invalid',
  'in-doubt': 'inDoubt',
} as const;

/**
 * The age of the request of a row in doubt, if the row is to be sent again: `--in-doubt` decides; by default only creates
 * are not sent again, except with a key that the service still knows (docs/decisions.md, doubt-1).
 */
function msSinceSent(
  doubt: Doubt | undefined,
  { inDoubt, present, isProvable, isCreate, hash }: Parameters<typeof doubtTask>[2],
): (() => number) | undefined {
  if (inDoubt === 'hold') return undefined;
  // An explicit retry ignores the age of the key, but is sent only once.
  if (inDoubt === 'retry' || !isCreate) return () => keyWindowMs;
  if (doubt?.hash !== hash) return undefined;
  if (isProvable) return () => 0;
  if (present === undefined || typeof doubt.key !== 'string') return undefined;
  const msAgo = () => keyAgeMs(doubt, present()) ?? Number.POSITIVE_INFINITY;
  return msAgo() < keyWindowMs ? msAgo : undefined;
}

/** The hash of what is sent for a row. */
function hashOf({ id, fields }: Row): string {
  return payloadHash(id, fields);
}

function inDoubtFailure(key: string | null, message = 'in doubt since an earlier session; not sent again'): Failure {
  return new Failure('in-doubt', message, {
    outcome: 'unknown',
    idempotencyKey: key ?? undefined,
  });
}
