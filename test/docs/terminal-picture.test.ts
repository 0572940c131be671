import xterm from '@xterm/headless';
import { expect, test } from 'vitest';
import { replaced, rowsOf, terminalPicture, textOf } from './terminal-picture.ts';

const caption = { title: 'a title', description: 'what is seen' };

/** What a terminal shows of a text. */
async function painted(text: string) {
  const screen = new xterm.Terminal({ cols: 40, rows: 5, allowProposedApi: true });
  await new Promise<void>((done) => screen.write(text.replaceAll('\n', '\r\n'), done));
  return rowsOf(screen);
}

/** The texts of a picture, each with its place and its look. */
function textsOf(picture: string): readonly string[] {
  return [...picture.matchAll(/<text [^>]*>[^<]*<\/text>/g)].map(([text]) => text);
}

test('every run of a look has its place, its width and its look', async () => {
  const rows = await painted('\x1b[1mid\x1b[22m a \x1b[31mred\x1b[39m \x1b[2mdim\x1b[22m');

  expect(textsOf(terminalPicture(rows, 40, caption))).toEqual([
    '<text x="20" y="66" textLength="16.86" font-weight="700">id</text>',
    '<text x="45.29" y="66" textLength="8.43">a</text>',
    '<text x="62.15" y="66" textLength="25.29" fill="#ff7b72">red</text>',
    '<text x="95.87" y="66" textLength="25.29" opacity=".65">dim</text>',
  ]);
});

test('columns of a table keep their places, also after characters that are two wide', async () => {
  const rows = await painted('花子 a  b\nab  cd');

  expect(textsOf(terminalPicture(rows, 40, caption))).toEqual([
    '<text x="20" y="66" textLength="33.72">花子</text>',
    '<text x="62.15" y="66" textLength="8.43">a</text>',
    '<text x="87.44" y="66" textLength="8.43">b</text>',
    '<text x="20" y="86" textLength="16.86">ab</text>',
    '<text x="53.72" y="86" textLength="16.86">cd</text>',
  ]);
});

test('what is markup in XML is text in a picture', async () => {
  const picture = terminalPicture(await painted('a <b> & "c"'), 40, { ...caption, title: '<script>' });

  expect(textsOf(picture)).toEqual([expect.stringContaining('>a &lt;b&gt; &amp; &quot;c&quot;</text>')]);
  expect(picture).toContain('<title id="title">&lt;script&gt;</title>');
});

test.each([
  ['a background', '\x1b[41mred'],
  ['an underline', '\x1b[4mline'],
  ['one of 256 colors', '\x1b[38;5;200mpink'],
  ['one of 16 million colors', '\x1b[38;2;1;2;3mdark'],
])('%s is refused, since the picture would not show it', async (_, text) => {
  await expect(painted(text)).rejects.toThrow('a picture has no such look as that of');
});

test('a replaced text looks as the one before it, and moves what follows', async () => {
  const [row = []] = await painted('花子: \x1b[31m12\x1b[39m s, \x1b[32m3\x1b[39m s');

  const made = replaced(row, /\d+/g, '456');

  expect(textOf(made)).toBe('花子: 456 s, 456 s');
  expect(made.filter(({ look }) => look.color === 1).map(({ text }) => text)).toEqual(['4', '5', '6']);
  expect(made.filter(({ look }) => look.color === 2).map(({ text }) => text)).toEqual(['4', '5', '6']);
});
