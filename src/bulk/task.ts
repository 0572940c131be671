/** The rows of a run, how one is sent, and its result. */
import type { RequestAttempts } from '../api/attempts.ts';
import type { SentEarlier } from '../api/operation.ts';
import type { Failure } from '../core/errors.ts';
import type { RowCounts } from './journal-format.ts';

/** A row, by its number in the input, from 1. */
export interface NumberedRow {
  readonly number: number;
}

/** A row to send. */
export interface SendTask<R> {
  readonly kind: 'send';
  readonly row: R;
  /** Its state when this session began. */
  readonly was: keyof RowCounts;
  /** The key and the age of an earlier request that may have taken effect. */
  readonly sent?:
    | {
        readonly key: string | null;
        readonly msAgo: () => number;
        /** By which a look-up judges the item that it finds. */
        readonly earlier?: SentEarlier;
      }
    | undefined;
}

/** What to do about a row that is not done; one in doubt, or invalid, is reported and not sent. */
export type Task<R> =
  | SendTask<R>
  | { readonly kind: 'in-doubt'; readonly row: R; readonly failure: Failure }
  | { readonly kind: 'invalid'; readonly row: R; readonly was: keyof RowCounts; readonly failure: Failure };

/** Sends the rows of a run. */
export interface Sender<R extends NumberedRow, T> {
  /** Whether it only reads, so that no row is ever in doubt. */
  readonly isRead: boolean;
  /** The key for the first request of a row; null for none. */
  newKey(row: R): string | null;
  /** 16 hex digits. */
  hashOf(row: R): string;
  /** Prepares the request of a row; sends nothing yet. */
  begin(row: R, key: string | null, sentMsAgo: number | undefined, sent?: SentEarlier): RequestAttempts<T>;
  toRecord(
    row: R,
    value: T,
  ): { readonly id: string; readonly etag: string | undefined; readonly isFound?: true | undefined };
}

/** The result of a row. `left` was not sent: because the run stopped, or an earlier row of its item is not done. */
export type RowResult<R, T> =
  | { readonly status: 'done'; readonly row: R; readonly value: T }
  | { readonly status: 'failed' | 'in-doubt'; readonly row: R; readonly failure: Failure }
  | { readonly status: 'left'; readonly row: R; readonly reason: string };

/** Counts that change while a run is in progress. */
export type RunningCounts = { -readonly [State in keyof RowCounts]: RowCounts[State] };
