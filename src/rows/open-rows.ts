/** Files of many items: rows out of CSV, TSV, JSON and ids. */
import { Failure } from '../errors.ts';
import { cellInterpreter } from './cell-meaning.ts';
import { csvRecords } from './csv-records.ts';
import { decodedText } from './decoded-text.ts';
import { contentBytes, isEmpty } from './file-bytes.ts';
import { type Header, readHeader } from './header.ts';
import { idInterpreter } from './id-meaning.ts';
import { type Input, nameOf } from './input.ts';
import { elementsOf } from './json-elements.ts';
import { jsonInterpreter } from './json-meaning.ts';
import { linesOf, type TextPart } from './lines.ts';
import { type Interpreter, rowFrom } from './meaning.ts';
import { checkRename } from './names.ts';
import type { RawRow } from './raw-row.ts';
import type { BadRow, Row } from './row.ts';
import {
  type CsvStart,
  checkOptions,
  csvStart,
  formatOfName,
  formatOfStart,
  hasHeader,
  unknownFormat,
} from './row-format.ts';
import { rowLengthMax } from './row-length.ts';
import type { RowFormat, RowsOptions } from './rows-options.ts';
import { idRow, jsonRow } from './text-rows.ts';

/** A file of rows, open. */
export interface RowsFile {
  readonly input: Input;
  readonly format: RowFormat;
  readonly options: RowsOptions;
  /** Of CSV and TSV: what divides the cells, and the header as it stands there. */
  readonly delimiter: string | undefined;
  readonly header: readonly string[];
  /**
   * The rows of the shard in the order of the file, good and bad ones, from the first one on each time it is called;
   * in lists, so that there is no promise for each row.
   *
   * @throws {Failure} usage, when the bytes are not in the encoding, or the text is no JSON array and should be;
   *   local-file, when the file can't be read, has changed or is damaged gzip data
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
  /** Sees every byte of the content, unpacked: its hash tells one input from another one. */
  readonly onContent?: ((bytes: Uint8Array) => void) | undefined;
  /** Gives the rows of every shard. */
  readonly everyShard?: boolean | undefined;
}

/**
 * Begins to read: tells the format, and reads the header.
 *
 * @throws {Failure} usage, when nothing tells the format, an option does not fit it, the file is empty, or the header is
 *   missing or wrong; else as
 *   `blocks`
 */
export async function openRows(input: Input, options: RowsOptions): Promise<RowsFile> {
  const format = options.format ?? formatOfName(input.name) ?? (await sniff(input, options));
  checkOptions(format, options);
  checkRename(options.rename);
  if ((input.isRegular || (format !== 'jsonl' && format !== 'ids')) && (await isEmpty(input, options))) {
    throw emptyInput(input, format);
  }
  if (format === 'csv' || format === 'tsv') return openCells(input, format, options);
  const interpreter = format === 'ids' ? idInterpreter(options) : jsonInterpreter(options);
  const raws = (pass: Pass) => textRows(format, input, textOf(input, options, pass));
  return rowsFile({ input, format, options, delimiter: undefined, header: [] }, interpreter, raws);
}

async function openCells(input: Input, format: 'csv' | 'tsv', options: RowsOptions): Promise<RowsFile> {
  const head = await headOf(textOf(input, options), hasHeader);
  const start = csvStart(head, format, options.delimiter);
  const { delimiter } = start;
  const raws = (pass: Pass) => cellRows(textOf(input, options, pass), start);
  const header = await firstOf(raws({}));
  if (header === undefined) {
    throw new Failure('usage', `cannot read ${nameOf(input.name)}: it has no header`, { hint: 'nothing was sent' });
  }
  const read: Header = readHeader(header, options, nameOf(input.name));
  const facts = { input, format, options, delimiter, header: read.cells };
  return rowsFile(facts, cellInterpreter(read, options), (pass) => withoutFirst(raws(pass)));
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
    hint: `check the command that writes it (${none[format]} would mean no rows); nothing was sent`,
  });
}

type Facts = Pick<RowsFile, 'input' | 'format' | 'options' | 'delimiter' | 'header'>;

function rowsFile(
  facts: Facts,
  interpreter: Interpreter,
  raws: (pass: Pass) => AsyncIterable<readonly RawRow[]>,
): RowsFile {
  const { action, shard } = facts.options;
  const isOfShard = (number: number) => shard === undefined || (number - 1) % shard.count === shard.index - 1;
  return {
    ...facts,
    isOfShard,
    notices: () => interpreter.notices(),
    checkNames: () => {
      const failure = interpreter.unknownName();
      if (failure !== undefined) throw failure;
    },
    async *blocks(pass = {}) {
      let number = 0;
      for await (const block of raws(pass)) {
        const rows: (Row | BadRow)[] = [];
        for (const raw of block) {
          number += 1;
          if (pass.everyShard || isOfShard(number)) rows.push(rowFrom(number, raw, action, interpreter));
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
  return decodedText(bytes, { encoding, name: nameOf(input.name) });
}

/** The format of what can only be looked at: a stream has no name that tells it. */
async function sniff(input: Input, options: RowsOptions): Promise<RowFormat> {
  if (!input.isSpooled) throw unknownFormat(input);
  const head = await headOf(textOf(input, options), (text) => text.trimStart() !== '');
  return formatOfStart(head.trimStart(), input);
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
  for await (const parts of format === 'json' ? elementsOf(text, nameOf(input.name)) : linesOf(text)) {
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
