/** The rows that were not done, kept for whoever mends them. */
import { rmSync, statSync } from 'node:fs';
import { checkReplaceable, replaceFile } from '../../bulk/whole-file.ts';
import { openSpool, type Spool } from '../../output/spool.ts';
import type { RowsFile } from '../../rows/open-rows.ts';
import { openRejects, type Rejects } from '../../rows/rejects.ts';
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
  /** Leaves none, nor that of an earlier run: not every row that belongs into it is known. */
  discard(): void;
}

/** Rows are written together, so many at once. */
const batchLength = 65_536;

/** Leaves no rejects file: it would be taken for a whole one. */
export function discardRejects(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) rmSync(path, { force: true });
}

/**
 * Begins a rejects file. Its text waits where nobody else can read it, and the file is there, whole and its owner's
 * alone, when the run has ended.
 */
export function openRejectsFile(path: string, file: RowsFile): RejectsFile {
  // Before anything is sent: afterwards it would be too late to name another one.
  checkReplaceable(path);
  const rejects = openRejects(file);
  const spool = openSpool();
  return {
    add: (source, error) => spool.add(rejects.row(source, error)),
    end: () => replaceFile(path, inPieces(rejects, spool)),
    discard: () => discardRejects(path),
  };
}

function* inPieces(rejects: Rejects, spool: Spool): Generator<string> {
  yield rejects.head();
  yield* batched(spool.lines());
  yield rejects.tail();
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
