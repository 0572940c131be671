/** Reads the rows of CSV, TSV, JSON, JSONL and id files. */
import { Failure } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { findJsonFault } from '../core/json-scan.ts';
import { quoted } from '../core/text.ts';
import { checkRename, createCellParser, createIdParser, readHeader } from './columns.ts';
import { type CellSyntax, csvRecords } from './csv.ts';
import { decodeText, splitLines, type TextPart } from './decode.ts';
import { type ByteOptions, contentBytes, type Input, isEmpty, nameOf } from './input.ts';
import { JsonParser, splitElements } from './json-rows.ts';
import {
  type BadRow,
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
  yaml: 'yaml',
  yml: 'yaml',
  txt: 'ids',
  ids: 'ids',
};

/** The format by file extension, before `.gz` if present. */
export function findFormat(name: string): RowFormat | undefined {
  const extension = /\.([a-z]+)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  return extension !== undefined && Object.hasOwn(formats, extension) ? formats[extension] : undefined;
}

function unknownFormat(input: Input, what: string): Failure {
  return new Failure('usage', `cannot tell the format of ${nameOf(input.name)} from ${what}`, {
    hint: 'pass --input-format csv, tsv, jsonl, json, yaml, or ids (one id per line)',
  });
}

/** @throws {Failure} usage, if an option is for another format, or ids are to be created */
export function checkOptions(format: RowFormat, options: RowsOptions): void {
  const hasCells = format === 'csv' || format === 'tsv';
  const refuse = (option: string, isGiven: boolean, what: string) => {
    if (isGiven) throw new Failure('usage', `${option} requires ${what} input, not ${format}`);
  };
  if (!hasCells) {
    refuse('--delimiter', options.delimiter !== undefined, 'CSV');
    refuse('--type', options.types.size > 0, 'CSV or TSV');
    refuse('--empty', options.empty !== 'omit', 'CSV or TSV');
    refuse('--decimal', options.decimal !== undefined, 'CSV or TSV');
    refuse('--no-quotes', options.quotes === false, 'CSV or TSV');
  }
  if (format === 'ids') {
    refuse('--only', options.only !== undefined, 'CSV, TSV, JSON or YAML');
    refuse('--rename', options.rename.size > 0, 'CSV, TSV, JSON or YAML');
  }
  if (hasCells || format === 'ids') refuse('--rows', options.rows !== 'auto', 'JSON or YAML');
  if (format === 'ids' && options.action === 'create') {
    throw new Failure('usage', 'items create needs fields, but the input holds only ids', {
      hint: 'the service assigns ids; if the input is not a list of ids, pass its format, such as --input-format csv',
    });
  }
}

/**
 * Finds the delimiter: of the option, else of a first line `sep=;`, else of the format, else of the header. Also returns
 * the length of that first line, which is skipped.
 *
 * @param start of the file, with the whole header
 * @throws {Failure} usage, for an invalid option
 */
function csvStart(start: string, format: RowFormat, { delimiter: option, quotes }: RowsOptions) {
  const [line = '', said] = /^sep=(.)\r?(?:\n|$)/i.exec(start) ?? [];
  const delimiter =
    (option === undefined ? said : delimiterFrom(option)) ??
    (format === 'tsv' ? '\t' : delimiterOf(start.slice(line.length), quotes));
  return { delimiter, skippedLength: line.length };
}

function delimiterFrom(option: string): string {
  const character = option === 'tab' || option === '\\t' ? '\t' : option;
  if (character.length === 1 && !'"\r\n'.includes(character)) return character;
  throw new Failure('usage', `invalid --delimiter ${quoted(option)}: must be a single character`, {
    hint: 'pass a character such as "," or ";", or "tab"',
  });
}

/** A comma, or if the header has none outside quotes, the first of its semicolons and tabs. */
function delimiterOf(start: string, quotes?: boolean): string {
  const divider = /[,;\t]/;
  let found: string | undefined;
  for (const character of outsideQuotes(start, quotes)) {
    if (character === '\n') break;
    if (character === ',') return ',';
    if (divider.test(character)) found ??= character;
  }
  return found ?? ',';
}

function hasHeader(start: string, quotes?: boolean): boolean {
  const text = start.replace(/^sep=.\r?\n/i, '');
  for (const character of outsideQuotes(text, quotes)) if (character === '\n') return true;
  return false;
}

/** Characters outside quotes, without leading blank lines. */
function* outsideQuotes(start: string, quotes = true): Generator<string> {
  const text = start.replace(/^(?:\r?\n)+/, '');
  let isQuoted = false;
  for (const character of text) {
    if (character === '"' && quotes) isQuoted = !isQuoted;
    else if (!isQuoted) yield character;
  }
}

/** Parses a line or an element; undefined for a blank one. */
export function jsonRow({ line, column, text, isTooLong, problem }: TextPart): RawRow | undefined {
  const fault = isTooLong ? { problem: tooLong, column: undefined } : problem && { problem, column };
  if (fault) return { line, source: { kind: 'text', text }, fault };
  if (/^[ \t\r]*$/.test(text)) return undefined;
  try {
    return { line, source: { kind: 'json', value: parseJson(text) } };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { line, source: { kind: 'text', text }, fault: jsonFault(error, text, column) };
  }
}

