/** Rows as CSV and TSV. `import()` it, and only for these formats. */
import type { JsonValue } from '../core/json.ts';
import { openSpool } from '../core/spool.ts';
import { type CsvStyle, columnsOf, csvLine, isList, type Layout, rowFrom, shapeOf } from './layout.ts';
import type { Row } from './view.ts';

/**
 * A header, then a line for each row, as they come.
 *
 * @param columns what to show, in this order; undefined for everything in the order first seen. Then rows wait, in a
 *   file where they are many, until every column is known.
 */
export function rowsLayout(columns: readonly string[] | undefined, style: CsvStyle): Layout<Row> {
  return columns === undefined ? everyColumn(style) : theseColumns(columns, style);
}

/** Any JSON value, as a query may give it: objects with a header, arrays of arrays and scalars without. */
export function csvText(value: JsonValue, columns: readonly string[] | undefined, style: CsvStyle): string {
  const shape = shapeOf(isList(value) ? value : [value]);
  if (shape.kind === 'lists') return shape.rows.map((row) => `${csvLine(row, style)}\n`).join('');
  if (shape.kind === 'scalars') return shape.rows.map((scalar) => `${csvLine([scalar], style)}\n`).join('');
  if (shape.rows.length === 0) return '';
  const rows = shape.rows.map(rowFrom);
  const { add } = theseColumns(columns ?? columnsOf(rows), style);
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
      // A line is final but for the columns that are yet to be seen, which stand behind it: their number is told first.
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
