/** The records of CSV text. The door to csv-parse. */
import { CsvError, type Options, parse } from 'csv-parse/sync';
import { type CutBlock, type CutRecord, csvCutter } from './csv-cutter.ts';
import type { RawRow, RowFault } from './raw-row.ts';
import { keptOf, tooLong } from './row-length.ts';

/**
 * Reads records, those of a part of the text at a time; a bad one spoils no other, but for a quote that is never
 * closed, which runs to the end.
 *
 * @param line that of the first character, from 1
 */
export async function* csvRecords(
  text: AsyncIterable<string>,
  delimiter: string,
  line: number,
): AsyncGenerator<readonly RawRow[]> {
  const cutter = csvCutter(delimiter, line);
  const options: Options = {
    delimiter,
    record_delimiter: ['\n', '\r\n'],
    relax_column_count: true,
    skip_empty_lines: true,
  };
  for await (const part of text) {
    const block = cutter.cut(part);
    if (block.records.length > 0) yield recordsIn(block, options);
  }
  const last = cutter.end();
  if (last.records.length > 0) yield recordsIn(last, options);
}

function recordsIn(block: CutBlock, options: Options): readonly RawRow[] {
  const isGood = block.records.every(({ problem }) => problem === undefined);
  const lists = isGood ? (plainLists(block, options) ?? tryToParse(block.text, options)) : undefined;
  if (lists?.length !== block.records.length)
    return block.records.map((record) => oneRecord(block.text, record, options));
  return block.records.map(({ line }, at) => ({ line, source: { kind: 'cells', cells: lists[at] ?? [] } }));
}

/**
 * The cells of a block that has no quote in it, which is most of them: then a delimiter is a delimiter wherever it
 * stands, and a file is read three times as fast. A property of the tests holds it to csv-parse.
 */
function plainLists({ text, records }: CutBlock, { delimiter }: Options): readonly string[][] | undefined {
  if (text.includes('"') || typeof delimiter !== 'string') return undefined;
  return records.map(({ start, end }) => text.slice(start, endOfLine(text, end)).split(delimiter));
}

/** Where the last line before this place ends, without its LF or CRLF. */
function endOfLine(text: string, end: number): number {
  if (text[end - 1] !== '\n') return end;
  return text[end - 2] === '\r' ? end - 2 : end - 1;
}

function tryToParse(text: string, options: Options): readonly string[][] | undefined {
  try {
    return parse(text, options) as unknown as string[][];
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}

/** One record by itself: so it is found which of a block are bad. */
function oneRecord(block: string, { start, end, line, problem }: CutRecord, options: Options): RawRow {
  const text = block.slice(start, end);
  if (problem !== undefined) return unread(line, text, { problem, column: undefined });
  try {
    const [cells = []] = parse(text, options) as unknown as string[][];
    return { line, source: { kind: 'cells', cells } };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return unread(line, text, faultOf(error));
  }
}

function unread(line: number, text: string, fault: RowFault): RawRow {
  const whole = text.replace(/\r?\n$/, '');
  return { line, source: { kind: 'text', text: fault.problem === tooLong ? keptOf(whole) : whole }, fault };
}

function faultOf(error: CsvError): RowFault {
  // Without `columns` it counts from 0.
  const column = typeof error['column'] === 'number' ? error['column'] + 1 : undefined;
  return { problem: problems[error.code] ?? error.message, column };
}

/** csv-parse's sentences name lines of the part that it was given. */
const problems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is never closed',
  CSV_INVALID_CLOSING_QUOTE: 'something stands behind a closing quote (a quote inside quotes is written twice)',
  INVALID_OPENING_QUOTE:
    'a quote in a cell that does not begin with one (put the cell in quotes, and the quote in it twice)',
};
