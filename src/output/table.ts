/** Tables without borders. Wraps cli-table3 and string-width; to be loaded for tables alone. */
import Table from 'cli-table3';
import stringWidth from 'string-width';
import { isList, isObject, type JsonValue } from '../core/json.ts';
import { countOf, cutText, isAtMost, printable, printableLines } from '../core/text.ts';
import { columnsOf, jsonText, rowFrom, shapeOf } from './layout.ts';
import type { Row, Screen } from './view.ts';
import { wrapText } from './wrap.ts';

/** Blanks between two columns. */
export const gapWidth = 2;

/** The minimum width of a truncated column; else it is omitted. */
const leastWidth = 6;

/** The full width of a column, at least 1, and whether it is truncated only if it is wider than the terminal. */
export interface ColumnNeed {
  readonly width: number;
  readonly isWhole: boolean;
}

/**
 * Fits columns side by side: the widest are truncated first, and the last are omitted if they do not fit.
 *
 * @param widthMax columns of the terminal, at least 1
 * @param countMin the number of columns that are never omitted
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

/** Limits widths to a maximum that fits; the first ones get the remainder of the division. */
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

/** A cell of a table, which makes the text printable. */
export interface Cell {
  readonly text: string;
  /** Colors the truncated text. */
  readonly paint?: ((text: string) => string) | undefined;
}

export interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => Cell;
  /** Whether it is truncated only if it is wider than the terminal; the last columns are omitted instead. */
  readonly isWhole?: boolean;
}

interface Placed {
  readonly text: string;
  readonly width: number;
  readonly paint: (text: string) => string;
}

/** Without a terminal, a wider cell does not widen its column. */
const columnWidthMax = 10_000;

const noBorders = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '' },
  ...{ 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
};

let emojiPattern: RegExp | undefined;

/**
 * Makes a table with a header and a line for each row, which is drawn page by page. On a terminal long cells are
 * truncated, and columns that do not fit are omitted, as the first page needs it; later ones change widths only for a
 * column that must be whole.
 *
 * @returns `draw`, which returns the lines of the next page; and `note`, which returns the last line on a terminal if
 *   something is missing, at least `leftOut` columns
 */
function tableInPages<T>(columns: readonly Column<T>[], screen: Screen, hasHeader: boolean) {
  const widthMax = terminalWidth(screen);
  // Each column takes three characters at least; further ones cannot fit and need not be measured.
  const candidates = widthMax === undefined ? columns : columns.slice(0, Math.ceil(widthMax / (1 + gapWidth)));
  const isWhole = (at: number) => candidates[at]?.isWhole === true;
  let header = hasHeader ? [candidates.map(({ name }) => place({ text: name, paint: screen.style.bold }))] : [];
  let needs: readonly ColumnNeed[] = [];
  let widths: readonly number[] = [];
  let isCut = false;
  const draw = (rows: readonly T[]) => {
    const grid = [...header, ...rows.map((row) => candidates.map(({ cell }) => place(cell(row))))];
    header = [];
    const earlier = needs;
    needs = measure(grid, isWhole).map((need, at) => ({
      ...need,
      width: Math.max(need.width, earlier[at]?.width ?? 0),
    }));
    if (widthMax === undefined) return layOut(grid, unlimited(needs), false);
    const isWider = needs.some((need, at) => need.isWhole && need.width > (earlier[at]?.width ?? 0));
    if (earlier.length === 0 || isWider) widths = columnWidths(needs, widthMax);
    isCut ||= widths.some((width, at) => width < (needs[at]?.width ?? 0));
    return layOut(grid, widths, true);
  };
  const note = (leftOut = 0) => {
    const hidden = widthMax === undefined ? 0 : columns.length - widths.length;
    const text = noteOfCuts(hidden + leftOut, isCut, widthMax ?? Number.POSITIVE_INFINITY);
    return text === undefined ? undefined : screen.style.dim(text);
  };
  return { draw, note };
}

