/** Rows out of a text, as a run would read them from a file of that name. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, checkRows } from '../../../src/rows/check.ts';
import { openInput } from '../../../src/rows/input.ts';
import { openRows, type RowsFile } from '../../../src/rows/read.ts';
import type { BadRow, Row, RowsOptions } from '../../../src/rows/types.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testHost } from '../../support/test-host.ts';

/** As they are without a flag. */
export const usual: RowsOptions = {
  action: 'create',
  rename: new Map(),
  types: new Map(),
  empty: 'omit',
  idColumn: 'id',
  rows: 'auto',
  common: {},
};

/** What a file turned out to be. */
export interface Outcome {
  readonly file: RowsFile;
  readonly check: Check;
  /** Of the shard, as the second pass gave them. */
  readonly rows: readonly (Row | BadRow)[];
}

/** Checks a file and then reads it again; the rows of the two passes are the same, or it throws. */
export async function rowsFrom(
  name: string,
  content: string | Uint8Array,
  options: Partial<RowsOptions> = {},
): Promise<Outcome> {
  await using directory = await temporaryDirectory();
  const isStdin = name === '-';
  const path = isStdin ? name : join(directory.path, name);
  if (!isStdin) await writeFile(path, content);
  const input = await openInput(path, { host: testHost({ stdin: content }), spoolDirectory: directory.path });
  try {
    const file = await openRows(input, { ...usual, ...options });
    const checked: (Row | BadRow)[] = [];
    const check = await checkRows(file, (row) => checked.push(row));
    const rows: (Row | BadRow)[] = [];
    for await (const block of file.blocks()) rows.push(...block);
    if (JSON.stringify(rows) !== JSON.stringify(checked)) throw new Error('the two passes differ');
    return { file, check, rows };
  } finally {
    input.close();
  }
}

/** The fields of the good rows; what is wrong, and where, of the bad ones. */
export function toFields({ rows }: Outcome): readonly unknown[] {
  return rows.map((row) => (row.problem === undefined ? row.fields : place(row)));
}

/** The ids of the good rows; what is wrong, and where, of the bad ones. */
export function toIds({ rows }: Outcome): readonly unknown[] {
  return rows.map((row) => (row.problem === undefined ? row.id : place(row)));
}

function place({ line, column, problem }: BadRow): string {
  return `${line}:${column ?? ''} ${problem}`;
}
