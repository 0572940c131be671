/** The rows of a file, and the options for reading them. */
import type { Failure } from '../core/errors.ts';
import type { FieldEncoder } from '../core/field-encoder.ts';
import { type Fields, fieldsBytesMax, idProblem } from '../core/item.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, printJson, withoutUndefined } from '../core/json.ts';
import { quoted } from '../core/text.ts';

export type RowAction = 'create' | 'update' | 'delete' | 'get';

export const pastTense = { create: 'created', get: 'read', update: 'updated', delete: 'deleted' } as const;

/** A row as it is in the file; a rejects file is written from it. */
export type RowSource =
  /** `quotedEmpty` are the cells, from 0, that are empty quotes: an empty string, and no missing value. */
  | { readonly kind: 'cells'; readonly cells: readonly string[]; readonly quotedEmpty?: readonly number[] | undefined }
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'id'; readonly id: string }
  /** A row that could not be read, without its line end; the first 1,000 characters if it is too long. */
  | { readonly kind: 'text'; readonly text: string };

/** A row to send. */
export interface Row {
  /** From 1, without the header and blank lines. */
  readonly number: number;
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
  /** A valid id; undefined for create. */
  readonly id: string | undefined;
  /** With the common fields; empty for delete and get. */
  readonly fields: Fields;
  readonly source: RowSource;
  readonly problem?: undefined;
}

/** The reason why a row cannot be sent. */
export interface RowFault {
  /** Without line and column. */
  readonly problem: string;
  /** Further ones of the same row. */
  readonly more?: readonly RowFault[] | undefined;
  /**
   * From 1: the cell of CSV and TSV, else the character in the row's line, in UTF-16 units as editors count. Undefined if
   * it is about the whole row.
   */
  readonly column: number | undefined;
}

/** The first fault of a row, with the others; undefined for none. */
export function faultOf([first, ...more]: readonly RowFault[]): RowFault | undefined {
  return first && { ...first, more: more.length === 0 ? undefined : more };
}

export function placedProblem({ problem, column }: RowFault): string {
  return column === undefined ? problem : `column ${column}: ${problem}`;
}

/** A row that cannot be sent. */
export interface BadRow extends RowFault, Pick<Row, 'number' | 'line' | 'source'> {
  /** The byte of the file, from 0, if it is JSON or JSONL in UTF-8; known after a check. */
  readonly byte?: number | undefined;
}

/** A row before its columns are interpreted. */
export interface RawRow extends Pick<Row, 'line' | 'source'> {
  /** The reason why it could not be read; the source is its text then. */
  readonly fault?: RowFault | undefined;
}

export type RowFormat = 'csv' | 'tsv' | 'jsonl' | 'json' | 'yaml' | 'ids';

/** The types of cells, as in `--type Count=number` and in a header `Count:number`; `auto` detects JSON scalars. */
export const cellTypes = ['string', 'number', 'boolean', 'json', 'auto'] as const;
export type CellType = (typeof cellTypes)[number];

export function missingText(typed: string): string {
  return `the required column ${quoted(typed)} has no value`;
}

export interface RowsOptions {
  readonly action: RowAction;
  /** Default: by the name of the file, or the content of a stream. */
  readonly format?: RowFormat | undefined;
  /** One character, `tab` or `\t`; default: detected. */
  readonly delimiter?: string | undefined;
  /** A label of TextDecoder; a byte order mark takes precedence. */
  readonly encoding?: string | undefined;
  /** False if quotes are ordinary characters in CSV and TSV. */
  readonly quotes?: boolean | undefined;
  /** The decimal separator of numbers in cells; default: a point. */
  readonly decimal?: '.' | ',' | undefined;
  /** Column or member to field name. */
  readonly rename: ReadonlyMap<string, string>;
  /** The columns or members that become fields; undefined for all. */
  readonly only?: readonly string[] | undefined;
  /** A field that a header has to have: the key of a manifest. */
  readonly manifestKey?: string | undefined;
  /** By column; `*` for all others. */
  readonly types: ReadonlyMap<string, CellType>;
  /** The meaning of an empty cell: no field, an empty string, or null, which clears the field. */
  readonly empty: 'omit' | 'string' | 'null';
  /** The column or member with the id. */
  readonly idColumn: string;
  /** The shape of a JSON object: an item with `fields`, or the fields themselves. */
  readonly rows: 'auto' | 'items' | 'fields';
  /**
   * Fields of items that only the service sets, left out of JSON rows with the shape of an item, unless they are in
   * `rename` or `only`; `*` stands for the rest of a name.
   */
  readonly readOnly?: readonly string[] | undefined;
  /** The names of fields, where columns have a display name (default: internal). */
  readonly names?: 'internal' | 'display' | undefined;
  /** Divides a cell into several values, where a column has several. */
  readonly split?: string | undefined;
  /** Undefined if any field may have any value. */
  readonly form?: FieldEncoder | undefined;
  /** Fields that override those of every row, as they are sent. */
  readonly common: Fields;
  /** One of `count` shares of the rows, by their numbers, from 1; undefined for every row. */
  readonly shard?: { readonly index: number; readonly count: number } | undefined;
  /** The size of a read: for tests. */
  readonly blockBytes?: number | undefined;
}