/** Draws a whole table, without a final newline; a last line on a terminal says what is missing. */
export function drawTable<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  screen: Screen,
  { hasHeader = true } = {},
): string {
  const table = tableInPages(columns, screen, hasHeader);
  const lines = table.draw(rows);
  const note = table.note();
  return [...lines, ...(note === undefined ? [] : [note])].join('\n');
}

/** Draws names and values. On a terminal both wrap, and a string keeps its lines. */
export function drawPairs(
  pairs: readonly (readonly [name: string, value: JsonValue | undefined])[],
  screen: Screen,
): string {
  const { bold } = screen.style;
  const widthMax = terminalWidth(screen) ?? Number.POSITIVE_INFINITY;
  const nameWidthMax = Math.max(leastWidth, Math.floor(widthMax / 3));
  // Indented, so that the rest of a long name is not taken for another field.
  const nameLines = pairs.map(([name]) => {
    const text = printable(name);
    if (isAtMost(text, nameWidthMax)) return [text];
    return wrapText(text, nameWidthMax - 2).map((line, at) => (at === 0 ? line : `  ${line}`));
  });
  const nameWidth = Math.max(0, ...nameLines.flat().map(widthOf));
  const valueWidth = Math.max(leastWidth, widthMax - nameWidth - gapWidth);
  const grid = pairs.flatMap(([, value], at) => {
    const { text, paint } = cellOf(value, screen);
    const names = nameLines[at] ?? [];
    const values = screen.columns === undefined ? [text] : linesOf(value, text, valueWidth);
    return Array.from({ length: Math.max(names.length, values.length) }, (_, line) => [
      place({ text: names[line] ?? '', paint: bold }),
      place({ text: values[line] ?? '', paint }),
    ]);
  });
  return layOut(grid, unlimited(measure(grid)), false).join('\n');
}

/** The lines of a value on a terminal; an object or array that does not fit on one line is indented JSON. */
function linesOf(value: JsonValue | undefined, text: string, width: number): string[] {
  const isOpened = isObject(value) || isList(value);
  const whole = isOpened && !isAtMost(text, width) ? jsonText(value, 2) : text;
  return printableLines(whole).flatMap((line) => wrapText(line, width));
}

function terminalWidth({ columns }: Screen): number | undefined {
  if (columns === undefined || columns === Number.POSITIVE_INFINITY) return undefined;
  return columns > 0 ? columns : 80;
}

function place({ text, paint = (plain) => plain }: Cell): Placed {
  const shown = printable(text);
  return { text: shown, width: widthOf(shown), paint };
}

function measure(grid: readonly (readonly Placed[])[], isWhole: (at: number) => boolean = () => false): ColumnNeed[] {
  const widths: number[] = [];
  for (const row of grid) {
    for (const [at, { width }] of row.entries()) widths[at] = Math.max(widths[at] ?? 1, width);
  }
  return widths.map((width, at) => ({ width, isWhole: isWhole(at) }));
}

function unlimited(needs: readonly ColumnNeed[]): number[] {
  return needs.map(({ width }) => Math.min(width, columnWidthMax));
}

/** What a table does not show, and the flag that does, as far as there is room. */
function noteOfCuts(leftOut: number, isCut: boolean, widthMax: number): string | undefined {
  if (leftOut === 0 && !isCut) return undefined;
  const note = leftOut > 0 ? `… ${countOf(leftOut, 'more column')}` : '… some values are cut';
  const notes = [`${note}: pass --wide, or --columns NAMES`, `${note}: pass --wide`, '… pass --wide'];
  return notes.find((each) => isAtMost(each, widthMax)) ?? '…';
}

function layOut(grid: readonly (readonly Placed[])[], widths: readonly number[], isCut: boolean): string[] {
  const template = templateFor(widths);
  return grid.map((row) => {
    const cells = row.slice(0, widths.length).map((cell, at) => (isCut ? cutCell(cell, widths[at] ?? 1) : cell));
    return fill(template, cells);
  });
}

function cutCell(cell: Placed, widthMax: number): Placed {
  if (cell.width <= widthMax) return cell;
  const text = cutText(cell.text, widthMax, widthOf);
  return { ...cell, text, width: widthOf(text) };
}

