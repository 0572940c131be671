/** The record of a run, as it is written: a request's intent before its first byte, an outcome before it is printed (C7). */
import { dirname } from 'node:path';
import { newTemporary, writeWhole } from '../core/write-file.ts';
import {
  encodeLine,
  isGroup,
  isHeader,
  type JournalGroup,
  type JournalHeader,
  type JournalRecord,
  journalVersion,
  type SessionStart,
} from './journal-format.ts';
import { fileIo, type JournalIo, journalFault, lostJournal, readHeader } from './journal-lines.ts';

/** A journal that is being written, by one process: its lock is the caller's. */
export interface Journal {
  readonly path: string;
  /**
   * Appends one group; when it returns, a killed process does not lose it, a power cut may.
   *
   * @param timeMs since the session began; rounded down
   * @throws {Failure} local-file, when it cannot be written whole; every later call then throws the same
   * @throws {TypeError} when a record is not as it should be; nothing is written then
   */
  write(records: readonly JournalRecord[], timeMs: number): void;
  /**
   * Resolves when all that was written before the call is on disk. One runs at a time; calls meanwhile share the next.
   *
   * @throws {Failure} local-file; every later call then throws the same, and the system is not asked again: after one
   *   failure it may call lost bytes written (PostgreSQL, "PANIC on fsync() failure")
   */
  sync(): Promise<void>;
  /**
   * Syncs, then closes the file, also when the sync fails, or the file has lost its name meanwhile.
   *
   * @throws {Failure} local-file
   */
  close(): Promise<void>;
}

/** What the caller says of a run; the rest of the header is the journal's own. */
export type NewHeader = Omit<JournalHeader, 'listctl' | 'version' | 'isShrunk'>;

/** What is needed of a replay to go on behind it. */
export interface ReplayedLength {
  readonly lengthBytes: number;
  readonly tornBytes: number;
}

/**
 * Makes a journal: its directory closed to others where there is none, the file mode 0600, header and first session
 * written. All of it is on disk when this returns, and before it has its name: however the process ends, a journal
 * without its first line is nothing that listctl left.
 *
 * @param path where nothing is; its lock is the caller's
 * @throws {Failure} local-file, when it cannot be made, or something is there; nothing of it is left then
 */
export function createJournal(path: string, header: NewHeader, session: SessionStart, io: JournalIo = fileIo): Journal {
  const whole = { listctl: 'journal', version: journalVersion, ...header } as const;
  if (!isHeader(whole)) throw new TypeError('no header is like that');
  const bytes = Buffer.concat([encodeLine(whole), beginLine(session)]);
  return tryTo('create', path, () => {
    const directory = dirname(path);
    const made = io.makeDirectory(directory);
    if (readHeader(path, io) !== undefined) throw Object.assign(new Error(), { code: 'EEXIST' });
    const unnamed = newTemporary(path, io);
    const descriptor = io.open(unnamed, 'wx');
    try {
      writeWhole(descriptor, bytes, 0, io);
      io.sync(descriptor);
      io.rename(unnamed, path);
      // A directory that is new has its own name in the one above.
      for (const named of new Set([directory, ...made.map(dirname)])) io.syncDirectory(named);
    } catch (error) {
      abandon(descriptor, io);
      attempt(() => io.remove(unnamed));
      attempt(() => io.remove(path));
      throw error;
    }
    return journalOn({ path, descriptor, lengthBytes: bytes.length }, io);
  });
}

/**
 * Opens a journal to go on with: cuts off its torn tail and begins another session. What was there is on disk, and the
 * session is, when this returns: what the session was begun on is then what every later reader finds.
 *
 * @param replay what `readJournal` gave, under the same lock
 * @throws {Failure} local-file, when that fails, or the file has changed since it was read
 */
export function reopenJournal(
  path: string,
  replay: ReplayedLength,
  session: SessionStart,
  io: JournalIo = fileIo,
): Journal {
  const bytes = beginLine(session);
  return tryTo('write', path, () => {
    const descriptor = io.open(path, 'r+');
    try {
      if (io.lengthOf(descriptor) !== replay.lengthBytes + replay.tornBytes) {
        throw new Error('somebody changed it since it was read');
      }
      if (replay.tornBytes > 0) {
        io.truncate(descriptor, replay.lengthBytes);
        io.sync(descriptor);
      }
      writeWhole(descriptor, bytes, replay.lengthBytes, io);
      io.sync(descriptor);
    } catch (error) {
      abandon(descriptor, io);
      throw error;
    }
    return journalOn({ path, descriptor, lengthBytes: replay.lengthBytes + bytes.length }, io);
  });
}

/** A journal's file: where it ends is where the next group goes. */
interface JournalFile {
  readonly path: string;
  readonly descriptor: number;
  readonly lengthBytes: number;
}

