/** Tables without borders. The door to cli-table3 and string-width: `import()` it, and only where a table is shown. */
import Table from 'cli-table3';
import stringWidth from 'string-width';
import type { JsonValue } from '../core/json.ts';
import { cutText, printable } from '../core/text.ts';
import { columnsOf, isList, jsonText, rowFrom, shapeOf } from './layout.ts';
import type { Row, Screen } from './view.ts';

/** Blank columns between two columns of a table. */
export const gapWidth = 2;

/** A column that has to be cut keeps at least so many columns of the terminal, else it is left out. */
const leastWidth = 6;

/** What a column would take if there were room for everything. */
export interface ColumnNeed {
  /** Columns of the terminal, at least 1. */
  readonly width: number;
  /** A column that is worth more than those behind it: it is cut only where it is wider than the terminal itself. */
  readonly isWhole: boolean;
}

/**
 * The widths in which columns fit side by side, with a gap between two: narrow ones keep their width, the widest give
 * way first. There are fewer widths than needs where the last columns don't fit; there is always one.
 *
 * @param widthMax columns of the terminal, at least 1
 * @param countMin how many columns are never left out, however narrow they get
 */
export function columnWidths(needs: readonly ColumnNeed[], widthMax: number, countMin = 1): number[] {
  const isKept = ({ isWhole, width }: ColumnNeed) => isWhole && width <= widthMax;
  const count = Math.max(countMin, countThatFits(needs, widthMax, isKept));
  const shown = needs.slice(0, count);
  const kept = shown.filter(isKept).reduce((sum, { width }) => sum + width, 0);
  const flexible = shown.filter((need) => !isKept(need)).map(({ width }) => width);
  const limits = shareOut(flexible, widthMax - gapWidth * (shown.length - 1) - kept);
  return shown.map((need) => (isKept(need) ? need.width : (limits.shift() ?? 1)));
}

function countThatFits(needs: readonly ColumnNeed[], widthMax: number, isKept: (need: ColumnNeed) => boolean): number {
  let left = widthMax + gapWidth;
  const firstThatDoesNot = needs.findIndex((need) => {
    left -= gapWidth + (isKept(need) ? need.width : Math.min(need.width, leastWidth));
    return left < 0;
  });
  return firstThatDoesNot === -1 ? needs.length : firstThatDoesNot;
}

/** Cuts widths down to one limit, as high as the room allows; what division leaves over goes to the first ones cut. */
function shareOut(widths: readonly number[], room: number): number[] {
  let left = room;
  let limit = Number.POSITIVE_INFINITY;
  const ascending = widths.toSorted((a, b) => a - b);
  for (const [at, width] of ascending.entries()) {
    const share = Math.floor(left / (widths.length - at));
    if (width > share) {
      limit = Math.max(1, share);
      left -= limit * (widths.length - at);
      break;
    }
    left -= width;
  }
  return widths.map((width) => {
    if (width <= limit) return width;
    left -= 1;
    return left >= 0 ? limit + 1 : limit;
  });
}

/** What stands in one place of a table. Any text will do: the table makes it printable. */
export interface Cell {
  readonly text: string;
  /** Applied last, to what is left of the text. */
  readonly paint?: ((text: string) => string) | undefined;
}

/** One column: its name, and its cell of each row. */
export interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => Cell;
  /** Never cut unless it is wider than the whole terminal; columns behind it are left out instead. */
  readonly isWhole?: boolean;
}

/** A cell that is ready to be placed. */
interface Placed {
  readonly text: string;
  readonly width: number;
  readonly paint: (text: string) => string;
}

/** Where nothing is cut: one cell wider than this stands out of its column, rather than widening every line by it. */
const columnWidthMax = 10_000;

/** cli-table3 compares every cell with all that stand before it, so that a large table is drawn in parts. */
const cellsAtOnce = 300;

const noBorders = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '' },
  ...{ 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
};

/** The width to assume of a terminal that says 0: a serial line, some continuous integration systems. */
const usualTerminalWidth = 80;

let emojiPattern: RegExp | undefined;

/**
 * A header and one line for each row; no newline at the end, no blanks at the ends of lines.
 *
 * On a terminal no line is wider than it: long cells are cut with `…`, and columns that don't fit are left out, which
 * a last line tells. Without a terminal everything is there.
 */
export function drawTable<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  screen: Screen,
  { hasHeader = true } = {},
): string {
  const widthMax = terminalWidth(screen);
  // A column takes three places at least, so that no more than these can fit, and the others need no measuring.
  const candidates = widthMax === undefined ? columns : columns.slice(0, Math.ceil(widthMax / (1 + gapWidth)));
  const header = candidates.map(({ name }) => place({ text: name, paint: screen.style.bold }));
  const grid = [...(hasHeader ? [header] : []), ...rows.map((row) => candidates.map(({ cell }) => place(cell(row))))];
  const needs = measure(grid, (at) => candidates[at]?.isWhole === true);
  const widths = widthMax === undefined ? unlimited(needs) : columnWidths(needs, widthMax);
  const lines = layOut(grid, widths, widthMax !== undefined);
  const leftOut = columns.length - widths.length;
  if (leftOut > 0 && widthMax !== undefined) lines.push(screen.style.dim(noteOfMore(leftOut, widthMax)));
  return lines.join('\n');
}

