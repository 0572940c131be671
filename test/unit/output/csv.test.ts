import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonView, printed, terminal, valuesFrom } from './printed.ts';

test('the columns are every member that any value has, in the order first seen', async () => {
  const values = valuesFrom('{"id":"7","a":"x"}', '{"b":true,"id":"8"}', '{"id":"9","c":1.10,"a":null}');

  expect(await printed(jsonView, values, { format: 'csv' })).toBe('id,a,b,c\n7,x,,\n8,,true,\n9,,,1.10\n');
  expect(await printed(jsonView, values, { format: 'tsv' })).toBe('id\ta\tb\tc\n7\tx\t\t\n8\t\ttrue\t\n9\t\t\t1.10\n');
});

test('prints the requested columns only, in that order', async () => {
  const values = valuesFrom('{"id":"7","a":"x"}', '{"b":true,"id":"8"}');

  expect(await printed(jsonView, values, { format: 'csv', columns: ['b', 'nope', 'id'] })).toBe(
    'b,nope,id\n,,7\ntrue,,8\n',
  );
});

test('a member called __proto__ is a column like any other', async () => {
  const values = valuesFrom('{"__proto__":"x","constructor":"y"}', '{"toString":"z"}');

  expect(await printed(jsonView, values, { format: 'csv' })).toBe('__proto__,constructor,toString\nx,y,\n,,z\n');
});

test.each([
  ['"a,b"', '"a,b"'],
  ['"a\\"b"', '"a""b"'],
  ['"a\\nb\\r\\nc"', '"a\nb\r\nc"'],
  ['"a\\rb"', '"a\rb"'],
  ['" a"', '" a"'],
  ['"a "', '"a "'],
  ['"a;b"', '"a;b"'],
  ['"sep=;"', '"sep=;"'],
  ['"\\ufeffa"', '"\ufeffa"'],
  ['""', '""'],
  ['null', ''],
  ['"\\u001b[31m\\u202e"', '\x1b[31m\u202e'],
  ['"=1+1"', '=1+1'],
  ['12345678901234567890', '12345678901234567890'],
  ['-0', '-0'],
  ['false', 'false'],
  ['{"a":[1.10,"x,y"]}', '"{""a"":[1.10,""x,y""]}"'],
  ['[]', '[]'],
])('the value %s is the cell %s', async (json, cell) => {
  expect(await printed(jsonView, valuesFrom(`{"v":${json}}`), { format: 'csv' })).toBe(`v\n${cell}\n`);
});

test('on a terminal nothing steers it, and each value is one line', async () => {
  const values = valuesFrom('{"\\u001b":"a\\nb\\u001b[2J\\u202e","w":"x,y"}');

  expect(await printed(jsonView, values, { format: 'csv', screen: terminal })).toBe(
    '\\x1b,w\na⏎b\\x1b[2J\\u{202e},"x,y"\n',
  );
});

test.each(['=1', '+1', '-1', '@a', '\ta', '\ra', '\na', '\0a', '＝1', '＋1', '－1', '＠a'])(
  'the text %j is escaped for spreadsheets',
  async (text) => {
    const safe = await printed(jsonView, [{ v: text, [text]: 'x' }], { format: 'csv', csvSafe: true });
    const exact = await printed(jsonView, [{ v: text }], { format: 'csv' });

    expect(parse(safe)).toEqual([
      ['v', `'${text}`],
      [`'${text}`, 'x'],
    ]);
    expect(parse(exact)).toEqual([['v'], [text]]);
  },
);

test('for a spreadsheet numbers, lists and other text stay what they are', async () => {
  const values = valuesFrom('{"a":-5,"b":-1.10,"c":["=1"],"d":"1=2","e":"\'=1"}');

  expect(await printed(jsonView, values, { format: 'csv', csvSafe: true })).toBe(
    'a,b,c,d,e\n-5,-1.10,"[""=1""]",1=2,\'=1\n',
  );
});

const cell = fc.oneof(
  fc.string({ unit: 'binary' }).filter((text) => !/\p{Surrogate}/u.test(text)),
  fc.string({ unit: fc.constantFrom('a', ',', ';', '\t', '"', '\n', '\r', ' ', '\ufeff', '=', "'") }),
);

test.each([
  ['csv', ','],
  ['tsv', '\t'],
] as const)('%s reads back equal, whatever the cells and names hold', async (format, delimiter) => {
  const rows = fc.array(fc.uniqueArray(fc.tuple(cell, cell), { selector: ([name]) => name, minLength: 1 }), {
    minLength: 1,
  });

  await fc.assert(
    fc.asyncProperty(rows, async (entries) => {
      const names = [...new Set(entries.flat().map(([name]) => name))];
      const view = { ...jsonView, row: (at: unknown) => new Map(entries[at as number]) };

      const text = await printed(view, [...entries.keys()], { format });

      expect(parse(text, { delimiter, bom: true, record_delimiter: ['\n', '\r\n', '\r'] })).toEqual([
        names,
        ...entries.map((row) => names.map((name) => new Map(row).get(name) ?? '')),
      ]);
    }),
    { numRuns: 150 },
  );
});
