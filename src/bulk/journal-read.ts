/** Replays a journal: the state of every row of a run (docs/decisions.md, journal-4). */
import type {
  IntentRecord,
  JournalGroup,
  JournalHeader,
  JournalRecord,
  RowCounts,
  RowRecord,
  RunTotals,
  SessionInput,
  SessionStart,
} from './journal-format.ts';
import { DamagedJournal, fileIo, type JournalIo, type JournalTail, readGroups, readHeader } from './journal-lines.ts';
import type { IdSet, SentAt } from './keys.ts';

/** `pending` includes rows that were not sent, refused for now, or resolved as not applied. */
const states = ['pending', 'done', 'failed', 'invalid', 'in-doubt', 'skipped'] as const;
export type RowState = (typeof states)[number];

/** A row in doubt; its moment is that of the first attempt in doubt with this key. */
export interface Doubt extends SentAt {
  readonly key: string | null;
  /** The hash of the payload that may have been applied. */
  readonly hash: string;
  readonly attempt: number;
  /** Why the outcome is unknown; undefined if the process ended while the request was or may have been in flight. */
  readonly cause: string | undefined;
}

/** The rows of a run, all pending at first. */
export class RunRows {
  #rowMax: number;
  readonly #shrunk: { readonly rowMax: number; readonly rows: number } | undefined;
  readonly #table = new RowTable();
  readonly #open = new Map<number, { readonly seq: number; readonly doubt: Doubt }>();
  readonly #doubts = new Map<number, Doubt>();
  #session: SessionStart | undefined;
  /** How far the clock of the service is ahead, once known in the session. */
  #aheadMs: number | undefined;

  /**
   * @param rowMax the highest row number
   * @param shrunkRows makes all of them done instead, as many as that
   */
  constructor(rowMax: number, shrunkRows?: number) {
    this.#rowMax = rowMax;
    this.#shrunk = shrunkRows === undefined ? undefined : { rowMax, rows: shrunkRows };
  }