function journalOn({ path, descriptor, lengthBytes }: JournalFile, io: JournalIo): Journal {
  let endBytes = lengthBytes;
  let failure: Error | undefined;
  let isOpen = true;
  let syncedBytes = lengthBytes;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const refuse = () => {
    if (failure !== undefined) throw failure;
    // The system may have given the descriptor's number to another file.
    if (!isOpen) throw new Error(`the journal ${path} is closed`);
  };
  const fail = (error: unknown) => {
    failure ??= journalFault('write', path, error);
    return failure;
  };
  const syncNow = async () => {
    refuse();
    const upToBytes = endBytes;
    if (syncedBytes === upToBytes) return;
    try {
      await io.syncData(descriptor);
    } catch (error) {
      throw fail(error);
    }
    refuseLoss();
    syncedBytes = upToBytes;
  };
  /** What is written to a file without a name is recorded nowhere. */
  const refuseLoss = () => {
    try {
      if (!io.isAt(descriptor, path)) throw lostJournal(path);
    } catch (error) {
      throw fail(error);
    }
  };
  const start = () => {
    next = undefined;
    const own = syncNow().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  };
  const sync = () => {
    // What waits for its turn covers this call as well: it looks at what was written when it starts.
    if (next === undefined && running === undefined) return start();
    next ??= running?.then(start, start);
    return next ?? start();
  };
  return {
    path,
    write: (records, timeMs) => {
      refuse();
      if (records.length === 0) return;
      const bytes = groupLine([Math.floor(timeMs), ...records]);
      try {
        writeWhole(descriptor, bytes, endBytes, io);
      } catch (error) {
        throw fail(error);
      }
      endBytes += bytes.length;
    },
    sync,
    close: async () => {
      if (!isOpen) return;
      try {
        await sync();
        refuseLoss();
      } finally {
        if (isOpen) abandon(descriptor, io);
        isOpen = false;
      }
    },
  };
}

function beginLine(session: SessionStart): Buffer {
  return groupLine([0, ['B', session]]);
}

/** Checked here too: what could not be read again would be known only when somebody needs it. */
function groupLine(group: JournalGroup): Buffer {
  if (!isGroup(group)) throw new TypeError(`no group is like that: ${JSON.stringify(group).slice(0, 100)}`);
  return encodeLine(group);
}

/** Closes it, whatever became of it: there is an error to tell already, or nothing more to lose. */
function abandon(descriptor: number, io: JournalIo): void {
  attempt(() => io.close(descriptor));
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // What matters has been said.
  }
}

function tryTo(verb: 'create' | 'write', path: string, work: () => Journal): Journal {
  try {
    return work();
  } catch (error) {
    throw journalFault(verb, path, error);
  }
}

/** The part of a journal that a run writes to. */
export interface RunJournal {
  write(records: readonly JournalRecord[], timeMs: number): void;
  sync(): Promise<void>;
}

/** The journal of a run that keeps none: of reads nothing can be lost or doubled. */
export const noJournal: RunJournal = { write: () => {}, sync: async () => {} };

/**
 * So long records wait for others to share a sync with, where something happens meanwhile; and at most, where not. A sync
 * takes the processor as long as sending several rows.
 */
export const gatherMs = { usual: 4, most: 50 } as const;

/**
 * The way of records to the disk, in groups: what is said in one turn of the event loop is one line of the journal, and
 * one sync serves all lines that were written before it began (reliability, C7).
 */
export class GroupCommit<E> {
  readonly #journal: RunJournal;
  readonly #onDurable: (entries: readonly E[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #records: JournalRecord[] = [];
  /** What waits for the sync of what was said of it. */
  #pending: E[] = [];
  #written: E[] = [];
  #writtenAtMs = 0;
  #isDirty = false;
  #isSyncing = false;
  #syncMs = 0;

  /**
   * @param onDurable told which entries are on disk
   * @param onFailure told once why the journal cannot be written; nothing is durable any more then
   */
  constructor(journal: RunJournal, onDurable: (entries: readonly E[]) => void, onFailure: (error: unknown) => void) {
    this.#journal = journal;
    this.#onDurable = onDurable;
    this.#onFailure = onFailure;
  }

  /** How long a sync takes, in milliseconds: a mean of the last ones. */
  get syncMs(): number {
    return this.#syncMs;
  }

  /** Whether nothing waits any more. */
  get isIdle(): boolean {
    return !this.#isSyncing && this.#records.length === 0 && this.#written.length === 0;
  }

  /** Says something, of an entry that waits for it to be on disk where one is named. */
  add(record: JournalRecord, entry?: E): void {
    this.#records.push(record);
    if (entry !== undefined) this.#pending.push(entry);
  }

  /** Writes what was said: a process that is killed after this does not lose it. */
  write(nowMs: number, timeMs: number): void {
    if (this.#records.length === 0) return;
    const records = this.#records;
    this.#records = [];
    try {
      this.#journal.write(records, timeMs);
    } catch (error) {
      this.#onFailure(error);
      return;
    }
    if (!this.#isDirty) this.#writtenAtMs = nowMs;
    this.#isDirty = true;
    for (const entry of this.#pending) this.#written.push(entry);
    this.#pending = [];
  }

  /**
   * Begins a sync where it is worth one: enough waits for it, or somebody has nothing else to do.
   *
   * @param enough how many entries are worth a sync
   * @param isStarving whether nothing can be sent before one ends
   * @returns when it would begin one, where that is later
   */
  sync(nowMs: number, timeNowMs: () => number, enough: number, isStarving: boolean): number {
    if (this.#isSyncing || !this.#isDirty) return Number.POSITIVE_INFINITY;
    const waitedMs = nowMs - this.#writtenAtMs;
    if (!isStarving && this.#written.length < enough && waitedMs < gatherMs.usual) {
      return this.#writtenAtMs + gatherMs.most;
    }
    const entries = this.#written;
    this.#written = [];
    this.#isDirty = false;
    this.#isSyncing = true;
    this.#journal.sync().then(
      () => {
        this.#isSyncing = false;
        this.#syncMs += (timeNowMs() - nowMs - this.#syncMs) / 8;
        this.#onDurable(entries);
      },
      (error: unknown) => {
        this.#isSyncing = false;
        this.#onFailure(error);
      },
    );
    return Number.POSITIVE_INFINITY;
  }
}
