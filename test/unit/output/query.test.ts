import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameValue } from '../../../src/core/item.ts';
import { parseJson, printJson } from '../../../src/core/json.ts';
import { compileQuery } from '../../../src/output/query.ts';
import type { PrintFormat } from '../../../src/output/view.ts';
import { jsonView, printed, terminal, valuesFrom, type Wish } from './printed.ts';

/** Asks the query of what the JSON text says. */
function ask(query: string, json: string): string {
  return printJson(compileQuery(query)(parseJson(json)));
}

// Plain numbers beside ones whose digits a double cannot hold as they are.
const items = `[
  {"id":"1","n":1.10,"s":"b"},
  {"id":"2","n":12345678901234567890,"s":"a"},
  {"id":"3","n":5,"s":"ä"},
  {"id":"4","n":-0,"s":"B"},
  {"id":"5","n":12345678901234567891,"s":"😀"}
]`;

test.each([
  ['[*].n', '[1.1,12345678901234567890,5,0,12345678901234567891]'],
  ['[0].n', '1.1'],
  ['[1].n', '12345678901234567890'],
  ['[?n == `1.1`].n', '[1.1]'],
  ['[?n == `1.10`].n', '[1.1]'],
  ['[?n == `5.0`].n', '[5]'],
  ['[?n == `0`].id', '["4"]'],
  ['[?n != `5`].id', '["1","2","4","5"]'],
  ['[?n > `1.1`].id', '["3"]'],
  ['[?n >= `1.1`].id', '["1","3"]'],
  ['[?n < `5`].id', '["1","4"]'],
  ['[?`2` < n && n < `100`].id', '["3"]'],
  ['[1].n == [1].n', 'true'],
  ['[1].n == [4].n', 'false'],
  ['sort_by([?n < `100`], &n)[].id', '["4","1","3"]'],
  ['sort([?n < `100`].n)', '[0,1.1,5]'],
  ['sort([`10`, `9`, `1.10`])', '[1.1,9,10]'],
  ['reverse(sort_by([?n < `100`], &n))[0].n', '5'],
  ['max([?n < `100`].n)', '5'],
  ['min([?n < `100`].n)', '0'],
  ['max_by([?n < `100`], &n).id', '"3"'],
  ['min_by([?n < `100`], &n).n', '0'],
  ['max(`[]`)', 'null'],
  ['sum([?n < `100`].n)', '6.1'],
  ['avg([?n < `100`].n)', '2.033333333333333'],
  ['contains([].n, `1.1`)', 'true'],
  ['contains([].n, `5`)', 'true'],
  ['contains(@, [0])', 'true'],
  ["contains('abc', 'b')", 'true'],
  ['[].to_string(n)', '["1.1","12345678901234567890","5","0","12345678901234567891"]'],
  ['to_string([1])', '"{\\"id\\":\\"2\\",\\"n\\":12345678901234567890,\\"s\\":\\"a\\"}"'],
  ["to_number('1.50')", '1.5'],
  ["to_number('12345678901234567890')", '12345678901234567890'],
  ["to_number('0x1f')", 'null'],
  ["to_number('')", 'null'],
  ['to_number([1].n)', '12345678901234567890'],
  ['[].type(n)', '["number","number","number","number","number"]'],
  ['abs(`-5`)', '5'],
  ['ceil([0].n)', '2'],
  ['floor([0].n)', '1'],
  ['[0].n + [2].n', '6.1'],
  ['[2].n * `2` - `1`', '9'],
  ['not_null([0].nope, [1].n)', '12345678901234567890'],
  ['to_array([1].n)', '[12345678901234567890]'],
  ['[1].n && id', 'null'],
  ['[1].n || id', '12345678901234567890'],
  ['[?n].id', '["1","2","3","4","5"]'],
  ['map(&n, @)[1]', '12345678901234567890'],
  ['[1].{a: n}', '{"a":12345678901234567890}'],
  ['[1].n.x', 'null'],
  ['[1].n[0]', 'null'],
  ['[1].n.*', 'null'],
  ['merge([1], {s: `2.0`}).[n, s]', '[12345678901234567890,2]'],
  ['values([1])', '["2",12345678901234567890,"a"]'],
  ["from_items([['a', [1].n]])", '{"a":12345678901234567890}'],
  ['group_by(@, &s).a[0].n', '12345678901234567890'],
  ['zip([].id, [].n)[1]', '["2",12345678901234567890]'],
] as const)('%s is %s', (query, result) => {
  expect(ask(query, items)).toBe(result);
});

test.each([
  ["[?s > 'a'].id", '["1","3","5"]'],
  ['sort_by(@, &s)[].s', '["B","a","b","ä","😀"]'],
  ['max([].s)', '"😀"'],
  ['min([].s)', '"B"'],
  ['[?s == `a`].id', '["2"]'],
  ["[?starts_with(s, 'b')].id | [0]", '"1"'],
  ["join('-', [].id)", '"1-2-3-4-5"'],
  ['length([4].s)', '1'],
  ["[?n > 'a']", '[]'],
] as const)('strings are ordered by code points, as in az and aws: %s is %s', (query, answer) => {
  expect(ask(query, items)).toBe(answer);
});

test('a number is compared by its value, however it is written', () => {
  const json = '[{"n":2},{"n":2.0},{"n":20e-1}]';

  expect(ask('[?n == `2`].n', json)).toBe('[2,2,2]');
  expect(ask('[0].n == [1].n && [1].n == [2].n', json)).toBe('true');
  expect(ask('[0] == [1]', json)).toBe('true');
});

