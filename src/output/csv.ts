/** CSV and TSV; to be loaded for these formats alone. */
import { isList, type JsonValue } from '../core/json.ts';
import { openSpool } from '../core/spool.ts';
import { printable } from '../core/text.ts';
import { columnsOf, type Layout, type PrinterOptions, plainText, rowFrom, shapeOf } from './layout.ts';
import type { Row } from './view.ts';

const toDelimiter = ({ format }: PrinterOptions) => (format === 'tsv' ? '\t' : ',');

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

function csvCell(value: JsonValue | undefined, options: PrinterOptions): string {
  const plain = plainText(value);
  const safe = options.csvSafe && typeof value === 'string' && formulaStart.test(plain) ? `'${plain}` : plain;
  const text = options.screen.columns === undefined ? safe : printable(safe);
  // An empty string differs from null.
  if (text === '') return typeof value === 'string' ? '""' : '';
  return special[toDelimiter(options)].test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats a line without its newline. */
export function csvLine(values: readonly (JsonValue | undefined)[], options: PrinterOptions): string {
  return values.map((value) => csvCell(value, options)).join(toDelimiter(options));
}

/**
 * Prints a header, and a line for each row. Without `columns` it has all, in the order first seen: then rows wait, in a
 * file if there are many.
 *
 * @param printsNone whether `columns` are printed without any row, too
 */
export function rowsLayout(
  columns: readonly string[] | undefined,
  options: PrinterOptions,
  printsNone: boolean,
): Layout<Row> {
  if (columns === undefined) return everyColumn(options);
  const { add, header } = theseColumns(columns, options);
  return { add, end: async (write) => (printsNone ? write(header()) : undefined) };
}

/** Formats the result of a query: objects with a header, arrays and scalars without. */
export function csvText(value: JsonValue, options: PrinterOptions): string {
  const shape = shapeOf(isList(value) ? value : [value]);
  if (shape.kind === 'lists') return shape.rows.map((row) => `${csvLine(row, options)}\n`).join('');
  if (shape.kind === 'scalars') return shape.rows.map((scalar) => `${csvLine([scalar], options)}\n`).join('');
  const rows = shape.rows.map(rowFrom);
  const columns = options.columns ?? columnsOf(rows);
  if (columns.length === 0) return '';
  const { add, header } = theseColumns(columns, options);
  return `${rows.map(add).join('')}${header()}`;
}

/** Formats rows after a header, which `header` returns unless a row did. */
function theseColumns(columns: readonly string[], options: PrinterOptions) {
  let text = `${csvLine(columns, options)}\n`;
  const header = () => {
    const first = text;
    text = '';
    return first;
  };
  const add = (row: Row) => {
    const values = columns.map((name) => row.get(name));
    return `${header()}${csvLine(values, options)}\n`;
  };
  return { add, header };
}

function everyColumn(options: PrinterOptions): Layout<Row> {
  const places = new Map<string, number>();
  const spool = openSpool();
  return {
    add: (row) => {
      for (const name of row.keys()) if (!places.has(name)) places.set(name, places.size);
      const values: (JsonValue | undefined)[] = new Array(places.size).fill(undefined);
      for (const [name, value] of row) values[places.get(name) ?? 0] = value;
      // The number of columns comes first, since cells of later ones will be missing in this line.
      spool.add(`${places.size} ${csvLine(values, options)}`);
      return '';
    },
    end: async (write) => {
      if (places.size > 0) await write(`${csvLine([...places.keys()], options)}\n`);
      for (const line of spool.lines()) {
        const space = line.indexOf(' ');
        const missing = toDelimiter(options).repeat(places.size - Number(line.slice(0, space)));
        await write(`${line.slice(space + 1)}${missing}\n`);
      }
    },
  };
}
