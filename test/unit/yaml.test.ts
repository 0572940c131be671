import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type JsonValue, NumberToken, objectFrom, parseJson, printJson } from '../../src/core/json.ts';
import { parseYaml, readYaml, yamlDocument, yamlElement } from '../../src/core/yaml.ts';

const json = (text: string) => printJson(parseYaml(text));
const refusal = (text: string) => {
  try {
    return json(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return error.message;
  }
};

test('types are those of the core schema of YAML 1.2, and nothing of 1.1', () => {
  expect(json('[1, -1, 1.5, true, True, FALSE, null, ~, yes, no, on, 2024-01-01, 1:20, 1_000, 0b1, "1", x]')).toBe(
    '[1,-1,1.5,true,true,false,null,null,"yes","no","on","2024-01-01","1:20","1_000","0b1","1","x"]',
  );
  expect(json('a:\nb: ""\nc: |\n  one\n  two\nd: >-\n  one\n  two')).toBe(
    '{"a":null,"b":"","c":"one\\ntwo\\n","d":"one two"}',
  );
});

test.each([
  ['12345678901234567890', '12345678901234567890'],
  ['1.10', '1.10'],
  ['1e400', '1e400'],
  ['-0', '-0'],
  ['+1', '1'],
  ['.5', '0.5'],
  ['-.5e3', '-0.5e3'],
  ['1.', '1'],
  ['0x1F', '31'],
  ['0o17', '15'],
  ['0xFFFFFFFFFFFFFFFFFF', '4722366482869645213695'],
])('N37: the number %s keeps its digits, as JSON can write them: %s', (text, digits) => {
  expect(json(`v: ${text}`)).toBe(`{"v":${digits}}`);
});

test.each(['012', '-007', '+01', '00', '007.5', '0123e4'])(
  'a number with a leading zero, %s, is usually a code: it stays a string',
  (text) => {
    expect(json(`v: ${text}`)).toBe(`{"v":"${text}"}`);
  },
);

test('a number that a double holds is a plain one, any other its token', () => {
  expect(parseYaml('[1.5, 1.50]')).toEqual([1.5, new NumberToken('1.50')]);
});

test.each([
  ['a: 1\nb: 2\na: 3', 'line 3, column 1: duplicate key "a"'],
  ['1: x\n"1": y', 'line 2, column 1: duplicate key "1"'],
  ['a: 1\n---\nb: 2', 'line 2, column 1: more than one document'],
  ['a: !foo 1', 'line 1, column 4: Unresolved tag: !foo'],
  ['a: !!binary aGk=', 'line 1, column 4: Unresolved tag: tag:yaml.org,2002:binary'],
  ['a: !!js/function x', 'line 1, column 4: Unresolved tag: tag:yaml.org,2002:js/function'],
  ['- .inf', 'line 1, column 3: .inf is not a JSON number'],
  ['- .nan', 'line 1, column 3: .nan is not a JSON number'],
  [`- 0x${'f'.repeat(2_000)}`, `line 1, column 3: 0x${'f'.repeat(98)} is not a JSON number`],
  ['a: *b', 'line 1, column 4: unknown anchor &b'],
  ['a: &a [*a]', 'line 1, column 8: unknown anchor &a'],
  [
    'a: &d {x: 1}\nb:\n  <<: *d',
    'line 3, column 3: merge keys are not supported: write the members out, or quote "<<" to use it as a key',
  ],
  ['? [1]\n: 2', 'line 1, column 3: keys must be strings'],
  ['~: 2', 'line 1, column 1: missing key before the colon'],
  ['a: b: c', 'line 1, column 4: Nested mappings are not allowed in compact mappings'],
  ['a: [1,\n 2', 'line 2, column 3: Flow sequence in block collection must be sufficiently indented and end with a ]'],
])('%j is refused with its place', (text, message) => {
  expect(refusal(text)).toBe(message);
});

test('YAML 1.1 is not read as that, whatever a document says of itself', () => {
  expect(json('%YAML 1.1\n---\na: yes\nb: 0o17')).toBe('{"a":"yes","b":15}');
});

test('I12: depth, members and length are bounded, behind aliases too', () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const wide = (members: number) => Array.from({ length: members }, (_, at) => `a${at}: 1\n`).join('');

  expect(json(deep(128))).toBe(deep(128));
  expect(refusal(deep(130))).toMatch(/nested deeper than 128 levels/);
  expect(refusal(`a: &a ${deep(100)}\nb: ${'['.repeat(100)}*a${']'.repeat(100)}`)).toMatch(
    /nested deeper than 128 levels/,
  );
  expect(refusal(deep(130))).toMatch(/^line 1, column 130: /);
  expect(parseYaml(wide(10_000))).toMatchObject({ a9999: 1 });
  expect(refusal(wide(10_001))).toMatch(/more than 10000 members/);
  expect(refusal(`- ${'x'.repeat(8 * 1024 * 1024)}`)).toMatch(/longer than 8 MiB/);
});

