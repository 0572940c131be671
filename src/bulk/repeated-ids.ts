/**
 * Rows with the id of an earlier row of their file: an update sends them one after the other, a delete or a read takes
 * each item once (docs/decisions.md, bulk-7).
 */
import { Failure } from '../core/errors.ts';
import { countOf } from '../core/text.ts';
import type { RowsFile } from '../rows/read.ts';
import { type BadRow, pastTense, type Row, type RowAction } from '../rows/types.ts';
import type { Replay } from './journal-read.ts';
import { bothRows, onEveryRow } from './key-checks.ts';
import { IdSet } from './keys.ts';

/** The rows of a file whose id an earlier row has. */
export interface RepeatedIds {
  readonly ids: ReadonlySet<string>;
  /** Their numbers, of the shard. */
  readonly rows: ReadonlySet<number>;
}

/**
 * Collects repeated ids while a file is read over every shard.
 *
 * @returns `file` to read, and `find`, which reads it again if there are such ids; undefined if there are none
 */
export function watchRepeated(file: RowsFile): {
  readonly file: RowsFile;
  readonly find: () => Promise<RepeatedIds | undefined>;
} {
  // The set may take two different ids for the same, so these are only candidates.
  let candidates = new Set<string>();
  const start = () => {
    const seen = new IdSet();
    candidates = new Set();
    return ({ id }: Row) => {
      if (id !== undefined && !seen.add(id)) candidates.add(id);
      return undefined;
    };
  };
  const find = () => (candidates.size === 0 ? undefined : findRepeated(file, candidates));
  return { file: onEveryRow(file, start), find: async () => find() };
}

/** @throws {Failure} usage, if rows of an update with one id are in different shards */
async function findRepeated(file: RowsFile, candidates: ReadonlySet<string>): Promise<RepeatedIds | undefined> {
  const first = new Map<string, Row>();
  const [ids, rows] = [new Set<string>(), new Set<number>()];
  for await (const row of goodRows(file, true)) {
    if (row.id === undefined || !candidates.has(row.id)) continue;
    const earlier = first.get(row.id);
    if (earlier === undefined) {
      first.set(row.id, row);
      continue;
    }
    if (file.options.action === 'update') refuseOtherShard(file, earlier, row);
    ids.add(row.id);
    if (file.isOfShard(row.number)) rows.add(row.number);
  }
  return ids.size === 0 ? undefined : { ids, rows };
}

function refuseOtherShard(file: RowsFile, earlier: Row, row: Row): void {
  const { shard } = file.options;
  if (shard === undefined || (row.number - earlier.number) % shard.count === 0) return;
  throw new Failure('usage', `${bothRows(earlier, row)} have the same id but are in different shards`, {
    hint: 'the order of their updates would be by chance: merge the rows, or leave out --shard',
  });
}

async function* goodRows(file: RowsFile, everyShard: boolean): AsyncGenerator<Row> {
  for await (const block of file.blocks({ everyShard })) {
    for (const row of block) if (isGood(row)) yield row;
  }
}

function isGood(row: Row | BadRow): row is Row {
  return row.problem === undefined;
}

export function repeatedNotice({ rows }: RepeatedIds, action: RowAction): string {
  const repeat = `${countOf(rows.size, 'row')} ${rows.size === 1 ? 'has' : 'have'} the id of an earlier row`;
  if (action === 'update') return `${repeat}: rows of one id are sent one after the other, in the order of the file`;
  return `${repeat}: each item is ${pastTense[action]} once`;
}

/**
 * Finds rows that a resume must not send, since a later row of the same id is done.
 *
 * @returns the number of that row
 */
export async function findOvertaken(
  file: RowsFile,
  { ids }: RepeatedIds,
  before: Replay,
): Promise<(row: Row) => number | undefined> {
  const done = new Map<string, number>();
  for await (const { id, number } of goodRows(file, false)) {
    if (id !== undefined && ids.has(id) && before.stateOf(number) === 'done') done.set(id, number);
  }
  return ({ id, number }) => {
    const later = done.get(id ?? '');
    return later !== undefined && later > number ? later : undefined;
  };
}
