import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Failure } from '../../../src/core/errors.ts';
import { type JsonValue, parseJson, printJson } from '../../../src/core/json.ts';
import { deletedView } from '../../../src/output/item.ts';
import { jsonText, wholeLines } from '../../../src/output/layout.ts';
import { openPrinter } from '../../../src/output/printer.ts';
import { dryRunFormats, outputFormats, plainStyle, type Style, type View } from '../../../src/output/view.ts';
import { jsonView, pipe, printed, recorder, terminal, valuesFrom } from './printed.ts';

interface Named {
  readonly name: string;
}

const view: View<Named> = {
  pretty: async (values, { columns }) => `${values.map(({ name }) => name).join('+')} on ${columns}`,
  json: ({ name }) => ({ name }),
  id: ({ name }) => (name === 'nameless' ? undefined : name),
};
const one = [{ name: 'a' }];
const two = [{ name: 'a' }, { name: 'b' }];

test.each([
  ['pretty', one, false, 'a on 80\n'],
  ['pretty', two, true, 'a+b on 80\n'],
  ['json', one, false, '{\n  "name": "a"\n}\n'],
  ['json', one, true, '[\n  {\n    "name": "a"\n  }\n]\n'],
  ['json', two, true, '[\n  {\n    "name": "a"\n  },\n  {\n    "name": "b"\n  }\n]\n'],
  ['jsonl', one, false, '{"name":"a"}\n'],
  ['jsonl', two, true, '{"name":"a"}\n{"name":"b"}\n'],
  ['yaml', one, false, 'name: a\n'],
  ['yaml', one, true, '- name: a\n'],
  ['yaml', two, true, '- name: a\n- name: b\n'],
  ['csv', one, false, 'name\na\n'],
  ['csv', two, true, 'name\na\nb\n'],
  ['tsv', two, true, 'name\na\nb\n'],
  ['id', one, false, 'a\n'],
  ['id', two, true, 'a\nb\n'],
  ['none', two, true, ''],
] as const)('%s of %j, several: %j', async (format, values, isSeveral, text) => {
  expect(await printed(view, values, { format, isSeveral, screen: terminal })).toBe(text);
});

test.each(outputFormats)('%s of nothing is nothing at all', async (format) => {
  for (const query of [undefined, '@']) {
    expect(await printed(view, [], { format, isSeveral: false, query })).toBe('');
    expect(await printed(view, [], { format, isSeveral: true, query })).toBe('');
    expect(await printed(view, [], { format, isSeveral: true, query, columns: ['name'] })).toBe('');
  }
});

test.each([
  ['json', undefined, '[]\n'],
  ['yaml', undefined, '[]\n'],
  ['json', '@', '[]\n'],
  ['json', 'length(@)', '0\n'],
  ...(['pretty', 'jsonl', 'csv', 'tsv', 'id', 'none'] as const).map((format) => [format, undefined, ''] as const),
] as const)('%s of nothing, asked %s, where that is an answer: %j', async (format, query, text) => {
  const answering = { ...view, printsNone: true };

  expect(await printed(answering, [], { format, isSeveral: true, query })).toBe(text);
  expect(await printed(answering, [], { format, isSeveral: false, query })).toBe('');
});

test.each(['json', 'yaml'] as const)('three values are never three documents of %s, for any flags', async (format) => {
  const three = [...two, { name: 'c' }];

  expect(await printed(view, three, { format, isSeveral: false })).toBe(
    await printed(view, three, { format, isSeveral: true }),
  );
});

test('JSON that is printed value by value is what it would be all at once', async () => {
  const values = valuesFrom('{"a":[1,{"b":"x\\ny"}],"c":{}}', '[]', '"\\n"', '1.10');

  expect(await printed(jsonView, values)).toBe(
    '[\n  {\n    "a": [\n      1,\n      {\n        "b": "x\\ny"\n      }\n    ],\n    "c": {}\n  },\n  [],\n  "\\n",\n  1.10\n]\n',
  );
});

test('an id is printed unchanged into a pipe, and escaped on a terminal', async () => {
  const values = [{ name: 'a\x1b]0;x\x07\u202eb' }];

  expect(await printed(view, values, { format: 'id' })).toBe('a\x1b]0;x\x07\u202eb\n');
  expect(await printed(view, values, { format: 'id', screen: terminal })).toBe('a\\x1b]0;x\\x07\\u{202e}b\n');
});

