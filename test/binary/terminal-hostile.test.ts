/** What an item holds is shown on a terminal, and steers nothing there. */
import { expect, test } from 'vitest';
import { showItems } from '../support/items-in-terminal.ts';

test('the content of an item cannot move the cursor, ring the bell, set the title or reverse text', async () => {
  const hostile = {
    title: '\u001b]0;owned\u0007\u001b]2;owned\u001b\\\u009d0;owned\u009c',
    moves: 'before\u001b[2J\u001b[1;1H\u001b[10A\rafter\u0008\u0008',
    colors: '\u001b[31mred\u001b[7m\u009b32m',
    lines: 'one\ntwo\r\nthree\u2028four\u000bfive\u0085six',
    order: '\u202eabc\u2066def\u200f',
    asks: '\u001b[6n\u001b[c\u0005\u001bP$q"p\u001b\\',
    modes: '\u001b[?1049h\u001b[?25l\u001bc\u001b(0',
    bell: '\u0007\u0007',
    link: '\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\',
    clipboard: '\u001b]52;c;cm0gLXJmIH4=\u0007',
  };
  const items = [1, 2].map((id) => ({ id: String(id), fields: { ...hostile, last: `|${id}` } }));

  await using shown = await showItems(items, 1500, { words: ['--no-color'] });

  const { terminal, seen } = shown;
  expect(seen).toEqual({ titles: [], bells: 0, answers: [] });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  expect(terminal.written).not.toMatch(/[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u202e\u2066\u200f]/);
  expect(terminal.screen.buffer.active.type).toBe('normal');
  expect(terminal.cursor).toEqual({ row: 3, column: 0, isVisible: true });
  const rows = terminal.rows().map(({ text }) => text);
  expect(rows).toHaveLength(3);
  expect(rows[1]).toContain('\\x1b]0;owned\\x07');
  expect(rows[1]).toContain('one⏎two⏎three\\u{2028}four');
  expect(rows[1]).toContain('\\u{202e}abc');
  const at = rows[0]?.indexOf('last') ?? -1;
  expect([terminal.cellAt(1, at), terminal.cellAt(2, at)]).toEqual(['|', '|']);
});

test('nor does what a service says of a failure', async () => {
  const error = { error: '\u001b]0;owned\u0007no\u001b[2J\u202e\nlistctl: all is well' };
  await using shown = await showItems([{ id: 'x', fields: {} }], 200, {
    status: 400,
    body: error,
    words: ['--no-color'],
  });

  const { terminal, seen } = shown;
  expect(seen).toEqual({ titles: [], bells: 0, answers: [] });
  for (const character of ['\u001b', '\u0007', '\u202e']) expect(terminal.written).not.toContain(character);
  expect(terminal.lines().filter((line) => line.startsWith('listctl:'))).toHaveLength(1);
});