/** The options that decide what a row means, as a journal records them: no values of fields. */
export type ReadingOptions = Omit<RowsOptions, 'action' | 'common' | 'form' | 'shard' | 'blockBytes'>;

/** Makes plain JSON of the options for reading a file. */
export function fromReading({ rename, types, ...plain }: ReadingOptions): JsonObject {
  return withoutUndefined({ ...plain, rename: [...rename], types: [...types] } as Record<string, JsonValue>);
}

export function toReading(json: JsonObject): ReadingOptions {
  const { rename, types, ...plain } = json as unknown as ReadingOptions & Record<'rename' | 'types', never>;
  return { ...plain, rename: new Map(rename), types: new Map(types) };
}

/** The longest record, line or element, in UTF-16 units (docs/decisions.md, limits-3). */
export const rowLengthMax = 8 * 1024 * 1024;

export const tooLong = 'longer than 8 MiB';

/** The start of a longer row, for messages. */
export function beginningOf(text: string): string {
  // A copy, since a slice would retain the whole string.
  return Buffer.from(text.slice(0, 1_000), 'utf16le').toString('utf16le');
}

/** The limits of a response, minus what it has besides the fields: a larger item could never be confirmed. */
const sentMax = { members: 9_990, levels: 126, bytes: fieldsBytesMax } as const;

function problemOfSize(fields: Fields): string | undefined {
  const size = { members: 0, length: 0 };
  if (!measure(fields, sentMax.levels, size)) {
    return `more than ${sentMax.members} members, or nested deeper than ${sentMax.levels} levels`;
  }
  // No character takes more than six bytes in JSON, so few rows have to be printed.
  const mayBeLonger = 6 * size.length > sentMax.bytes;
  return mayBeLonger && Buffer.byteLength(printJson(fields)) > sentMax.bytes ? 'longer than 8 MiB as JSON' : undefined;
}

/** Adds up an upper bound of members and characters; false if there are too many members or levels. */
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

/** The id of a row, not yet checked, and its fields with the common ones. */
export type ParsedRow = Pick<Row, 'id' | 'fields'>;

export interface RowParser {
  /** The column of the id, as `RowFault.column`. */
  readonly idColumn: number | undefined;
  parse(source: RowSource): ParsedRow | RowFault;
  /** What is left out of the rows so far, each once. */
  notices(): readonly string[];
  /** After the last row: the failure for a name that an option names and no row has. */
  unknownName(): Failure | undefined;
}

/** Converts a raw row to one that can be sent, or finds why it cannot. */
export function toRow(
  number: number,
  { line, source, fault }: RawRow,
  action: RowAction,
  parser: RowParser,
): Row | BadRow {
  const bad = ({ problem, column, more }: RowFault): BadRow => ({ number, line, column, source, problem, more });
  if (fault !== undefined) return bad(fault);
  const row = parser.parse(source);
  if ('problem' in row) return bad(row);
  const { id, fields } = row;
  if (action === 'create' || action === 'update') {
    const unsendable = isEmpty(fields) ? 'no fields to send' : problemOfSize(fields);
    if (unsendable !== undefined) return bad({ problem: unsendable, column: undefined });
    if (action === 'create') return { number, line, id: undefined, fields, source };
  }
  const problem = id ? idProblem(id, 'item') : 'no id';
  return problem === undefined ? { number, line, id, fields, source } : bad({ problem, column: parser.idColumn });
}

function isEmpty(fields: Fields): boolean {
  for (const _ in fields) return false;
  return true;
}
