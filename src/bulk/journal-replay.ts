/** What became of a run, read from its journal (reliability, C6). */

import type { IdSet } from './id-set.ts';
import { damagedJournal } from './journal-failures.ts';
import { fileIo, type JournalIo } from './journal-io.ts';
import { type PlacedGroup, readGroups, readHeader } from './journal-lines.ts';
import type { JournalHeader, JournalRecord, RowCounts, RunTotals, SessionStart } from './journal-records.ts';
import { type Doubt, type RowState, type RunRows, runRows } from './journal-rows.ts';

/** A run as its journal tells of it. */
export interface Replay {
  readonly header: JournalHeader;
  /** In their order. */
  readonly sessions: readonly SessionStart[];
  /** How many bytes of the file are whole lines. */
  readonly lengthBytes: number;
  /** How many bytes after those are a line that was torn; `reopenJournal` cuts them off. */
  readonly tornBytes: number;
  /**
   * How a row stands.
   *
   * An intent without an outcome is in doubt where its request can have been sent. Where the machine has not been
   * started anew since, those are the first so many, by `seq`, as were under way at once at most: what was recorded
   * before a slot was used again has outlived the process. After a power cut it is any of them. A row whose attempt
   * was not sent is what it was before: still to do, or in doubt because of an earlier attempt.
   */
  stateOf(row: number): RowState;
  /** The hash of its last intent; undefined where there is none, and in a journal that was shrunk. */
  hashOf(row: number): string | undefined;
  /** Undefined for a row that is not in doubt. */
  doubtOf(row: number): Doubt | undefined;
  /** The rows in doubt, ascending. */
  doubts(): Iterable<number>;
  readonly counts: RowCounts;
  /** For the next intent. */
  readonly nextSeq: number;
  /** What the last session said when it ended; undefined where anything came after that. */
  readonly ended: RunTotals | undefined;
  /** When the last group was written: milliseconds since the Unix epoch. */
  readonly lastAt: number;
}

/** One record, where it stands. */
export interface PlacedRecord {
  /** Which of the run's sessions, from 0. */
  readonly session: number;
  /** Since that session began. */
  readonly timeMs: number;
  readonly record: JournalRecord;
}

/** What a journal is read with. */
export interface ReplayOptions {
  /** The id of this start of the machine; empty where there is none. */
  readonly boot: string;
  readonly io?: JournalIo;
  /** Takes the ids that its creates were given. */
  readonly given?: IdSet;
}

/**
 * Reads a journal. In memory it is nine bytes a row, and what is known of each row in doubt.
 *
 * @returns undefined where no run was begun (`readHeader`)
 * @throws {Failure} local-file, with the byte, when it is damaged: whole lines that are not as they were written, or
 *   that contradict each other. Nothing may be sent then
 */
export async function readJournal(
  path: string,
  { boot, io = fileIo, given }: ReplayOptions,
): Promise<Replay | undefined> {
  const start = readHeader(path, io);
  if (start === undefined) return undefined;
  const { header } = start;
  const rows = runRows(header.input.rows, header.isShrunk === true);
  const history = replayOf(path, rows, header.action === 'create' ? given : undefined);
  const groups = readGroups(path, start.lengthBytes, io);
  let next = await groups.next();
  for (; !next.done; next = await groups.next()) history.take(next.value);
  history.end(boot);
  const { stateOf, hashOf, doubtOf, doubts } = rows;
  return {
    header,
    ...next.value,
    ...history.told(),
    counts: rows.counts(header.rows),
    stateOf,
    hashOf,
    doubtOf,
    doubts,
  };
}

/**
 * Every record of a journal in its order: for the ids of what was created, the times of answers, the rate.
 *
 * @throws {Failure} local-file, as `readJournal`, but for lines that contradict each other
 */
export async function* journalRecords(path: string, io: JournalIo = fileIo): AsyncGenerator<PlacedRecord> {
  const start = readHeader(path, io);
  if (start === undefined) return;
  let session = -1;
  for await (const { group } of readGroups(path, start.lengthBytes, io)) {
    const [timeMs, ...records] = group;
    for (const record of records) {
      if (record[0] === 'B') session += 1;
      yield { session: Math.max(0, session), timeMs, record };
    }
  }
}

function replayOf(path: string, rows: RunRows, given: IdSet | undefined) {
  const sessions: SessionStart[] = [];
  let [nextSeq, lastAt] = [1, 0];
  let ended: RunTotals | undefined;
  const atOf = (timeMs: number) => (sessions.at(-1)?.at ?? 0) + timeMs;
  const end = (boot: string) => {
    const session = sessions.at(-1);
    if (session !== undefined) rows.settle(session, boot);
  };
  const taken = (record: JournalRecord, at: number): string | undefined => {
    ended = record[0] === 'E' ? record[1] : undefined;
    switch (record[0]) {
      case 'B':
        // Judged then and there: whoever began it acted on that, and saw to it that what it had read is on disk.
        end(record[1].boot);
        sessions.push(record[1]);
        rows.begin(record[1]);
        return undefined;
      case 'S':
        rows.hearService(record[1]);
        return undefined;
      case 'T':
      case 'E':
        return undefined;
      case 'I':
        nextSeq = Math.max(nextSeq, record[2] + 1);
        return rows.take(record, at);
      case 'D':
        given?.add(record[2]);
        return rows.take(record, at);
      case 'R':
        if (record[2] === 'applied') given?.add(record[3]);
        return rows.take(record, at);
      default:
        return rows.take(record, at);
    }
  };
  return {
    take: ({ group: [timeMs, ...records], offsetBytes }: PlacedGroup) => {
      for (const record of records) {
        if (record[0] !== 'B' && sessions.length === 0) throw damagedJournal(path, offsetBytes, 'no session was begun');
        const reason = taken(record, atOf(timeMs));
        if (reason !== undefined) throw damagedJournal(path, offsetBytes, reason);
        lastAt = Math.max(lastAt, atOf(timeMs));
      }
    },
    end,
    told: () => ({ sessions, nextSeq, ended, lastAt }),
  };
}
