/** Replays a journal: the state of every row of a run (docs/decisions.md, journal-4). */
import type {
  IntentRecord,
  JournalHeader,
  JournalRecord,
  RowCounts,
  RowRecord,
  RunTotals,
  SessionStart,
} from './journal-format.ts';
import { damagedJournal, fileIo, type JournalIo, type PlacedGroup, readGroups, readHeader } from './journal-lines.ts';
import type { IdSet, SentMoment } from './keys.ts';

/** The state of a row. `pending` includes rows that were not sent, refused for now, or resolved as not applied. */
export type RowState = 'pending' | 'done' | 'failed' | 'invalid' | 'in-doubt' | 'skipped';

const states: readonly RowState[] = ['pending', 'done', 'failed', 'invalid', 'in-doubt', 'skipped'];

/** A row in doubt. */
export interface Doubt extends SentMoment {
  readonly key: string | null;
  /** The hash of the payload that may have been applied. */
  readonly hash: string;
  readonly attempt: number;
  /** Why the outcome is unknown; undefined if the process ended while the request was or may have been in flight. */
  readonly cause: string | undefined;
  /** When the first attempt in doubt with this key was recorded; `serviceAt` and `session` belong to the same one. */
  readonly sentAt: number;
  /** Whether no outcome was recorded. */
  readonly isOpen: boolean;
}

/** An intent without an outcome. */
interface OpenIntent {
  readonly seq: number;
  readonly doubt: Doubt;
}

/** The rows of a run. */
export interface RunRows {
  /**
   * Applies a record.
   *
   * @param at when it was written: milliseconds since the Unix epoch
   * @returns why it contradicts earlier records, if it does
   */
  take(record: RowRecord, at: number): string | undefined;
  /** Starts the next session. */
  begin(session: SessionStart): void;
  hearService(aheadMs: number): void;
  /** Judges the open intents of a session that ended: see `Replay.stateOf`. */
  settle(session: SessionStart, boot: string): void;
  stateOf(row: number): RowState;
  hashOf(row: number): string | undefined;
  doubtOf(row: number): Doubt | undefined;
  doubts(): readonly number[];
  counts(rows: number): RowCounts;
}

/**
 * Makes the table of rows, all pending.
 *
 * @param rowMax the highest row number
 * @param isDone makes all of them done instead
 */
export function runRows(rowMax: number, isDone: boolean): RunRows {
  const table = rowTable(isDone ? 'done' : 'pending');
  const open = new Map<number, OpenIntent>();
  const doubts = new Map<number, Doubt>();
  const moments = sentMoments();

  const settled = (row: number, state: RowState) => {
    open.delete(row);
    doubts.delete(row);
    table.setState(row, state);
  };
  const doubted = (row: number, doubt: Doubt) => {
    const before = doubts.get(row);
    // A service remembers a key from its first use.
    const isSameKey = before !== undefined && before.key !== null && before.key === doubt.key;
    open.delete(row);
    const first = isSameKey ? before : doubt;
    doubts.set(row, { ...doubt, sentAt: first.sentAt, serviceAt: first.serviceAt, session: first.session });
    table.setState(row, 'in-doubt');
  };
  /** Undoes an intent without effect; an earlier doubt remains. */
  const asBefore = (row: number) => {
    open.delete(row);
    table.setState(row, doubts.has(row) ? 'in-doubt' : 'pending');
  };
  const intended = ([, row, seq, attempt, key, hash]: IntentRecord, at: number) => {
    const unanswered = open.get(row);
    if (unanswered !== undefined) doubted(row, unanswered.doubt);
    table.setHash(row, hash);
    open.set(row, { seq, doubt: { key, hash, attempt, cause: undefined, ...moments.at(at), isOpen: true } });
  };
  const lost = (row: number, cause: string) => {
    const doubt = open.get(row)?.doubt ?? doubts.get(row);
    if (doubt === undefined) return 'it records an unknown outcome for a row that was not sent';
    doubted(row, { ...doubt, cause, isOpen: false });
    return undefined;
  };

  return {
    take: (record, at) => {
      const [letter, row] = record;
      if (row > rowMax) return `it names row ${row}, but the input has ${rowMax}`;
      if (table.stateOf(row) === 'done') return `it follows the completion of row ${row}`;
      if (letter === 'I') intended(record, at);
      else if (letter === 'N') asBefore(row);
      else if (letter === 'U') return lost(row, record[2]);
      else settled(row, stateAfter(record));
      return undefined;
    },
    begin: moments.begin,
    hearService: (ms) => {
      const placed = moments.hear(ms);
      for (const [row, { seq, doubt }] of open) open.set(row, { seq, doubt: placed(doubt) });
      for (const [row, doubt] of doubts) doubts.set(row, placed(doubt));
    },
    settle: (session, boot) => {
      const isSameBoot = session.boot !== '' && session.boot === boot;
      const inOrder = [...open].sort(([, one], [, other]) => one.seq - other.seq);
      for (const [index, [row, { doubt }]] of inOrder.entries()) {
        if (!isSameBoot || index < session.limit) doubted(row, doubt);
        else asBefore(row);
      }
    },
    stateOf: table.stateOf,
    hashOf: table.hashOf,
    doubtOf: (row) => doubts.get(row),
    doubts: () => [...doubts.keys()].sort((one, other) => one - other),
    counts: (rows) => countsOf(table.count(), rows, isDone),
  };
}

