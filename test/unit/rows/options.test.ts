/** What the options of --from say of columns, cells and shares. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NumberToken, parseJson } from '../../../src/core/json.ts';
import { badRowFailure, badRowsFailure } from '../../../src/rows/check.ts';
import type { CellType, RowsOptions } from '../../../src/rows/types.ts';
import { rowsFrom, toFields, toIds } from './rows-from.ts';

const types = (...all: readonly (readonly [string, CellType])[]) => ({ types: new Map(all) });

describe('the type of a cell', () => {
  const cells = async (type: CellType, ...texts: readonly string[]) => {
    const csv = texts.map((text) => `"${text.replaceAll('"', '""')}"\n`).join('');
    return toFields(await rowsFrom('a.csv', `A\n${csv}`, types(['A', type]))).map((one) =>
      typeof one === 'string' ? one : (one as { A: unknown }).A,
    );
  };

  test('string: as it is', async () => {
    expect(await cells('string', '007', ' x ', 'true', '=1')).toEqual(['007', ' x ', 'true', '=1']);
  });

  test('number: as JSON writes one, without the blanks around it, with all digits', async () => {
    expect(await cells('number', '5', ' -1.5 ', '12345678901234567890', '1.10', '1e400')).toEqual([
      5,
      -1.5,
      new NumberToken('12345678901234567890'),
      new NumberToken('1.10'),
      new NumberToken('1e400'),
    ]);
    expect(await cells('number', '+1', '0x10', 'NaN', ' ', '1.5,2')).toEqual(
      ['+1', '0x10', 'NaN', ' ', '1.5,2'].map((text, at) => `${at + 2}:1 in "A", "${text}" is not a number`),
    );
    const [separators, comma] = ['remove thousands separators', 'pass --decimal , for a decimal comma'];
    expect(await cells('number', '007')).toEqual(['2:1 in "A", "007" is not a number (remove leading zeros)']);
    expect(await cells('number', '10,5', '1,234', '1 000', '1.234,5')).toEqual([
      `2:1 in "A", "10,5" is not a number (${comma})`,
      `3:1 in "A", "1,234" is not a number (${separators}, or ${comma})`,
      `4:1 in "A", "1 000" is not a number (${separators})`,
      `5:1 in "A", "1.234,5" is not a number (${separators} and ${comma})`,
    ]);
  });

  test('--decimal ,: numbers have a decimal comma, with all digits; text is not parsed as one', async () => {
    const comma = (type: CellType) => (text: string) =>
      rowsFrom('a.csv', `A;B\n${text};x\n`, { ...types(['A', type]), decimal: ',' });
    const number = async (text: string) => toFields(await comma('number')(text))[0];

    expect(await number('10,50')).toEqual({ A: new NumberToken('10.50'), B: 'x' });
    expect([await number(' -0,5 '), await number('7'), await number('1,5E3')]).toEqual(
      ['-0.5', '7', '1.5E3'].map((text) => ({ A: parseJson(text), B: 'x' })),
    );
    expect([await number('10.5'), await number('1.234,5')]).toEqual([
      '2:1 in "A", "10.5" is not a number with a decimal comma',
      '2:1 in "A", "1.234,5" is not a number with a decimal comma (remove thousands separators)',
    ]);
    const automatic = await Promise.all(['10,5', '10.5', '01,5', 'true', '1,5,0'].map(comma('auto')));
    expect(automatic.map((one) => toFields(one)[0])).toEqual(
      [10.5, '10.5', '01,5', true, '1,5,0'].map((A) => ({ A, B: 'x' })),
    );
  });

  test('boolean: true and false, in any case', async () => {
    expect(await cells('boolean', 'true', 'FALSE', ' True ')).toEqual([true, false, true]);
    expect(await cells('boolean', '1', 'yes')).toEqual([
      '2:1 in "A", "1" is not true or false',
      '3:1 in "A", "yes" is not true or false',
    ]);
  });

  test('json: any value', async () => {
    expect(await cells('json', '{"a":[1.0]}', '"x"', 'null', 'x')).toEqual([
      { a: [new NumberToken('1.0')] },
      'x',
      null,
      '5:1 in "A", "x" is not JSON',
    ]);
  });

  test("auto: what reads as JSON's true, false, null or number; all else is text", async () => {
    expect(await cells('auto', 'true', 'null', '7', '1.10', '007', ' 7', 'True', '"x"', '{}', '-')).toEqual([
      true,
      null,
      7,
      new NumberToken('1.10'),
      '007',
      ' 7',
      'True',
      '"x"',
      '{}',
      '-',
    ]);
  });

  test('I07: a number keeps its digits, whatever they are', async () => {
    const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?$/);

    await fc.assert(
      fc.asyncProperty(fc.array(digits, { minLength: 1 }), async (all) => {
        for (const type of ['number', 'auto'] as const) {
          const read = (await cells(type, ...all)) as (number | NumberToken)[];

          expect(read.map((one) => (one instanceof NumberToken ? one.digits : String(one)))).toEqual(all);
        }
      }),
      { numRuns: 20 },
    );
  });

  test('a long text in a message is cut', async () => {
    const [said] = await cells('number', 'x'.repeat(5000));

    expect(said).toBe(`2:1 in "A", "${'x'.repeat(100)}…" is not a number`);
  });

  test('by --type, the header, and * for the others, in this order; the text behind another colon is name', async () => {
    const text = 'A:number,B:number,C,D:x,listctl:json\n1,1,1,1,1\n';
    const options = types(['A', 'string'], ['*', 'auto']);

    expect(toFields(await rowsFrom('a.csv', text, options))).toEqual([{ A: '1', B: 1, C: 1, 'D:x': 1 }]);
    expect(toFields(await rowsFrom('a.csv', text))).toEqual([{ A: 1, B: 1, C: '1', 'D:x': '1' }]);
  });

  test.each([
    ['omit', {}],
    ['string', { A: '', B: '' }],
    ['null', { A: null, B: null }],
  ] as const)('an empty cell with --empty %s, whatever its type', async (empty: RowsOptions['empty'], fields) => {
    for (const text of ['A:number,B,C\n,,1\n', 'A:json,B,C\n"",,1\n']) {
      expect(toFields(await rowsFrom('a.csv', text, { empty }))).toEqual([{ ...fields, C: '1' }]);
    }
  });
});

describe('which columns become fields', () => {
  const text = 'id,Title,Count,listctl:error\n7,a,1,no\n';

  test('--only takes those alone, --rename says the field', async () => {
    expect(toFields(await rowsFrom('a.csv', text, { only: ['Count'] }))).toEqual([{ Count: '1' }]);
    expect(toFields(await rowsFrom('a.csv', text, { rename: new Map([['Title', 'Name']]) }))).toEqual([
      { Name: 'a', Count: '1' },
    ]);
    const swapped = new Map([
      ['Title', 'Count'],
      ['Count', 'Title'],
    ]);
    expect(toFields(await rowsFrom('a.csv', text, { rename: swapped }))).toEqual([{ Count: 'a', Title: '1' }]);
  });

  test.each(['Count', 'Amount'])('--type takes a renamed column by either name: %s', async (name) => {
    const options = { rename: new Map([['Count', 'Amount']]), types: new Map([[name, 'number' as const]]) };
    expect(toFields(await rowsFrom('a.csv', text, options))).toMatchObject([{ Amount: 1 }]);
  });

  test.each([
    ['--only', { only: ['Titel'] }],
    ['--rename', { rename: new Map([['Titel', 'X']]) }],
    ['--type', types(['Titel', 'auto'])],
  ] as const)('%s with a name that is no column names the nearest', async (option, options: Partial<RowsOptions>) => {
    for (const action of ['create', 'update'] as const) {
      await expect(rowsFrom('a.csv', text, { ...options, action })).rejects.toMatchObject({
        kind: 'usage',
        message: `${option} Titel: no column "Titel"`,
        details: { hint: 'did you mean "Title"?' },
      });
    }
  });

  test('where none is near, they are listed, but for our own', async () => {
    await expect(rowsFrom('a.csv', text, { only: ['listctl:error'] })).rejects.toMatchObject({
      details: { hint: 'the columns are: id, Title, Count' },
    });
  });

  test.each([
    [{ rename: new Map([['Title', 'Count']]) }, '"Title" and "Count" would both become field "Count"'],
    [
      {
        rename: new Map([
          ['Title', 'X'],
          ['Count', 'X'],
        ]),
      },
      '"Title" and "Count" would both become field "X"',
    ],
  ])('two columns that would be one field are refused', async (options, message) => {
    await expect(rowsFrom('a.csv', text, options)).rejects.toMatchObject({ kind: 'usage', message });
  });

  test('common fields override every row, and are the fields of a row without any', async () => {
    const common = { Count: null, Z: 5 };

    expect(toFields(await rowsFrom('a.csv', text, { common }))).toEqual([{ Title: 'a', Count: null, Z: 5 }]);
    // What a cell holds that is not sent cannot be wrong.
    expect(toFields(await rowsFrom('a.csv', 'Count:number,A\nx,1\n', { common }))).toEqual([{ A: '1', ...common }]);
    expect(toFields(await rowsFrom('a.csv', 'A\n""\n', { common }))).toEqual([common]);
    expect(toFields(await rowsFrom('a.csv', 'A\n""\n'))).toEqual(['2: no fields to send']);
  });

  test('I06: a column with a name of the language is a field like any other', async () => {
    const [row] = (await rowsFrom('a.csv', '__proto__,constructor\n1,2\n', { common: { toString: '3' } })).rows;

    expect(JSON.stringify(row?.problem === undefined && row?.fields)).toBe(
      '{"__proto__":"1","constructor":"2","toString":"3"}',
    );
    expect(({} as Record<string, unknown>)['1']).toBeUndefined();
  });
});

describe('the id', () => {
  const text = 'id,Key,A\n7,k,1\n';

  test('of a create is not sent, and that is said once; under another name it is', async () => {
    const outcome = await rowsFrom('a.csv', `${text}8,k,2\n`);

    expect(toFields(outcome)).toEqual([
      { Key: 'k', A: '1' },
      { Key: 'k', A: '2' },
    ]);
    expect(outcome.rows.map((row) => 'id' in row && row.id)).toEqual([undefined, undefined]);
    expect(outcome.check.notices).toEqual([
      '"id" is not sent, because the service assigns ids; to send it as a field, pass --rename id=NAME',
    ]);
    const renamed = await rowsFrom('a.csv', text, { rename: new Map([['id', 'Old']]) });
    expect(toFields(renamed)).toEqual([{ Old: '7', Key: 'k', A: '1' }]);
    expect(renamed.check.notices).toEqual([]);
  });

  test('of the other actions is where --id-column says; to get and delete needs nothing else', async () => {
    const update = await rowsFrom('a.csv', text, { action: 'update', idColumn: 'Key' });

    expect([toIds(update), toFields(update)]).toEqual([['k'], [{ id: '7', A: '1' }]]);
    for (const action of ['get', 'delete'] as const) {
      const outcome = await rowsFrom('a.csv', 'A:number,id\nx,7\n', { action });

      expect([toIds(outcome), toFields(outcome), outcome.check.notices]).toEqual([['7'], [{}], []]);
    }
  });

  test('I01: that is empty or invalid in a path is an invalid row', async () => {
    const outcome = await rowsFrom('a.csv', 'A,id\n1,\n1,..\n1,"a\nb"\n1,%2e%2e\n', { action: 'delete' });

    expect(toIds(outcome)).toEqual([
      '2:2 no id',
      '3:2 the item id is "..", which is not a path segment',
      '4:2 the item id has control characters',
      '%2e%2e',
    ]);
  });

  test('without its column nothing can be done but create', async () => {
    await expect(rowsFrom('a.csv', 'ID,A\n7,1\n', { action: 'update' })).rejects.toMatchObject({
      kind: 'usage',
      message: '--id-column id: no column "id"',
      details: { hint: 'did you mean "ID"?' },
    });
  });

  test('alone is not an update', async () => {
    expect(toIds(await rowsFrom('a.csv', 'id,A\n7,\n8,1\n', { action: 'update' }))).toEqual([
      '2: no fields to send',
      '8',
    ]);
  });
});

describe('an option that is for other rows is refused', () => {
  test.each([
    ['a.jsonl', { delimiter: ';' }],
    ['a.json', types(['A', 'auto'])],
    ['a.txt', { empty: 'null' }],
    ['a.txt', { only: ['A'] }],
    ['a.ids', { rename: new Map([['A', 'B']]) }],
    ['a.csv', { rows: 'items' }],
  ] as const)('%s, %j', async (name, options: Partial<RowsOptions>) => {
    await expect(rowsFrom(name, '', { action: 'update', ...options })).rejects.toMatchObject({ kind: 'usage' });
  });
});

describe('the format by name', () => {
  test.each(['a.csv', 'a.CSV', 'a.b.csv'])('%s', async (name) => {
    expect(toFields(await rowsFrom(name, 'A\n1\n'))).toEqual([{ A: '1' }]);
  });

  test.each(['a.tsv', 'a.tab'])('%s: tabs, and commas are text', async (name) => {
    expect(toFields(await rowsFrom(name, 'A,x\tB\n1\t"2\t""3"\n'))).toEqual([{ 'A,x': '1', B: '2\t"3' }]);
  });

  test.each(['a.ndjson', 'a.jsonl', 'a.JSONL'])('%s', async (name) => {
    expect(toFields(await rowsFrom(name, '{"A":1}\n'))).toEqual([{ A: 1 }]);
  });

  test.each(['a', 'a.xlsx', 'csv', 'a.csv.bak', 'a.constructor'])(
    '%s: none, but --input-format names it',
    async (name) => {
      await expect(rowsFrom(name, 'A\n1\n')).rejects.toMatchObject({
        kind: 'usage',
        details: { hint: expect.stringContaining('--input-format') },
      });
      expect(toFields(await rowsFrom(name, 'A\n1\n', { format: 'csv' }))).toEqual([{ A: '1' }]);
    },
  );
});

test('each invalid row is named with line, column and the name of that', async () => {
  const { check, file } = await rowsFrom('a.csv', `A:number,B\n${'x,1\n'.repeat(21)}1,2\n1\n`);
  const failures = check.bad.map((row) => badRowFailure(row, file));

  expect(failures).toHaveLength(22);
  const reason = 'in "A", "x" is not a number';
  expect(failures[0]).toMatchObject({
    message: `line 2, column 1: ${reason}`,
    details: { outcome: 'not-sent', about: { row: 1, line: 2, column: 1, columnName: 'A:number', reason } },
  });
  expect(badRowsFailure(check, file)).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/a\.csv: 22 rows of 23 cannot be sent$/),
    details: { hint: expect.stringContaining('--skip-invalid') },
  });
});
