/** Rows for a person. `import()` it: it brings the libraries of tables. */
import type { JsonValue } from '../json.ts';
import { cellOf } from './cell.ts';
import { columnsOf, isList, rowFrom, shapeOf } from './row.ts';
import { drawPairs, drawTable } from './table.ts';
import type { Row, Screen } from './view.ts';

/**
 * One row as its names and values, several as a table; a name that no row has is an empty column.
 *
 * @param columns what to show, in this order; undefined for everything, in the order first seen
 */
export function drawRows(
  rows: readonly Row[],
  screen: Screen,
  columns: readonly string[] | undefined,
  isSeveral = rows.length > 1,
): string {
  const names = columns ?? columnsOf(rows);
  const [row = new Map()] = rows;
  if (!isSeveral) {
    return drawPairs(
      names.map((name) => [name, cellOf(row.get(name), screen)]),
      screen,
    );
  }
  const shown = names.map((name) => ({
    name,
    cell: (each: Row) => cellOf(each.get(name), screen),
    isWhole: name === 'id',
  }));
  return drawTable(rows, shown, screen);
}

/** Any JSON value, as a query may give it: objects with their names, arrays of arrays as columns without names. */
export function drawValue(value: JsonValue, screen: Screen, columns: readonly string[] | undefined): string {
  if (!isList(value)) return drawRows([rowFrom(value)], screen, columns, false);
  const shape = shapeOf(value);
  if (shape.kind === 'objects') return drawRows(shape.rows.map(rowFrom), screen, columns, true);
  const lists = shape.kind === 'lists' ? shape.rows : shape.rows.map((scalar) => [scalar]);
  const width = Math.max(0, ...lists.map(({ length }) => length));
  const places = Array.from({ length: width }, (_, at) => ({
    name: '',
    cell: (list: readonly JsonValue[]) => cellOf(list[at], screen),
  }));
  return width === 0 ? '' : drawTable(lists, places, screen, { hasHeader: false });
}
