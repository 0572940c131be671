/** Reads and checks an input file before anything is sent, with progress. */
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { untilStopped } from '../core/host.ts';
import { badRowFailures, badRowsFailure, type Check, checkRows } from '../rows/check.ts';
import { type Input, nameOf, openInput } from '../rows/input.ts';
import type { RowsFile } from '../rows/read.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import type { FailureReport } from './failure-report.ts';
import { rowsMax } from './journal-format.ts';
import { whileShown } from './report.ts';

/** Opens the file of `--from`, and shows progress while a stream is copied. */
export function openShown(from: string, session: Session): Promise<Input> {
  const { host } = session;
  const doing = `reading ${nameOf(from)}`;
  let bytes = 0;
  const onCopied = (copied: number) => {
    bytes = copied;
  };
  // Before the first byte, the program that writes the input may use the terminal.
  const shown = () => (bytes === 0 ? undefined : { doing, bytes });
  return whileShown(shown, session, () => openInput(from, { host, spoolDirectory: findRunsDirectory(host), onCopied }));
}

/**
 * Reads a file to its end and reports invalid rows.
 *
 * @throws {Failure} usage, for invalid rows without `skipInvalid`
 */
export async function checkFile(
  file: RowsFile,
  skipInvalid: boolean,
  report: FailureReport,
  session: Session,
): Promise<Check> {
  const check = await checkShown(file, session);
  if (check.rows > rowsMax) {
    throw new Failure('usage', `${nameOf(file.input.name)} has ${check.rows} rows, more than ${rowsMax}`, {
      hint: 'split the file; nothing was sent',
    });
  }
  for (const notice of check.notices) await session.messages.say(`listctl: ${notice}`);
  if (check.badCount === 0 || skipInvalid) return check;
  const name = nameOf(file.input.name);
  const failures = check.bad.flatMap((row) => badRowFailures(row, file));
  for (const failure of failures) report.add(failure);
  await reportBadRows(name, failures, failures.length + check.badCount - check.bad.length, session);
  throw badRowsFailure(check, file);
}

/** The most invalid rows in text; JSON has all. */
const shownMax = 20;

/** Prints the errors of a file with several; a single one is the failure of the command. */
export async function reportBadRows(
  file: string,
  failures: readonly Failure[],
  count: number,
  session: Session,
): Promise<void> {
  if (count < 2) return;
  const shown = session.messages.isJsonWanted ? failures : failures.slice(0, shownMax);
  for (const failure of shown) await session.messages.report(failure.about({}, `${file}: ${failure.message}`));
  if (count > shown.length) await session.messages.say(`${file}: and ${count - shown.length} more`);
}

/**
 * Reads a file to its end, as `checkRows`, with progress.
 *
 * @throws {Stopped}
 */
export function checkShown(file: RowsFile, session: Session): Promise<Check> {
  const doing = `checking ${nameOf(file.input.name)}`;
  const { sizeBytes } = file.input;
  let rows = 0;
  let bytes = 0;
  const onRow = ({ number }: { readonly number: number }) => {
    rows = number;
  };
  const onBytes = ({ length }: Uint8Array) => {
    bytes += length;
  };
  return whileShown(
    () => ({ doing, rows, bytes, sizeBytes }),
    session,
    () => untilStopped(checkRows(file, onRow, onBytes), session.host.signal),
  );
}
