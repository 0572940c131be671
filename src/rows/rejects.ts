/** The texts of a rejects file: rows that were not done, in the format of their input. */
import { isObject, type JsonValue, NumberToken, objectFrom, printJson } from '../core/json.ts';
import { type RowsFile, rejectMark } from './read.ts';
import type { RowSource } from './types.ts';

/** The format of a rejects file: what it begins with, its rows with their errors, and what it ends with. */
export interface RejectsFormat<R> {
  head?(): string;
  row(row: R, error: string): string;
  tail?(): string;
}

type Rejects = RejectsFormat<{ readonly source: RowSource }>;

/** The columns of the error, and of the text of a row that could not be read. */
const errorName = 'listctl:error';
const textName = 'listctl:text';

/**
 * Makes the format of a rejects file. Read with the same options, a row is what it was, and one that could not be read
 * stays invalid until it is fixed.
 *
 * - CSV, TSV: the same columns and one more. A row with too few or too many cells keeps them, followed by the error; one
 *   that could not be read has its text in the first cell.
 * - JSONL, JSON, YAML (as JSON): the value with another member; what is not an object is the member `listctl:text`.
 * - ids: the id, a tab, `listctl:error: ` and the error.
 */
export function openRejects(file: RowsFile): Rejects {
  // The file is UTF-8, but will be read with the same --encoding.
  const mark = file.options.encoding === undefined ? '' : '\ufeff';
  switch (file.format) {
    case 'csv':
    case 'tsv':
      return cellRejects(file, mark);
    case 'jsonl':
      return {
        head: () => mark,
        row: ({ source }, error) => `${jsonReject(source, error, file.options.idColumn)}\n`,
      };
    // JSON is YAML as well.
    case 'yaml':
    case 'json':
      return arrayRejects(file.options.idColumn, mark);
    case 'ids':
      return idRejects(mark);
  }
}

function cellRejects({ header, delimiter = ',', format, options }: RowsFile, mark: string): Rejects {
  const errorAt = header.indexOf(errorName);
  const without = (cells: readonly string[]) => (errorAt === -1 ? cells : cells.toSpliced(errorAt, 1));
  const columnCount = without(header).length + 1;
  const write = options.quotes === false ? plainCell : cell;
  const line = (cells: readonly string[]) => `${cells.map((text) => write(text, delimiter)).join(delimiter)}\n`;
  /** Empty quotes stay, since they may mean another value than nothing. */
  const row = (cells: readonly string[], quotedEmpty: readonly number[], error: string) => {
    const written = cells.map((text, at) => (quotedEmpty.includes(at) ? '""' : write(text, delimiter)));
    return `${[...without(written), write(error, delimiter)].join(delimiter)}\n`;
  };
  /** With another number of cells than the header has, so that it stays invalid. */
  const ragged = (cells: readonly string[]) => line(cells.length === columnCount ? [...cells, ''] : cells);
  // Whether the reader detects it from the header or the format.
  const isFound = format === 'tsv' ? delimiter === '\t' : ',;\t'.includes(delimiter);
  return {
    head: () => `${mark}${isFound ? '' : `sep=${delimiter}\n`}${line([...without(header), errorName])}`,
    row: ({ source }, error) => {
      if (source.kind !== 'cells') return ragged([textOf(source), error]);
      const { cells, quotedEmpty = [] } = source;
      return cells.length === header.length ? row(cells, quotedEmpty, error) : ragged([...cells, error]);
    },
  };
}

/** Quotes a cell with a possible delimiter, or with blanks at its ends, which some readers trim. */
function cell(text: string, delimiter: string): string {
  const isSpecial = text.includes(delimiter) || /[",;\t\r\n]|^[\ufeff\s]|\s$|^sep=/i.test(text);
  return isSpecial ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without quotes a cell cannot have a delimiter or a line end: only an error, or the text of an invalid row. */
function plainCell(text: string, delimiter: string): string {
  return text.replaceAll(delimiter, ' ').replace(/[\r\n]+/g, ' ');
}

function arrayRejects(idColumn: string, mark: string): Rejects {
  let before = '';
  return {
    head: () => `${mark}[\n`,
    row: ({ source }, error) => {
      const text = `${before}${jsonReject(source, error, idColumn)}`;
      before = ',\n';
      return text;
    },
    tail: () => (before === '' ? ']\n' : '\n]\n'),
  };
}

function jsonReject(source: RowSource, error: string, idColumn: string): string {
  return printJson(objectFrom([...membersOf(source, idColumn), [errorName, error]]));
}

function membersOf(source: RowSource, idColumn: string): readonly (readonly [string, JsonValue])[] {
  if (source.kind !== 'json') return [[textName, textOf(source)]];
  const { value } = source;
  if (isObject(value)) return Object.entries(value).filter(([name]) => name !== errorName);
  const isId = typeof value === 'string' || typeof value === 'number' || value instanceof NumberToken;
  return [isId ? [idColumn, value] : [textName, printJson(value)]];
}

function idRejects(mark: string): Rejects {
  let isFirst = true;
  return {
    head: () => mark,
    row: ({ source }, error) => {
      const text = textOf(source);
      // At the start of the file it would be taken for a byte order mark.
      const guard = isFirst && mark === '' && text.startsWith('\ufeff') ? '\ufeff' : '';
      isFirst = false;
      return `${guard}${text}${rejectMark}${error.replace(/\s+/g, ' ')}\n`;
    },
  };
}

function textOf(source: RowSource): string {
  switch (source.kind) {
    case 'text':
      return source.text;
    case 'id':
      return source.id;
    case 'json':
      return printJson(source.value);
    case 'cells':
      return source.cells.join(' ');
  }
}
