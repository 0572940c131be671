/** Tables on a real screen, cell by cell: nothing wraps, and columns are aligned. */
import { describe, expect, test } from 'vitest';
import { showItems } from '../support/items-in-terminal.ts';
import type { Terminal } from '../support/terminal.ts';

const widths = [40, 80, 200];
const long = 'a text that goes on and on, '.repeat(12).trim();

/** Titles that a terminal does not show in as many columns as they have characters. */
const wideTitles = [
  { title: 'plain', what: 'ASCII' },
  { title: '買牛奶和麵包', what: 'Chinese' },
  { title: '우유 사기', what: 'Korean' },
  { title: 'ハンカク ﾊﾝｶｸ', what: 'Japanese, of both widths' },
  { title: 'caf\u0065\u0301 cr\u0065\u0300me', what: 'marks that combine' },
  { title: 'milk \u{1f95b} bread \u{1f35e}', what: 'emoji' },
  { title: 'to \u{1f1e9}\u{1f1ea} by \u{1f682}', what: 'flags' },
  { title: 'Ｆｕｌｌｗｉｄｔｈ', what: 'full-width Latin' },
] as const;

describe.each(widths)('at %i columns', (columns) => {
  test('no row of a table wraps, and what was cut ends in …', async () => {
    const items = [1, 2, 3].map((id) => ({
      id: String(id),
      fields: { Title: `${id} ${long}`, Note: long, Count: id },
    }));

    await using shown = await showItems(items, columns);

    const rows = shown.terminal.rows();
    expect(rows.filter(({ isWrapped }) => isWrapped)).toEqual([]);
    expect(rows.map(({ text }) => text.length).filter((length) => length > columns)).toEqual([]);
    const [header, ...all] = rows.map(({ text }) => text);
    const lines = all.slice(0, 3);
    expect(header).toMatch(/^id {2}Title +Note +Count$/);
    expect(all.slice(3)).toEqual([expect.stringMatching(/^… some values are cut: pass --wide/)]);
    for (const [at, line] of lines.entries())
      expect(line).toMatch(RegExp(`^${at + 1} {3}${at + 1} a .*… {2}a .*… {2}${at + 1}$`));
    const at = header?.indexOf('Count');
    expect(lines.map((_, row) => lastColumn(shown.terminal, row + 1))).toEqual(lines.map(() => at));
  });

  test('columns are aligned, whatever the cells before them contain', async () => {
    const items = wideTitles.map(({ title }, at) => ({ id: String(at), fields: { Title: title, Mark: '|' } }));

    await using shown = await showItems(items, columns);

    const at = shown.terminal.rows()[0]?.text.indexOf('Mark') ?? -1;
    expect(at).toBeGreaterThan(0);
    for (const [row, { what }] of wideTitles.entries())
      expect([what, shown.terminal.cellAt(row + 1, at)]).toEqual([what, '|']);
    for (const [row, { title }] of wideTitles.entries()) expect(shown.terminal.rows()[row + 1]?.text).toContain(title);
  });

  test('wide text is cut between characters, and what is behind it stays in its column', async () => {
    const items = wideTitles.map(({ title }, at) => ({
      id: String(at),
      fields: { Title: title.repeat(40), Mark: '|' },
    }));

    await using shown = await showItems(items, columns);

    const rows = shown.terminal.rows();
    expect(rows.filter(({ isWrapped }) => isWrapped)).toEqual([]);
    const at = rows[0]?.text.indexOf('Mark') ?? -1;
    for (const [row, { what }] of wideTitles.entries()) {
      expect([what, shown.terminal.cellAt(row + 1, at)]).toEqual([what, '|']);
      expect(rows[row + 1]?.text).toMatch(/… {2,3}\|$/);
    }
  });

  test('of one item every value is whole: it wraps below itself, and the terminal wraps no row', async () => {
    const fields = { Title: long, 'A name that is longer than most': '買牛奶'.repeat(60), Done: true };

    await using shown = await showItems([{ id: '17', fields }], columns);

    const rows = shown.terminal.rows();
    expect(rows.filter(({ isWrapped }) => isWrapped)).toEqual([]);
    const values = rows.map(({ text }) => text.slice(text.lastIndexOf('  ') + 2)).join(' ');
    expect(values).toContain(long);
    expect(values.replaceAll(' ', '')).toContain('買牛奶'.repeat(60));
  });

  test('columns that do not fit are counted in a last row', async () => {
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`Field${at}`, `value ${at}`]));

    await using shown = await showItems(
      [
        { id: '1', fields },
        { id: '2', fields },
      ],
      columns,
    );

    const rows = shown.terminal.rows();
    expect(rows.filter(({ isWrapped }) => isWrapped)).toEqual([]);
    const names = rows[0]?.text.split(/ +/) ?? [];
    expect(rows[3]?.text).toMatch(RegExp(`^… ${61 - names.length} more columns`));
    expect(rows).toHaveLength(4);
  });
});

describe('color', () => {
  const items = [1, 2].map((id) => ({ id: String(id), fields: { Title: 'milk', Note: null } }));

  test('sets the header off, and changes no place', async () => {
    await using colored = await showItems(items, 80);
    await using plain = await showItems(items, 80, { env: { NO_COLOR: '1' } });

    expect(colored.terminal.screen.buffer.active.getLine(0)?.getCell(0)?.isBold()).toBeTruthy();
    expect(colored.terminal.text()).toBe(plain.terminal.text());
  });

  test.each([
    { how: 'NO_COLOR', env: { NO_COLOR: '1' }, words: [] },
    { how: 'TERM=dumb', env: { TERM: 'dumb' }, words: [] },
    { how: '--no-color', env: {}, words: ['--no-color'] },
    { how: '--color never', env: { FORCE_COLOR: '1' }, words: ['--color', 'never'] },
  ])('is off with $how: not one escape byte', async ({ env, words }) => {
    await using shown = await showItems(items, 80, { env, words });

    expect(shown.terminal.written).not.toContain('\u001b');
  });
});

/** The place of the last character in a row of the screen. */
function lastColumn(terminal: Terminal, row: number): number {
  let column = terminal.screen.cols - 1;
  while (column > 0 && [' ', '', undefined].includes(terminal.cellAt(row, column))) column -= 1;
  return column;
}
