/** csv-spectrum, and cases of our own, against our reader of CSV. */
import { promisify } from 'node:util';
import readSpectrum from 'csv-spectrum';
import { describe, expect, test } from 'vitest';
import { csvLine } from '../../src/output/csv.ts';
import { plainStyle } from '../../src/output/view.ts';
import { naughtyStrings } from '../corpora/naughty-strings.ts';
import { rowsFrom, toFields } from './rows/rows-from.ts';

const spectrum = await promisify(readSpectrum)();
/** Its JSON says something else than it: another telephone number. */
const odd = 'location_coordinates';

describe('csv-spectrum', () => {
  test('is whole', () => expect(spectrum).toHaveLength(12));

  test.each(spectrum.filter(({ name }) => name !== odd))(
    '$name means what it is said to mean',
    async ({ csv, json }) => {
      expect(toFields(await rowsFrom('a.csv', csv, { empty: 'string' }))).toEqual(JSON.parse(json.toString()));
    },
  );

  test('the one with a bare quote in a cell, which RFC 4180 has not, is refused with its place', async () => {
    const { csv = '' } = spectrum.find(({ name }) => name === odd) ?? {};

    expect(toFields(await rowsFrom('a.csv', csv))).toEqual([
      expect.stringMatching(/^2:2 quote inside an unquoted cell/),
    ]);
  });
});

/** The text behind a header `a,b`, and its rows, or what is wrong with them: line, column and reason. */
const cases: readonly { readonly text: string; readonly rows: readonly unknown[] }[] = [
  { text: '', rows: [] },
  { text: '\n\r\n\n', rows: [] },
  { text: '1,2', rows: [{ a: '1', b: '2' }] },
  { text: '1,2\r\n', rows: [{ a: '1', b: '2' }] },
  { text: ' 1 , 2 \n', rows: [{ a: ' 1 ', b: ' 2 ' }] },
  { text: ',\n', rows: [{ a: '', b: '' }] },
  { text: '"",""\n', rows: [{ a: '', b: '' }] },
  { text: '"""",""""""\n', rows: [{ a: '"', b: '""' }] },
  { text: '"1,2",3\n', rows: [{ a: '1,2', b: '3' }] },
  { text: '"1\n2",3\n', rows: [{ a: '1\n2', b: '3' }] },
  { text: '"1\r\n2",3\r\n', rows: [{ a: '1\r\n2', b: '3' }] },
  { text: '"1\r2",3\n', rows: [{ a: '1\r2', b: '3' }] },
  {
    text: '"\n\n\n",1\n\n2,3\n',
    rows: [
      { a: '\n\n\n', b: '1' },
      { a: '2', b: '3' },
    ],
  },
  { text: '1;2,3\n', rows: [{ a: '1;2', b: '3' }] },
  { text: '\ufeff1,2\n', rows: [{ a: '\ufeff1', b: '2' }] },
  { text: '1\u20282,3\u0085\n', rows: [{ a: '1\u20282', b: '3\u0085' }] },
  { text: '\0,\u001b\n', rows: [{ a: '\0', b: '\u001b' }] },
  { text: "'1,2'\n", rows: [{ a: "'1", b: "2'" }] },
  { text: '\\"1,2\\"\n', rows: [expect.stringMatching(/^2:1 .*quote/)] },
  { text: '1"2,3\n', rows: [expect.stringMatching(/^2:1 .*quote/)] },
  { text: '"1"2,3\n4,5\n', rows: [expect.stringMatching(/^2:1 .*quote/), { a: '4', b: '5' }] },
  { text: '1\n2,3\n', rows: [expect.stringMatching(/^2: 1 cell/), { a: '2', b: '3' }] },
  { text: '1,2,3\n4,5\n', rows: [expect.stringMatching(/^2: 3 cells/), { a: '4', b: '5' }] },
  { text: '1,2\r3,4\n', rows: [expect.stringMatching(/^2:.*CR/)] },
  { text: '1,"2\n3,4\n', rows: [expect.stringMatching(/^2:.*quote/)] },
  { text: '1,"2', rows: [expect.stringMatching(/^2:.*quote/)] },
  { text: '1,2\n"', rows: [{ a: '1', b: '2' }, expect.stringMatching(/^3:.*quote/)] },
];

describe('our own cases', () => {
  test.each(cases)('$text', async ({ text, rows }) => {
    expect(toFields(await rowsFrom('a.csv', `a,b\n${text}`, { empty: 'string' }))).toEqual(rows);
  });

  test.each([
    { format: 'csv', name: 'a.csv' },
    { format: 'tsv', name: 'a.tsv' },
  ] as const)(
    'naughty strings are read as they are printed, in $name, wherever a block ends',
    async ({ format, name }) => {
      const options = { format, isSeveral: true, screen: { columns: undefined, style: plainStyle } };
      const lines = naughtyStrings.map((text) => csvLine([text, text], options));
      const text = `${csvLine(['a', 'b'], options)}\n${lines.join('\n')}\n`;

      for (const blockBytes of [undefined, 61]) {
        const rows = toFields(await rowsFrom(name, text, { blockBytes }));
        expect(rows).toEqual(naughtyStrings.map((each) => ({ a: each, b: each })));
      }
    },
  );
});