/** The fault of an element, with its line if it spans several. */
function jsonFault(error: SyntaxError, text: string, column: number): RowFault {
  const found = findJsonFault(text);
  // JSON, but with a duplicate name, too deep or too wide.
  if (found === undefined) return { problem: error.message, column: undefined };
  const before = text.slice(0, found.at).split('\n');
  const within = before.at(-1)?.length ?? 0;
  if (before.length === 1) return { problem: found.message, column: column + within };
  return { problem: `${found.message} (its line ${before.length}, character ${within + 1})`, column };
}

/** Parses a line as an id, without trimming; undefined for an empty one. */
function idRow({ line, text, isTooLong }: TextPart): RawRow | undefined {
  if (isTooLong) return { line, source: { kind: 'text', text }, fault: { problem: tooLong, column: undefined } };
  const marked = text.indexOf(rejectMark);
  const id = marked === -1 ? text : text.slice(0, marked);
  return id === '' ? undefined : { line, source: { kind: 'id', id } };
}

/** Separates an id from its error in a rejects file; no id contains a tab. */
export const rejectMark = '\tlistctl:error: ';

export interface RowsFile {
  readonly input: Input;
  readonly format: RowFormat;
  readonly options: RowsOptions;
  /** Of CSV and TSV, as in the file. */
  readonly delimiter: string | undefined;
  readonly header: readonly string[];
  /**
   * Reads the rows of the shard, good and bad ones, from the first one on each time; in blocks, which need fewer promises.
   *
   * @throws {Failure} usage, if it is not in the encoding, or not a JSON array; local-file, if it cannot be read, has
   *   changed or is damaged gzip data
   */
  blocks(pass?: Pass): AsyncGenerator<readonly (Row | BadRow)[]>;
  isOfShard(number: number): boolean;
  /** What is left out of the rows so far, each once. */
  notices(): readonly string[];
  /**
   * To be called after the last row.
   *
   * @throws {Failure} usage, if an option names a member that no row has
   */
  checkNames(): void;
}

export interface Pass extends Pick<ByteOptions, 'onBytes' | 'onContent'> {
  /** Reads the rows of every shard. */
  readonly everyShard?: boolean | undefined;
}

/** Without the lookbehind, a search from each blank of a long run inside a name takes quadratic time. */
const outerBlanks = /^[ \t\u00a0]+|(?<![ \t\u00a0])[ \t\u00a0]+$/g;

/**
 * Opens the rows: detects the format and reads the header.
 *
 * @throws {Failure} usage, if the format is unknown or does not fit the options, the file is empty, or the header is
 *   missing or invalid; else as `blocks`
 */
export async function openRows(input: Input, options: RowsOptions): Promise<RowsFile> {
  const format = options.format ?? findFormat(input.name) ?? (await sniff(input, options));
  checkOptions(format, options);
  checkRename(options.rename);
  if ((input.isRegular || (format !== 'jsonl' && format !== 'ids')) && (await isEmpty(input, options))) {
    throw emptyInput(input, format);
  }
  if (format === 'csv' || format === 'tsv') return openCells(input, format, options);
  if (format === 'yaml') return openYaml(input, options);
  const parser = format === 'ids' ? createIdParser(options) : new JsonParser(options);
  const raws = (pass: Pass) => textRows(format, input, textOf(input, options, pass));
  return rowsFile({ input, format, options, delimiter: undefined, header: [] }, parser, raws);
}

async function openCells(input: Input, format: 'csv' | 'tsv', options: RowsOptions): Promise<RowsFile> {
  const { quotes } = options;
  const head = await headOf(textOf(input, options), (start) => hasHeader(start, quotes));
  if (head.startsWith('\ufeff')) {
    throw new Failure('usage', `cannot read ${nameOf(input.name)}: it begins with two byte order marks`, {
      hint: 'remove one of them, which would be part of the first column name',
    });
  }
  const { delimiter, skippedLength } = csvStart(head, format, options);
  const raws = (pass: Pass, unquoted?: CellSyntax['unquoted']) => {
    const text = withoutStart(textOf(input, options, pass), skippedLength);
    return csvRecords(text, delimiter, skippedLength === 0 ? 1 : 2, { quotes, unquoted });
  };
  const asWritten = await firstOf(raws({}));
  // A quoted name keeps its blanks, as in the output of listctl.
  const header = await firstOf(raws({}, (text) => text.replace(outerBlanks, '')));
  if (asWritten === undefined || header === undefined) {
    throw new Failure('usage', `cannot read ${nameOf(input.name)}: no header`);
  }
  const read = readHeader(header, asWritten, options, nameOf(input.name));
  const facts = { input, format, options, delimiter, header: read.cells };
  return rowsFile(facts, createCellParser(read, options), (pass) => withoutFirst(raws(pass)));
}

