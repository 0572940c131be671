import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type JsonValue, objectFrom, parseJson } from '../../../src/core/json.ts';
import { parseYaml } from '../../../src/core/yaml.ts';
import { yamlDocument, yamlElement } from '../../../src/output/yaml.ts';

const yaml = (json: string) => yamlDocument(parseJson(json));
/** Readers of YAML 1.2 and 1.1; the second takes `yes`, `0o7`, `1:20` and dates for something else. */
const versions = ['1.2', '1.1'] as const;

test('an item reads like hand-written YAML', () => {
  expect(
    yaml(
      '{"id":"17","fields":{"Title":"Buy milk","Count":2,"Done":false,"Note":null,"Tags":["a","b c"],"None":[],"O":{}}}',
    ),
  ).toBe(
    [
      'id: "17"',
      'fields:',
      '  Title: Buy milk',
      '  Count: 2',
      '  Done: false',
      '  Note: null',
      '  Tags:',
      '    - a',
      '    - b c',
      '  None: []',
      '  O: {}',
      '',
    ].join('\n'),
  );
});

test.each(['12345678901234567890', '1.10', '1e400', '-0', '0.1', '1e-7', '-5'])(
  'the number %s keeps its digits',
  (digits) => {
    expect(yaml(`{"v":${digits}}`)).toBe(`v: ${digits}\n`);
  },
);

test.each(
  '17 1.5 1e3 0x1f 0o17 017 1_000 1:20 .5 +1 -1 .inf -.INF .nan true False YES no On off y N null Null ~ = << - ? : 2024-01-01 2024-01-01T00:00:00Z'
    .split(' ')
    .concat(
      '',
      ' ',
      ' a',
      'a ',
      'a: b',
      'a #b',
      '# a',
      '&a',
      '*a',
      '!a',
      '%a',
      '@a',
      '`a',
      '|',
      '>',
      '{',
      '[',
      ',',
      '---',
      '...',
      '"',
      "'",
      'a\tb',
      '\n',
      'a:',
      '- a',
    ),
)('the text %j stays text', (text) => {
  const written = yamlDocument({ [text]: text });

  for (const version of versions) expect(parse(written, { version })).toEqual({ [text]: text });
});

test('a string with line breaks is a block of lines', () => {
  expect(yaml('{"Note":"one\\ntwo\\n\\nthree"}')).toBe('Note: |-\n  one\n  two\n\n  three\n');
  expect(yaml('{"Note":"one\\ntwo\\n"}')).toBe('Note: |\n  one\n  two\n');
});

test.each([
  ['\x1b[31m', '"\\u001b[31m"'],
  ['a\u202eb', '"a\\u202eb"'],
  ['a\u0085\u009b', '"a\\u0085\\u009b"'],
  ['\u2028', '"\\u2028"'],
  ['a\u{e0041}', '"a\\U000e0041"'],
  ['a\x7f\ufeff', '"a\\u007f\\ufeff"'],
  ['one\ntwo\x07', '"one\\ntwo\\u0007"'],
  ['\ud800', '"\\ud800"'],
  ['\uffff', '"\\uffff"'],
])('%j is escaped, as a value and as a name', (text, shown) => {
  expect(yamlDocument([text])).toBe(`- ${shown}\n`);
  expect(yamlDocument({ [text]: 1 })).toBe(`${shown}: 1\n`);
});

test('__proto__ is a name like any other', () => {
  expect(yaml('{"__proto__":{"a":1},"constructor":"x"}')).toBe('__proto__:\n  a: 1\nconstructor: x\n');
});

test('elements behind each other are one sequence', () => {
  const values = [{ a: [1] }, 'x', [], [['y']]];

  expect(parse(values.map(yamlElement).join(''))).toEqual(values);
});

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', 'B', ' ', '\n', '\t', ':', '#', '-', '"', "'", '1', '\\', '\u202e', '\ufe00', '\x85'),
  }),
);
const { value: anyValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.constantFrom(null, true, false),
    fc.array(tie('value')),
    fc.array(fc.tuple(text, tie('value'))).map(objectFrom),
  ),
}));

test('whatever is written reads back equal, and holds nothing that steers or hides', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const written = yamlDocument(value);

      expect(parse(written)).toEqual(value);
      expect(written).not.toMatch(/[^\P{Cc}\n]|[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/u);
    }),
    { numRuns: 150 },
  );
});

test('text reads back equal for readers of YAML 1.1, too', () => {
  fc.assert(
    fc.property(text, (value) => {
      expect(parse(yamlDocument([value]), { version: '1.1' })).toEqual([value]);
    }),
    { numRuns: 150 },
  );
});

test('a long name is read back, also where only its escapes make it long', () => {
  for (const name of ['n'.repeat(1025), '\u00e9 '.repeat(600), '\u202e'.repeat(200), `${'\u{e0041}'.repeat(110)}: -`]) {
    const value = { [name]: 1, next: { [name]: [{ [name]: '\u202e' }] } };
    for (const version of versions) expect(parse(yamlDocument(value), { version })).toEqual(value);
    expect(parseYaml(yamlDocument([value]))).toEqual([value]);
  }
});
