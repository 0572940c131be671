/** How a file of rows is to be read: what the options of `--from` say. */
import type { Fields } from '../item.ts';
import type { RowAction } from './row.ts';

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
