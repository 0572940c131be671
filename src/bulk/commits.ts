import type { JournalRecord } from './journal-records.ts';

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
export class Commits<E> {
  readonly #journal: RunJournal;
  readonly #onDurable: (entries: readonly E[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #records: JournalRecord[] = [];
  /** What waits for the sync of what was said of it. */
  #said: E[] = [];
  #written: E[] = [];
  #writtenAtMs = 0;
  #isDirty = false;
  #isSyncing = false;
  #syncMs = 0;

  /**
   * @param onDurable told which entries are on disk
   * @param onFailure told once why the journal can't be written; nothing is durable any more then
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
    if (entry !== undefined) this.#said.push(entry);
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
    for (const entry of this.#said) this.#written.push(entry);
    this.#said = [];
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
