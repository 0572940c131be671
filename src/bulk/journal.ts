/** Writes the journal of a run: intents before requests, outcomes before results (docs/decisions.md, journal-1, -2). */
import { dirname } from 'node:path';
import { attempt } from '../core/files.ts';
import { newTemporary, writeWhole } from '../core/write-file.ts';
import { type AppendFile, abandon, appendTo, openWhole } from './append-file.ts';
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
import { fileIo, type JournalIo, type JournalTail, journalFault, readHeader } from './journal-lines.ts';

/** A journal that is open for writing; the caller holds its lock. */
export interface Journal extends Pick<AppendFile, 'sync' | 'close' | 'full'> {
  readonly path: string;
  /**
   * Appends one group. Afterwards a killed process does not lose it; a power cut may.
   *
   * @param timeMs since the session began; rounded down
   * @throws {Failure} local-file; every later call then throws the same
   * @throws {TypeError} for an invalid record; nothing is written then
   */
  write(records: readonly JournalRecord[], timeMs: number): void;
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
    const file = appendTo({ path, descriptor, io }, bytes.length, reserveFor(path, session, io));
    return journalOn(path, file, start.seed);
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
    const lengthBytes = replay.lengthBytes + line.length;
    return journalOn(path, appendTo({ path, descriptor, io }, lengthBytes, reserveFor(path, session, io)), seed, file);
  });
}

/** Room for the outcomes of what is in flight, and for the intents that are withdrawn when the run stops. */
function reserveFor(path: string, { limit }: SessionStart, io: JournalIo) {
  return limit === 0 ? undefined : io.reserve(path, 64 * 1024 + 512 * limit);
}

function journalOn(path: string, appended: AppendFile, firstSeed: Seed, file?: string): Journal {
  const { append, sync, close } = appended;
  const named = (record: JournalRecord): JournalRecord =>
    record[0] === 'E' && file !== undefined ? ['E', { ...record[1], file }] : record;
  let seed = firstSeed;
  const write: Journal['write'] = (records, timeMs) => {
    if (records.length === 0) return append(Buffer.alloc(0));
    const next = groupLine([Math.floor(timeMs), ...records.map(named)], seed);
    append(next.line);
    seed = next.seed;
  };
  return {
    ...{ path, write, sync, close },
    get full() {
      return appended.full;
    },
  };
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

function tryTo(verb: 'create' | 'write', path: string, work: () => Journal): Journal {
  try {
    return work();
  } catch (error) {
    throw journalFault(verb, path, error);
  }
}

/** The part of a journal that a run writes to. */
export type RunJournal = Pick<Journal, 'write' | 'sync' | 'full'>;

/** The journal of a run that is not recorded. */
export const noJournal: RunJournal = { write: () => {}, sync: async () => {}, full: undefined };

/** How long records wait to share a sync: usually, and at most if nothing else happens. A sync costs as much as several rows. */
export const gatherMs = { usual: 4, most: 50 } as const;

/**
 * Commits records in groups: those of one turn of the event loop are one line of the journal, and one sync covers all
 * lines written before it (docs/decisions.md, journal-1).
 */
export class GroupCommit<E> {
  readonly #journal: Pick<Journal, 'write' | 'sync'>;
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
  constructor(
    journal: Pick<Journal, 'write' | 'sync'>,
    onDurable: (entries: readonly E[]) => void,
    onFailure: (error: unknown) => void,
  ) {
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
