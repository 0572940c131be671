import { expect, test } from 'vitest';
import { rowsFrom, toFields, toIds } from './rows-from.ts';

test('an id a line: nothing is trimmed, CR dropped, empty lines skipped', async () => {
  const outcome = await rowsFrom('ids.txt', '\ufeffa\r\n\n 1 \r\n\r\na/b?#%\\é😀,\n"x"\nlast', { action: 'delete' });

  expect(toIds(outcome)).toEqual(['a', ' 1 ', 'a/b?#%\\é😀,', '"x"', 'last']);
  expect(outcome.rows.map(({ line }) => line)).toEqual([1, 3, 5, 6, 7]);
});

test('a blank at either end of an id is mentioned, since it is a part of the id', async () => {
  const { check } = await rowsFrom('ids.txt', '1\n 2\n3 \n', { action: 'delete' });
  const { check: plain } = await rowsFrom('ids.txt', '1\na b\n', { action: 'delete' });

  expect(check.notices).toEqual(['some ids begin or end with a blank, which is sent as a part of the id']);
  expect(plain.notices).toEqual([]);
});

test('I01: ids that are invalid as a path segment are invalid rows', async () => {
  const outcome = await rowsFrom('a.ids', `.\n..\na\0b\na\tb\na\rb\n${'x'.repeat(1025)}\n%2e%2e\na/../b\n`, {
    action: 'get',
  });

  expect(toIds(outcome)).toEqual([
    expect.stringMatching(/^1:1 the item id is "\."/),
    expect.stringMatching(/^2:1 the item id is "\.\."/),
    '3:1 the item id has control characters',
    '4:1 the item id has control characters',
    '5:1 the item id has control characters',
    '6:1 the item id is longer than 1,024 bytes',
    '%2e%2e',
    'a/../b',
  ]);
});

test('an update of ids sends the common fields, and needs some; a create can send none', async () => {
  expect(toFields(await rowsFrom('a.txt', '1\n2\n', { action: 'update', common: { A: null } }))).toEqual([
    { A: null },
    { A: null },
  ]);
  expect(toFields(await rowsFrom('a.txt', '1\n', { action: 'update' }))).toEqual(['1: no fields to send']);
  await expect(rowsFrom('a.txt', '1\n', { common: { A: 1 } })).rejects.toMatchObject({ kind: 'usage' });
});

test.each([
  ['1', ['1']],
  ['12\r\n\n13\r\n', ['12', '13']],
  ['6A9CC6FD-9888-2355-248a-9b9fb828b4e0\n', ['6A9CC6FD-9888-2355-248a-9b9fb828b4e0']],
])('a stream of numbers or GUIDs is one of ids: %j', async (content, ids) => {
  expect(toIds(await rowsFrom('-', content, { action: 'delete' }))).toEqual(ids);
});

test.each([
  ['1\n', 'create'],
  ['1,2\n3,4\n', 'delete'],
  ['1\n2,a\n3\n', 'delete'],
  ['abc\n', 'delete'],
  ['1 \n', 'delete'],
  ['-1\n', 'delete'],
] as const)('but not %j, to %s', async (content, action) => {
  await expect(rowsFrom('-', content, { action })).rejects.toMatchObject({
    kind: 'usage',
    message: 'cannot tell the format of standard input from its content',
  });
});

test('I12: a line longer than 8 MiB is bad, and the next is read', async () => {
  expect(toIds(await rowsFrom('a.txt', `${'x'.repeat(9_000_000)}\n2\n`, { action: 'get' }))).toEqual([
    '1: longer than 8 MiB',
    '2',
  ]);
});
