/** Which format a file has, and how its cells are divided. */
import { Failure } from '../errors.ts';
import { type Input, nameOf } from './input.ts';
import { quoted } from './raw-row.ts';
import type { RowFormat, RowsOptions } from './rows-options.ts';

const formats: Readonly<Record<string, RowFormat>> = {
  csv: 'csv',
  tsv: 'tsv',
  tab: 'tsv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'json',
  txt: 'ids',
  ids: 'ids',
};

/** The format that a name tells, `.gz` behind it or not; undefined where it tells none. */
export function formatOfName(name: string): RowFormat | undefined {
  const extension = /\.([a-z]+)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  return extension !== undefined && Object.hasOwn(formats, extension) ? formats[extension] : undefined;
}

/**
 * The format of a stream, by the first character that is no blank.
 *
 * @param start begins with that character; empty where there is nothing
 * @throws {Failure} usage, when that tells none
 */
export function formatOfStart(start: string, input: Input): RowFormat {
  if (start === '' || start.startsWith('{')) return 'jsonl';
  if (start.startsWith('[')) return 'json';
  throw unknownFormat(input, 'what it begins with');
}

/** The failure for a file whose format nothing tells. */
export function unknownFormat(input: Input, what = 'its name'): Failure {
  return new Failure('usage', `${nameOf(input.name)}: ${what} does not tell the format of its rows`, {
    hint: 'name it: --input-format ids for an id a line, else csv, tsv, jsonl or json',
  });
}

/** @throws {Failure} usage, when an option is for another format, or ids are to be created */
export function checkOptions(format: RowFormat, options: RowsOptions): void {
  const hasCells = format === 'csv' || format === 'tsv';
  const refuse = (option: string, isGiven: boolean, what: string) => {
    if (isGiven) throw new Failure('usage', `${option} is for ${what}, and these rows are ${format}`);
  };
  if (!hasCells) {
    refuse('--delimiter', options.delimiter !== undefined, 'CSV');
    refuse('--type', options.types.size > 0, 'CSV and TSV');
    refuse('--empty', options.empty !== 'omit', 'CSV and TSV');
  }
  if (format === 'ids') {
    refuse('--only', options.only !== undefined, 'rows with names');
    refuse('--rename', options.rename.size > 0, 'rows with names');
  }
  if (hasCells || format === 'ids') refuse('--rows', options.rows !== 'auto', 'JSON');
  if (format === 'ids' && options.action === 'create') {
    throw new Failure('usage', 'a create needs fields, and these rows are ids alone', {
      hint: 'the service assigns ids; if they are something else, name the format: --input-format csv',
    });
  }
}

/** What is known of CSV before its records are read. */
export interface CsvStart {
  readonly delimiter: string;
  /** How many characters a first line `sep=;` takes, its end included; 0 without one. */
  readonly skippedLength: number;
}

/**
 * How cells are divided: as the option says, else the first line `sep=;`, else the format, else the header.
 *
 * @param start the header at least, to its end; the file's first line too
 * @throws {Failure} usage, when the option is no single character, or one with another meaning
 */
export function csvStart(start: string, format: RowFormat, option: string | undefined): CsvStart {
  const [line = '', said] = /^sep=(.)\r?(?:\n|$)/i.exec(start) ?? [];
  const delimiter =
    (option === undefined ? said : delimiterFrom(option)) ??
    (format === 'tsv' ? '\t' : delimiterOf(start.slice(line.length)));
  return { delimiter, skippedLength: line.length };
}

function delimiterFrom(option: string): string {
  const character = option === 'tab' || option === '\\t' ? '\t' : option;
  if (character.length === 1 && !'"\r\n'.includes(character)) return character;
  throw new Failure('usage', `--delimiter ${quoted(option)} is no single character that can divide cells`, {
    hint: 'for instance , ; | or tab',
  });
}

/** A comma, or where the header has none outside quotes, whichever of semicolon and tab comes first in it. */
function delimiterOf(start: string): string {
  const divider = /[,;\t]/;
  let found: string | undefined;
  for (const character of outsideQuotes(start)) {
    if (character === '\n') break;
    if (character === ',') return ',';
    if (divider.test(character)) found ??= character;
  }
  return found ?? ',';
}

/** Whether the header is here to its end. */
export function hasHeader(start: string): boolean {
  const text = start.replace(/^sep=.\r?\n/i, '');
  for (const character of outsideQuotes(text)) if (character === '\n') return true;
  return false;
}

/** Its characters that stand in no quotes; blank lines before it are no part of it. */
function* outsideQuotes(start: string): Generator<string> {
  const text = start.replace(/^(?:\r?\n)+/, '');
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted) yield character;
  }
}
