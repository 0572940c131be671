/** Rows out of JSON, in lines and in one array. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonObject, NumberToken, printJson } from '../../../src/core/json.ts';
import { findJsonFault } from '../../../src/core/json-scan.ts';
import { splitElements } from '../../../src/rows/json-rows.ts';
import { rowsFrom, toFields, toIds } from './rows-from.ts';

/** The same texts as a file of that format. */
const fileOf = {
  jsonl: (texts: readonly string[]) => texts.map((text) => `${text}\n`).join(''),
  json: (texts: readonly string[]) => `[${texts.join(',\n')}]`,
};

describe.each(['jsonl', 'json'] as const)('%s', (format) => {
  const name = `a.${format}`;
  const file = (...texts: readonly string[]) => fileOf[format](texts);

  test('I09: a byte order mark, CRLF, blank lines and no last newline change nothing; nothing is no row', async () => {
    const text = `\ufeff${file('{"A":1}', '{"A":2}').replaceAll('\n', '\r\n\r\n \n').trimEnd()}`;

    expect(toFields(await rowsFrom(name, text))).toEqual([{ A: 1 }, { A: 2 }]);
    for (const none of format === 'json' ? ['[]', ' [\n] '] : ['\ufeff', ' \r\n\n']) {
      expect((await rowsFrom(name, none)).check.rows).toBe(0);
    }
  });

  test('I11: a malformed row in the middle does not affect others, and is named by line and character', async () => {
    const outcome = await rowsFrom(name, file('{"A":1}', '{"A":}', '{"A":2}'));

    expect(toFields(outcome)).toEqual([{ A: 1 }, '2:6 invalid JSON at "}"', { A: 2 }]);
    expect(outcome.check).toMatchObject({ rows: 3, badCount: 1 });
  });

  test('I11: a row that is cut short is named where it ends', async () => {
    const text = file('{"A":1}', '{"A":"x').replace(/\]$/, '');

    expect(toFields(await rowsFrom(name, text))).toEqual([{ A: 1 }, '2:8 invalid JSON: unexpected end']);
  });

  test('I11: U+2028, U+2029, U+0085 and a lone CR end no row', async () => {
    const value = 'a\u2028b\u2029c\u0085d';

    expect(toFields(await rowsFrom(name, file(`{"A":"${value}"}`, '{"A":\r2}')))).toEqual([{ A: value }, { A: 2 }]);
  });

  test('I12: nesting 129 deep, more than 10,000 members, over 8 MiB: bad, and the next ones are read', async () => {
    const deep = `{"A":${'['.repeat(128)}${']'.repeat(128)}}`;
    const wide = `{${Array.from({ length: 10_001 }, (_, at) => `"k${at}":1`).join()}}`;
    const long = `{"A":"${'x'.repeat(8 * 1024 * 1024)}"}`;
    const outcome = await rowsFrom(name, file(deep, wide, long, '{"A":2}'));

    expect(toFields(outcome)).toEqual([
      '1: nested deeper than 128 levels',
      '2: more than 10000 members',
      '3: longer than 8 MiB',
      { A: 2 },
    ]);
    expect(outcome.rows[2]?.source).toEqual({ kind: 'text', text: long.slice(0, 1000) });
  });

  test('a row is bad that could not be read back: too many members, too deep, or too long as JSON', async () => {
    const wide = (members: number) => `{"A":{${Array.from({ length: members - 1 }, (_, at) => `"k${at}":1`).join()}}}`;
    const deep = (levels: number) => `{"A":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`;
    const long = (characters: number) => `{"A":"${'é'.repeat(characters)}"}`;
    const mebibytes = 1024 * 1024;
    const fit = [wide(9990), deep(126), long(4 * mebibytes - 3000)];

    expect((await rowsFrom(name, file(...fit))).check.badCount).toBe(0);
    expect(toFields(await rowsFrom(name, file(wide(9991), deep(127), long(4 * mebibytes))))).toEqual([
      '1: more than 9990 members, or nested deeper than 126 levels',
      '2: more than 9990 members, or nested deeper than 126 levels',
      '3: longer than 8 MiB as JSON',
    ]);
    expect((await rowsFrom(name, file(wide(9991)), { action: 'delete' })).check.badCount).toBe(1);
    const common = { B: 'x'.repeat(5000) };
    expect((await rowsFrom(name, file(...fit), { common })).check.bad).toMatchObject([{ line: 1 }, { line: 3 }]);
  });

  test('I13: any value comes through as it was: NUL, half a character, digits, names of the language', async () => {
    const text =
      '{"A":"\\u0000\\ud800","n":12345678901234567890,"e":1e400,"z":-0,"__proto__":{"x":1.10},"constructor":[]}';
    const { rows } = await rowsFrom(name, file(text));

    expect(printJson((rows[0] as { fields: JsonObject }).fields)).toBe(text);
  });

  test('a name twice with two values is bad', async () => {
    expect(toFields(await rowsFrom(name, file('{"A":1,"A":2}')))).toEqual([
      expect.stringContaining("1: Duplicate key 'A'"),
    ]);
  });

  describe('what a row is', () => {
    const item = '{"id":"7","etag":"x","fields":{"A":1},"listctl:error":"no"}';

    test('an item by its id, or with nothing beside its fields; else the fields themselves', async () => {
      const texts = [
        item,
        '{"fields":{"A":2},"listctl:error":"no"}',
        '{"fields":{"A":3},"B":4}',
        '{"fields":5,"id":"6"}',
      ];
      const outcome = await rowsFrom(name, file(...texts));

      expect(toFields(outcome)).toEqual([{ A: 1 }, { A: 2 }, { fields: { A: 3 }, B: 4 }, { fields: 5 }]);
      expect(outcome.check.notices).toEqual([
        '"id" is not sent, because the service assigns ids; to send it as a field, pass --rename id=NAME',
        'only the fields of items are sent; ignored: "etag"',
      ]);
    });

    test('--rows says which', async () => {
      expect(toFields(await rowsFrom(name, file(item), { rows: 'fields' }))).toEqual([{ etag: 'x', fields: { A: 1 } }]);
      expect(
        toFields(await rowsFrom(name, file(item, '{"fields":{"A":3},"B":4}', '{"A":1}'), { rows: 'items' })),
      ).toEqual([{ A: 1 }, { A: 3 }, expect.stringContaining(': not an item: no "fields" object')]);
    });

    test('--rename of the id makes it a field', async () => {
      const outcome = await rowsFrom(name, file(item, '{"id":8,"B":1}'), { rename: new Map([['id', 'Old']]) });

      expect(toFields(outcome)).toEqual([
        { Old: '7', A: 1 },
        { Old: 8, B: 1 },
      ]);
    });

    test('the id of an update is not a field; numbers keep their digits; an id that is neither a string nor a number is invalid', async () => {
      const texts = [
        item,
        '{"id":12345678901234567890,"A":1}',
        '{"id":null,"A":1}',
        '{"A":1}',
        '{"id":"..","A":1}',
        '{"id":"9"}',
      ];
      const outcome = await rowsFrom(name, file(...texts), { action: 'update' });

      expect(toIds(outcome)).toEqual([
        '7',
        '12345678901234567890',
        expect.stringMatching(/^3: "id" is neither a string nor a number$/),
        '4: no id',
        '5: the item id is "..", which is not a path segment',
        '6: no fields to send',
      ]);
      expect(toFields(outcome).slice(0, 2)).toEqual([{ A: 1 }, { A: 1 }]);
    });

    test('an id alone is enough to get and delete, and to update where common fields are given', async () => {
      const text = file('"a"', '1.10', '{"id":"b","fields":{"A":1}}', 'null', '[]', 'true');

      for (const options of [{ action: 'get' }, { action: 'delete' }] as const) {
        const outcome = await rowsFrom(name, text, options);

        expect(toIds(outcome).slice(0, 3)).toEqual(['a', '1.10', 'b']);
        expect(toFields(outcome)).toEqual([
          {},
          {},
          {},
          '4: neither a JSON object nor an id',
          '5: neither a JSON object nor an id',
          '6: neither a JSON object nor an id',
        ]);
        expect(outcome.check.notices).toEqual([]);
      }
      expect(toFields(await rowsFrom(name, text, { action: 'update', common: { B: 2 } })).slice(0, 3)).toEqual([
        { B: 2 },
        { B: 2 },
        { A: 1, B: 2 },
      ]);
      expect(toFields(await rowsFrom(name, file('"a"', '{}', '1')))).toEqual([
        '1: not a JSON object',
        '2: no fields to send',
        '3: not a JSON object',
      ]);
    });

    test('--only and --rename go by members; a name that no row has is refused, with the nearest, after the last row', async () => {
      const text = file('{"Title":"a","B":1}', '{"id":"1","fields":{"Count":2,"B":3}}');
      const outcome = await rowsFrom(name, text, { only: ['Title', 'Count'], rename: new Map([['Title', 'Name']]) });

      expect(outcome.rows.map((row) => row.problem ?? row.fields)).toEqual([{ Name: 'a' }, { Count: 2 }]);
      await expect(rowsFrom(name, text, { only: ['Titel'] })).rejects.toMatchObject({
        kind: 'usage',
        message: '--only Titel: no member "Titel"',
        details: { hint: 'did you mean "Title"?' },
      });
      await expect(rowsFrom(name, text, { rename: new Map([['Qwerty', 'X']]) })).rejects.toMatchObject({
        details: { hint: 'the members are: Title, B, Count, id' },
      });
      await expect(rowsFrom(name, format === 'json' ? '[]' : '\n', { only: ['Titel'] })).resolves.toMatchObject({
        check: { rows: 0 },
      });
    });

    test('two members that would be one field are bad, where they meet', async () => {
      const outcome = await rowsFrom(name, file('{"A":1}', '{"A":1,"B":2}'), { rename: new Map([['A', 'B']]) });

      expect(toFields(outcome)).toEqual([
        { B: 1 },
        expect.stringContaining(': two members would both become field "B"'),
      ]);
    });
  });
});

