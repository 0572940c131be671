/** Writes the journal of a run: intents before requests, outcomes before results (docs/decisions.md, journal-1, -2). */
import { dirname } from 'node:path';
import { attempt } from '../core/files.ts';
import { newTemporary, writeWhole } from '../core/write-file.ts';
import {
  encodeLine,
  isGroup,
  isHeader,
  type JournalGroup,
  type JournalHeader,
  type JournalRecord,
  journalVersion,
  type Seed,
  type SessionStart,
  seedAfter,
  seedOfHeader,
} from './journal-format.ts';
import {
  fileIo,
  type JournalIo,
  type JournalTail,
  journalFault,
  lostJournal,
  readHeader,
  sharedJournal,
} from './journal-lines.ts';

/** A journal that is open for writing; the caller holds its lock. */
export interface Journal {
  readonly path: string;
  /**
   * Appends one group. Afterwards a killed process does not lose it; a power cut may.
   *
   * @param timeMs since the session began; rounded down
   * @throws {Failure} local-file; every later call then throws the same
   * @throws {TypeError} for an invalid record; nothing is written then
   */
  write(records: readonly JournalRecord[], timeMs: number): void;
  /**
   * Resolves when everything written before the call is on disk. Concurrent calls share a sync.
   *
   * @throws {Failure} local-file; every later call then throws the same without another fsync, which may succeed although
   *   data is lost (docs/decisions.md, journal-5)
   */
  sync(): Promise<void>;
  /**
   * Syncs and closes the file.
   *
   * @throws {Failure} local-file
   */
  close(): Promise<void>;
}

/** The members of a header that the caller sets. */
export type NewHeader = Omit<JournalHeader, 'listctl' | 'version' | 'isShrunk'>;

/**
 * Creates a journal, mode 0600, with its header and first session. It gets its name when it is on disk, so that no
 * journal is ever without its first line.
 *
 * @throws {Failure} local-file, also if the file exists
 */
export function createJournal(path: string, header: NewHeader, session: SessionStart, io: JournalIo = fileIo): Journal {
  const whole = { listctl: 'journal', version: journalVersion, ...header } as const;
  if (!isHeader(whole)) throw new TypeError('invalid journal header');
  const head = encodeLine(whole, seedOfHeader(whole));
  const start = beginLine(session, seedAfter(head, seedOfHeader(whole)));
  const bytes = Buffer.concat([head, start.line]);
  return tryTo('create', path, () => {
    const directory = dirname(path);
    const made = io.makeDirectory(directory);
    if (readHeader(path, io) !== undefined) throw Object.assign(new Error(), { code: 'EEXIST' });
    const unnamed = newTemporary(path, io);
    const descriptor = io.open(unnamed, 'ax');
    try {
      writeWhole(descriptor, bytes, null, io);
      io.sync(descriptor);
      io.rename(unnamed, path);
      // A new directory needs a sync of its parent.
      for (const named of new Set([directory, ...made.map(dirname)])) io.syncDirectory(named);
    } catch (error) {
      abandon(descriptor, io);
      attempt(() => io.remove(unnamed));
      attempt(() => io.remove(path));
      throw error;
    }
    return journalOn(path, descriptor, { lengthBytes: bytes.length, seed: start.seed }, io);
  });
}

/**
 * Opens a journal to resume its run: cuts off an incomplete last line and starts a session, which is on disk afterwards.
 *
 * @param replay the result of `readJournal`, under the same lock
 * @throws {Failure} local-file, also if the file changed since it was read
 */
export function reopenJournal(
  path: string,
  replay: JournalTail & { readonly header?: Pick<JournalHeader, 'file'> },
  session: SessionStart,
  io: JournalIo = fileIo,
): Journal {
  const file = session.input?.file ?? replay.header?.file ?? undefined;
  const { line, seed } = beginLine(session, replay.seed);
  return tryTo('write', path, () => {
    const descriptor = openWhole(path, replay, io);
    try {
      writeWhole(descriptor, line, null, io);
      io.sync(descriptor);
    } catch (error) {
      abandon(descriptor, io);
      throw error;
    }
    return journalOn(path, descriptor, { lengthBytes: replay.lengthBytes + line.length, seed }, io, file);
  });
}

/** Opens a file to append to it, and cuts off its incomplete last line; throws the error of the system. */
export function openWhole(
  path: string,
  { lengthBytes, tornBytes }: Pick<JournalTail, 'lengthBytes' | 'tornBytes'>,
  io: JournalIo,
): number {
  // Windows truncates no file that was opened for appending.
  if (tornBytes > 0) cutOff(path, lengthBytes, tornBytes, io);
  const descriptor = io.open(path, 'a');
  try {
    refuseLength(descriptor, lengthBytes, io);
    return descriptor;
  } catch (error) {
    abandon(descriptor, io);
    throw error;
  }
}

function cutOff(path: string, lengthBytes: number, tornBytes: number, io: JournalIo): void {
  const descriptor = io.open(path, 'r+');
  try {
    refuseLength(descriptor, lengthBytes + tornBytes, io);
    io.truncate(descriptor, lengthBytes);
    io.sync(descriptor);
  } finally {
    abandon(descriptor, io);
  }
}

