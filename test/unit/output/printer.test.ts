import { expect, test } from 'vitest';
import { Failure } from '../../../src/core/errors.ts';
import { deletedView } from '../../../src/output/item.ts';
import { openPrinter } from '../../../src/output/printer.ts';
import { dryRunFormats, outputFormats, type View } from '../../../src/output/view.ts';
import { pipe, printed, recorder, terminal } from './printed.ts';
import { jsonView, valuesFrom } from './views.ts';

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
