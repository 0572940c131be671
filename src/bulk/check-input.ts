/** The reading of a file before anything is sent, as a person sees it who waits for it. */
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { untilStopped } from '../core/host.ts';
import { badRowFailure, badRowsFailure, type Check, checkRows } from '../rows/check.ts';
import { type Input, nameOf, openInput } from '../rows/input.ts';
import type { RowsFile } from '../rows/read.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { rowsMax } from './journal-format.ts';
import { whileShown } from './progress.ts';

/** Opens the file that `--from` names; what has to be copied first is shown as it comes. */
export function openShown(from: string, session: Session): Promise<Input> {
  const { host } = session;
  const doing = `reading ${nameOf(from)}`;
  let bytes = 0;
  const onCopied = (copied: number) => {
    bytes = copied;
  };
  // Until then the terminal may be in use by the program that is to write: an editor, a menu, a question for a password.
  const shown = () => (bytes === 0 ? undefined : { doing, bytes });
  return whileShown(shown, session, () => openInput(from, { host, spoolDirectory: findRunsDirectory(host), onCopied }));
}

/**
 * Reads a file to its end, and says what is wrong with it.
 *
 * @throws {Failure} usage, where rows cannot be sent, unless they are to be skipped
 */
export async function checkFile(file: RowsFile, skipInvalid: boolean, session: Session): Promise<Check> {
  const check = await checkShown(file, session);
  if (check.rows > rowsMax) {
    throw new Failure('usage', `${nameOf(file.input.name)} has ${check.rows} rows, more than ${rowsMax}`, {
      hint: 'split the file; nothing was sent',
    });
  }
  for (const notice of check.notices) await session.say(`listctl: ${notice}`);
  if (check.badCount === 0 || skipInvalid) return check;
  const name = nameOf(file.input.name);
  const failures = check.bad.map((row) => badRowFailure(row, file));
  await reportBadRows(name, failures, check.badCount, session);
  throw badRowsFailure(check, file);
}

/** A person is shown so many bad rows; a program is given all that are known. */
const shownMax = 20;

/** Prints what is wrong with each bad row of a file that has several: of a single one the file's own failure says it. */
export async function reportBadRows(
  file: string,
  failures: readonly Failure[],
  count: number,
  session: Session,
): Promise<void> {
  if (count < 2) return;
  const shown = session.isJsonWanted ? failures : failures.slice(0, shownMax);
  for (const failure of shown) await session.report(failure.about({}, `${file}: ${failure.message}`));
  if (count > shown.length) await session.say(`${file}: and ${count - shown.length} more`);
}

/**
 * Reads a file to its end, as `checkRows`.
 *
 * @throws {Stopped} when the host's signal aborts meanwhile
 */
export function checkShown(file: RowsFile, session: Session): Promise<Check> {
  const doing = `checking ${nameOf(file.input.name)}`;
  const { sizeBytes } = file.input;
  let rows = 0;
  let bytes = 0;
  const watched: RowsFile = {
    ...file,
    blocks: (pass) => {
      const onBytes = (block: Uint8Array) => {
        bytes += block.length;
        pass?.onBytes?.(block);
      };
      return file.blocks({ ...pass, onBytes });
    },
  };
  const count = ({ number }: { readonly number: number }) => {
    rows = number;
  };
  return whileShown(
    () => ({ doing, rows, bytes, sizeBytes }),
    session,
    () => untilStopped(checkRows(watched, count), session.host.signal),
  );
}