test.each(['[', '{a: ', '[? ', '- ', '? ', ': ', '- ? : ', '[a: ', '- - [{a: '])(
  'I12: two million characters of %j are refused at the first level that is too deep',
  (opening) => {
    const text = opening.repeat(2_000_000 / opening.length);

    expect(refusal(text)).toMatch(/^line 1, column \d{2,3}: nested deeper than 128 levels$/);
  },
);

test('I12: a few anchors do not become a billion values', () => {
  const laughs = ['a: &a0 [x,x,x,x,x,x,x,x,x,x]'];
  for (let at = 1; at < 10; at += 1)
    laughs.push(
      `b${at}: &a${at} [${Array(10)
        .fill(`*a${at - 1}`)
        .join(',')}]`,
    );

  expect(json('a: &x [1, &y {b: 2}]\nc: *x\nd: *y')).toBe('{"a":[1,{"b":2}],"c":[1,{"b":2}],"d":{"b":2}}');
  expect(refusal(laughs.join('\n'))).toMatch(/aliases expand to more than 100000 values/);
});

test('an alias is of the last anchor of that name before it', () => {
  expect(json('- &a 1\n- *a\n- &a 2\n- *a\n- {&b k: v}\n- *b')).toBe('[1,1,2,2,{"k":"v"},"k"]');
});

test('N36: __proto__ is a name like any other', () => {
  const value = parseYaml('__proto__: {polluted: yes}\nconstructor: 1') as Record<string, unknown>;

  expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('the position of a value and of a member is where it is in the file', () => {
  const { value, placeOf } = readYaml('site: x\nitems:\n  - a: 1\n    b: 2\n  - {a: 3}\n') as {
    value: { items: readonly JsonValue[] };
    placeOf: ReturnType<typeof readYaml>['placeOf'];
  };

  expect(placeOf(value, 'items')).toEqual({ line: 2, column: 1 });
  expect(placeOf(value.items, 0)).toEqual({ line: 3, column: 5 });
  expect(placeOf(value.items, 1)).toEqual({ line: 5, column: 5 });
  expect(placeOf(value.items[0] ?? null, 'b')).toEqual({ line: 4, column: 5 });
});

const { value: anyValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.constantFrom(null, true, false, new NumberToken('1.10'), new NumberToken('-0'), new NumberToken('1e400')),
    fc.integer(),
    fc.array(tie('value')),
    fc.array(fc.tuple(fc.string({ unit: 'binary' }), tie('value'))).map(objectFrom),
  ),
}));

test('what is printed as YAML is read back digit for digit', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      expect(printJson(parseYaml(yamlDocument(value)))).toBe(printJson(value));
    }),
    { numRuns: 150 },
  );
});

const yaml = (json: string) => yamlDocument(parseJson(json));
/** Readers of YAML 1.2 and 1.1; the second takes `yes`, `0o7`, `1:20` and dates for something else. */
const versions = ['1.2', '1.1'] as const;

describe('what is printed', () => {
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

  const words =
    '17 1.5 1e3 0x1f 0o17 017 1_000 1:20 .5 +1 -1 .inf -.INF .nan true False YES no On off y N null Null ~ = << - ? : ' +
    '2024-01-01 2024-01-01T00:00:00Z &a *a !a %a @a `a | > { [ , --- ... " \' a: a\tb \n';

  test.each([...words.split(' '), '', ' ', ' a', 'a ', 'a: b', 'a #b', '# a', '- a'])(
    'the text %j stays text',
    (text) => {
      const written = yamlDocument({ [text]: text });

      for (const version of versions) expect(parse(written, { version })).toEqual({ [text]: text });
    },
  );

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

  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom('a', 'B', ' ', '\n', '\t', ':', '#', '-', '"', "'", '1', '\\', '\u202e', '\ufe00', '\x85'),
    }),
  );
  const { value: anyPrinted } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      anyText,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
      fc.constantFrom(null, true, false),
      fc.array(tie('value')),
      fc.array(fc.tuple(anyText, tie('value'))).map(objectFrom),
    ),
  }));

  test('whatever is written reads back equal, and holds nothing that steers or hides', () => {
    fc.assert(
      fc.property(anyPrinted, (value) => {
        const written = yamlDocument(value);

        expect(parse(written)).toEqual(value);
        expect(written).not.toMatch(/[^\P{Cc}\n]|[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/u);
      }),
      { numRuns: 150 },
    );
  });

  test('text reads back equal for readers of YAML 1.1, too', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        expect(parse(yamlDocument([value]), { version: '1.1' })).toEqual([value]);
      }),
      { numRuns: 150 },
    );
  });

  test('a long name is read back, also where only its escapes make it long', () => {
    for (const name of [
      'n'.repeat(1025),
      '\u00e9 '.repeat(600),
      '\u202e'.repeat(200),
      `${'\u{e0041}'.repeat(110)}: -`,
    ]) {
      const value = { [name]: 1, next: { [name]: [{ [name]: '\u202e' }] } };
      for (const version of versions) expect(parse(yamlDocument(value), { version })).toEqual(value);
      expect(parseYaml(yamlDocument([value]))).toEqual([value]);
    }
  });
});
