/** CSV (RFC 4180) with lines that end in LF or CRLF; not csv-parse, which reads a seventh of the rows per second. */
import { beginningOf, type RawRow, type RowFault, type RowSource, rowLengthMax, tooLong } from './types.ts';

/**
 * Text of whole records, and the place of each in it, its line end included. Blank lines are not records. A record that
 * is too long is cut: its beginning is given as soon as it is too long, and its rest never.
 */
interface SplitBlock {
  readonly text: string;
  readonly records: readonly {
    readonly start: number;
    readonly end: number;
    /** The line in which it begins, from 1. */
    readonly line: number;
    readonly problem: string | undefined;
  }[];
}

type SplitRecord = SplitBlock['records'][number];

// The state before a character: a quote opens only at the start of a field (RFC 4180, section 2.5).
const atField = 0;
const inPlain = 1;
const inQuotes = 2;
/** After a quote inside quotes: it closed them, unless another quote follows. */
const afterQuote = 3;

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The syntax of the cells of a record. */
export interface CellSyntax {
  /** False if quotes are ordinary characters. */
  readonly quotes?: boolean | undefined;
  /** Converts the text of a cell that is not quoted. */
  readonly unquoted?: ((text: string) => string) | undefined;
}

/** Splits text that comes in parts into its records. */
export class CsvSplitter {
  readonly #separator: number;
  readonly #hasQuotes: boolean;
  /** The text of a record that has not ended, as far as it was read, and the state at its end. */
  #begun = '';
  #state = atField;
  /** It has more than a line end. */
  #hasText = false;
  /** A CR at the end of a part, before what follows is known. */
  #rest = '';
  #at = 0;
  #line: number;
  #startLine: number;
  #problem: string | undefined;
  /** The beginning of the record was returned, and its rest is skipped. */
  #isTooLong = false;

  /** @param line that of the first character, from 1 */
  constructor(delimiter: string, line = 1, hasQuotes = true) {
    this.#separator = delimiter.charCodeAt(0);
    this.#hasQuotes = hasQuotes;
    this.#line = line;
    this.#startLine = line;
  }

  /** The records that have ended by now, and one that has become too long. */
  cut(text: string): SplitBlock {
    return this.#cutUp(this.#rest + text, false);
  }

  /** The last record, which may have no line end. */
  end(): SplitBlock {
    return this.#cutUp(this.#rest, true);
  }

