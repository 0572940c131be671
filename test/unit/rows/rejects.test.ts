/** What was not done, in the format that it came in. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openRejects } from '../../../src/rows/rejects.ts';
import type { RowsOptions } from '../../../src/rows/types.ts';
import { type Outcome, rowsFrom, toFields, toIds } from './rows-from.ts';

/** A rejects file of every row, each with this error or, of a bad one, its problem. */
function rejected({ file, rows }: Outcome, error = 'a "bad", day;\n\tnot found'): string {
  const rejects = openRejects(file);
  const texts = rows.map((row) => rejects.row(row, row.problem ?? error));
  return [rejects.head?.(), ...texts, rejects.tail?.()].join('');
}

/** Texts that give readers trouble (after the Big List of Naughty Strings, Max Woolf, MIT). */
const naughty = [
  ...'\0\r\n",;\t\' \ufeff\u2028\u0085\u00a0０\u202eﬀ\\',
  ...['\r\n', '""', ' a ', '=1+1', '-1', '@SUM(1)', 'sep=;', 'NULL', 'undefined', '007', '1e5', '田中さん', '👾🙇💁🏽'],
  ...['بالتطبيق', '\ud7ff\ue000', 'Ω≈ç√∫', '<script>', '$HOME', '%00', '../..', '__proto__', 'listctl:error'],
  ...['\u001b[31m', '\u007f\u009b', '\\"'],
];

describe('I13: any text comes back as it was, with the error beside it', () => {
  const anyText = fc.oneof(fc.constantFrom(...naughty), fc.string({ unit: 'binary', maxLength: 12 }));
  const cells = fc.array(fc.tuple(anyText, anyText), { minLength: 1, maxLength: 8 });

  test.each([
    ['a.csv', ','],
    ['a.csv', ';'],
    ['a.csv', '|'],
    ['a.tsv', '\t'],
  ])('%s with %j', async (name, delimiter) => {
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

    await fc.assert(
      fc.asyncProperty(cells, anyText, async (lines, error) => {
        const text = [['A, "x"', 'sep=;B'], ...lines].map((line) => `${line.map(quoted).join(delimiter)}\n`).join('');
        const options = { empty: 'string', delimiter } as const;
        const first = await rowsFrom(name, text, options);
        // The delimiter is not passed again.
        const again = await rowsFrom(name, rejected(first, error), { empty: 'string' });

        expect(toFields(first)).toEqual(lines.map(([one, other]) => ({ 'A, "x"': one, 'sep=;B': other })));
        expect(toFields(again)).toEqual(toFields(first));
        expect(again.rows.map(({ source }) => source.kind === 'cells' && source.cells[2])).toEqual(
          lines.map(() => error),
        );
      }),
      { numRuns: 25 },
    );
  });

  test.each(['a.jsonl', 'a.json', '-'])('%s, half characters too', async (name) => {
    const value = fc.record({ A: fc.oneof(anyText, fc.constantFrom('\ud800', '\udc00x')), B: fc.jsonValue() });

    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 5 }), anyText, async (values, error) => {
        const text =
          name === 'a.json' ? JSON.stringify(values) : values.map((one) => `${JSON.stringify(one)}\n`).join('');
        const first = await rowsFrom(name, text);
        const again = await rowsFrom(name, rejected(first, error));

        expect(JSON.stringify(toFields(first))).toBe(JSON.stringify(values));
        expect(JSON.stringify(toFields(again))).toBe(JSON.stringify(values));
        for (const { source } of again.rows) expect(source).toMatchObject({ value: { 'listctl:error': error } });
      }),
      { numRuns: 25 },
    );
  });

  test('ids', async () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: an id has none.
    const id = anyText.filter((text) => !/^\.{0,2}$|[\u0000-\u001f\u007f-\u009f]/.test(text));

    await fc.assert(
      fc.asyncProperty(fc.array(id, { minLength: 1, maxLength: 5 }), anyText, async (ids, error) => {
        const first = await rowsFrom('a.txt', `\ufeff${ids.map((one) => `${one}\n`).join('')}`, { action: 'get' });

        expect(toIds(first)).toEqual(ids);
        expect(toIds(await rowsFrom('a.txt', rejected(first, error), { action: 'get' }))).toEqual(ids);
      }),
    );
  });
});

