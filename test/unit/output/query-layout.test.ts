import { expect, test } from 'vitest';
import type { PrintFormat } from '../../../src/output/view.ts';
import { printed, terminal, type Wish } from './printed.ts';
import { jsonView, valuesFrom } from './views.ts';

const values = valuesFrom(
  '{"id":"7","fields":{"Title":"Buy milk","Price":1.10,"Tags":["a","b"]}}',
  '{"id":"8","fields":{"Title":"Bread","Count":2}}',
);
const [milk] = values;

const askOne = (query: string, format: PrintFormat, wish: Wish = {}) =>
  printed(jsonView, [milk ?? null], { format, query, isSeveral: false, ...wish });
const askAll = (query: string, format: PrintFormat, wish: Wish = {}) =>
  printed(jsonView, values, { format, query, isSeveral: true, ...wish });

test.each(['json', 'yaml', 'pretty', 'csv', 'tsv', 'jsonl', 'id'] as const)(
  'a single text, number or boolean is printed bare as %s, and null not at all',
  async (format) => {
    expect(await askOne('fields.Title', format)).toBe('Buy milk\n');
    expect(await askOne('fields.Price', format)).toBe('1.1\n');
    expect(await askOne("fields.Title == 'x'", format)).toBe('false\n');
    expect(await askOne('fields.Nope', format)).toBe('');
  },
);

test('prints JSON if it was requested by name', async () => {
  expect(await askOne('fields.Title', 'json', { isJsonExplicit: true })).toBe('"Buy milk"\n');
  expect(await askOne('fields.Nope', 'json', { isJsonExplicit: true })).toBe('null\n');
  expect(await askAll('fields.Price', 'jsonl', { isJsonExplicit: true })).toBe('1.1\nnull\n');
  expect(await askOne('fields.Title', 'yaml', { isJsonExplicit: true })).toBe('Buy milk\n');
});

test('a bare text is exact in a pipe; on a terminal it keeps its lines, and cannot steer it', async () => {
  const odd = valuesFrom('{"v":"a\\nb\\u001b[2J"}');
  const wish = { format: 'json', query: 'v', isSeveral: false } as const;

  expect(await printed(jsonView, odd, wish)).toBe('a\nb\x1b[2J\n');
  expect(await printed(jsonView, odd, { ...wish, screen: terminal })).toBe('a\nb\\x1b[2J\n');
});

test('several items are queried as an array, even one', async () => {
  expect(await askAll('length(@)', 'json')).toBe('2\n');
  expect(await askOne('length(@)', 'json', { isSeveral: true })).toBe('1\n');
  expect(await askAll('[].id', 'json')).toBe('[\n  "7",\n  "8"\n]\n');
  expect(await askAll('[?fields.Count > `1`].fields', 'yaml')).toBe('- Title: Bread\n  Count: 2\n');
});

test('with jsonl each line is queried as it arrives', async () => {
  expect(await askAll('fields.Title', 'jsonl')).toBe('Buy milk\nBread\n');
  expect(await askAll('[id, fields.Price]', 'jsonl')).toBe('["7",1.1]\n["8",null]\n');
});

test('objects are a table', async () => {
  const query = '[].{id: id, price: fields.Price, count: fields.Count}';

  expect(await askAll(query, 'pretty')).toBe('id  price  count\n7   1.1    null\n8   null   2\n');
  expect(await askAll(query, 'csv')).toBe('id,price,count\n7,1.1,\n8,,2\n');
  expect(await askAll(query, 'csv', { columns: ['count', 'id'] })).toBe('count,id\n,7\n2,8\n');
  expect(await askAll(query, 'pretty', { columns: ['count'] })).toBe('count\nnull\n2\n');
});

test('one object is its names and values, and one row', async () => {
  expect(await askOne('fields', 'pretty')).toBe('Title  Buy milk\nPrice  1.1\nTags   ["a","b"]\n');
  expect(await askOne('fields', 'csv')).toBe('Title,Price,Tags\nBuy milk,1.1,"[""a"",""b""]"\n');
});

test('arrays of arrays are rows without a header', async () => {
  expect(await askAll('[].[id, fields.Title]', 'pretty')).toBe('7  Buy milk\n8  Bread\n');
  expect(await askAll('[].[id, fields.Count]', 'tsv')).toBe('7\t\n8\t2\n');
});

test('arrays of anything else are one value a line', async () => {
  expect(await askOne('fields.Tags', 'pretty')).toBe('a\nb\n');
  expect(await askAll('[].fields.Title', 'csv')).toBe('Buy milk\nBread\n');
});

test('an empty result is an empty list in JSON, and nothing on a terminal', async () => {
  for (const format of ['pretty', 'csv', 'tsv', 'id'] as const) expect(await askAll('[?id == `x`]', format)).toBe('');
  expect(await askAll('[?id == `x`]', 'json')).toBe('[]\n');
  expect(await askAll('[?id == `x`]', 'yaml')).toBe('[]\n');
});

test('ids are those of what the query gives', async () => {
  expect(await askAll("[?fields.Title == 'Bread']", 'id')).toBe('8\n');
  expect(await askAll('[].id', 'id')).toBe('7\n8\n');
  expect(await askAll('[].fields', 'id')).toBe('');
});

test('a bad expression fails before there is any value', async () => {
  for (const format of ['json', 'jsonl', 'none', 'csv'] as const) {
    await expect(printed(jsonView, [], { format, query: 'a[' })).rejects.toMatchObject({ kind: 'usage' });
  }
});

test('with -o none a query is parsed, and never run', async () => {
  expect(await askAll('sum(@)', 'none')).toBe('');
});
