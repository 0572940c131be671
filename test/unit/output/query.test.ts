import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson, printJson } from '../../../src/core/json.ts';
import { compileQuery } from '../../../src/output/query.ts';

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
  ['[*].n', '[1.10,12345678901234567890,5,-0,12345678901234567891]'],
  ['[0].n', '1.10'],
  ['[?n == `1.1`].n', '[1.10]'],
  ['[?n == `1.10`].n', '[1.10]'],
  ['[?n == `5`].n', '[5]'],
  ['[?n == `5.0`].n', '[5]'],
  ['[?n == `0`].id', '["4"]'],
  ['[?n == `12345678901234567891`].id', '["5"]'],
  ['[?n != `12345678901234567891`].id', '["1","2","3","4"]'],
  ['[?n > `1.1`].id', '["2","3","5"]'],
  ['[?n >= `1.1`].id', '["1","2","3","5"]'],
  ['[?n < `5`].id', '["1","4"]'],
  ['[?n > `12345678901234567890`].id', '["5"]'],
  ['[?`2` < n && n < `100`].id', '["3"]'],
  ['sort_by(@, &n)[].id', '["4","1","3","2","5"]'],
  ['sort([].n)', '[-0,1.10,5,12345678901234567890,12345678901234567891]'],
  ['reverse(sort_by(@, &n))[0].n', '12345678901234567891'],
  ['max([].n)', '12345678901234567891'],
  ['min([].n)', '-0'],
  ['max_by(@, &n).id', '"5"'],
  ['min_by(@, &n).n', '-0'],
  ['sum([?n < `100`].n)', '6.1'],
  ['avg([?n < `100`].n)', '2.033333333333333'],
  ['contains([].n, `1.1`)', 'true'],
  ['contains([].n, `5`)', 'true'],
  ['contains([].n, `12345678901234567892`)', 'false'],
  ['contains(@, [0])', 'true'],
  ['[].to_string(n)', '["1.10","12345678901234567890","5","-0","12345678901234567891"]'],
  ['to_string([0])', '"{\\"id\\":\\"1\\",\\"n\\":1.10,\\"s\\":\\"b\\"}"'],
  ["to_number('1.50')", '1.50'],
  ["to_number('0x1f')", 'null'],
  ["to_number('')", 'null'],
  ['to_number([1].n)', '12345678901234567890'],
  ['[].type(n)', '["number","number","number","number","number"]'],
  ['abs(`-12345678901234567890`)', '12345678901234567890'],
  ['abs(`-5`)', '5'],
  ['ceil([0].n)', '2'],
  ['floor([0].n)', '1'],
  ['floor([1].n)', '12345678901234567890'],
  ['[0].n + [2].n', '6.1'],
  ['[2].n * `2` - `1`', '9'],
  ['not_null([0].nope, [0].n)', '1.10'],
  ['to_array([0].n)', '[1.10]'],
  ['[0].n && id', 'null'],
  ['[0].n || id', '1.10'],
  ['[?n].id', '["1","2","3","4","5"]'],
  ['map(&n, @)[0]', '1.10'],
  ['[0].[n, `2.50`]', '[1.10,2.50]'],
  ['[0].{a: n, b: `1e400`}', '{"a":1.10,"b":1e400}'],
  ['[0].n.x', 'null'],
  ['[0].n[0]', 'null'],
  ['[0].n.*', 'null'],
  ['merge([0], {n: `2.0`}).n', '2.0'],
  ['values([0])', '["1",1.10,"b"]'],
  ['items([0])[1]', '["n",1.10]'],
  ["from_items([['a', [0].n]])", '{"a":1.10}'],
  ['group_by(@, &s).b[0].n', '1.10'],
  ['zip([].id, [].n)[0]', '["1",1.10]'],
] as const)('%s is %s', (query, answer) => {
  expect(ask(query, items)).toBe(answer);
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
] as const)('texts go by code points, as in az and aws: %s is %s', (query, answer) => {
  expect(ask(query, items)).toBe(answer);
});

test('a plain number and one that keeps its digits are alike to every comparison', () => {
  const json = '[{"n":2},{"n":2.0},{"n":20e-1}]';

  expect(ask('[?n == `2`].n', json)).toBe('[2,2.0,20e-1]');
  expect(ask('[?n == [0].n]', json)).toBe('[]');
  expect(ask('[0].n == [1].n && [1].n == [2].n', json)).toBe('true');
  expect(ask('[0] == [1]', json)).toBe('true');
  expect(ask('[?n < `3`].n | sort(@)', json)).toBe('[2,2.0,20e-1]');
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
  expect(() => ask('map(@, [`1`])', json)).toThrow('map() takes an &expression, and got object');
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
  ['[?a==`1]', 'the ` is never closed, at character 6'],
  ["a || 'x", "the ' is never closed, at character 6"],
  ['a || `{"a":`', 'a literal is not JSON, at character 6'],
  ['a || `b"c`', 'a literal is not JSON, at character 6'],
  ['nope(a)', 'there is no function nope(), at character 1'],
  ['a | toString(@)', 'there is no function toString(), at character 5'],
  ['[].sort_by(@)', 'sort_by() takes 2 arguments, and got 1, at character 4'],
  ['length()', 'length() takes 1 argument, and got 0, at character 1'],
  ["starts_with('a')", 'starts_with() takes 2 arguments, and got 1, at character 1'],
  ['&a', 'an &expression stands where no function takes it, at character 1'],
  ['('.repeat(50_000), 'it nests too deep, at its end'],
])('%j is refused before anything is asked', (query, reason) => {
  expect(() => compileQuery(query)).toThrow(
    expect.objectContaining({ kind: 'usage', message: `--query is no JMESPath expression: ${reason}` }),
  );
});

test.each(['.a', '[0]', ' | a', ' || a'])('30,000 steps of "%s" nest too deep', (step) => {
  expect(() => compileQuery(`a${step.repeat(30_000)}`)).toThrow(
    expect.objectContaining({ kind: 'usage', message: expect.stringContaining('it nests too deep') }),
  );
  expect(ask(`a${step.repeat(900)}`, '{}')).toBe('null');
});

test.each([
  ['sum(@)', '["x"]', 'sum() takes an array of numbers, and got array'],
  ['length(@)', '1.10', 'length() takes an array, object or string, and got number'],
  ['sort_by(@, &a)', '[{"a":1},{"a":"x"}]', 'numbers or strings have an order, and not string beside number'],
  ['sort_by(@, &b)', '[{"a":1}]', 'numbers or strings have an order, and not null beside null'],
  ['sum(@)', '[1e400]', 'the result is too large for a number'],
  ['@ / `0`', '1.10', 'not-a-number: divide by zero'],
  [
    'upper(@)',
    '1.10',
    'Invalid type: upper() expected argument 1 to be type (string) but received type number instead.',
  ],
])('%s does not fit %s', (query, json, reason) => {
  expect(() => ask(query, json)).toThrow(
    expect.objectContaining({ kind: 'refused', message: `--query does not fit what came: ${reason}` }),
  );
});

test('whatever comes is picked as it came', () => {
  const json = fc.json({ maxDepth: 4 }).map((text) => printJson(parseJson(text)));
  fc.assert(
    fc.property(json, (text) => {
      expect(ask('@', text)).toBe(text);
      expect(ask('[0].a', `[{"a":${text}}]`)).toBe(text);
      expect(ask('[0] == [1]', `[${text},${text}]`)).toBe('true');
    }),
  );
});
