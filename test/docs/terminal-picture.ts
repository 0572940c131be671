/** The screen of a terminal as an SVG picture that needs no font of its own: every run of cells has its place. */
import type { IBufferCell, Terminal } from '@xterm/headless';

interface Look {
  readonly isBold: boolean;
  readonly isDim: boolean;
  /** One of the 16 colors; undefined for that of all text. */
  readonly color: number | undefined;
}

/** A character, or several that are drawn as one. */
interface Cell {
  readonly text: string;
  /** 2 for a wide one. */
  readonly width: number;
  readonly look: Look;
}

/** The cells of a row, up to the last one that shows something. */
export type CellRow = readonly Cell[];

export interface Caption {
  readonly title: string;
  readonly description: string;
}

/** Units of the picture, which are pixels where it is shown at its own size. */
const size = {
  font: 14,
  cell: 8.43,
  row: 20,
  belowBaseline: 6,
  above: 16,
  abovePrompt: 12,
  aside: 20,
  bar: 36,
} as const;
const fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";
const colors = { text: '#e6edf3', window: '#0d1117', bar: '#161b22', edge: '#30363d', button: '#484f58' } as const;
/** Black to white, then the bright ones. */
const palette = [
  ...['#484f58', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'],
  ...['#6e7681', '#ffa198', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#ffffff'],
] as const;
const plain: Look = { isBold: false, isDim: false, color: undefined };

/**
 * The text of a screen, including what has scrolled away above it; blank rows at the end are left out.
 *
 * @throws {Error} when a cell looks in a way that no picture shows
 */
export function rowsOf({ buffer: { active } }: Terminal): readonly CellRow[] {
  const rows = Array.from({ length: active.length }, (_, y) => {
    const line = active.getLine(y);
    const cells = Array.from({ length: line?.length ?? 0 }, (_, x) => line?.getCell(x))
      .filter((cell) => cell !== undefined)
      // The second half of a wide character has none.
      .filter((cell) => cell.getWidth() > 0)
      .map((cell) => ({ text: cell.getChars() || ' ', width: cell.getWidth(), look: lookOf(cell) }));
    return cells.slice(0, 1 + cells.findLastIndex(({ text }) => text !== ' '));
  });
  return rows.slice(0, 1 + rows.findLastIndex(({ length }) => length > 0));
}

export function textOf(row: CellRow): string {
  return row.map(({ text }) => text).join('');
}

/** The row with another text in place of every match; it looks as the match began. */
export function replaced(row: CellRow, pattern: RegExp, text: string): CellRow {
  const cells: Cell[] = [...row];
  // From the last one on, so that those before it stay where they were found.
  for (const { index, 0: match } of [...textOf(row).matchAll(pattern)].toReversed()) {
    const from = cellAt(row, index);
    const { look = plain } = cells[from] ?? {};
    const made = Array.from(text, (character) => ({ text: character, width: 1, look }));
    cells.splice(from, cellAt(row, index + match.length) - from, ...made);
  }
  return cells;
}

/** The picture of a terminal with the given width. A row that begins with `$ ` has a small gap above it. */
export function terminalPicture(rows: readonly CellRow[], columns: number, { title, description }: Caption): string {
  const width = Math.round(columns * size.cell) + 2 * size.aside;
  let bottom: number = size.bar + size.above;
  const texts = rows.flatMap((row, at) => {
    if (at > 0 && textOf(row).startsWith('$ ')) bottom += size.abovePrompt;
    bottom += size.row;
    const baseline = bottom - size.belowBaseline;
    return runsOf(row).map((run) => textElement(run, baseline));
  });
  const lines = [
    ...windowElements(width, bottom + size.above, { title, description }),
    `<g fill="${colors.text}" font-family="${fonts}" font-size="${size.font}" xml:space="preserve">`,
    ...texts,
    '</g>',
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

/** The beginning of a picture: its size, its caption, and a window that is empty. */
function windowElements(width: number, height: number, { title, description }: Caption): readonly string[] {
  const buttons = [0, 1, 2].map((at) => `<circle cx="${size.aside + 6 + 20 * at}" cy="${size.bar / 2}" r="6"/>`);
  const outline = `x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="9.5"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<rect ${outline} fill="${colors.window}"/>`,
    `<path d="M.5 ${size.bar}.5V10A9.5 9.5 0 0 1 10 .5H${width - 10}a9.5 9.5 0 0 1 9.5 9.5V${size.bar}.5z" fill="${colors.bar}"/>`,
    `<path d="M1 ${size.bar}.5H${width - 1}" stroke="${colors.edge}"/>`,
    `<rect ${outline} fill="none" stroke="${colors.edge}"/>`,
    `<g fill="${colors.button}">${buttons.join('')}</g>`,
  ];
}

/** Cells of one look and width, one beside the other. */
interface Run extends Cell {
  readonly column: number;
  readonly columns: number;
}

/**
 * A row's runs, each at its column. Two blanks or more end one, as columns of a table do, so that it is aligned
 * in any font.
 */
function runsOf(row: CellRow): readonly Run[] {
  const runs: Run[] = [];
  let column = 0;
  for (const cell of row) {
    const last = runs.at(-1);
    if (last !== undefined && isMore(last, cell)) {
      runs.splice(-1, 1, { ...last, text: last.text + cell.text, columns: last.columns + cell.width });
    } else {
      runs.push({ ...cell, column, columns: cell.width });
    }
    column += cell.width;
  }
  return runs.map(trimmed).filter(({ text }) => text !== '');
}

function isMore({ text, width, look }: Run, next: Cell): boolean {
  const isGap = text.endsWith('  ') && next.text !== ' ';
  return !isGap && width === next.width && isSameLook(look, next.look);
}

/** Blanks show nothing: no cell has a background. */
function trimmed(run: Run): Run {
  const text = run.text.trimStart();
  const before = run.text.length - text.length;
  const after = text.length - text.trimEnd().length;
  return { ...run, text: text.trimEnd(), column: run.column + before, columns: run.columns - before - after };
}

function textElement({ text, column, columns, look: { isBold, isDim, color } }: Run, y: number): string {
  const attributes = [
    ['x', decimal(size.aside + column * size.cell)],
    ['y', String(y)],
    // A font with other widths is set wider or closer.
    ['textLength', decimal(columns * size.cell)],
    ...(color === undefined ? [] : [['fill', palette[color]]]),
    ...(isBold ? [['font-weight', '700']] : []),
    ...(isDim ? [['opacity', '.65']] : []),
  ];
  return `<text ${attributes.map(([name, value]) => `${name}="${value}"`).join(' ')}>${escaped(text)}</text>`;
}

function lookOf(cell: IBufferCell): Look {
  const color = cell.isFgPalette() ? cell.getFgColor() : undefined;
  const isShown = cell.isFgDefault() || (color !== undefined && color < palette.length);
  const others = [cell.isInverse(), cell.isUnderline(), cell.isItalic(), cell.isStrikethrough(), cell.isInvisible()];
  if (!isShown || !cell.isBgDefault() || others.some((isSet) => isSet !== 0)) {
    throw new Error(`a picture has no such look as that of "${cell.getChars()}": teach it to ${import.meta.filename}`);
  }
  return { isBold: cell.isBold() !== 0, isDim: cell.isDim() !== 0, color };
}

function isSameLook(one: Look, other: Look): boolean {
  return one.isBold === other.isBold && one.isDim === other.isDim && one.color === other.color;
}

/** The cell that a place in the text of a row belongs to. */
function cellAt(row: CellRow, index: number): number {
  let length = 0;
  const at = row.findIndex(({ text }) => {
    length += text.length;
    return length > index;
  });
  return at === -1 ? row.length : at;
}

function decimal(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
