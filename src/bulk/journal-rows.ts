/** What became of every row of a run, record by record: nine bytes a row, and more only for those in doubt. */
import type { IntentRecord, RowCounts, RowRecord, SessionStart } from './journal-records.ts';

/** How a row stands. Pending is also what was not sent, was refused for now, or was said not to be applied. */
export type RowState = 'pending' | 'done' | 'failed' | 'invalid' | 'in-doubt' | 'skipped';

const states: readonly RowState[] = ['pending', 'done', 'failed', 'invalid', 'in-doubt', 'skipped'];

/** What is known of a row whose outcome is not. */
export interface Doubt {
  readonly key: string | null;
  /** Of the payload that may have been applied. */
  readonly hash: string;
  readonly attempt: number;
  /** Why it is unknown; undefined where the process ended while the request was under way, or could be. */
  readonly cause: string | undefined;
  /** When the first attempt in doubt with this key was recorded: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** Whether no outcome at all was recorded. */
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
   * Takes a record.
   *
   * @param at when it was written: milliseconds since the Unix epoch
   * @returns why it can't stand there, if it can't
   */
  take(record: RowRecord, at: number): string | undefined;
  /** Judges the open intents of the session that ended: see `settle`. */
  settle(session: SessionStart, boot: string): void;
  stateOf(row: number): RowState;
  hashOf(row: number): string | undefined;
  doubtOf(row: number): Doubt | undefined;
  doubts(): readonly number[];
  counts(rows: number): RowCounts;
}

/**
 * Makes the rows of a run, all of them pending.
 *
 * @param rowMax the highest number of a row
 * @param isDone whether all of them are done instead
 */
export function runRows(rowMax: number, isDone: boolean): RunRows {
  const table = rowTable(rowMax, isDone ? 'done' : 'pending');
  const open = new Map<number, OpenIntent>();
  const doubts = new Map<number, Doubt>();

  const settled = (row: number, state: RowState) => {
    open.delete(row);
    doubts.delete(row);
    table.setState(row, state);
  };
  const doubted = (row: number, doubt: Doubt) => {
    const before = doubts.get(row);
    // A service keeps a key from the first time that it saw it.
    const isSameKey = before !== undefined && before.key !== null && before.key === doubt.key;
    open.delete(row);
    doubts.set(row, isSameKey ? { ...doubt, sentAt: before.sentAt } : doubt);
    table.setState(row, 'in-doubt');
  };
  /** What an attempt leaves that had no effect: a doubt of an earlier one is still one. */
  const asBefore = (row: number) => {
    open.delete(row);
    table.setState(row, doubts.has(row) ? 'in-doubt' : 'pending');
  };
  const intended = ([, row, seq, attempt, key, hash]: IntentRecord, at: number) => {
    const unanswered = open.get(row);
    if (unanswered !== undefined) doubted(row, unanswered.doubt);
    table.setHash(row, hash);
    open.set(row, { seq, doubt: { key, hash, attempt, cause: undefined, sentAt: at, isOpen: true } });
  };
  const lost = (row: number, cause: string) => {
    const doubt = open.get(row)?.doubt ?? doubts.get(row);
    if (doubt === undefined) return 'it says that an outcome is unknown, of a row that was not sent';
    doubted(row, { ...doubt, cause, isOpen: false });
    return undefined;
  };

  return {
    take: (record, at) => {
      const [letter, row] = record;
      if (row > rowMax) return `it names row ${row}, of ${rowMax}`;
      if (table.stateOf(row) === 'done') return `it comes after row ${row} was done`;
      if (letter === 'I') intended(record, at);
      else if (letter === 'N') asBefore(row);
      else if (letter === 'U') return lost(row, record[2]);
      else settled(row, stateAfter(record));
      return undefined;
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

/** States and hashes by row number, in memory that grows with the highest one seen. */
function rowTable(rowMax: number, initial: RowState) {
  let codes = new Uint8Array(0);
  let hashes = new Uint32Array(0);
  const hasHash = 0x80;
  const initialCode = states.indexOf(initial);
  const codeOf = (row: number) => codes[row] ?? initialCode;
  const setCode = (row: number, code: number) => {
    if (row >= codes.length) {
      const length = Math.min(rowMax + 1, Math.max(1024, 2 * row));
      const [grownCodes, grownHashes] = [new Uint8Array(length).fill(initialCode), new Uint32Array(2 * length)];
      grownCodes.set(codes);
      grownHashes.set(hashes);
      [codes, hashes] = [grownCodes, grownHashes];
    }
    codes[row] = code;
  };
  const stateOf = (row: number): RowState => states[codeOf(row) & ~hasHash] ?? 'pending';
  return {
    stateOf,
    setState: (row: number, state: RowState) => setCode(row, (codeOf(row) & hasHash) | states.indexOf(state)),
    hashOf: (row: number) => {
      if ((codeOf(row) & hasHash) === 0) return undefined;
      const half = (at: number) => (hashes[at] ?? 0).toString(16).padStart(8, '0');
      return half(2 * row) + half(2 * row + 1);
    },
    setHash: (row: number, hash: string) => {
      setCode(row, codeOf(row) | hasHash);
      hashes[2 * row] = Number.parseInt(hash.slice(0, 8), 16);
      hashes[2 * row + 1] = Number.parseInt(hash.slice(8), 16);
    },
    count: () => {
      const found = { pending: 0, done: 0, failed: 0, invalid: 0, 'in-doubt': 0, skipped: 0 };
      for (let row = 1; row < codes.length; row += 1) found[stateOf(row)] += 1;
      return found;
    },
  };
}