test('a terminal without a width is a terminal', async () => {
  const screen = { ...terminal, columns: 0 };

  expect(await printed(view, [{ name: '\x1b' }], { format: 'id', screen })).toBe('\\x1b\n');
});

test('a value without an id has no line among the ids', async () => {
  expect(await printed(view, [{ name: 'nameless' }, { name: 'b' }], { format: 'id' })).toBe('b\n');
});

test('a table shows the requested columns, in that order, and blanks for unknown ones', async () => {
  const values = valuesFrom('{"id":"7","a":"x","b":1.10}', '{"id":"8","b":null}');
  const wish = { format: 'pretty', columns: ['b', 'nope', 'a'] } as const;

  expect(await printed(jsonView, values, wish)).toBe('b     nope  a\n1.10        x\nnull\n');
  expect(await printed(jsonView, values.slice(0, 1), { ...wish, isSeveral: false })).toBe(
    'b     1.10\nnope\na     x\n',
  );
});

test('prints a table with --columns, even for a view with its own text', async () => {
  expect(await printed(deletedView, [{ id: '7' }], { format: 'pretty', columns: ['id'] })).toBe('id\n7\n');
});

test('a line is on its way before the next value comes', async () => {
  const stdout = recorder();
  const printer = await openPrinter(view, { format: 'jsonl', isSeveral: true, screen: pipe }, stdout);

  await printer.print({ name: 'a' });
  await new Promise((resolve) => setImmediate(resolve));

  expect(stdout.texts).toEqual(['{"name":"a"}\n']);
});

test('many short lines are few writes, and no long wait', async () => {
  const stdout = recorder();
  const printer = await openPrinter(view, { format: 'jsonl', isSeveral: true, screen: pipe }, stdout);

  for (let at = 0; at < 100_000; at += 1) await printer.print({ name: String(at) });
  await printer.end();

  expect(stdout.texts.join('').split('\n').length).toBe(100_001);
  expect(stdout.texts.length).toBeLessThan(100);
  expect(Math.max(...stdout.texts.map(({ length }) => length))).toBeLessThan(70_000);
});

test('a failed write is reported by the next value and at the end, and only the first is written', async () => {
  let writes = 0;
  const full = {
    isClosed: false,
    write: async () => {
      writes += 1;
      throw new Failure('local-file', 'no space');
    },
  };
  const printer = await openPrinter(view, { format: 'jsonl', isSeveral: true, screen: pipe }, full);

  await printer.print({ name: 'a' });
  await new Promise((resolve) => setImmediate(resolve));

  await expect(printer.print({ name: 'b' })).rejects.toMatchObject({ kind: 'local-file' });
  await expect(printer.end()).rejects.toMatchObject({ kind: 'local-file' });
  expect(writes).toBe(1);
});

test('once the reader has closed the pipe, values are not evaluated', async () => {
  const stdout = { ...recorder(), isClosed: true };
  const printer = await openPrinter(view, { format: 'jsonl', isSeveral: true, screen: pipe }, stdout);

  await printer.print({
    get name(): string {
      throw new Error('looked at');
    },
  });
  await printer.end();

  expect(stdout.texts).toEqual([]);
});

test('curl is a form of requests alone, and markdown of plans', async () => {
  expect(dryRunFormats).toEqual([...outputFormats, 'curl', 'markdown']);
  for (const [format, what] of [
    ['curl', 'a request that is not sent'],
    ['markdown', 'a plan'],
  ] as const) {
    const message = `only ${what} can be printed as ${format}`;
    await expect(printed(view, one, { format })).rejects.toMatchObject({ kind: 'usage', message });
  }
});

/** Names colors instead of using them. */
const named: Style = {
  ...plainStyle,
  blue: (text) => `<name ${text}>`,
  green: (text) => `<string ${text}>`,
  yellow: (text) => `<boolean ${text}>`,
  dim: (text) => `<null ${text}>`,
};
const value = parseJson('{"a \\"b\\":":"true: \\\\","n":[-1.50,true,null,{}],"t":"one\\ntwo: 2"}');
const print = (format: 'json' | 'jsonl' | 'yaml' | 'pretty', query?: string) =>
  printed(jsonView, [value], { format, query, isSeveral: false, screen: { columns: 80, style: named } });

test('JSON is colored by its tokens, whatever strings contain', async () => {
  expect(await print('jsonl')).toBe(
    '{<name "a \\"b\\":">:<string "true: \\\\">,<name "n">:[-1.50,<boolean true>,<null null>,{}],' +
      '<name "t">:<string "one\\ntwo: 2">}\n',
  );
});

