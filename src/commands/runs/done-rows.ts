import { journalRecords } from '../../bulk/journal-replay.ts';
import { Failure } from '../../errors.ts';
import { checkId } from '../../item.ts';

/** A row that a run did. */
export interface DoneRow {
  readonly row: number;
  readonly id: string;
  /** The entity tag that the item had then, where the service gave one. */
  readonly etag: string | undefined;
  /** What is wrong with the id, where it can be none: the service gave it like that, or somebody changed the journal. */
  readonly problem: Failure | undefined;
}

/**
 * The rows that a run did, those that a person said were done included, in the order of its journal: that in which
 * they were done. Each is there once. Left out is what was settled without an id.
 *
 * @throws {Failure} local-file, when the journal is damaged
 */
export async function* doneRows(path: string): AsyncGenerator<DoneRow> {
  for await (const { record } of journalRecords(path)) {
    if (record[0] === 'D') yield doneRow(record[1], record[2], record[3] ?? undefined);
    else if (record[0] === 'R' && record[2] === 'applied' && record[3] !== '') yield doneRow(record[1], record[3]);
  }
}

function doneRow(row: number, id: string, etag?: string): DoneRow {
  return { row, id, etag, problem: problemOf(id) };
}

function problemOf(id: string): Failure | undefined {
  try {
    checkId(id, 'item');
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}
