/** What can be printed, and in which formats. */
import type { JsonValue } from '../core/json.ts';
import type { Style } from './style.ts';

/** What `--output` may be. */
export const outputFormats = ['pretty', 'json', 'jsonl', 'yaml', 'csv', 'tsv', 'id', 'none'] as const;

/** What `--output` may be where `--dry-run` is given, too. */
export const dryRunFormats = [...outputFormats, 'curl'] as const;
export type PrintFormat = (typeof dryRunFormats)[number];

/** What the text is made for. */
export interface Screen {
  /** The width of the terminal in columns, 0 where it does not say; undefined where there is no terminal. */
  readonly columns: number | undefined;
  readonly style: Style;
}

/** What stands in one line of a table: a value for each column, in order. A map, since objects sort names like `7`. */
export type Row = ReadonlyMap<string, JsonValue>;

/** How one kind of value looks. */
export interface View<T> {
  /** Text for a person, printable, without a final newline; never asked about no values at all. */
  readonly pretty: (values: readonly T[], screen: Screen) => Promise<string> | string;
  /** That there is nothing is an answer: of several, `json` and `yaml` are an empty list, and a query is asked of that. */
  readonly printsNone?: boolean;
  /** What `json`, `jsonl` and `yaml` print, and what `--query` is asked of. */
  readonly json: (value: T) => JsonValue;
  /** What a later command would name the value by, if anything. */
  readonly id: (value: T) => string | undefined;
  /** The columns that every row has: then `csv` and `tsv` need not wait for the last one to know them. */
  readonly columns?: readonly string[];
  /** The cells of `csv`, `tsv` and of tables with `--columns`; without it, the members of `json`. */
  readonly row?: (value: T) => Row;
  /** The value as a line for a shell, where it has such a form; without a final newline. */
  readonly curl?: (value: T) => string;
}

/** What each `--output` is, in a line. */
export const formatMeanings: Readonly<Record<(typeof outputFormats)[number], string>> = {
  pretty: 'for people: a table, or a name and a value a line; it may change',
  json: 'one value; an array where several were asked for',
  jsonl: 'one JSON value a line, as it comes',
  yaml: 'the same as json, as YAML 1.2',
  csv: 'a header line, then a line for each; quoted where needed (RFC 4180)',
  tsv: 'the same with tabs',
  id: 'the ids alone, one a line: what the next command takes',
  none: 'nothing: the exit code and the summary tell',
};
