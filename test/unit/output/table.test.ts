import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Column, columnWidths, drawPairs, drawTable, gapWidth } from '../../../src/output/table.ts';
import { loadStyle, plainStyle } from '../../../src/output/view.ts';

/** Needs, the first of them whole, as the id is. */
const needs = (...widths: number[]) => widths.map((width, at) => ({ width, isWhole: at === 0 }));

test.each([
  { name: 'everything fits', widths: [2, 5, 9], widthMax: 20, fitted: [2, 5, 9] },
  { name: 'the widest gives way', widths: [2, 5, 90], widthMax: 40, fitted: [2, 5, 29] },
  { name: 'the wide ones share what is left', widths: [2, 50, 5, 90], widthMax: 40, fitted: [2, 14, 5, 13] },
  { name: 'the last ones are left out', widths: [2, 50, 50, 50], widthMax: 20, fitted: [2, 7, 7] },
  {
    name: 'narrow ones are not left out for being many',
    widths: [2, 1, 1, 1, 1],
    widthMax: 14,
    fitted: [2, 1, 1, 1, 1],
  },
  { name: 'the id stays whole beside a narrow one', widths: [36, 50], widthMax: 44, fitted: [36, 6] },
  { name: 'the id stays whole alone', widths: [36, 50], widthMax: 43, fitted: [36] },
  { name: 'an id wider than the terminal is cut as anything else', widths: [36, 50], widthMax: 20, fitted: [9, 9] },
  { name: 'one column always stays', widths: [36, 50], widthMax: 1, fitted: [1] },
])('$name', ({ widths, widthMax, fitted }) => {
  expect(columnWidths(needs(...widths), widthMax)).toEqual(fitted);
});

test('columns that must stay get at least one place each', () => {
  expect(columnWidths(needs(10, 10), 3, 2)).toEqual([1, 1]);
});

test('no line is wider than the terminal, no column wider than it needs, and no place is wasted', () => {
  const widths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });

  fc.assert(
    fc.property(widths, fc.integer({ min: 1, max: 300 }), (natural, widthMax) => {
      const fitted = columnWidths(needs(...natural), widthMax);
      const total = fitted.reduce((sum, width) => sum + width, gapWidth * (fitted.length - 1));
      const isCut = fitted.some((width, at) => width < (natural[at] ?? 0));

      expect(fitted.length).toBeGreaterThan(0);
      expect(fitted.every((width, at) => width >= 1 && width <= (natural[at] ?? 0))).toBe(true);
      expect(total).toBeLessThanOrEqual(widthMax);
      if (isCut) expect(total).toBe(widthMax);
    }),
  );
});

type Row = Readonly<Record<string, string>>;

const nowhere = { columns: undefined, style: plainStyle };
const terminal = (columns: number) => ({ columns, style: plainStyle });

/** Columns by name; the first is the id. */
function columnsOf(...names: string[]): Column<Row>[] {
  return names.map((name, at) => ({ name, isWhole: at === 0, cell: (row) => ({ text: row[name] ?? '' }) }));
}

const tasks: Row[] = [
  { id: '7', Title: 'Buy milk', Note: 'two bottles, the ones with the blue cap, not the green one', Status: 'open' },
  { id: '1024', Title: 'Call', Note: '', Status: 'done' },
];
const taskColumns = columnsOf('id', 'Title', 'Note', 'Status');

test('without a terminal everything is there, two blanks between columns and none at the ends', () => {
  expect(drawTable(tasks, columnsOf('id', 'Title', 'Note'), nowhere).split('\n')).toEqual([
    'id    Title     Note',
    '7     Buy milk  two bottles, the ones with the blue cap, not the green one',
    '1024  Call',
  ]);
});