describe('the array', () => {
  const read = async (text: string) => toFields(await rowsFrom('a.json', text));

  test.each([
    ['{"A":1}', 'pass a single object with --fields'],
    ['"A"', 'put the rows between [ and ]'],
    ['\ufeff x', 'put the rows between [ and ]'],
  ])('%j is invalid', async (text, hint) => {
    await expect(read(text)).rejects.toMatchObject({ kind: 'usage', details: { hint: expect.stringContaining(hint) } });
  });

  test('that is not closed, has nothing beside a comma, or something behind it', async () => {
    expect(await read('[{"A":1}')).toEqual(['1:2 the array is not closed: the file ends before "]"']);
    expect(await read('[{"A":1},')).toEqual([{ A: 1 }, '1:10 the array is not closed: the file ends before "]"']);
    expect(await read('[{"A":1},]')).toEqual([{ A: 1 }, '1:10 missing element next to a comma']);
    expect(await read('[,{"A":1}]')).toEqual(['1:2 missing element next to a comma', { A: 1 }]);
    expect(await read('[{"A":1}]\n [{"A":2}]')).toEqual([
      { A: 1 },
      '2:2 unexpected text after the array (for one JSON value per line use jsonl)',
    ]);
  });

  test('a bracket too many or too few, and a quote too few, affect one element of a file with line ends', async () => {
    const text = '[\n  {"A": 1}},\n  {"A": 2},\n  {\n    "A": "x,\n    "B": 1\n  },\n  {"A": 3]},\n  {"A": 4}\n]\n';

    expect(await read(text)).toEqual([
      '2:11 invalid JSON at "}"',
      { A: 2 },
      '4:3 invalid JSON at "\\n    \\"B\\": 1\\n  }" (its line 2, character 13)',
      '8:10 invalid JSON at "]}"',
      { A: 4 },
    ]);
  });

  test('any array is split into its elements, wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue()),
        fc.nat(3),
        fc.integer({ min: 1, max: 9 }),
        async (values, indent, size) => {
          const text = JSON.stringify(values, null, indent);
          const texts: string[] = [];
          for await (const parts of splitElements(cut(text, size), 'it')) texts.push(...parts.map((part) => part.text));

          expect(texts.map((one) => JSON.parse(one))).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  async function* cut(text: string, length: number) {
    for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
  }
});

describe('where a text stops being JSON', () => {
  test.each([
    ['', 0],
    [' ', 1],
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ['[1 2]', 3],
    ['[1]]', 3],
    ['01', 1],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ['{a:1}', 1],
    ['nul', 0],
    ['[}', 1],
    ['{"a":1]', 6],
    ['{"a', 3],
    ['\u00a01', 0],
  ])('%j: at %i', (text, at) => {
    expect(findJsonFault(text)?.at).toBe(at);
  });

  test('is reported for whatever JSON.parse refuses, and for nothing else', () => {
    const piece = fc.constantFrom(...'{}[],:-0 "\\\n1', '"a"', '.5', 'e9', 'true');

    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 9 }).map((all) => all.join('')),
          fc.json(),
        ),
        (text) => {
          expect(findJsonFault(text) === undefined).toBe(isJson(text));
        },
      ),
      { numRuns: 150 },
    );
  });

  test('a long string is read in full', () => {
    expect(findJsonFault(`"${'x'.repeat(8_000_000)}"`)).toBeUndefined();
  });

  function isJson(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }
});