/** Parses the whole file at once. Each pass reads it again, so that a change is noticed, but gives the same rows. */
async function openYaml(input: Input, options: RowsOptions): Promise<RowsFile> {
  const { parseYamlRows } = await import('./yaml-rows.ts');
  const rows = parseYamlRows(await wholeText(input, options, yamlLengthMax), nameOf(input.name));
  if (rows === undefined) throw emptyInput(input, 'yaml');
  const facts = { input, format: 'yaml', options, delimiter: undefined, header: [] } as const;
  return rowsFile(facts, new JsonParser(options), async function* (pass) {
    for await (const _ of contentBytes(input, { blockBytes: options.blockBytes, ...pass })) {
      // Only hashed, and compared with the last time.
    }
    for (let at = 0; at < rows.length; at += 1000) yield rows.slice(at, at + 1000);
  });
}

/** The longest YAML, which is parsed as a whole, in UTF-16 units. */
export const yamlLengthMax = 8 * 1024 * 1024;

/**
 * Reads the text of a file as a whole.
 *
 * @param lengthMax in UTF-16 units
 * @throws {Failure} usage, if it is longer; as `RowsFile.blocks`
 */
export async function wholeText(input: Input, options: RowsOptions, lengthMax: number): Promise<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const part of textOf(input, options)) {
    length += part.length;
    if (length > lengthMax) {
      throw new Failure('usage', `${nameOf(input.name)} is longer than ${lengthMax / 1024 / 1024} MiB`, {
        hint: 'use CSV or JSONL, which have no limit',
      });
    }
    parts.push(part);
  }
  return parts.join('');
}

/** An empty file is often the output of a failed command, so zero rows must be explicit. */
function emptyInput({ name }: Input, format: RowFormat): Failure {
  const none = {
    csv: 'a header alone',
    tsv: 'a header alone',
    json: '[]',
    yaml: '[]',
    jsonl: 'an empty pipe',
    ids: 'an empty pipe',
  };
  return new Failure('usage', `cannot read ${nameOf(name)}: it is empty`, {
    hint: `check the command that writes it (for zero rows, pass ${none[format]})`,
  });
}

function rowsFile(
  facts: Pick<RowsFile, 'input' | 'format' | 'options' | 'delimiter' | 'header'>,
  parser: RowParser,
  raws: (pass: Pass) => AsyncIterable<readonly RawRow[]>,
): RowsFile {
  const { action, shard, form } = facts.options;
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
      let before = 0;
      const rowsOf = (block: readonly RawRow[]) => {
        const rows: (Row | BadRow)[] = [];
        let number = before;
        for (const raw of block) {
          number += 1;
          if (pass.everyShard || isOfShard(number)) rows.push(toRow(number, raw, action, parser));
        }
        return rows;
      };
      for await (const block of raws(pass)) {
        let rows = rowsOf(block);
        if (form?.isIncomplete) {
          await form.complete();
          rows = rowsOf(block);
        }
        before += block.length;
        if (rows.length > 0) yield rows;
      }
    },
  };
}

/** The text of a file, decompressed and decoded. */
export function textOf(
  input: Input,
  { blockBytes, encoding }: RowsOptions,
  { onBytes, onContent }: Pass = {},
): AsyncGenerator<string> {
  const bytes = contentBytes(input, { blockBytes, onBytes, onContent });
  return decodeText(bytes, nameOf(input.name), encoding);
}

/** A line of `-o id`: a number, or a GUID. */
const idLine = /^(\d+|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})\r?$/i;

/** Detects the format of a stream, which has no extension, by its first characters. */
async function sniff(input: Input, options: RowsOptions): Promise<RowFormat> {
  if (!input.isSpooled) throw unknownFormat(input, 'its name');
  // A line of digits may continue as one of CSV.
  const head = await headOf(textOf(input, options), (text) => /^[^\da-f]|\n/i.test(text.trimStart()));
  const start = head.trimStart();
  if (start === '' || start.startsWith('{')) return 'jsonl';
  if (start.startsWith('[')) return 'json';
  // An item or a list as -o yaml prints it.
  if (/^(?:-|id:|fields:) |^fields:\n|^---\s/.test(start)) return 'yaml';
  const [first = '', ...others] = start.split('\n');
  const areIds = idLine.test(first) && others.slice(0, -1).every((line) => line.trim() === '' || idLine.test(line));
  if (areIds && options.action !== 'create') return 'ids';
  throw unknownFormat(input, 'its content');
}

/** Reads until it is enough, but no more than a row may have. */
async function headOf(text: AsyncIterable<string>, isEnough: (head: string) => boolean): Promise<string> {
  let head = '';
  let lookedAtLength = 0;
  for await (const part of text) {
    head += part;
    // Not after each part, which would take quadratic time.
    if (head.length < 2 * lookedAtLength) continue;
    if (isEnough(head) || head.length > rowLengthMax) break;
    lookedAtLength = head.length;
  }
  return head;
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
