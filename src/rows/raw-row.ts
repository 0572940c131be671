import type { RowSource } from './row.ts';

/** What stands in a file for one row, before anybody asks what it means. */
export interface RawRow {
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
  readonly source: RowSource;
  /** Why it could not be read; the source is its text then, or what can be told of it. */
  readonly fault?: RowFault | undefined;
}

/** What is wrong with a row, and where, as in `BadRow`. */
export interface RowFault {
  readonly problem: string;
  readonly column: number | undefined;
}

/** A text of a file in a message: in quotes, cut where it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