function refuseLength(descriptor: number, lengthBytes: number, io: JournalIo): void {
  if (io.lengthOf(descriptor) !== lengthBytes) throw new Error('it changed since it was read');
}

/**
 * Appends to an open file, with the guarantees of `Journal`. Its length shows whether another process writes to it, which
 * no lock excludes where the file is mounted at two paths (docs/decisions.md, journal-8).
 *
 * @param descriptor opened for appending
 */
export function appendTo(
  path: string,
  descriptor: number,
  lengthBytes: number,
  io: JournalIo,
): Pick<Journal, 'sync' | 'close'> & { readonly append: (bytes: Uint8Array) => void } {
  let endBytes = lengthBytes;
  let failure: Error | undefined;
  let isOpen = true;
  let syncedBytes = lengthBytes;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const refuse = () => {
    if (failure !== undefined) throw failure;
    // The descriptor may belong to another file by now.
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
  /** Fails if the file was removed or replaced, since its records would be lost, or if another process writes to it. */
  const refuseLoss = () => {
    try {
      if (!io.isAt(descriptor, path)) throw lostJournal(path);
      refuseOthers(path, descriptor, endBytes, io);
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
    // A sync that has not started yet covers this call as well.
    if (next === undefined && running === undefined) return start();
    next ??= running?.then(start, start);
    return next ?? start();
  };
  return {
    append: (bytes) => {
      refuse();
      if (bytes.length === 0) return;
      try {
        refuseOthers(path, descriptor, endBytes, io);
        writeWhole(descriptor, bytes, null, io);
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

/** Fails if the file has another length than this process left. */
function refuseOthers(path: string, descriptor: number, lengthBytes: number, io: JournalIo): void {
  if (io.lengthOf(descriptor) !== lengthBytes) throw sharedJournal(path);
}

function journalOn(
  path: string,
  descriptor: number,
  { lengthBytes, seed: firstSeed }: Omit<JournalTail, 'tornBytes'>,
  io: JournalIo,
  file?: string,
): Journal {
  const { append, sync, close } = appendTo(path, descriptor, lengthBytes, io);
  const named = (record: JournalRecord): JournalRecord =>
    record[0] === 'E' && file !== undefined ? ['E', { ...record[1], file }] : record;
  let seed = firstSeed;
  const write: Journal['write'] = (records, timeMs) => {
    if (records.length === 0) return append(Buffer.alloc(0));
    const next = groupLine([Math.floor(timeMs), ...records.map(named)], seed);
    append(next.line);
    seed = next.seed;
  };
  return { path, write, sync, close };
}

function beginLine(session: SessionStart, seed: Seed) {
  return groupLine([0, ['B', session]], seed);
}

/** A line, and the seed of the next one. */
function groupLine(group: JournalGroup, seed: Seed): { readonly line: Buffer; readonly seed: Seed } {
  if (!isGroup(group)) throw new TypeError(`invalid journal group: ${JSON.stringify(group).slice(0, 100)}`);
  const line = encodeLine(group, seed);
  return { line, seed: seedAfter(line, seed) };
}

function abandon(descriptor: number, io: JournalIo): void {
  attempt(() => io.close(descriptor));
}

function tryTo(verb: 'create' | 'write', path: string, work: () => Journal): Journal {
  try {
    return work();
  } catch (error) {
    throw journalFault(verb, path, error);
  }
}

/** The part of a journal that a run writes to. */
export type RunJournal = Pick<Journal, 'write' | 'sync'>;

/** The journal of a run that is not recorded. */
export const noJournal: RunJournal = { write: () => {}, sync: async () => {} };

/** How long records wait to share a sync: usually, and at most if nothing else happens. A sync costs as much as several rows. */
export const gatherMs = { usual: 4, most: 50 } as const;

/**
 * Commits records in groups: those of one turn of the event loop are one line of the journal, and one sync covers all
 * lines written before it (docs/decisions.md, journal-1).
 */
export class GroupCommit<E> {
  readonly #journal: RunJournal;
  readonly #onDurable: (entries: readonly E[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #records: JournalRecord[] = [];
  /** Entries of `#records`, and of written records that are not synced. */
  #pending: E[] = [];
  #written: E[] = [];
  #writtenAtMs = 0;
  #isDirty = false;
  #isSyncing = false;
  /** The moving average of the time of a sync. */
  syncMs = 0;

  /**
   * @param onDurable called with entries whose records are on disk
   * @param onFailure called once if the journal cannot be written
   */
  constructor(journal: RunJournal, onDurable: (entries: readonly E[]) => void, onFailure: (error: unknown) => void) {
    this.#journal = journal;
    this.#onDurable = onDurable;
    this.#onFailure = onFailure;
  }

  get isIdle(): boolean {
    return !this.#isSyncing && this.#records.length === 0 && this.#written.length === 0;
  }

  add(record: JournalRecord, entry?: E): void {
    this.#records.push(record);
    if (entry !== undefined) this.#pending.push(entry);
  }

  /** Writes the pending records: a process that is killed after this does not lose them. */
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
   * Starts a sync if enough entries wait for one, or nothing can be sent before it ends.
   *
   * @param enough the number of entries worth a sync
   * @param isStarving whether nothing can be sent before a sync ends
   * @returns when it would start one otherwise
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
        this.syncMs += (timeNowMs() - nowMs - this.syncMs) / 8;
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
