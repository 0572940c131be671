/** The file of --rejects: failed rows with their errors. */
import type { Session } from '../cli/session.ts';
import { openSpool } from '../core/spool.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';

/** A rejects file that is being written. */
export interface RejectsFile<R> {
  add(row: R, error: string): void;
  /**
   * Writes the file, also without rows, since it replaces that of an earlier run.
   *
   * @throws {Failure} local-file
   */
  end(): Promise<void>;
  /** Removes the file, also that of an earlier run, if not every failed row is known. */
  discard(): void;
}

/** The format of a rejects file. */
export interface RejectsFormat<R> {
  head?(): string;
  row(row: R, error: string): string;
  tail?(): string;
}

/** Characters per write. */
const batchLength = 65_536;

/**
 * Opens the file of `--rejects`, before anything is sent.
 *
 * @param printsItems whether stdout is for items that are read
 * @throws {Failure} usage, if results go to the same output; local-file
 */
export async function openRejectsOutput(
  typed: string | undefined,
  printsItems: boolean,
  session: Session,
): Promise<OutputFile | undefined> {
  if (typed === undefined) return undefined;
  if (descriptorNamed(typed, session.host) === 1) session.output.claimStdout('--rejects', printsItems);
  return openOutput(typed, '--rejects', session.host);
}

/** Starts a rejects file, spooled to a private temporary file until the run has ended. */
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
