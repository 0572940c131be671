/** What comes out of a file of many items: rows that can be sent, and rows that cannot. */
import { Failure } from '../core/errors.ts';
import { checkId, type Fields } from '../core/item.ts';
import { isObject, type JsonValue, NumberToken, printJson } from '../core/json.ts';

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

/** A row that cannot be sent. */
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

/** One row as it is in the file, before its columns are interpreted. */
export interface RawRow {
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
  readonly source: RowSource;
  /** Why it could not be read; the source is its text then. */
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

export type RowFormat = 'csv' | 'tsv' | 'jsonl' | 'json' | 'ids';

/** What the text of a cell becomes; `auto`: what reads as JSON's true, false, null or number is that, else text. */
export type CellType = (typeof cellTypes)[number];

/** The words for them, as in `--type Count=number` and in a header `Count:number`. */
export const cellTypes = ['string', 'number', 'boolean', 'json', 'auto'] as const;

/** What an empty cell means: no field, a text without characters, or null, which clears the field. */
export type EmptyCell = 'omit' | 'string' | 'null';

/** One of `count` shares of the rows, dealt by their numbers. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly count: number;
}

export interface RowsOptions {
  readonly action: RowAction;
  /** Over what the file's name says. */
  readonly format?: RowFormat | undefined;
  /** One character, or `tab` or `\t`: over what the header line says. */
  readonly delimiter?: string | undefined;
  /** A label that TextDecoder knows. A byte order mark wins over it. */
  readonly encoding?: string | undefined;
  /** Column or member to field name. */
  readonly rename: ReadonlyMap<string, string>;
  /** The columns or members that become fields; undefined for all. */
  readonly only?: readonly string[] | undefined;
  /** By column; `*` for all that have none of their own. */
  readonly types: ReadonlyMap<string, CellType>;
  readonly empty: EmptyCell;
  /** The column or member that holds the id. */
  readonly idColumn: string;
  /** What a JSON object is: an item with `fields` in it, the fields themselves, or whichever it looks like. */
  readonly rows: 'auto' | 'items' | 'fields';
  /** Laid over the fields of every row, of create and update. */
  readonly common: Fields;
  /** The share that is wanted; undefined for every row. */
  readonly shard?: Shard | undefined;
  /** How much is read at once, in bytes: for tests. */
  readonly blockBytes?: number | undefined;
}

/** The longest record, line or element, in UTF-16 units (limits-3). */
export const rowLengthMax = 8 * 1024 * 1024;

export const tooLong = 'longer than 8 MiB';

/** What is kept of a row that is longer: enough to recognize it. */
export function beginningOf(text: string): string {
  // A copy: a slice would keep all of it.
  return Buffer.from(text.slice(0, 1_000), 'utf16le').toString('utf16le');
}

/** What comes back of an item has its id and more around the fields, and can be read only within the limits of a response. */
const sentMax = { members: 9_990, levels: 126, bytes: rowLengthMax - 4096 } as const;

/** Why fields must not be sent: whether such an item was created or changed could never be confirmed. */
function problemOfSize(fields: Fields): string | undefined {
  const size = { members: 0, length: 0 };
  if (!measure(fields, sentMax.levels, size)) {
    return `more than ${sentMax.members} members, or nested deeper than ${sentMax.levels} levels`;
  }
  // No character takes more than six bytes in JSON: few rows have to be printed to know.
  const mayBeLonger = 6 * size.length > sentMax.bytes;
  return mayBeLonger && Buffer.byteLength(printJson(fields)) > sentMax.bytes ? 'longer than 8 MiB as JSON' : undefined;
}

/** Adds up members and characters, at least as many as JSON has; false where there are too many members or levels. */
function measure(value: JsonValue, levels: number, size: { members: number; length: number }): boolean {
  if (typeof value === 'string') size.length += value.length + 2;
  else if (value instanceof NumberToken) size.length += value.digits.length;
  else if (typeof value !== 'object' || value === null) size.length += 25;
  else if (levels === 0) return false;
  else if (isObject(value)) {
    for (const name in value) {
      size.members += 1;
      size.length += name.length + 4;
      if (size.members > sentMax.members || !measure(value[name] ?? null, levels - 1, size)) return false;
    }
  } else return value.every((each) => measure(each, levels - 1, size));
  return true;
}

/** What a row says. */
export interface ParsedRow {
  /** Not yet checked; undefined where the row has none. */
  readonly id: string | undefined;
  /** With the common fields over them. */
  readonly fields: Fields;
}

/** Knows what the rows of one file mean. */
export interface RowParser {
  /** The column of the id, as `BadRow.column`. */
  readonly idColumn: number | undefined;
  parse(source: RowSource): ParsedRow | RowFault;
  /** What was left out of the rows so far, each said once. */
  notices(): readonly string[];
  /** What is only known when every row has been seen: the first name that none of them has. */
  unknownName(): Failure | undefined;
}

/** Converts a raw row to one that can be sent, or says why it cannot. */
export function toRow(
  number: number,
  { line, source, fault }: RawRow,
  action: RowAction,
  parser: RowParser,
): Row | BadRow {
  const bad = ({ problem, column }: RowFault): BadRow => ({ number, line, column, source, problem });
  if (fault !== undefined) return bad(fault);
  const row = parser.parse(source);
  if ('problem' in row) return bad(row);
  const { id, fields } = row;
  if (action === 'create' || action === 'update') {
    const unsendable = isEmpty(fields) ? 'no fields to send' : problemOfSize(fields);
    if (unsendable !== undefined) return bad({ problem: unsendable, column: undefined });
    if (action === 'create') return { number, line, id: undefined, fields, source };
  }
  const problem = problemOfId(id);
  if (problem !== undefined || id === undefined) {
    return bad({ problem: problem ?? 'no id', column: parser.idColumn });
  }
  return { number, line, id, fields, source };
}

function isEmpty(fields: Fields): boolean {
  for (const _ in fields) return false;
  return true;
}

function problemOfId(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return 'no id';
  try {
    checkId(id, 'item');
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}