test.each([
  {
    columns: 20,
    lines: ['id    Title   Note', '7     Buy m…  two b…', '1024  Call', '… pass --wide'],
  },
  {
    columns: 40,
    lines: [
      'id    Title     Note              Status',
      '7     Buy milk  two bottles, th…  open',
      '1024  Call                        done',
      '… some values are cut: pass --wide',
    ],
  },
  {
    columns: 80,
    lines: [
      'id    Title     Note                                                      Status',
      '7     Buy milk  two bottles, the ones with the blue cap, not the green …  open',
      '1024  Call                                                                done',
      '… some values are cut: pass --wide, or --columns NAMES',
    ],
  },
  {
    columns: 200,
    lines: [
      'id    Title     Note                                                        Status',
      '7     Buy milk  two bottles, the ones with the blue cap, not the green one  open',
      '1024  Call                                                                  done',
    ],
  },
])('a table fits a terminal of $columns columns', ({ columns, lines }) => {
  const drawn = drawTable(tasks, taskColumns, terminal(columns)).split('\n');

  expect(drawn).toEqual(lines);
  expect(Math.max(...drawn.map((line) => line.length))).toBeLessThanOrEqual(columns);
});

test('columns that do not fit are left out, and a last line says how many and what to do', () => {
  const names = Array.from({ length: 30 }, (_, at) => `Field${at}`);
  const row = Object.fromEntries(names.map((name) => [name, 'some value']));
  const drawn = drawTable([{ id: '7', ...row }], columnsOf('id', ...names), terminal(40)).split('\n');

  expect(drawn).toEqual([
    'id  Field0    Field1    Field2   Field3',
    '7   some va…  some va…  some v…  some v…',
    '… 26 more columns: pass --wide',
  ]);
});

test('a terminal that does not say how wide it is counts as 80 columns', () => {
  expect(drawTable(tasks, taskColumns, terminal(0))).toBe(drawTable(tasks, taskColumns, terminal(80)));
});

test.each([
  ['CJK', '日本語', 6],
  ['a combining mark', 'e\u0301e\u0301', 2],
  ['Thai marks', 'ที่นี่', 2],
  ['decomposed Korean', '\u1112\u1161\u11ab', 2],
  ['a joined emoji', '👨‍👩‍👧', 2],
  ['a flag', '🇩🇪', 2],
  ['a heart with its selector', '❤\ufe0f', 2],
  ['an emoji of 2022', '🫨', 2],
  ['a keycap', '1\ufe0f\u20e3', 2],
  ['Persian with a ZWNJ', 'می\u200cخ', 3],
])('%s does not move the columns behind it', (_name, text, width) => {
  const rows = [
    { id: text, mark: 'X' },
    { id: '1234567890', mark: 'X' },
  ];

  expect(drawTable(rows, columnsOf('id', 'mark'), nowhere).split('\n')[1]).toBe(`${text}${' '.repeat(12 - width)}X`);
});

test('a wide cell is cut between characters, and what is behind it stays aligned', () => {
  const rows = [
    { id: '1', Title: '日'.repeat(10_000), Status: 'open' },
    { id: '2', Title: '👨‍👩‍👧'.repeat(10_000), Status: 'done' },
    { id: '3', Title: 'x'.repeat(10_000), Status: 'done' },
  ];

  expect(
    drawTable(rows, columnsOf('id', 'Title', 'Status'), terminal(24))
      .split('\n')
      .slice(1, 4),
  ).toEqual([`1   ${'日'.repeat(5)}…   open`, `2   ${'👨‍👩‍👧'.repeat(5)}…   done`, `3   ${'x'.repeat(11)}…  done`]);
});

test('without a terminal a cell of 10,000 characters is whole, and aligned', () => {
  const rows = [
    { id: '1', Title: '日'.repeat(5_000), Status: 'open' },
    { id: '2', Title: 'x', Status: 'done' },
  ];
  const [, first, second] = drawTable(rows, columnsOf('id', 'Title', 'Status'), nowhere).split('\n');

  expect(first).toBe(`1   ${'日'.repeat(5_000)}  open`);
  expect(second).toBe(`2   ${'x'.padEnd(10_002)}done`);
});

test('one enormous cell does not widen every other line', () => {
  const rows = [
    { id: '1', Title: 'x'.repeat(1_000_000), Status: 'open' },
    ...Array.from({ length: 99 }, (_, at) => ({ id: String(at + 2), Title: '', Status: 'done' })),
  ];
  const drawn = drawTable(rows, columnsOf('id', 'Title', 'Status'), nowhere);

  expect(drawn.split('\n')[1]).toBe(`1    ${'x'.repeat(1_000_000)}  open`);
  expect(drawn.length).toBeLessThan(2_100_000);
});