/**
 * Names and values, one pair a line, without a header; cut as in `drawTable`, but never left out.
 */
export function drawPairs(pairs: readonly (readonly [name: string, value: Cell])[], screen: Screen): string {
  const widthMax = terminalWidth(screen);
  const grid = pairs.map(([name, value]) => [place({ text: name, paint: screen.style.bold }), place(value)]);
  const needs = measure(grid, () => false);
  const widths = widthMax === undefined ? unlimited(needs) : columnWidths(needs, widthMax, 2);
  return layOut(grid, widths, widthMax !== undefined).join('\n');
}

function terminalWidth({ columns }: Screen): number | undefined {
  if (columns === undefined) return undefined;
  return columns > 0 ? columns : usualTerminalWidth;
}

function place({ text, paint = (plain) => plain }: Cell): Placed {
  const shown = printable(text);
  return { text: shown, width: widthOf(shown), paint };
}

function measure(grid: readonly (readonly Placed[])[], isWhole: (at: number) => boolean): ColumnNeed[] {
  const widths: number[] = [];
  for (const row of grid) {
    for (const [at, { width }] of row.entries()) widths[at] = Math.max(widths[at] ?? 1, width);
  }
  return widths.map((width, at) => ({ width, isWhole: isWhole(at) }));
}

function unlimited(needs: readonly ColumnNeed[]): number[] {
  return needs.map(({ width }) => Math.min(width, columnWidthMax));
}

function noteOfMore(count: number, widthMax: number): string {
  const note = `… ${count} more column${count === 1 ? '' : 's'}`;
  const advice = `${note}; use -o json`;
  return widthOf(advice) <= widthMax ? advice : cutText(note, widthMax, widthOf);
}

function layOut(grid: readonly (readonly Placed[])[], widths: readonly number[], isCut: boolean): string[] {
  const lines: string[] = [];
  const rowsAtOnce = Math.ceil(cellsAtOnce / widths.length);
  for (let start = 0; start < grid.length; start += rowsAtOnce) {
    const rows = grid
      .slice(start, start + rowsAtOnce)
      .map((row) => row.slice(0, widths.length).map((cell, at) => (isCut ? cutCell(cell, widths[at] ?? 1) : cell)));
    lines.push(...drawLines(rows, widths));
  }
  return lines;
}

function cutCell(cell: Placed, widthMax: number): Placed {
  if (cell.width <= widthMax) return cell;
  const text = cutText(cell.text, widthMax, widthOf);
  return { ...cell, text, width: widthOf(text) };
}

/**
 * cli-table3 gets stand-ins, each as wide as its text. The texts themselves it would measure without knowing newer
 * emoji and most combining marks, and a long wide one takes it quadratic time.
 */
function drawLines(rows: readonly (readonly Placed[])[], widths: readonly number[]): string[] {
  const table = new Table({
    chars: noBorders,
    style: { 'padding-left': 0, 'padding-right': gapWidth, head: [], border: [], compact: true },
    colWidths: widths.map((width) => width + gapWidth),
  });
  table.push(...rows.map((row) => row.map((cell, at) => standInFor(cell, widths[at] ?? 1))));
  const lines = table.toString().split('\n');
  return rows.map((row, at) => {
    const texts = row.filter(({ text }) => text !== '').map(({ text, paint }) => paint(text));
    const line = lines[at] ?? '';
    return line.replace(/<-*/g, () => texts.shift() ?? '').trimEnd();
  });
}

function standInFor({ text, width }: Placed, widthMax: number): string {
  return text === '' ? '' : '<'.padEnd(Math.min(width, widthMax), '-');
}

/**
 * The columns that a printable text takes on a terminal: two for a wide character or an emoji, flags and joined ones
 * included, none for a mark that combines with what stands before it (UAX #11; wcwidth for marks).
 */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  // biome-ignore lint/complexity/useRegexLiterals: tsc has no v flag before es2024; Node has had it since 20.0
  emojiPattern ??= new RegExp('\\p{RGI_Emoji}', 'gv');
  // string-width 4 knows the emoji of 2019, and the combining marks of Latin only.
  return stringWidth(text.replace(emojiPattern, '  ').replace(/[\p{Mn}\p{Me}\u1160-\u11ff\u200c\u200d]/gu, ''));
}

/** A value in a cell of a table for a person: text as it is, anything else as JSON; '' where there is none. */
export function cellOf(value: JsonValue | undefined, { style }: Screen): Cell {
  if (value === undefined) return { text: '' };
  if (value === null) return { text: 'null', paint: style.dim };
  // Quoted, since without color the text would look like no value.
  if (value === 'null') return { text: '"null"' };
  return { text: typeof value === 'string' ? value : jsonText(value) };
}

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
