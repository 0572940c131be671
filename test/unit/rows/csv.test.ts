/** Rows out of CSV and TSV. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CsvSplitter, csvRecords } from '../../../src/rows/csv.ts';
import { openRejects } from '../../../src/rows/rejects.ts';
import type { RowsOptions } from '../../../src/rows/types.ts';
import { rowsFrom, toFields } from './rows-from.ts';

describe('what is a row', () => {
  test('I09: a byte order mark at the start, CRLF, blank lines and no last newline change nothing', async () => {
    const plain = await rowsFrom('a.csv', 'A,B\n1,2\n3,4\n');

    expect(toFields(plain)).toEqual([
      { A: '1', B: '2' },
      { A: '3', B: '4' },
    ]);
    for (const text of ['\ufeffA,B\r\n1,2\r\n3,4\r\n', 'A,B\n1,2\n3,4', '\r\n\nA,B\n\n1,2\r\n\r\n3,4\n\n\n']) {
      expect(toFields(await rowsFrom('a.csv', text))).toEqual(toFields(plain));
      expect(toFields(await rowsFrom('a.tsv', text.replaceAll(',', '\t')))).toEqual(toFields(plain));
    }
  });

  test('a NUL in a column name is mentioned', async () => {
    const { check } = await rowsFrom('a.csv', 'A,B\0\n8,9\n');

    expect(check.notices).toEqual(['the header has NUL characters in "B\\u0000"']);
  });

  test('I09: a byte order mark elsewhere is text', async () => {
    expect(toFields(await rowsFrom('a.csv', 'A,B\n\ufeff1,\ufeff\n'))).toEqual([{ A: '\ufeff1', B: '\ufeff' }]);
  });

  test.each(['A,B\n', 'A,B'])('I09: %j has no rows', async (text) => {
    const { check } = await rowsFrom('a.csv', text);

    expect(check).toMatchObject({ rows: 0, badCount: 0 });
  });

  test('rows alone are numbered, lines are those of the file', async () => {
    const { rows } = await rowsFrom('a.csv', '\nA,B\n\n"1\n\n1",2\r\n\n3,4\n5\n');

    expect(rows.map(({ number, line }) => [number, line])).toEqual([
      [1, 4],
      [2, 8],
      [3, 9],
    ]);
  });

  test('quotes hold delimiters, quotes and newlines of any kind, and a cell of blanks alone', async () => {
    const text = 'A,B,C\n"1,""x""","a\r\nb\nc\rd", \n';

    expect(toFields(await rowsFrom('a.csv', text))).toEqual([{ A: '1,"x"', B: 'a\r\nb\nc\rd', C: ' ' }]);
    expect(toFields(await rowsFrom('a.csv', 'A\n""\n" "\n', { empty: 'string' }))).toEqual([{ A: '' }, { A: ' ' }]);
  });
});

describe.each([
  ['csv', ','],
  ['tsv', '\t'],
])('I10: invalid rows of %s, each by line and cell, do not affect others', (format, delimiter) => {
  const read = async (text: string) => toFields(await rowsFrom(`a.${format}`, text.replaceAll(',', delimiter)));
  const good = { A: '8', B: '9' };

  test('ragged', async () => {
    expect(await read('A,B\n1\n8,9\n1,2,3\n')).toEqual([
      '2: 1 cell, but the header has 2 columns',
      good,
      '4: 3 cells, but the header has 2 columns',
    ]);
  });

  test('a quote that is never closed runs to the end, from the row that opens it on', async () => {
    expect(await read('A,B\n8,9\n1,"2\n8,9\n')).toEqual([good, '3:2 unclosed quote']);
  });

  test('a quote in the middle of a cell, and something behind a closing one', async () => {
    expect(await read('A,B\n8,9\n1,2"x,y"\n8,9\n"1"x,2\n8,9\n')).toEqual([
      good,
      '3:2 quote inside an unquoted cell (quote the cell and double the quote)',
      good,
      '5:1 unexpected text after a closing quote (double a quote inside quotes)',
      good,
    ]);
  });

  test('such a quote opens nothing: what follows its line is read', async () => {
    expect(await read('A,B\n1,2"x\n8,9\n"1"x",2\n8,9\n')).toEqual([
      expect.stringMatching(/^2:2 quote inside an unquoted cell/),
      good,
      expect.stringMatching(/^4:1 unexpected text after/),
      good,
    ]);
  });

  test('a lone CR, even as the last character; not in quotes', async () => {
    expect(await read('A,B\n1\r,2\n8,9\r\n"1"\r,2\n"\r",9\n8,9\r')).toEqual([
      '2: CR without LF outside quotes',
      good,
      '4: CR without LF outside quotes',
      { A: '\r', B: '9' },
      '6: CR without LF outside quotes',
    ]);
  });

  test.each([
    ['A,,B\n8,9,10\n', 'line 1, column 2: invalid header: empty column name'],
    ['\nA,B,A\n8,9,10\n', 'line 2, column 3: invalid header: duplicate column name "A" (see column 1)'],
    ['A,B:number,B\n', 'line 1, column 3: invalid header: duplicate column name "B" (see column 2)'],
    ['A,"B\n', 'line 1, column 2: invalid header: unclosed quote'],
    ['A,B\r8,9\r', 'line 1: invalid header: CR without LF outside quotes'],
  ])('the header %j', async (text, message) => {
    await expect(read(text)).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining(message) });
  });
});

describe('I12: a row that is too long', () => {
  const limit = 8 * 1024 * 1024;

  test('is bad at 8 MiB, and the next ones are read', async () => {
    const rows = toFields(
      await rowsFrom(
        'a.csv',
        `A\n${'x'.repeat(limit - 5000)}\n${'x'.repeat(limit)}\n${'x'.repeat(limit + 70_000)}\n8\n`,
      ),
    );

    expect(rows).toEqual([{ A: expect.any(String) }, '3: longer than 8 MiB', '4: longer than 8 MiB', { A: '8' }]);
  });

  test('is given before its end is read', async () => {
    let partsRead = 0;
    async function* endless() {
      for (; partsRead < 64; partsRead += 1) yield 'x'.repeat(1024 * 1024);
    }
    for await (const [record] of csvRecords(endless(), ',', 1)) {
      expect(record?.fault?.problem).toBe('longer than 8 MiB');
      break;
    }

    expect(partsRead).toBe(8);
  });

  test('leaves the records behind it as they are, wherever parts of the text end', async () => {
    async function* text() {
      yield* ['a,b\n"', 'x'.repeat(limit), '"",\n', 'y"\n"c\n', '1",d\n', '8,9'];
    }
    const records = [];
    for await (const block of csvRecords(text(), ',', 1)) records.push(...block);

    expect(records.map(({ line, source, fault }) => [line, fault?.problem ?? source])).toEqual([
      [1, { kind: 'cells', cells: ['a', 'b'] }],
      [2, 'longer than 8 MiB'],
      [4, { kind: 'cells', cells: ['c\n1', 'd'] }],
      [6, { kind: 'cells', cells: ['8', '9'] }],
    ]);
  });

  test('in quotes that never close runs to the end, with its newlines', async () => {
    const text = `A\n8\n"${'x\n'.repeat(limit)}`;

    expect(toFields(await rowsFrom('a.csv', text))).toEqual([{ A: '8' }, '3: longer than 8 MiB']);
  });
});

describe('how cells are divided', () => {
  test.each([
    ['A;B\n1,5;2\n', { A: '1,5', B: '2' }],
    ['A\tB\n1,5\t2\n', { A: '1,5', B: '2' }],
    ['"A,x";B\n1;2\n', { 'A,x': '1', B: '2' }],
    ['A\tB;C\n1\t2\n', { A: '1', 'B;C': '2' }],
    ['A,B;C\n1,2\n', { A: '1', 'B;C': '2' }],
    ['A\n1;2\n', { A: '1;2' }],
    ['sep=;\nA;B,C\n1;2\n', { A: '1', 'B,C': '2' }],
    ['SEP=|\r\nA|B\r\n1|2\r\n', { A: '1', B: '2' }],
    ['\ufeffsep=\t\nA\tB\n1\t2\n', { A: '1', B: '2' }],
    ['"sep=;"\n1\n', { 'sep=;': '1' }],
  ])('%j', async (text, fields) => {
    expect(toFields(await rowsFrom('a.csv', text))).toEqual([fields]);
    expect(toFields(await rowsFrom('a.csv', text, { blockBytes: 1 }))).toEqual([fields]);
  });

  test('--delimiter overrides sep=, which is not a header then either', async () => {
    const text = 'A|B,C\n1|2\n';

    for (const [before, delimiter] of [
      ['', '|'],
      ['sep=,\n', '|'],
    ] as const) {
      expect(toFields(await rowsFrom('a.csv', before + text, { delimiter }))).toEqual([{ A: '1', 'B,C': '2' }]);
    }
    for (const delimiter of ['tab', '\\t', '\t']) {
      expect(toFields(await rowsFrom('a.csv', 'A,B\tC\n1\t2\n', { delimiter }))).toEqual([{ 'A,B': '1', C: '2' }]);
    }
  });

  test.each(['', '"', '\n', '\r', ';;', '😀'])('--delimiter %j is refused', async (delimiter) => {
    await expect(rowsFrom('a.csv', 'A\n1\n', { delimiter })).rejects.toMatchObject({ kind: 'usage' });
  });

  test("lines are counted from the file's first, sep= included", async () => {
    expect(toFields(await rowsFrom('a.csv', 'sep=;\nA;B\n1\n'))).toEqual(['3: 1 cell, but the header has 2 columns']);
  });
});

describe('blocks', () => {
  const options = { record_delimiter: ['\n', '\r\n'], relax_column_count: true, skip_empty_lines: true };
  const piece = fc.constantFrom('a', 'é😀', ',', ';', '"', '""', '\n', '\r\n', '\r', ' ', '\0', '"x,\n"', '"\r\n""",');

  test('wherever the text is cut, the records are the same; where all are good, they are those of csv-parse', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), async (pieces, length) => {
        const text = pieces.join('');
        const whole = await recordsOf([text]);

        expect(await recordsOf(cut(text, length))).toEqual(whole);
        if (whole.every(({ fault }) => fault === undefined)) {
          expect(whole.map(({ source }) => source.kind === 'cells' && source.cells)).toEqual(parse(text, options));
        }
      }),
      { numRuns: 150 },
    );
  });

  test('what the splitter takes for one record csv-parse does too, or finds it bad', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const splitter = new CsvSplitter(',');
        for (const { text, records } of [splitter.cut(pieces.join('')), splitter.end()]) {
          for (const { start, end } of records) expect(countIn(text.slice(start, end))).toBe(1);
        }
      }),
      { numRuns: 150 },
    );
    function countIn(record: string): number {
      try {
        return parse(record, options).length;
      } catch {
        return 1;
      }
    }
  });

  test('any cells that are written in quotes are read as they were', async () => {
    const cells = fc.array(fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { minLength: 2, maxLength: 2 }));

    await fc.assert(
      fc.asyncProperty(cells, fc.integer({ min: 1, max: 20 }), async (lines, length) => {
        const text = lines.map((line) => line.map((one) => `"${one.replaceAll('"', '""')}"`).join()).join('\r\n');
        const records = await recordsOf(cut(text, length));

        expect(records.map(({ source }) => source.kind === 'cells' && source.cells)).toEqual(lines);
      }),
    );
  });

  async function recordsOf(parts: readonly string[]) {
    const records = [];
    for await (const block of csvRecords(eachOf(parts), ',', 1)) records.push(...block);
    return records;
  }

  async function* eachOf(parts: readonly string[]) {
    yield* parts;
  }

  function cut(text: string, length: number): string[] {
    return Array.from({ length: Math.ceil(text.length / length) }, (_, at) =>
      text.slice(at * length, (at + 1) * length),
    );
  }
});

describe('a header as spreadsheets write it', () => {
  test('blanks around names are ignored with a notice, but not in quotes, as listctl writes them', async () => {
    const outcome = await rowsFrom('a.csv', 'Title; Count\u00a0;" b ";listctl:error\n x ;1;2;no\n', {
      only: undefined,
    });

    expect(toFields(outcome)).toEqual([{ Title: ' x ', Count: '1', ' b ': '2' }]);
    expect(outcome.check.notices).toEqual(['blanks around "Count" in the header are ignored']);
  });

  test.each<[string, string, Partial<RowsOptions>, readonly unknown[], readonly string[]]>([
    [
      'empty columns at the end',
      'A;;\nx;;\ny; ;\n',
      {},
      [{ A: 'x' }, { A: 'y' }],
      ['columns 2, 3 are ignored: they have no name'],
    ],
    ['the same, with --only', 'A;B;\nx;1;\n', { only: ['A'] }, [{ A: 'x' }], ['column 3 is ignored: it has no name']],
    [
      'before the error of a rejects file',
      'A;;listctl:error\nx;;no\n',
      {},
      [{ A: 'x' }],
      ['column 2 is ignored: it has no name'],
    ],
    [
      'a value in one',
      'A;;\nx;;\ny;z;\n',
      {},
      [{ A: 'x' }, '3:2 the column has no name, but the cell is "z"'],
      ['columns 2, 3 are ignored: they have no name'],
    ],
    [
      'a value in one, with --only',
      'A;;B\nx;z;\n',
      { only: ['A'] },
      [{ A: 'x' }],
      ['column 2 is ignored: it has no name'],
    ],
  ])('%s', async (_, text, options, rows, notices) => {
    const outcome = await rowsFrom('a.csv', text, options);

    expect([toFields(outcome), outcome.check.notices]).toEqual([rows, notices]);
  });

  test.each(['A;;B\nx;;y\n', ';\nx;y\n', ';A\nx;y\n'])(
    'a column without a name before another is an error: %j',
    async (text) => {
      await expect(rowsFrom('a.csv', text)).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringContaining('empty column name'),
      });
    },
  );
});

describe('--no-quotes', () => {
  test('every tab and line end separates, and a quote is a character', async () => {
    const text = 'Title\t"Size\n5" pipe\t"a\nb"\t""\n';

    expect(toFields(await rowsFrom('a.tsv', text, { quotes: false }))).toEqual([
      { Title: '5" pipe', '"Size': '"a' },
      { Title: 'b"', '"Size': '""' },
    ]);
  });

  test('and rejects are written so', async () => {
    const outcome = await rowsFrom('a.tsv', 'A\n5" pipe\n', { quotes: false });
    const rejects = openRejects(outcome.file);
    const text = [rejects.head?.(), ...outcome.rows.map((row) => rejects.row(row, 'no\t"x"\nno'))].join('');

    expect(text).toBe('A\tlistctl:error\n5" pipe\tno "x" no\n');
    expect(toFields(await rowsFrom('a.tsv', text, { quotes: false }))).toEqual([{ A: '5" pipe' }]);
  });

  test('is for cells only', async () => {
    await expect(rowsFrom('a.jsonl', '{}\n', { quotes: false })).rejects.toMatchObject({
      message: '--no-quotes requires CSV or TSV input, not jsonl',
    });
  });
});