test('names that every object of JavaScript has are only there if they came', () => {
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'length']) {
    expect(ask(`"${name}"`, '{"a":1}')).toBe('null');
    expect(ask(`"${name}"`, `{"${name}":"x"}`)).toBe('"x"');
    expect(ask(`{b: a}."${name}"`, '{"a":1}')).toBe('null');
    expect(ask(`{"${name}": a}`, '{"a":1}')).toBe(`{"${name}":1}`);
    expect(ask(`merge(@, {b: a})."${name}"`, `{"a":1,"${name}":{"x":1}}`)).toBe('{"x":1}');
    expect(ask(`group_by(@, &s)`, `[{"s":"${name}"}]`)).toBe(`{"${name}":[{"s":"${name}"}]}`);
    expect(ask(`\`{"${name}":1}\``, 'null')).toBe(`{"${name}":1}`);
    expect(ask(`from_items([['${name}', a]])`, '{"a":1}')).toBe(`{"${name}":1}`);
    expect(ask('keys(@)', `{"${name}":1}`)).toBe(`["${name}"]`);
  }
  expect(({} as Record<string, unknown>)['x']).toBe(undefined);
});

test('no data can pass itself off as an expression, a function or a number', () => {
  const json = '{"expref":true,"type":"Field","name":"x","digits":"5","description":"5"}';

  expect(ask('length(@)', json)).toBe('5');
  expect(ask('type(@)', json)).toBe('"object"');
  expect(ask('not_null(@).name', json)).toBe('"x"');
  expect(() => ask('map(@, [`1`])', json)).toThrow(
    'expected argument 1 to be type (expression) but received type object',
  );
});

test.each([
  ['', 'it is incomplete, at its end'],
  ['a.', 'it is incomplete, at its end'],
  ['[?a==`1`', 'it is incomplete, at its end'],
  ['sum(a', 'it is incomplete, at its end'],
  ['a.b[?c==]', 'invalid token (Rbracket): "]", at character 9'],
  ['[?a > 5]', 'invalid token (Number): "5", at character 7'],
  ['a..b', 'unexpected token: .(Dot), at character 3'],
  ['ab cde', 'unexpected token type: UnquotedIdentifier, value: cde, at character 4'],
  ['"😀" ~', 'unknown character: ~, at character 5'],
  [
    '[?a == `12345678901234567890`]',
    '12345678901234567890 has too many digits to compare or calculate with, at character 8',
  ],
  ['[?a==`1]', 'the ` is never closed, at character 6'],
  ["a || 'x", "the ' is never closed, at character 6"],
  ['a || `{"a":`', 'it is incomplete, at its end'],
  ['nope(a)', 'unknown function nope(), at character 1'],
  ['a | toString(@)', 'unknown function toString(), at character 5'],
  ['[].sort_by(@)', 'sort_by() takes at least 2 arguments but received 1, at character 4'],
  ['length()', 'length() takes 1 argument but received 0, at character 1'],
  ["starts_with('a')", 'starts_with() takes at least 2 arguments but received 1, at character 1'],
  ['&a', 'an &expression is not valid here, at character 1'],
  ['('.repeat(50_000), 'it is nested too deeply, at its end'],
])('%j is refused before any request', (query, reason) => {
  expect(() => compileQuery(query)).toThrow(
    expect.objectContaining({ kind: 'usage', message: `invalid JMESPath expression: ${reason}` }),
  );
});

test.each(['.a', '[0]', ' | a', ' || a'])('30,000 steps of "%s" are nested too deeply', (step) => {
  expect(() => compileQuery(`a${step.repeat(30_000)}`)).toThrow(
    expect.objectContaining({ kind: 'usage', message: expect.stringContaining('it is nested too deeply') }),
  );
  expect(ask(`a${step.repeat(900)}`, '{}')).toBe('null');
});

test.each([
  ['sum(@)', '["x"]', 'sum() expected argument 1 to be type (Array<number>) but received type array instead.'],
  [
    'length(@)',
    '1.10',
    'length() expected argument 1 to be type (string | array | object) but received type number instead.',
  ],
  ['sort_by(@, &a)', '[{"a":1},{"a":"x"}]', 'cannot compare string with number: expected numbers or strings'],
  ['sort_by(@, &b)', '[{"a":1}]', 'cannot compare null with null: expected numbers or strings'],
  ['sum(@)', '[1e400]', 'a number has too many digits to compare or calculate with'],
  ['sort(@)', '[1e400,1]', 'a number has too many digits to compare or calculate with'],
  ['sum(@)', '[1e308,1e308]', 'the result is too large for a number'],
  ['@ / `0`', '1.10', 'not-a-number: divide by zero'],
  ['upper(@)', '1.10', 'upper() expected argument 1 to be type (string) but received type number instead.'],
])('%s does not fit %s', (query, json, reason) => {
  expect(() => ask(query, json)).toThrow(
    expect.objectContaining({ kind: 'refused', message: `--query failed: ${reason}` }),
  );
});

test('whatever comes is picked with its value', () => {
  const json = fc.json({ maxDepth: 4 }).map((text) => printJson(parseJson(text)));
  fc.assert(
    fc.property(json, (text) => {
      expect(isSameValue(parseJson(ask('@', text)), parseJson(text))).toBe(true);
      expect(isSameValue(parseJson(ask('[0].a', `[{"a":${text}}]`)), parseJson(text))).toBe(true);
    }),
  );
});

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
  expect(await askAll('[].id', 'json')).toBe('7\n8\n');
  expect(await askAll('[].id', 'json', { isJsonExplicit: true })).toBe('[\n  "7",\n  "8"\n]\n');
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