  /** Adds rows at the end: the input has as many from now on. */
  extend(rowMax: number): string | undefined {
    if (rowMax < this.#rowMax) return `its input has ${rowMax} rows, but had ${this.#rowMax}`;
    this.#rowMax = rowMax;
    return undefined;
  }

  /**
   * Applies a record.
   *
   * @param at when it was written: milliseconds since the Unix epoch
   * @returns why it contradicts earlier records, if it does
   */
  take(record: RowRecord, at: number): string | undefined {
    const [letter, row] = record;
    if (row > this.#rowMax) return `it refers to row ${row}, but the input has ${this.#rowMax} rows`;
    if (this.stateOf(row) === 'done') return `it follows the completion of row ${row}`;
    if (letter === 'I') this.#intend(record, at);
    else if (letter === 'N') this.#restore(row);
    else if (letter === 'U') return this.#lose(row, record[2]);
    else this.#settle(row, stateAfter(record));
    return undefined;
  }

  begin(session: SessionStart): void {
    this.#session = session;
    this.#aheadMs = undefined;
  }

  /** Records the clock of the service, also for earlier requests of the session. */
  setServiceClock(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    const dated = (doubt: Doubt): Doubt => {
      const isEarlier = doubt.serviceAt === undefined && doubt.session === this.#session;
      return isEarlier ? { ...doubt, serviceAt: doubt.sentAt + aheadMs } : doubt;
    };
    for (const [row, { seq, doubt }] of this.#open) this.#open.set(row, { seq, doubt: dated(doubt) });
    for (const [row, doubt] of this.#doubts) this.#doubts.set(row, dated(doubt));
  }

  /** Judges the open intents of a session that ended: see `Replay.stateOf`. */
  endSession(session: SessionStart, boot: string): void {
    const isSameBoot = session.boot !== '' && session.boot === boot;
    const inOrder = [...this.#open].sort(([, one], [, other]) => one.seq - other.seq);
    for (const [index, [row, { doubt }]] of inOrder.entries()) {
      if (!isSameBoot || index < session.limit) this.#doubt(row, doubt);
      else this.#restore(row);
    }
  }

  stateOf(row: number): RowState {
    return row <= (this.#shrunk?.rowMax ?? 0) ? 'done' : this.#table.stateOf(row);
  }

  hashOf(row: number): string | undefined {
    return this.#table.hashOf(row);
  }

  doubtOf(row: number): Doubt | undefined {
    return this.#doubts.get(row);
  }

  doubts(): readonly number[] {
    return [...this.#doubts.keys()].sort((one, other) => one - other);
  }

  counts(rows: number): RowCounts {
    const { done: recorded, failed, invalid, skipped, 'in-doubt': inDoubt } = this.#table.count();
    const done = recorded + (this.#shrunk?.rows ?? 0);
    return { done, failed, invalid, inDoubt, skipped, left: rows - done - failed - invalid - inDoubt - skipped };
  }

  #intend([, row, seq, attempt, key, hash]: IntentRecord, at: number): void {
    const unanswered = this.#open.get(row);
    if (unanswered !== undefined) this.#doubt(row, unanswered.doubt);
    this.#table.setHash(row, hash);
    const serviceAt = this.#aheadMs === undefined ? undefined : at + this.#aheadMs;
    const moment = { sentAt: at, serviceAt, session: this.#session };
    this.#open.set(row, { seq, doubt: { key, hash, attempt, cause: undefined, ...moment } });
  }

  #lose(row: number, cause: string): string | undefined {
    const doubt = this.#open.get(row)?.doubt ?? this.#doubts.get(row);
    if (doubt === undefined) return 'it records an unknown outcome for a row that was not sent';
    this.#doubt(row, { ...doubt, cause });
    return undefined;
  }

  #doubt(row: number, doubt: Doubt): void {
    const before = this.#doubts.get(row);
    // A service remembers a key from its first use.
    const isSameKey = before !== undefined && before.key !== null && before.key === doubt.key;
    const { sentAt, serviceAt, session } = isSameKey ? before : doubt;
    this.#open.delete(row);
    this.#doubts.set(row, { ...doubt, sentAt, serviceAt, session });
    this.#table.setState(row, 'in-doubt');
  }

  /** Undoes an intent without effect; an earlier doubt remains. */
  #restore(row: number): void {
    this.#open.delete(row);
    this.#table.setState(row, this.#doubts.has(row) ? 'in-doubt' : 'pending');
  }

  #settle(row: number, state: RowState): void {
    this.#open.delete(row);
    this.#doubts.delete(row);
    this.#table.setState(row, state);
  }
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

const pageRows = 1024;

/** Set in the code of a row that has a hash; the other bits are the index of its state. */
const hasHash = 0x80;

/** States and hashes by row number; memory grows with the rows seen, not with their numbers. */
class RowTable {
  readonly #pages: { readonly codes: Uint8Array; readonly hashes: Uint32Array }[] = [];
  stateOf(row: number): RowState {
    return toState(this.#codeOf(row));
  }

  setState(row: number, state: RowState): void {
    this.#page(row).codes[row % pageRows] = (this.#codeOf(row) & hasHash) | states.indexOf(state);
  }

  hashOf(row: number): string | undefined {
    if ((this.#codeOf(row) & hasHash) === 0) return undefined;
    const { hashes } = this.#page(row);
    const half = (place: number) => (hashes[place] ?? 0).toString(16).padStart(8, '0');
    const at = 2 * (row % pageRows);
    return half(at) + half(at + 1);
  }

  setHash(row: number, hash: string): void {
    const { codes, hashes } = this.#page(row);
    const at = row % pageRows;
    codes[at] = this.#codeOf(row) | hasHash;
    hashes[2 * at] = Number.parseInt(hash.slice(0, 8), 16);
    hashes[2 * at + 1] = Number.parseInt(hash.slice(8), 16);
  }

  count(): Readonly<Record<RowState, number>> {
    const found = { pending: 0, done: 0, failed: 0, invalid: 0, 'in-doubt': 0, skipped: 0 };
    this.#pages.forEach(({ codes }) => {
      for (const code of codes) found[toState(code)] += 1;
    });
    return found;
  }

  #codeOf(row: number): number {
    return this.#pages[Math.floor(row / pageRows)]?.codes[row % pageRows] ?? 0;
  }

  #page(row: number) {
    const index = Math.floor(row / pageRows);
    this.#pages[index] ??= { codes: new Uint8Array(pageRows), hashes: new Uint32Array(2 * pageRows) };
    return this.#pages[index];
  }
}

function toState(code: number): RowState {
  return states[code & ~hasHash] ?? 'pending';
}

/** A run, as recorded in its journal. */
export interface Replay extends JournalTail {
  /** With the input of the last session. */
  readonly header: JournalHeader;
  readonly sessions: readonly SessionStart[];
  /**
   * The state of a row. An intent without an outcome is in doubt if its request may have been sent (docs/decisions.md,
   * doubt-2): on the same boot those are the first by `seq`, as many as were in flight at most; after a power cut, any.
   */
  stateOf(row: number): RowState;
  /** The hash of its last intent; undefined without one, and in a compacted journal. */
  hashOf(row: number): string | undefined;
  doubtOf(row: number): Doubt | undefined;
  /** The rows in doubt, ascending. */
  doubts(): Iterable<number>;
  readonly counts: RowCounts;
  readonly nextSeq: number;
  /** The totals of the last session, if nothing follows them. */
  readonly ended: RunTotals | undefined;
  /** An item of a create that was answered; undefined without one. */
  readonly createdId: string | undefined;
  /** When the last group was written: milliseconds since the Unix epoch. */
  readonly lastAt: number;
}

export interface ReplayOptions {
  readonly boot: string;
  readonly io?: JournalIo;
  /** Collects the ids of created items. */
  readonly seenIds?: IdSet;
}

/**
 * Reads a journal. Takes nine bytes of memory per row, and more for rows in doubt.
 *
 * @returns undefined if there is no file
 * @throws {Failure} local-file, if lines are damaged or contradict each other; nothing may be sent then
 */
export async function readJournal(
  path: string,
  { boot, io = fileIo, seenIds }: ReplayOptions,
): Promise<Replay | undefined> {
  const start = readHeader(path, io);
  if (start === undefined) return undefined;
  const { action, input, rows: inputRows, isShrunk } = start.header;
  const rows = new RunRows(input.rows, isShrunk ? inputRows : undefined);
  const history = new History(path, rows, action === 'create' || action === 'undo' ? seenIds : undefined);
  const groups = readGroups(path, start, io);
  const end = await takeAll(groups, history).catch((error: unknown) => {
    throw error instanceof DamagedJournal ? error.knowing(rows.counts(0).done) : error;
  });
  // A journal gets its name with its first session: without it the file is a truncated copy.
  if (history.sessions.length === 0) throw new DamagedJournal(path, end.lengthBytes, 'the rest is missing');
  history.endSession(boot);
  const { sessions, nextSeq, ended, lastAt, createdId } = history;
  const header = { ...start.header, ...history.input };
  return {
    ...{ header, ...end, sessions, nextSeq, ended, lastAt, createdId },
    counts: rows.counts(header.rows),
    stateOf: (row) => rows.stateOf(row),
    hashOf: (row) => rows.hashOf(row),
    doubtOf: (row) => rows.doubtOf(row),
    doubts: () => rows.doubts(),
  };
}

async function takeAll(groups: ReturnType<typeof readGroups>, history: History): Promise<JournalTail> {
  let next = await groups.next();
  for (; !next.done; next = await groups.next()) history.take(next.value.group, next.value.offsetBytes);
  return next.value;
}

/**
 * Reads the records of a journal in their order; `session` counts from 0, and `timeMs` from its start.
 *
 * @throws {Failure} local-file
 */
export async function* journalRecords(
  path: string,
  io: JournalIo = fileIo,
): AsyncGenerator<{ readonly session: number; readonly timeMs: number; readonly record: JournalRecord }> {
  const start = readHeader(path, io);
  if (start === undefined) return;
  let session = -1;
  for await (const { group } of readGroups(path, start, io)) {
    const [timeMs, ...records] = group;
    for (const record of records) {
      if (record[0] === 'B') session += 1;
      yield { session: Math.max(0, session), timeMs, record };
    }
  }
}

/**
 * The row that a record completes; undefined for any other record.
 *
 * @returns `etag`, the entity tag of the item at that time; no `id` if the row was resolved as applied without one;
 *   `isFound`, if the run is not known to have created the item
 */
export function doneRow(record: JournalRecord) {
  if (record[0] === 'D') {
    const [, row, id, etag, , found] = record;
    return { row, id, etag: etag ?? undefined, isFound: found !== undefined };
  }
  if (record[0] !== 'R' || record[2] !== 'applied') return undefined;
  const [, row, , id, found] = record;
  return { row, id: id === '' ? undefined : id, etag: undefined, isFound: found !== undefined };
}

class History {
  readonly sessions: SessionStart[] = [];
  input: SessionInput | undefined;
  nextSeq = 1;
  ended: RunTotals | undefined;
  lastAt = 0;
  createdId: string | undefined;
  readonly #path: string;
  readonly #rows: RunRows;
  readonly #seenIds: IdSet | undefined;

  constructor(path: string, rows: RunRows, seenIds: IdSet | undefined) {
    this.#path = path;
    this.#rows = rows;
    this.#seenIds = seenIds;
  }

  take([timeMs, ...records]: JournalGroup, offsetBytes: number): void {
    for (const record of records) {
      if (record[0] !== 'B' && this.sessions.length === 0) {
        throw new DamagedJournal(this.#path, offsetBytes, 'no session was started');
      }
      const reason = this.#apply(record, this.#at(timeMs));
      if (reason !== undefined) throw new DamagedJournal(this.#path, offsetBytes, reason);
      this.lastAt = Math.max(this.lastAt, this.#at(timeMs));
    }
  }

  endSession(boot: string): void {
    const session = this.sessions.at(-1);
    if (session !== undefined) this.#rows.endSession(session, boot);
  }

  #at(timeMs: number): number {
    return (this.sessions.at(-1)?.at ?? 0) + timeMs;
  }

  #apply(record: JournalRecord, at: number): string | undefined {
    this.ended = record[0] === 'E' ? record[1] : undefined;
    switch (record[0]) {
      case 'B':
        // The new session acted on this judgment.
        this.endSession(record[1].boot);
        this.sessions.push(record[1]);
        this.#rows.begin(record[1]);
        this.input = record[1].input ?? this.input;
        return record[1].input && this.#rows.extend(record[1].input.input.rows);
      case 'S':
        this.#rows.setServiceClock(record[1]);
        return undefined;
      case 'T':
      case 'E':
        return undefined;
      case 'I':
        this.nextSeq = Math.max(this.nextSeq, record[2] + 1);
        break;
      case 'D':
        this.#seenIds?.add(record[2]);
        if (record[5] === undefined) this.createdId ??= record[2];
        break;
      case 'R':
        if (record[2] === 'applied') this.#seenIds?.add(record[3]);
    }
    return this.#rows.take(record, at);
  }
}
