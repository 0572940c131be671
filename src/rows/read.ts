/** Files of many items: rows out of CSV, TSV, JSON and ids. */
import { Failure } from '../core/errors.ts';
import { type JsonValue, parseJson } from '../core/json.ts';
import { findJsonFault } from '../core/json-scan.ts';
import { checkRename, createCellParser, createIdParser, type Header, readHeader } from './columns.ts';
import { csvRecords } from './csv.ts';
import { decodeText, splitLines, type TextPart } from './decode.ts';
import { contentBytes, type Input, isEmpty, nameOf } from './input.ts';
import { createJsonParser, splitElements } from './json-rows.ts';
import {
  type BadRow,
  quoted,
  type RawRow,
  type Row,
  type RowFault,
  type RowFormat,
  type RowParser,
  type RowsOptions,
  rowLengthMax,
  tooLong,
  toRow,
} from './types.ts';

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

/** The format by file extension, before `.gz` if present. */
export function findFormat(name: string): RowFormat | undefined {
  const extension = /\.([a-z]+)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  return extension !== undefined && Object.hasOwn(formats, extension) ? formats[extension] : undefined;
}

/**
 * The format of a stream, by the first character that is no blank.
 *
 * @param start begins with that character; empty where there is nothing
 * @throws {Failure} usage, when the format is unknown
 */
function sniffFormat(start: string, input: Input): RowFormat {
  if (start === '' || start.startsWith('{')) return 'jsonl';
  if (start.startsWith('[')) return 'json';
  throw unknownFormat(input, 'its content');
}

function unknownFormat(input: Input, what = 'its name'): Failure {
  return new Failure('usage', `cannot tell the format of ${nameOf(input.name)} from ${what}`, {
    hint: 'pass --input-format csv, tsv, jsonl, json, or ids (one id per line)',
  });
}

