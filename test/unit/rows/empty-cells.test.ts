/** Empty cells, with and without quotes. */
import { expect, test } from 'vitest';
import { openRejects } from '../../../src/rows/rejects.ts';
import { rowsFrom, toFields } from './rows-from.ts';

const csv = 'A,B,C\n,"",x\n"",,"y"\n"a","b",""\n';

test('with --empty null a cell without quotes is null, and empty quotes are an empty text', async () => {
  expect(toFields(await rowsFrom('a.csv', csv, { empty: 'null' }))).toEqual([
    { A: null, B: '', C: 'x' },
    { A: '', B: null, C: 'y' },
    { A: 'a', B: 'b', C: '' },
  ]);
});

test('otherwise they mean the same', async () => {
  expect(toFields(await rowsFrom('a.csv', csv))).toEqual([{ C: 'x' }, { C: 'y' }, { A: 'a', B: 'b' }]);
  expect(toFields(await rowsFrom('a.csv', csv, { empty: 'string' }))[0]).toEqual({ A: '', B: '', C: 'x' });
});

test('where a column has no text, both are null', async () => {
  const types = new Map([['B', 'number'] as const]);

  expect(toFields(await rowsFrom('a.csv', csv, { empty: 'null', types }))[0]).toEqual({ A: null, B: null, C: 'x' });
});

test('a rejects file keeps the quotes', async () => {
  const { file, rows } = await rowsFrom('a.csv', csv, { empty: 'null' });
  const rejects = openRejects(file);

  const text = `${rejects.head?.()}${rows.map((row) => rejects.row(row, 'no')).join('')}`;

  expect(text).toBe('A,B,C,listctl:error\n,"",x,no\n"",,y,no\na,b,"",no\n');
});