test('many rows are one table', () => {
  const rows = Array.from({ length: 2_500 }, (_, at) => ({ id: String(at), Title: 'x' }));
  const drawn = drawTable(rows, columnsOf('id', 'Title'), nowhere).split('\n');

  expect(drawn).toEqual(['id    Title', ...rows.map(({ id }) => `${id.padEnd(4)}  x`)]);
});

test.each([
  ['a newline', 'one\ntwo', 'one⏎two'],
  ['a tab', 'one\ttwo', 'one\\ttwo'],
  ['an escape sequence', '\x1b[31mred', '\\x1b[31mred'],
  ['an override', '\u202eabc', '\\u{202e}abc'],
])('%s stays inside its cell, and inside a column name', (_name, text, shown) => {
  const drawn = drawTable([{ id: text }], [{ name: text, cell: ({ id }: Row) => ({ text: id ?? '' }) }], nowhere);

  expect(drawn).toBe(`${shown}\n${shown}`);
});

test('text that looks like what the layout uses itself comes through', () => {
  expect(drawTable([{ id: '<--', Title: '$& <-' }], columnsOf('id', 'Title'), nowhere)).toBe('id   Title\n<--  $& <-');
});

test('in color the header is bold, and colors do not change the layout', async () => {
  const screen = { columns: 80, style: await loadStyle(1) };
  const drawn = drawTable([{ id: '7', Title: 'milk' }], columnsOf('id', 'Title'), screen);

  expect(drawn).toBe('\x1b[1mid\x1b[22m  \x1b[1mTitle\x1b[22m\n7   milk');
});

test('the note of left out columns is dim in color', async () => {
  const screen = { columns: 20, style: await loadStyle(1) };

  expect(drawTable(tasks, taskColumns, screen).split('\n').at(-1)).toBe('\x1b[2m… pass --wide\x1b[22m');
});

test('with --wide nothing is cut or left out', () => {
  const drawn = drawTable(tasks, taskColumns, terminal(Number.POSITIVE_INFINITY));

  expect(drawn).toBe(drawTable(tasks, taskColumns, nowhere));
});

test('off a terminal pairs are one line each', () => {
  const pairs = [['id', '7'] as const, ['Title', `two\n${'x'.repeat(300)}`] as const];

  expect(drawPairs(pairs, nowhere)).toBe(`id     7\nTitle  two⏎${'x'.repeat(300)}`);
});

const text = 'Two bottles, the ones with the blue cap.\nNot the green one; see https://example.com/a/path/to/it';

test.each([
  {
    columns: 40,
    lines: [
      'id    7',
      'Note  Two bottles, the ones with the',
      '      blue cap.',
      '      Not the green one; see',
      '      https://example.com/a/path/to/it',
      'Tags  ["a","b"]',
    ],
  },
  {
    columns: 20,
    lines: [
      'id    7',
      'Note  Two bottles,',
      '      the ones with',
      '      the blue cap.',
      '      Not the green',
      '      one; see',
      '      https://',
      '      example.com/a/',
      '      path/to/it',
      'Tags  ["a","b"]',
    ],
  },
])('pairs wrap in $columns columns, at blanks and slashes, and a text keeps its lines', ({ columns, lines }) => {
  const pairs = [['id', '7'] as const, ['Note', text] as const, ['Tags', ['a', 'b']] as const];

  expect(drawPairs(pairs, terminal(columns)).split('\n')).toEqual(lines);
});

test('an object that does not fit on one line of a terminal is indented', () => {
  const pairs = [['V', { a: 'x'.repeat(25), b: null }] as const];

  expect(drawPairs(pairs, terminal(40))).toBe(`V  {\n     "a": "${'x'.repeat(25)}",\n     "b": null\n   }`);
});

test.each([1, 5, 20, 40])('pairs never lose a character, not even in %i columns', (columns) => {
  const drawn = drawPairs([['Description', `${'日'.repeat(100)}${'x'.repeat(300)}`]], terminal(columns));

  expect(drawn.replace(/[^日x]/g, '')).toBe(`${'日'.repeat(100)}${'x'.repeat(300)}`);
  for (const line of drawn.split('\n')) expect(line.length).toBeLessThanOrEqual(Math.max(14, columns));
});