test('YAML is colored by its tokens, and each line of a block by itself', async () => {
  expect(await print('yaml')).toBe(
    [
      '<name "a \\"b\\":">: <string "true: \\\\">',
      ...['<name "n">:', '  - -1.50', '  - <boolean true>', '  - <null null>', '  - {}'],
      ...['<name t>: |-', '  <string one>', '  <string two: 2>', ''],
    ].join('\n'),
  );
});

test.each(['json', 'jsonl', 'yaml'] as const)('the result of a query is colored as well: %s', async (format) => {
  expect(await print(format, 'n[1:4]')).toContain('<boolean true>');
});

test('a value of many megabytes is printed, in plain', async () => {
  const screen = { columns: 80, style: named };
  const long = await printed(jsonView, ['x'.repeat(30_000_000)], { isSeveral: false, screen });

  expect(long).toHaveLength(30_000_003);
});

test('a string that a query gives is printed bare', async () => {
  expect(await print('json', 't')).toBe('one\ntwo: 2\n');
});

test.each([
  ['DEL', '\x7f', '"\\u007f"'],
  ['a C1 control', '\x9b31m', '"\\u009b31m"'],
  ['ESC', '\x1b[2J', '"\\u001b[2J"'],
  ['a newline', 'a\nb', '"a\\nb"'],
  ['a right-to-left override', '\u202e', '"\\u202e"'],
  ['an isolate', '\u2066', '"\\u2066"'],
  ['line and paragraph separators', '\u2028\u2029', '"\\u2028\\u2029"'],
  ['a byte order mark', '\ufeff', '"\\ufeff"'],
  ['a tag', '\u{e0041}', '"\\udb40\\udc41"'],
  ['half a character', '\ud800', '"\\ud800"'],
  ['an override after a backslash', '\\\u202e', '"\\\\\\u202e"'],
])('%s in a string is an escape', (_name, value, text) => {
  expect(jsonText(value)).toBe(text);
  expect(JSON.parse(text)).toBe(value);
});

test('readable text stays readable', () => {
  expect(jsonText('日本語 👨‍👩‍👧 é')).toBe('"日本語 👨‍👩‍👧 é"');
});

test('a member name is escaped as a string is', () => {
  expect(jsonText({ 'a\u202eb': 1 })).toBe('{"a\\u202eb":1}');
});

test('numbers keep the digits they came with', () => {
  const text = '{"big":12345678901234567890,"price":1.10,"huge":1e400}';

  expect(jsonText(parseJson(text))).toBe(text);
});

test('an indent puts every member on a separate line', () => {
  expect(jsonText({ id: '7', fields: { Title: '\x9b' }, tags: [] }, 2)).toBe(
    '{\n  "id": "7",\n  "fields": {\n    "Title": "\\u009b"\n  },\n  "tags": []\n}',
  );
});

test('whatever the value is, it parses back equal, and is harmless on a terminal', () => {
  const units = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\x1b', '\x7f', '\x9b', '\u202e', '\u2028', '\ufeff', '\u{e0041}', '\u200f', '\\', '"', '\ud800'),
  );
  const strings = fc.array(units).map((parts) => parts.join(''));
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      strings,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(strings, tie('value'), { noNullPrototype: true }),
    ),
  }));

  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (any, indent) => {
      const text = jsonText(any, indent);

      expect(JSON.parse(text)).toEqual(JSON.parse(printJson(any)));
      expect(text).not.toMatch(/[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u);
      expect(indent === 0 && text.includes('\n')).toBe(false);
    }),
  );
});

test('the status is removed before each write, and only complete lines are written', async () => {
  const screen: string[] = [];
  const output = { isClosed: false, write: async (text: string) => void screen.push(text) };
  const lines = wholeLines(output, () => screen.push('(away)'));

  for (const text of ['[\n  1', ',\n  2', ',', '\n  3', '\n]\n']) await lines.write(text);
  await lines.flush();

  expect(screen).toEqual(['(away)', '[\n', '(away)', '  1,\n', '(away)', '  2,\n', '(away)', '  3\n]\n']);
});

test('a last line without an end is written at the end', async () => {
  const screen: string[] = [];
  const output = { isClosed: false, write: async (text: string) => void screen.push(text) };
  const lines = wholeLines(output, () => screen.push('(away)'));

  await lines.write('half a line');
  expect(screen).toEqual([]);
  await lines.flush();
  await lines.flush();

  expect(screen).toEqual(['(away)', 'half a line']);
});
