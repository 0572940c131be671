/** The rows that were not done, kept for whoever fixes them. */
import type { Session } from '../cli/session.ts';
import { openSpool } from '../core/spool.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';

/** A rejects file that is being made. */
export interface RejectsFile<R> {
  add(row: R, error: string): void;
  /**
   * Writes it, also when there is no row in it: one of an earlier run would be taken for this one's.
   *
   * @throws {Failure} local-file
   */
  end(): Promise<void>;
  /** Leaves none, nor that of an earlier run: not every row that belongs into it is known. */
  discard(): void;
}

/** What it is made of. */
export interface RejectsFormat<R> {
  head?(): string;
  row(row: R, error: string): string;
  tail?(): string;
}

/** Rows are written together, so many at once. */
const batchLength = 65_536;

/**
 * Opens what `--rejects` names, before anything is sent.
 *
 * @param printsItems whether stdout is for the items that are read
 * @throws {Failure} usage, when it is standard output, and results go there as well; local-file; as `openOutput`
 */
export async function openRejectsOutput(
  typed: string | undefined,
  printsItems: boolean,
  session: Session,
): Promise<OutputFile | undefined> {
  if (typed === undefined) return undefined;
  if (descriptorNamed(typed, session.host) === 1) session.claimStdout('--rejects', printsItems);
  return openOutput(typed, '--rejects', session.host);
}

/** Begins a rejects file. Its text waits where nobody else can read it until the run has ended. */
export function openRejectsFile<R>(
  output: OutputFile | undefined,
  format: RejectsFormat<R>,
): RejectsFile<R> | undefined {
  if (output === undefined) return undefined;
  const spool = openSpool();
  function* lines() {
    yield format.head?.() ?? '';
    yield* spool.lines();
    yield format.tail?.() ?? '';
  }
  return {
    add: (row, error) => spool.add(format.row(row, error)),
    end: () => output.write(batched(lines())),
    discard: () => output.discard(),
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
