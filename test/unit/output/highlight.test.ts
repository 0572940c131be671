import { expect, test } from 'vitest';
import { parseJson } from '../../../src/core/json.ts';
import { plainStyle, type Style } from '../../../src/output/view.ts';
import { printed } from './printed.ts';
import { jsonView } from './views.ts';

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
  expect(await print(format, 'n[1:3]')).toContain('<boolean true>');
});

test('a value of many megabytes is printed, in plain', async () => {
  const screen = { columns: 80, style: named };
  const long = await printed(jsonView, ['x'.repeat(30_000_000)], { isSeveral: false, screen });

  expect(long).toHaveLength(30_000_003);
});

test('a string that a query gives is printed bare', async () => {
  expect(await print('json', 't')).toBe('one\ntwo: 2\n');
});
