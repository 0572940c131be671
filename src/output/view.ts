/** How values are printed: formats, colors, and the view of each kind of value. */
import type { JsonValue } from '../core/json.ts';

/** The values of `--output`. */
export const outputFormats = ['pretty', 'json', 'jsonl', 'yaml', 'csv', 'tsv', 'id', 'none'] as const;

/** The values of `--output` with `--dry-run`: requests as curl, and a plan as markdown. */
export const dryRunFormats = [...outputFormats, 'curl', 'markdown'] as const;
export type PrintFormat = (typeof dryRunFormats)[number];

export const formatMeanings: Readonly<Record<(typeof outputFormats)[number], string>> = {
  pretty: 'human-readable; may change between versions',
  json: 'one value, or an array if several were requested',
  jsonl: 'one JSON value per line, streamed',
  yaml: 'the same as json, as YAML 1.2',
  csv: 'a header line, then a line for each; quoted where needed (RFC 4180)',
  tsv: 'the same with tabs',
  id: 'ids only, one per line',
  none: 'no output; check the exit code',
};

/** The terminal that a text is made for. */
export interface Screen {
  /** Its width in columns, 0 if unknown, Infinity with --wide; undefined without a terminal. */
  readonly columns: number | undefined;
  readonly style: Style;
}

/** Functions that color a printable text. */
export type Style = Readonly<Record<'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'blue', (text: string) => string>>;

const unchanged = (text: string) => text;

export const plainStyle: Style = {
  bold: unchanged,
  dim: unchanged,
  red: unchanged,
  yellow: unchanged,
  green: unchanged,
  blue: unchanged,
};

/**
 * Loads the style for a stream; chalk detects nothing by itself.
 *
 * @param level 0 for none, 1 for 16 colors, 2 for 256, 3 for 16 million
 */
export async function loadStyle(level: 0 | 1 | 2 | 3): Promise<Style> {
  if (level === 0) return plainStyle;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, yellow, green } = new Chalk({ level });
  // Without bold, it is too dark on black.
  return { bold, dim, red, yellow, green, blue: bold.blue };
}

/** The cells of a line by column. A map, since objects sort names like `7`. */
export type Row = ReadonlyMap<string, JsonValue>;

/** How a kind of value is printed. */
export interface View<T> {
  /** Text for a person, printable, without a final newline. */
  readonly pretty: (values: readonly T[], screen: Screen) => Promise<string> | string;
  /** The same for one value, if values need not wait for the last one. */
  readonly line?: (value: T, screen: Screen) => string;
  /** Whether no values are an empty list in `json`, `yaml` and queries, and a header of known columns in `csv` and `tsv`. */
  readonly printsNone?: boolean;
  /** Whether a table is drawn a page at a time, so that any number of values fits into memory. */
  readonly inPages?: boolean;
  /** The value in `json`, `jsonl`, `yaml` and queries. */
  readonly json: (value: T) => JsonValue;
  /** The id that a later command would use, if any. */
  readonly id: (value: T) => string | undefined;
  /** Columns that every row has, so that `csv` and `tsv` need not wait for the last row. */
  readonly columns?: readonly string[];
  /** The cells of `csv`, `tsv` and tables with `--columns`; by default, the members of `json`. */
  readonly row?: (value: T) => Row;
  /** The value as a curl command, without a final newline. */
  readonly curl?: (value: T) => string;
}