/**
 * Lays out a line of placeholders, to be replaced with the texts: cli-table3 compares every cell with all before it, does
 * not know the width of newer emoji and most combining marks, and takes quadratic time for a long wide text.
 */
function templateFor(widths: readonly number[]): string {
  const table = new Table({
    chars: noBorders,
    style: { 'padding-left': 0, 'padding-right': gapWidth, head: [], border: [], compact: true },
    colWidths: widths.map((width) => width + gapWidth),
  });
  table.push(widths.map((width) => '<'.padEnd(width, '-')));
  return table.toString();
}

function fill(template: string, cells: readonly Placed[]): string {
  let at = 0;
  const line = template.replace(/<-*/g, (place) => {
    const { text, width, paint } = cells[at] ?? nothing;
    at += 1;
    return (text === '' ? '' : paint(text)) + ' '.repeat(Math.max(0, place.length - width));
  });
  return line.trimEnd();
}

const nothing: Placed = { text: '', width: 0, paint: (text) => text };

/** The columns of a printable text: two for wide characters and emoji, none for combining marks (UAX #11; wcwidth). */
function widthOf(text: string): number {
  if (/^[ -~…]*$/.test(text)) return text.length;
  // biome-ignore lint/complexity/useRegexLiterals: tsc has no v flag before es2024; Node has had it since 20.0
  emojiPattern ??= new RegExp('\\p{RGI_Emoji}', 'gv');
  // string-width 4 knows emoji up to 2019, and only Latin combining marks.
  return stringWidth(text.replace(emojiPattern, '  ').replace(/[\p{Mn}\p{Me}\u1160-\u11ff\u200c\u200d]/gu, ''));
}

/** Formats a value: a string as it is, anything else as JSON. */
export function cellOf(value: JsonValue | undefined, { style }: Screen): Cell {
  if (value === undefined) return { text: '' };
  if (value === null) return { text: 'null', paint: style.dim };
  // Unlike null, also without color.
  if (value === 'null') return { text: '"null"' };
  return { text: typeof value === 'string' ? value : jsonText(value) };
}

/** Moves `@odata.etag` and the like to the end, and the second id of an item. */
function withoutAnnotationsFirst(names: readonly string[]): readonly string[] {
  const isLast = (name: string) => name.startsWith('@') || name === 'fields.id';
  return [...names.filter((name) => !isLast(name)), ...names.filter(isLast)];
}

/** Draws one row as names and values, several as a table; by default with all columns, in the order first seen. */
export function drawRows(
  rows: readonly Row[],
  screen: Screen,
  columns: readonly string[] | undefined,
  isSeveral = rows.length > 1,
): string {
  const names = columns ?? withoutAnnotationsFirst(columnsOf(rows));
  const [row = new Map()] = rows;
  if (!isSeveral) {
    return drawPairs(
      names.map((name) => [name, row.get(name)]),
      screen,
    );
  }
  return drawTable(rows, rowColumns(names, screen), screen);
}

function rowColumns(names: readonly string[], screen: Screen): readonly Column<Row>[] {
  return names.map((name) => ({ name, cell: (row) => cellOf(row.get(name), screen), isWhole: name === 'id' }));
}

/** Draws rows as one table, page by page, without final newlines; by default with the columns of the first page. */
export function rowsInPages(columns: readonly string[] | undefined, screen: Screen) {
  const leftOut = new Set<string>();
  let known: ReadonlySet<string> | undefined;
  let table: ReturnType<typeof tableInPages<Row>> | undefined;
  return {
    draw: (rows: readonly Row[]): string => {
      if (table === undefined || known === undefined) {
        const names = columns ?? withoutAnnotationsFirst(columnsOf(rows));
        known = new Set(names);
        table = tableInPages(rowColumns(names, screen), screen, true);
      }
      if (columns === undefined) for (const name of columnsOf(rows)) if (!known.has(name)) leftOut.add(name);
      return table.draw(rows).join('\n');
    },
    note: () => table?.note(leftOut.size),
  };
}

/** Draws the result of a query: objects as a table, arrays of arrays as columns without names. */
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