  #cutUp(part: string, isLast: boolean): SplitBlock {
    const before = this.#begun;
    const records: SplitRecord[] = [];
    // The first one may begin in an earlier part.
    let start = -before.length;
    // Where the text of the block begins: after the rest of a skipped record.
    let textStart = 0;
    this.#at = 0;
    while (this.#toEnd(part, isLast) || (isLast && start < part.length)) {
      if (this.#isTooLong) textStart = this.#at;
      else if (this.#hasText) records.push(this.#recordFrom(start, before.length - textStart));
      this.#startNext();
      start = this.#at;
    }
    this.#rest = part.slice(this.#at);
    if (this.#isTooLong) return { text: '', records };
    const isContinued = start < 0;
    this.#begun = isContinued ? before + part.slice(0, this.#at) : part.slice(start, this.#at);
    // Concatenated only when a record has ended, since a long one would be copied each time.
    const text = isContinued ? '' : before + part.slice(textStart, start);
    return this.#begun.length > rowLengthMax ? this.#withBeginning(text, records) : { text, records };
  }

  /** The block with the beginning of a record that is already too long. */
  #withBeginning(text: string, records: readonly SplitRecord[]): SplitBlock {
    const kept = beginningOf(this.#begun);
    this.#begun = '';
    this.#isTooLong = true;
    const end = text.length + kept.length;
    return {
      text: text + kept,
      records: [...records, { start: text.length, end, line: this.#startLine, problem: tooLong }],
    };
  }

  /** Advances to the end of the record; false if it is in a later part. */
  #toEnd(text: string, isLast: boolean): boolean {
    while (this.#at < text.length) {
      if (this.#state === inQuotes) {
        this.#toQuote(text);
        continue;
      }
      const isEnd = this.#step(text, isLast);
      if (isEnd === true) this.#line += 1;
      if (isEnd !== false) return isEnd ?? false;
    }
    return false;
  }

  #toQuote(text: string): void {
    const quoteAt = text.indexOf('"', this.#at);
    const end = quoteAt === -1 ? text.length : quoteAt;
    this.#line += lineFeedsIn(text, this.#at, end);
    this.#at = end;
    if (quoteAt === -1) return;
    this.#at += 1;
    this.#state = afterQuote;
  }

  /** Takes a character outside quotes; returns whether it ends the record, undefined if that depends on the next part. */
  #step(text: string, isLast: boolean): boolean | undefined {
    const code = text.charCodeAt(this.#at);
    if (code === quote && this.#hasQuotes && (this.#state === atField || this.#state === afterQuote)) {
      this.#state = inQuotes;
      this.#hasText = true;
    } else if (code === carriageReturn && text.charCodeAt(this.#at + 1) !== lineFeed) {
      if (this.#at + 1 === text.length && !isLast) return undefined;
      this.#problem ??= 'CR without LF outside quotes';
      this.#state = inPlain;
      this.#hasText = true;
    } else if (code !== carriageReturn) {
      this.#hasText ||= code !== lineFeed;
      this.#state = code === this.#separator ? atField : inPlain;
    }
    this.#at += 1;
    return code === lineFeed;
  }

  #recordFrom(start: number, shift: number): SplitRecord {
    const problem = this.#at - start > rowLengthMax ? tooLong : this.#problem;
    return { start: start + shift, end: this.#at + shift, line: this.#startLine, problem };
  }

  #startNext(): void {
    this.#state = atField;
    this.#hasText = false;
    this.#problem = undefined;
    this.#isTooLong = false;
    this.#startLine = this.#line;
  }
}

function lineFeedsIn(text: string, from: number, to: number): number {
  let count = 0;
  // Not indexOf, which has no upper bound.
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === lineFeed) count += 1;
  return count;
}

/**
 * Reads the records of one part of the text at a time. A bad record does not affect others, except for an unclosed quote,
 * which extends to the end.
 *
 * @param line the line of the first character, from 1
 */
export async function* csvRecords(
  text: AsyncIterable<string>,
  delimiter: string,
  line: number,
  syntax: CellSyntax = {},
): AsyncGenerator<readonly RawRow[]> {
  const splitter = new CsvSplitter(delimiter, line, syntax.quotes);
  const cellsOf = (record: string) => parseCells(record, delimiter, syntax);
  const rows = ({ text: block, records }: SplitBlock) => records.map((record) => toRow(block, record, cellsOf));
  for await (const part of text) {
    const block = splitter.cut(part);
    if (block.records.length > 0) yield rows(block);
  }
  const last = splitter.end();
  if (last.records.length > 0) yield rows(last);
}

function toRow(
  block: string,
  { start, end, line, problem }: SplitRecord,
  cellsOf: (record: string) => Cells | RowFault,
): RawRow {
  const text = block.slice(start, withoutLineEnd(block, end));
  const cells = problem === undefined ? cellsOf(text) : { problem, column: undefined };
  if (!('problem' in cells)) return { line, source: { kind: 'cells', ...cells } };
  return { line, source: { kind: 'text', text: cells.problem === tooLong ? beginningOf(text) : text }, fault: cells };
}

function withoutLineEnd(text: string, end: number): number {
  if (text[end - 1] !== '\n') return end;
  return text[end - 2] === '\r' ? end - 2 : end - 1;
}

type Cells = Pick<Extract<RowSource, { readonly kind: 'cells' }>, 'cells' | 'quotedEmpty'>;

/** The cells of one record without its line end (RFC 4180, section 2). */
function parseCells(text: string, delimiter: string, { quotes = true, unquoted }: CellSyntax): Cells | RowFault {
  // Most records have no quote.
  if (!quotes || !text.includes('"')) return { cells: plainCells(text, delimiter, unquoted) };
  const cells: string[] = [];
  const quotedEmpty: number[] = [];
  for (let at = 0; ; at += 1) {
    const isQuoted = text[at] === '"';
    const end = isQuoted ? endOfQuoted(text, at) : endOfPlain(text, at, delimiter);
    const cell = isQuoted ? quotedCell(text, at, end, delimiter) : plainCell(text.slice(at, end), delimiter, unquoted);
    if (typeof cell !== 'string') return { ...cell, column: cells.length + 1 };
    if (isQuoted && cell === '') quotedEmpty.push(cells.length);
    cells.push(cell);
    if (end === text.length) return withQuoted(cells, quotedEmpty);
    at = end;
  }
}

function withQuoted(cells: readonly string[], quotedEmpty: readonly number[]): Cells {
  return quotedEmpty.length === 0 ? { cells } : { cells, quotedEmpty };
}

type Problem = Pick<RowFault, 'problem'>;

function quotedCell(text: string, at: number, end: number, delimiter: string): string | Problem {
  const problem = quotedProblem(text, end, delimiter);
  return problem === undefined ? text.slice(at + 1, end - 1).replaceAll('""', '"') : { problem };
}

function plainCell(cell: string, delimiter: string, unquoted: CellSyntax['unquoted']): string | Problem {
  const problem = plainProblem(cell);
  return problem === undefined ? (plainCells(cell, delimiter, unquoted)[0] ?? '') : { problem };
}

function plainCells(text: string, delimiter: string, unquoted: CellSyntax['unquoted']): readonly string[] {
  const cells = text.split(delimiter);
  return unquoted === undefined ? cells : cells.map(unquoted);
}

function quotedProblem(text: string, end: number, delimiter: string): string | undefined {
  if (end === -1) return 'unclosed quote';
  const isCellEnd = end === text.length || text[end] === delimiter;
  return isCellEnd ? undefined : 'unexpected text after a closing quote (double a quote inside quotes)';
}

function plainProblem(cell: string): string | undefined {
  return cell.includes('"') ? 'quote inside an unquoted cell (quote the cell and double the quote)' : undefined;
}

function endOfPlain(text: string, start: number, delimiter: string): number {
  const end = text.indexOf(delimiter, start);
  return end === -1 ? text.length : end;
}

/** The end of the closing quote; -1 without one. */
function endOfQuoted(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end === -1 ? -1 : end + 1;
}
