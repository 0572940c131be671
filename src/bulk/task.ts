/** What a run is made of: rows to do, how one is sent, and what came of each. */
import type { Failure, Outcome } from '../errors.ts';
import type { RowCounts } from './journal-records.ts';

/** A row as the runner knows it: by its number in the input, from 1. */
export interface Numbered {
  readonly number: number;
}

/** What is to be done about one row. Rows that were done before are none. */
export type Task<R extends Numbered> = SendTask<R> | HeldTask<R> | InvalidTask<R>;

/** A row to send. */
export interface SendTask<R> {
  readonly kind: 'send';
  readonly row: R;
  /** How it stood when this session began. */
  readonly was: keyof RowCounts;
  /**
   * The key that it may have been sent with, and how many milliseconds ago, to be asked when it is sent again; undefined
   * where it certainly has had no effect.
   */
  readonly sent?: { readonly key: string | null; readonly msAgo: () => number } | undefined;
}

/** A row whose outcome is unknown, and that stays so. */
export interface HeldTask<R> {
  readonly kind: 'held';
  readonly row: R;
  readonly failure: Failure;
}

/** A row that can't be sent. */
export interface InvalidTask<R> {
  readonly kind: 'invalid';
  readonly row: R;
  readonly was: keyof RowCounts;
  readonly failure: Failure;
}

/** What one attempt came to. The api's own steps have this shape. */
export type RowStep<T> = RowDone<T> | RowNotDone;

interface RowTold {
  readonly outcome: Outcome;
  readonly sign: 'answered' | 'throttled' | 'silent';
  readonly tookMs: number;
}

interface RowDone<T> extends RowTold {
  readonly isDone: true;
  readonly value: T;
}

interface RowNotDone extends RowTold {
  readonly isDone: false;
  readonly waitMs: number | undefined;
  readonly isAsked: boolean;
  readonly concerns: 'itself' | 'every' | 'every-until-done';
  readonly failure: () => unknown;
}

/** How a run sends its rows: it is handed an api, and makes none. */
export interface Sender<R extends Numbered, T> {
  /** Whether it only reads: then nothing is ever in doubt. */
  readonly isRead: boolean;
  /** The key that a row is sent with for the first time; null where none is sent. */
  newKey(row: R): string | null;
  /** 16 hex digits that tell the row's payload from another one. */
  hashOf(row: R): string;
  /** The way of one row to its outcome; nothing is sent yet. */
  begin(row: R, key: string | null, sentMsAgo: number | undefined): { attempt(): Promise<RowStep<T>> };
  /** What the journal keeps of what was done. */
  keptOf(row: R, value: T): { readonly id: string; readonly etag: string | undefined };
}

/** What came of one row. `left` is a row that was not sent, since the run stopped before. */
export type RowResult<R, T> =
  | { readonly status: 'done'; readonly row: R; readonly value: T }
  | { readonly status: 'failed' | 'in-doubt'; readonly row: R; readonly failure: Failure }
  | { readonly status: 'left'; readonly row: R };

/** The counts of a run while it is at work. */
export type RunningCounts = { -readonly [State in keyof RowCounts]: RowCounts[State] };