/** Dates requests by the clocks of their session. */
function sentMoments() {
  let session: SessionStart | undefined;
  let aheadMs: number | undefined;
  return {
    begin: (next: SessionStart) => {
      [session, aheadMs] = [next, undefined];
    },
    at: (sentAt: number): SentMoment => {
      return { sentAt, serviceAt: aheadMs === undefined ? undefined : sentAt + aheadMs, session };
    },
    /** Applies to earlier requests of the session as well. */
    hear: (ms: number) => {
      aheadMs = ms;
      return (doubt: Doubt): Doubt => {
        const isEarlier = doubt.serviceAt === undefined && doubt.session === session;
        return isEarlier ? { ...doubt, serviceAt: doubt.sentAt + ms } : doubt;
      };
    },
  };
}

function stateAfter(record: Exclude<RowRecord, readonly ['I' | 'N' | 'U', ...unknown[]]>): RowState {
  switch (record[0]) {
    case 'D':
      return 'done';
    case 'F':
      return 'failed';
    case 'X':
      return 'invalid';
    case 'R':
      return ({ applied: 'done', 'not-applied': 'pending', skipped: 'skipped' } as const)[record[2]];
  }
}

function countsOf(found: Readonly<Record<RowState, number>>, rows: number, isDone: boolean): RowCounts {
  if (isDone) return { done: rows, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };
  const { done, failed, invalid, skipped, 'in-doubt': inDoubt } = found;
  return { done, failed, invalid, inDoubt, skipped, left: rows - done - failed - invalid - inDoubt - skipped };
}

/** The rows of one page of memory. */
const pageRows = 1024;

interface Page {
  readonly codes: Uint8Array;
  readonly hashes: Uint32Array;
}

