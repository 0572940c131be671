/** CSV and TSV; to be loaded for these formats alone. */
import type { JsonValue } from '../core/json.ts';
import { openSpool } from '../core/spool.ts';
import { printable } from '../core/text.ts';
import { columnsOf, isList, type Layout, type PrinterOptions, plainText, rowFrom, shapeOf } from './layout.ts';
import type { Row } from './view.ts';

export interface CsvStyle {
  readonly delimiter: ',' | '\t';
  /** Whether a text that a spreadsheet would run as a formula gets a leading `'`. */
  readonly isSafe: boolean;
  /** Whether control and hidden characters are escaped, for a terminal. */
  readonly isPrintable: boolean;
}

function toStyle({ format, csvSafe = false, screen }: PrinterOptions): CsvStyle {
  return { delimiter: format === 'tsv' ? '\t' : ',', isSafe: csvSafe, isPrintable: screen.columns !== undefined };
}

/** The start of a formula, and what spreadsheets strip before it (docs/faults.md, O05; OWASP, "CSV Injection"). */
const formulaStart = /^[=+\-@\t\r\n\0＝＋－＠]/;

/**
 * Cells that need quotes (RFC 4180): also a byte order mark and `sep=`, which mean something at the start of a file;
 * blanks at either end, which some readers trim; and other delimiters.
 */
const special = {
  ',': /[",;\t\r\n]|^[\ufeff\s]|\s$|^sep=/i,
  '\t': /["\t\r\n]|^[\ufeff\s]|\s$|^sep=/i,
};

function csvCell(value: JsonValue | undefined, { delimiter, isSafe, isPrintable }: CsvStyle): string {
  const plain = plainText(value);
  const safe = isSafe && typeof value === 'string' && formulaStart.test(plain) ? `'${plain}` : plain;
  const text = isPrintable ? printable(safe) : safe;
  // An empty string differs from null.
  if (text === '') return typeof value === 'string' ? '""' : '';
  return special[delimiter].test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats a line without its newline. */
export function csvLine(values: readonly (JsonValue | undefined)[], style: CsvStyle): string {
  return values.map((value) => csvCell(value, style)).join(style.delimiter);
}

/**
 * Prints a header, and a line for each row. Without `columns` it has all, in the order first seen: then rows wait, in a
 * file if there are many.
 */
export function rowsLayout(columns: readonly string[] | undefined, options: PrinterOptions): Layout<Row> {
  const style = toStyle(options);
  return columns === undefined ? everyColumn(style) : theseColumns(columns, style);
}

/** Formats the result of a query: objects with a header, arrays and scalars without. */
export function csvText(value: JsonValue, options: PrinterOptions): string {
  const style = toStyle(options);
  const shape = shapeOf(isList(value) ? value : [value]);
  if (shape.kind === 'lists') return shape.rows.map((row) => `${csvLine(row, style)}\n`).join('');
  if (shape.kind === 'scalars') return shape.rows.map((scalar) => `${csvLine([scalar], style)}\n`).join('');
  if (shape.rows.length === 0) return '';
  const rows = shape.rows.map(rowFrom);
  const { add } = theseColumns(options.columns ?? columnsOf(rows), style);
  return rows.map(add).join('');
}

function theseColumns(columns: readonly string[], style: CsvStyle): Layout<Row> {
  let header = `${csvLine(columns, style)}\n`;
  return {
    add: (row) => {
      const values = columns.map((name) => row.get(name));
      const text = `${header}${csvLine(values, style)}\n`;
      header = '';
      return text;
    },
    end: async () => {},
  };
}

function everyColumn(style: CsvStyle): Layout<Row> {
  const places = new Map<string, number>();
  const spool = openSpool();
  return {
    add: (row) => {
      for (const name of row.keys()) if (!places.has(name)) places.set(name, places.size);
      const values: (JsonValue | undefined)[] = new Array(places.size).fill(undefined);
      for (const [name, value] of row) values[places.get(name) ?? 0] = value;
      // The number of columns comes first, since cells of later ones will be missing in this line.
      spool.add(`${places.size} ${csvLine(values, style)}`);
      return '';
    },
    end: async (write) => {
      if (places.size > 0) await write(`${csvLine([...places.keys()], style)}\n`);
      for (const line of spool.lines()) {
        const space = line.indexOf(' ');
        const missing = style.delimiter.repeat(places.size - Number(line.slice(0, space)));
        await write(`${line.slice(space + 1)}${missing}\n`);
      }
    },
  };
}
