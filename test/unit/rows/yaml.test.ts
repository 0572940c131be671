/** YAML as the input of --from. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { NumberToken } from '../../../src/core/json.ts';
import { openRejects } from '../../../src/rows/rejects.ts';
import { rowsFrom, toFields, toIds } from './rows-from.ts';

const list = '# Rows\n- Title: Bread\n  Count: 1.10\n  Code: 007\n- {id: 4, fields: {Title: Oil}}\n';
const rows = [{ Title: 'Bread', Count: new NumberToken('1.10'), Code: '007' }, { Title: 'Oil' }];

test('a list of rows, which keep the digits of their numbers', async () => {
  expect(toFields(await rowsFrom('a.yaml', list))).toEqual(rows);
  expect(toFields(await rowsFrom('a.yml.gz', gzipSync(list)))).toEqual(rows);
  expect(toFields(await rowsFrom('a.txt', list, { format: 'yaml' }))).toEqual(rows);
  expect((await rowsFrom('a.yaml', list)).rows.map(({ line }) => line)).toEqual([2, 5]);
});

test('documents, each a row or a list of rows', async () => {
  const text = '---\nTitle: a\n---\n- Title: b\n- Title: c\n---\n# nothing\n...\n---\nTitle: d\n';

  expect(toFields(await rowsFrom('a.yaml', text))).toEqual(['a', 'b', 'c', 'd'].map((Title) => ({ Title })));
});

test.each([
  '- Title: Bread\n',
  '---\nTitle: Bread\n',
  'id: "4"\nfields:\n  Title: Bread\n',
  'fields:\n  Title: Bread\n',
])('is detected on standard input: %j', async (text) => {
  expect(toFields(await rowsFrom('-', text))).toEqual([{ Title: 'Bread' }]);
});

test('ids of updates are strings, numbers or members', async () => {
  expect(toIds(await rowsFrom('a.yaml', '- 17\n- "18"\n- {id: 19}\n- []\n', { action: 'delete' }))).toEqual([
    '17',
    '18',
    '19',
    '4: neither a JSON object nor an id',
  ]);
});

test('rejects are JSON, which is YAML as well', async () => {
  const outcome = await rowsFrom('a.yaml', list);
  const rejects = openRejects(outcome.file);
  const text = [rejects.head?.(), ...outcome.rows.map((row) => rejects.row(row, 'no\n"x"')), rejects.tail?.()].join('');

  expect(toFields(await rowsFrom('b.yaml', text))).toEqual(rows);
});

test.each([
  ['a: [', 'a.yaml, line 1, column 5: invalid YAML: '],
  ['---\na: 1\n---\na: 1\na: 2\n', 'a.yaml, line 5, column 1: invalid YAML: duplicate key "a"'],
  ['---\n- &x 1\n---\n- *x\n', 'a.yaml, line 4, column 3: invalid YAML: unknown anchor &x'],
  ['site: home\nkey: Title\nitems:\n  - Title: a\n', 'a.yaml is a manifest, not a list of rows'],
  ['# nothing\n', 'a.yaml: it is empty'],
  ['', 'a.yaml: it is empty'],
  [`- ${'x'.repeat(8 * 1024 * 1024)}`, 'a.yaml is longer than 8 MiB'],
])('%j is refused', async (text, message) => {
  await expect(rowsFrom('a.yaml', text)).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringContaining(message),
  });
});

test('no rows are [] only', async () => {
  expect((await rowsFrom('a.yaml', '[]')).rows).toEqual([]);
});
