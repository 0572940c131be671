import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printJson } from '../../../src/core/json.ts';
import { checkRows } from '../../../src/rows/check.ts';
import type { Input } from '../../../src/rows/input.ts';
import { openRows } from '../../../src/rows/read.ts';
import type { BadRow, Row, RowsOptions } from '../../../src/rows/types.ts';
import { Broken, type FuzzTarget, failureWords, mustHold } from '../target.ts';
import { jsonWords } from './words.ts';

const usual: RowsOptions = {
  action: 'update',
  rename: new Map(),
  types: new Map([['*', 'auto']]),
  empty: 'null',
  idColumn: 'id',
  rows: 'auto',
  common: {},
};

const csvWords = [
  ...',·;·\t·"·""·"\n"·\n·\r\n·\r·id·id,·Count:number·a:json·:·sep=;\n·sep=,\r\n'.split('·'),
  ...'\ufeff·\0·\u2028·null·true·1e400·1.10·-0·[1·{"a":1}·listctl:error· ·=1+1'.split('·'),
  'x'.repeat(99),
];

/** The target of files with this name. */
function rowsTarget(name: string, file: string, words: readonly string[], testRuns: number): FuzzTarget {
  const types = /\.[ct]sv$/.test(file) ? usual : { types: new Map(), empty: 'omit' as const };
  return {
    ...{ name, words, testRuns },
    open: (directory) => ({
      run: async (bytes) => {
        const path = join(directory, file);
        writeFileSync(path, bytes);
        const whole = await rowsOf(path, bytes, { ...usual, ...types });
        // Once is what a long one may take.
        if (bytes.length > 16_384) return whole.slice(0, 150);
        // Where a block ends must change nothing; each byte by itself takes too long where there are many.
        const blockBytes = bytes.length < 100 ? 1 : 61 + (bytes.length % 1000);
        const cut = await rowsOf(path, bytes, { ...usual, ...types, blockBytes });
        // Of two things that are wrong with a file, either may be met first.
        if (whole !== cut && !(isFailure(whole) && isFailure(cut))) {
          throw new Broken(`in blocks of ${blockBytes} bytes it is another: ${difference(whole, cut)}`);
        }
        return whole.slice(0, 150);
      },
    }),
  };
}

/** All rows of a file in words, or the failure that it ended in. */
async function rowsOf(path: string, bytes: Buffer, options: RowsOptions): Promise<string> {
  const descriptor = openSync(path, 'r');
  const input: Input = {
    ...{ name: path, isSpooled: false, isRegular: true, descriptor, sizeBytes: bytes.length },
    close: () => closeSync(descriptor),
  };
  try {
    const words: string[] = [];
    const file = await openRows(input, options);
    let count = 0;
    const check = await checkRows(file, (row) => {
      count += 1;
      keep(words, row);
    });
    mustHold(check.rows >= check.badCount && check.rows === count, 'every row is counted');
    const again: string[] = [];
    for await (const rows of file.blocks()) for (const row of rows) keep(again, row);
    mustHold(again.join('\n') === words.join('\n'), 'the second reading is as the first');
    return words.join('\n');
  } catch (error) {
    return failureWords(error, ['usage', 'local-file']);
  } finally {
    input.close();
  }
}

/** So many rows are enough: of a million of them the words alone would fill the memory. */
function keep(words: string[], row: Row | BadRow): void {
  const said = rowWords(row);
  if (words.length < 10_000) words.push(said);
}

function rowWords(row: Row | BadRow): string {
  mustHold(row.line >= 1 && row.number >= 1, 'every row has a place');
  if (row.problem !== undefined) {
    mustHold(row.problem !== '' && row.problem.length < 2000, 'what is wrong is said, and not endlessly');
    mustHold(row.column === undefined || row.column >= 1, 'a column counts from 1');
    return `bad: ${row.problem} at ${row.line}:${row.column}`;
  }
  mustHold(row.id !== '', 'no id is empty');
  return `good: ${row.id} ${printJson(row.fields)}`;
}

function isFailure(words: string): boolean {
  return /^(usage|local-file): /.test(words);
}

/** Where two texts that are not the same part. */
function difference(one: string, other: string): string {
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return JSON.stringify([one.slice(Math.max(0, at - 20), at + 60), other.slice(Math.max(0, at - 20), at + 60)]);
}

export const rowsTargets: readonly FuzzTarget[] = [
  rowsTarget('csv', 'a.csv', csvWords, 250),
  rowsTarget('jsonl', 'a.jsonl', jsonWords, 250),
  rowsTarget('json-rows', 'a.json', jsonWords, 300),
  rowsTarget(
    'ids',
    'a.ids',
    ['\n', '\r\n', '.', '..', '\0', '\tlistctl:error: ', 'a'.repeat(1024), '\ufeff', '\u0085'],
    300,
  ),
];
