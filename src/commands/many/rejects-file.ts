/** The rows that were not done, kept for whoever mends them. */
import { replaceFile } from '../../bulk/whole-file.ts';
import { openSpool } from '../../output/spool.ts';
import type { RowsFile } from '../../rows/open-rows.ts';
import { openRejects } from '../../rows/rejects.ts';
import type { RowSource } from '../../rows/row.ts';

/** A rejects file that is being made. */
export interface RejectsFile {
  add(source: RowSource, error: string): void;
  /**
   * Puts it in its place, also when there is no row in it: one of an earlier run would be taken for this one's.
   *
   * @throws {Failure} local-file
   */
  end(): void;
}

/** Rows are written together, so many at once. */
const batchLength = 65_536;

/**
 * Begins a rejects file. Its text waits where nobody else can read it, and the file is there, whole and its owner's
 * alone, when the run has ended.
 */
export function openRejectsFile(path: string, file: RowsFile): RejectsFile {
  const rejects = openRejects(file);
  const spool = openSpool();
  return {
    add: (source, error) => spool.add(rejects.row(source, error)),
    end: () => replaceFile(path, [rejects.head(), ...batched(spool.lines()), rejects.tail()]),
  };
}

function* batched(lines: Iterable<string>): Generator<string> {
  let batch = '';
  for (const line of lines) {
    batch += line;
    if (batch.length < batchLength) continue;
    yield batch;
    batch = '';
  }
  yield batch;
}