describe('what could not be read', () => {
  const again = async (name: string, text: string, options: Partial<RowsOptions> = {}) => {
    const rejects = rejected(await rowsFrom(name, text, options));
    return { rejects, rows: toFields(await rowsFrom(name, rejects, { ...options, common: { C: 'x' } })) };
  };

  test('of CSV is kept unchanged, and is invalid until it is fixed', async () => {
    const ragged = await again('a.csv', 'A,B,C\n1\n1,2\n1,2,3,4\n1,"2\n3');

    expect(ragged.rejects).toBe(
      [
        'A,B,C,listctl:error',
        '1,"1 cell, but the header has 3 columns"',
        '1,2,"2 cells, but the header has 3 columns"',
        '1,2,3,4,"4 cells, but the header has 3 columns"',
        '"1,""2\n3",unclosed quote',
        '',
      ].join('\n'),
    );
    expect(ragged.rows).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\d: \d cells, but the header has 4 columns$/)]),
    );
    expect(ragged.rows.every((one) => typeof one === 'string')).toBe(true);
    for (const text of ['A\n"1\n', 'A\n1,2\n', 'A,listctl:error\n1\n"1"x,y\n1,2,3\n']) {
      const { rows } = await again('a.csv', text);

      expect(rows.every((one) => typeof one === 'string')).toBe(true);
      expect(rows).toHaveLength(text.split('\n').length - 2);
    }
  });

  test.each(['a.jsonl', 'a.json'])('of %s is a member, and invalid until it is fixed', async (name) => {
    const text = name === 'a.json' ? '[{"A":},\n{"A":1}},\nnull,\n"7"]' : '{"A":}\n{"A":1}}\nnull\n"7"\n';
    const { rejects, rows } = await again(name, text);

    expect(rejects).toContain('{"listctl:text":"{\\"A\\":}","listctl:error":"invalid JSON at \\"}\\""}');
    expect(rows.slice(0, 3)).toEqual([1, 2, 3].map(() => expect.stringContaining('fix its listctl:text')));
  });

  test('of ids is as it was', async () => {
    const { rejects } = await again('a.txt', '..\na\tb\n7\n', { action: 'delete' });

    expect(rejects.split('\n').slice(0, 3)).toEqual([
      '..\tlistctl:error: the item id is "..", which is not a path segment',
      'a\tb\tlistctl:error: the item id has control characters',
      '7\tlistctl:error: a "bad", day; not found',
    ]);
  });
});

test('rejects of rejects have the one error, the last', async () => {
  for (const [name, text] of [
    ['a.csv', 'A,listctl:error,B\n1,old,2\n'],
    ['a.jsonl', '{"A":"1","listctl:error":"old","B":"2"}\n'],
    ['a.txt', '1\tlistctl:error: old\n'],
  ] as const) {
    const action = name === 'a.txt' ? 'get' : 'create';
    const rejects = rejected(await rowsFrom(name, text, { action }), 'new');

    expect(rejects).not.toContain('old');
    expect(rejects.match(/listctl:error/g)).toHaveLength(1);
    expect(rejected(await rowsFrom(name, rejects, { action }), 'new')).toBe(rejects);
  }
});

test('a JSON id alone becomes an object with that id', async () => {
  const rejects = rejected(await rowsFrom('a.jsonl', '"a"\n1.10\n', { action: 'get', idColumn: 'Key' }), 'no');

  expect(rejects).toBe('{"Key":"a","listctl:error":"no"}\n{"Key":1.10,"listctl:error":"no"}\n');
});

test('they are UTF-8 with a byte order mark where the input had another encoding, so that the same command reads them', async () => {
  const options = { encoding: 'windows-1252' };
  const first = await rowsFrom('a.csv', Buffer.from('A\nf\xfcr 5 \x80\n', 'latin1'), options);
  const rejects = rejected(first);

  expect(rejects.startsWith('\ufeffA,listctl:error\nfür 5 €,')).toBe(true);
  expect(toFields(await rowsFrom('a.csv', rejects, options))).toEqual([{ A: 'für 5 €' }]);
});

test('an empty array is one', async () => {
  expect(rejected(await rowsFrom('a.json', '[]'))).toBe('[\n]\n');
});