/** States and hashes by row number; memory grows with the rows seen, not with their numbers. */
function rowTable(initial: RowState) {
  const pages: Page[] = [];
  const hasHash = 0x80;
  const initialCode = states.indexOf(initial);
  const pageAt = (row: number) => pages[Math.floor(row / pageRows)];
  const newPageAt = (row: number): Page => {
    const page = { codes: new Uint8Array(pageRows).fill(initialCode), hashes: new Uint32Array(2 * pageRows) };
    pages[Math.floor(row / pageRows)] = page;
    return page;
  };
  const codeOf = (row: number) => pageAt(row)?.codes[row % pageRows] ?? initialCode;
  const setCode = (row: number, code: number) => {
    (pageAt(row) ?? newPageAt(row)).codes[row % pageRows] = code;
  };
  const stateOf = (row: number) => stateIn(codeOf(row));
  const stateIn = (code: number): RowState => states[code & ~hasHash] ?? 'pending';
  return {
    stateOf,
    setState: (row: number, state: RowState) => setCode(row, (codeOf(row) & hasHash) | states.indexOf(state)),
    hashOf: (row: number) => {
      const { codes, hashes } = pageAt(row) ?? {};
      const at = row % pageRows;
      if (((codes?.[at] ?? 0) & hasHash) === 0) return undefined;
      const half = (place: number) => (hashes?.[place] ?? 0).toString(16).padStart(8, '0');
      return half(2 * at) + half(2 * at + 1);
    },
    setHash: (row: number, hash: string) => {
      const { codes, hashes } = pageAt(row) ?? newPageAt(row);
      const at = row % pageRows;
      codes[at] = (codes[at] ?? initialCode) | hasHash;
      hashes[2 * at] = Number.parseInt(hash.slice(0, 8), 16);
      hashes[2 * at + 1] = Number.parseInt(hash.slice(8), 16);
    },
    count: () => {
      const found = { pending: 0, done: 0, failed: 0, invalid: 0, 'in-doubt': 0, skipped: 0 };
      // The array is sparse.
      pages.forEach(({ codes }) => {
        for (const code of codes) found[stateIn(code)] += 1;
      });
      return found;
    },
  };
}

/** A run, as recorded in its journal. */
export interface Replay {
  readonly header: JournalHeader;
  readonly sessions: readonly SessionStart[];
  /** The length of the whole lines of the file. */
  readonly lengthBytes: number;
  /** The length of an incomplete last line, which `reopenJournal` cuts off. */
  readonly tornBytes: number;
  /**
   * The state of a row. An intent without an outcome is in doubt if its request may have been sent (docs/decisions.md,
   * doubt-2): on the same boot those are the first by `seq`, as many as were in flight at most; after a power cut, any.
   */
  stateOf(row: number): RowState;
  /** The hash of its last intent; undefined without one, and in a compacted journal. */
  hashOf(row: number): string | undefined;
  /** Undefined for a row that is not in doubt. */
  doubtOf(row: number): Doubt | undefined;
  /** The rows in doubt, ascending. */
  doubts(): Iterable<number>;
  readonly counts: RowCounts;
  /** The sequence number of the next intent. */
  readonly nextSeq: number;
  /** The totals of the last session, if nothing follows them. */
  readonly ended: RunTotals | undefined;
  /** When the last group was written: milliseconds since the Unix epoch. */
  readonly lastAt: number;
}

/** A record with its session and time. */
export interface PlacedRecord {
  /** The index of its session, from 0. */
  readonly session: number;
  /** Since the session began. */
  readonly timeMs: number;
  readonly record: JournalRecord;
}

/** Options for reading a journal. */
export interface ReplayOptions {
  /** The boot id of this machine; empty if unknown. */
  readonly boot: string;
  readonly io?: JournalIo;
  /** Collects the ids of created items. */
  readonly given?: IdSet;
}

/**
 * Reads a journal. Takes nine bytes of memory per row, and more for rows in doubt.
 *
 * @returns undefined if there is no file
 * @throws {Failure} local-file, if lines are damaged or contradict each other; nothing may be sent then
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
 * Reads the records of a journal in their order.
 *
 * @throws {Failure} local-file
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
        // The new session acted on this judgment.
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
        if (record[0] !== 'B' && sessions.length === 0)
          throw damagedJournal(path, offsetBytes, 'no session was started');
        const reason = taken(record, atOf(timeMs));
        if (reason !== undefined) throw damagedJournal(path, offsetBytes, reason);
        lastAt = Math.max(lastAt, atOf(timeMs));
      }
    },
    end,
    told: () => ({ sessions, nextSeq, ended, lastAt }),
  };
}
