/** The journal of a run that did every row, long ago, is made small: its first and its last line stay. */
import { replaceWhole } from '../replace-file.ts';
import { fileIo, type JournalIo } from './journal-io.ts';
import { readHeader } from './journal-lines.ts';
import { encodeLine } from './journal-records.ts';
import { readJournal } from './journal-replay.ts';

const keptWholeMs = 30 * 24 * 3_600_000;

/** Whether what happened then is so long ago. */
export function isOldEnough(thenMs: number, nowMs: number): boolean {
  return nowMs - thenMs >= keptWholeMs;
}

/**
 * Shrinks a journal, if its run did every row and ended more than 30 days ago. At any moment the file is what it was
 * or what it becomes, also after a power cut.
 *
 * @returns whether it was shrunk now; false too where that can't be done
 */
export async function shrinkJournal(path: string, nowMs: number, io: JournalIo = fileIo): Promise<boolean> {
  try {
    const small = await shrunkBytes(path, nowMs, io);
    if (small === undefined) return false;
    replaceWhole(path, [small], io);
    return true;
  } catch {
    // Damaged, read-only, full: whoever needs the run hears of it then.
    return false;
  }
}

async function shrunkBytes(path: string, nowMs: number, io: JournalIo): Promise<Buffer | undefined> {
  if (readHeader(path, io)?.header.isShrunk === true) return undefined;
  const replay = await readJournal(path, { boot: '', io });
  const session = replay?.sessions.at(-1);
  if (replay?.ended === undefined || session === undefined) return undefined;
  const { header, ended, counts, lastAt } = replay;
  // Not by what it said at its end alone: once it is shrunk nobody can look any more.
  const didAll = counts.done === header.rows && ended.done === header.rows;
  if (!didAll || !isOldEnough(lastAt, nowMs)) return undefined;
  const timeMs = Math.max(0, lastAt - session.at);
  return Buffer.concat([encodeLine({ ...header, isShrunk: true }), encodeLine([timeMs, ['B', session], ['E', ended]])]);
}