/** @throws {Failure} usage, when an option is for another format, or ids are to be created */
export function checkOptions(format: RowFormat, options: RowsOptions): void {
  const hasCells = format === 'csv' || format === 'tsv';
  const refuse = (option: string, isGiven: boolean, what: string) => {
    if (isGiven) throw new Failure('usage', `${option} requires ${what} input, not ${format}`);
  };
  if (!hasCells) {
    refuse('--delimiter', options.delimiter !== undefined, 'CSV');
    refuse('--type', options.types.size > 0, 'CSV or TSV');
    refuse('--empty', options.empty !== 'omit', 'CSV or TSV');
  }
  if (format === 'ids') {
    refuse('--only', options.only !== undefined, 'CSV, TSV or JSON');
    refuse('--rename', options.rename.size > 0, 'CSV, TSV or JSON');
  }
  if (hasCells || format === 'ids') refuse('--rows', options.rows !== 'auto', 'JSON');
  if (format === 'ids' && options.action === 'create') {
    throw new Failure('usage', 'items create needs fields, but the input holds only ids', {
      hint: 'the service assigns ids; if the input is not a list of ids, pass its format, such as --input-format csv',
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
function csvStart(start: string, format: RowFormat, option: string | undefined): CsvStart {
  const [line = '', said] = /^sep=(.)\r?(?:\n|$)/i.exec(start) ?? [];
  const delimiter =
    (option === undefined ? said : delimiterFrom(option)) ??
    (format === 'tsv' ? '\t' : delimiterOf(start.slice(line.length)));
  return { delimiter, skippedLength: line.length };
}

function delimiterFrom(option: string): string {
  const character = option === 'tab' || option === '\\t' ? '\t' : option;
  if (character.length === 1 && !'"\r\n'.includes(character)) return character;
  throw new Failure('usage', `invalid --delimiter ${quoted(option)}: must be a single character`, {
    hint: 'pass a character such as "," or ";", or "tab"',
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
function hasHeader(start: string): boolean {
  const text = start.replace(/^sep=.\r?\n/i, '');
  for (const character of outsideQuotes(text)) if (character === '\n') return true;
  return false;
}

/** Characters outside quotes, without leading blank lines. */
function* outsideQuotes(start: string): Generator<string> {
  const text = start.replace(/^(?:\r?\n)+/, '');
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted) yield character;
  }
}

/** A line or an element as a JSON value; undefined for one that is blank. */
export function jsonRow({ line, column, text, isTooLong, problem }: TextPart): RawRow | undefined {
  const fault = isTooLong ? { problem: tooLong, column: undefined } : problem && { problem, column };
  if (fault) return { line, source: { kind: 'text', text }, fault };
  if (/^[ \t\r]*$/.test(text)) return undefined;
  const read = parsed(text);
  if (!('at' in read)) return { line, source: { kind: 'json', value: read.value } };
  return { line, source: { kind: 'text', text }, fault: placed(read, text, column) };
}

/** A line as an id, nothing trimmed; undefined for one that is empty. */
function idRow({ line, text, isTooLong }: TextPart): RawRow | undefined {
  if (isTooLong) return { line, source: { kind: 'text', text }, fault: { problem: tooLong, column: undefined } };
  const marked = text.indexOf(rejectMark);
  const id = marked === -1 ? text : text.slice(0, marked);
  return id === '' ? undefined : { line, source: { kind: 'id', id } };
}

/** Stands behind an id in a rejects file, and what went wrong behind that. No id has it in it: a tab is none of its characters. */
export const rejectMark = '\tlistctl:error: ';

type Parsed = { readonly value: JsonValue } | { readonly problem: string; readonly at: number | undefined };

function parsed(text: string): Parsed {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    // A RangeError: a value so deep that the stack did not hold it.
    if (!(error instanceof SyntaxError)) throw error;
    // Without a fault it is JSON with a name twice, too deep or too wide.
    const { message, at } = findJsonFault(text) ?? { message: error.message, at: undefined };
    return { problem: message, at };
  }
}

/** The error with its line, where an element spans several lines. */
function placed(
  fault: { readonly problem: string; readonly at: number | undefined },
  text: string,
  column: number,
): RowFault {
  if (fault.at === undefined) return { problem: fault.problem, column: undefined };
  const before = text.slice(0, fault.at).split('\n');
  const within = before.at(-1)?.length ?? 0;
  if (before.length === 1) return { problem: fault.problem, column: column + within };
  return { problem: `${fault.problem} (its line ${before.length}, character ${within + 1})`, column };
}

/** A file of rows, open. */
export interface RowsFile {
  readonly input: Input;
  readonly format: RowFormat;
  readonly options: RowsOptions;
  /** Of CSV and TSV: the delimiter, and the header as it is in the file. */
  readonly delimiter: string | undefined;
  readonly header: readonly string[];
  /**
   * The rows of the shard in the order of the file, good and bad ones, from the first one on each time it is called;
   * in lists, so that there is no promise for each row.
   *
   * @throws {Failure} usage, when the bytes are not in the encoding, or the text is no JSON array and should be;
   *   local-file, when the file cannot be read, has changed or is damaged gzip data
   */
  blocks(pass?: Pass): AsyncGenerator<readonly (Row | BadRow)[]>;
  /** Whether a row is of the shard. */
  isOfShard(number: number): boolean;
  /** What is left out of the rows that have been given, each said once. */
  notices(): readonly string[];
  /**
   * To be called after the last row: only then is it known which members there are.
   *
   * @throws {Failure} usage, when an option asks for one that no row has
   */
  checkNames(): void;
}

/** What one reading of the file is to do beside giving rows. */
export interface Pass {
  /** Sees every byte as it is on disk. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined;
  /** Receives every byte of the unpacked content, for its hash. */
  readonly onContent?: ((bytes: Uint8Array) => void) | undefined;
  /** Gives the rows of every shard. */
  readonly everyShard?: boolean | undefined;
}

/**
 * Opens the rows: detects the format and reads the header.
 *
 * @throws {Failure} usage, when nothing tells the format, an option does not fit it, the file is empty, or the header is
 *   missing or wrong; else as
 *   `blocks`
 */
export async function openRows(input: Input, options: RowsOptions): Promise<RowsFile> {
  const format = options.format ?? findFormat(input.name) ?? (await sniff(input, options));
  checkOptions(format, options);
  checkRename(options.rename);
  if ((input.isRegular || (format !== 'jsonl' && format !== 'ids')) && (await isEmpty(input, options))) {
    throw emptyInput(input, format);
  }
  if (format === 'csv' || format === 'tsv') return openCells(input, format, options);
  const parser = format === 'ids' ? createIdParser(options) : createJsonParser(options);
  const raws = (pass: Pass) => textRows(format, input, textOf(input, options, pass));
  return rowsFile({ input, format, options, delimiter: undefined, header: [] }, parser, raws);
}

async function openCells(input: Input, format: 'csv' | 'tsv', options: RowsOptions): Promise<RowsFile> {
  const head = await headOf(textOf(input, options), hasHeader);
  const start = csvStart(head, format, options.delimiter);
  const { delimiter } = start;
  const raws = (pass: Pass) => cellRows(textOf(input, options, pass), start);
  const header = await firstOf(raws({}));
  if (header === undefined) {
    throw new Failure('usage', `cannot read ${nameOf(input.name)}: no header`, { hint: 'nothing was sent' });
  }
  const read: Header = readHeader(header, options, nameOf(input.name));
  const facts = { input, format, options, delimiter, header: read.cells };
  return rowsFile(facts, createCellParser(read, options), (pass) => withoutFirst(raws(pass)));
}

/** For an export that failed, no rows would look like success. */
function emptyInput({ name }: Input, format: RowFormat): Failure {
  const none = {
    csv: 'a header alone',
    tsv: 'a header alone',
    json: '[]',
    jsonl: 'an empty pipe',
    ids: 'an empty pipe',
  };
  return new Failure('usage', `cannot read ${nameOf(name)}: it is empty`, {
    hint: `nothing was sent; check the command that writes it (for zero rows, pass ${none[format]})`,
  });
}

type Facts = Pick<RowsFile, 'input' | 'format' | 'options' | 'delimiter' | 'header'>;

function rowsFile(facts: Facts, parser: RowParser, raws: (pass: Pass) => AsyncIterable<readonly RawRow[]>): RowsFile {
  const { action, shard } = facts.options;
  const isOfShard = (number: number) => shard === undefined || (number - 1) % shard.count === shard.index - 1;
  return {
    ...facts,
    isOfShard,
    notices: () => parser.notices(),
    checkNames: () => {
      const failure = parser.unknownName();
      if (failure !== undefined) throw failure;
    },
    async *blocks(pass = {}) {
      let number = 0;
      for await (const block of raws(pass)) {
        const rows: (Row | BadRow)[] = [];
        for (const raw of block) {
          number += 1;
          if (pass.everyShard || isOfShard(number)) rows.push(toRow(number, raw, action, parser));
        }
        if (rows.length > 0) yield rows;
      }
    },
  };
}

function textOf(
  input: Input,
  { blockBytes, encoding }: RowsOptions,
  { onBytes, onContent }: Pass = {},
): AsyncGenerator<string> {
  const bytes = contentBytes(input, { blockBytes, onBytes, onContent });
  return decodeText(bytes, { encoding, name: nameOf(input.name) });
}

/** The format of a stream, which has no extension. */
async function sniff(input: Input, options: RowsOptions): Promise<RowFormat> {
  if (!input.isSpooled) throw unknownFormat(input);
  const head = await headOf(textOf(input, options), (text) => text.trimStart() !== '');
  return sniffFormat(head.trimStart(), input);
}

/** The text up to where it is enough, and no longer than a row may be. */
async function headOf(text: AsyncIterable<string>, isEnough: (head: string) => boolean): Promise<string> {
  let head = '';
  let lookedAtLength = 0;
  for await (const part of text) {
    head += part;
    // Not after each part: to look through it again and again would take a long time where it is long.
    if (head.length < 2 * lookedAtLength) continue;
    if (isEnough(head) || head.length > rowLengthMax) break;
    lookedAtLength = head.length;
  }
  return head;
}

async function* cellRows(text: AsyncIterable<string>, { delimiter, skippedLength }: CsvStart) {
  yield* csvRecords(withoutStart(text, skippedLength), delimiter, skippedLength === 0 ? 1 : 2);
}

async function* withoutStart(text: AsyncIterable<string>, length: number): AsyncGenerator<string> {
  let left = length;
  for await (const part of text) {
    yield left === 0 ? part : part.slice(left);
    left = Math.max(0, left - part.length);
  }
}

async function* textRows(format: RowFormat, input: Input, text: AsyncIterable<string>) {
  const rowOf: (part: TextPart) => RawRow | undefined = format === 'ids' ? idRow : jsonRow;
  for await (const parts of format === 'json' ? splitElements(text, nameOf(input.name)) : splitLines(text)) {
    yield parts.flatMap((part) => rowOf(part) ?? []);
  }
}

async function firstOf(blocks: AsyncIterable<readonly RawRow[]>): Promise<RawRow | undefined> {
  for await (const [first] of blocks) return first;
  return undefined;
}

async function* withoutFirst(blocks: AsyncIterable<readonly RawRow[]>): AsyncGenerator<readonly RawRow[]> {
  let left = 1;
  for await (const block of blocks) {
    yield block.slice(left);
    left = 0;
  }
}
