/** What comes out of a file of many items: rows that can be sent, and rows that can't. */
import type { Fields } from '../item.ts';
import type { JsonValue } from '../json.ts';

/** What is to be done with each row. */
export type RowAction = 'create' | 'update' | 'delete' | 'get';

/** What stood in the file for one row; a rejects file is written from it. */
export type RowSource =
  | { readonly kind: 'cells'; readonly cells: readonly string[] }
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'id'; readonly id: string }
  /** What could not be read, without its line end; of a row that is too long, its first 1,000 characters. */
  | { readonly kind: 'text'; readonly text: string };

/** One row of a file, as it is to be sent. */
export interface Row {
  /** From 1: rows alone count, neither the header nor blank lines. */
  readonly number: number;
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
  /** Always there for update, delete and get, and fit for a path; undefined for create. */
  readonly id: string | undefined;
  /** With the common fields over them; empty for delete and get. */
  readonly fields: Fields;
  readonly source: RowSource;
  readonly problem?: undefined;
}

/** A row that can't be sent. */
export interface BadRow {
  /** From 1, counted as the others. */
  readonly number: number;
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
  /**
   * Where in it, from 1: of CSV and TSV the cell, as a spreadsheet numbers its columns; of the other formats the
   * character in the row's line, in UTF-16 units as editors count. Undefined where it is about the whole row.
   */
  readonly column: number | undefined;
  readonly source: RowSource;
  /** What is wrong, in words, without line and column. Cell texts in it are cut. */
  readonly problem: string;
}