test('on stdin the first character identifies the format', async () => {
  expect(toFields(await rowsFrom('-', '\ufeff \n[{"A":1}]'))).toEqual([{ A: 1 }]);
  expect(toFields(await rowsFrom('-', ' \n{"A":1}\n{"A":1.0}\n'))).toEqual([{ A: 1 }, { A: new NumberToken('1.0') }]);
  expect((await rowsFrom('-', '')).check.rows).toBe(0);
  expect(toFields(await rowsFrom('-', 'A\n1\n', { format: 'csv' }))).toEqual([{ A: '1' }]);
  await expect(rowsFrom('-', 'A\n1\n')).rejects.toMatchObject({
    kind: 'usage',
    details: { hint: expect.stringContaining('--input-format') },
  });
});

test.each([
  ['after characters of more bytes', '{"a":"é😀"}\n{"a":1,]}\n', 2, 15 + 7],
  ['behind a byte order mark', '\ufeff{"a":1,]}\n', 1, 3 + 7],
  ['of a row that is not an object', '{"a":1}\n\n17\n', 3, 9],
])('I11: the byte of what is wrong is named, %s', async (_, text, line, byte) => {
  const { check } = await rowsFrom('a.jsonl', text);

  expect(check.bad.map((row) => [row.line, row.byte])).toEqual([[line, byte]]);
});
