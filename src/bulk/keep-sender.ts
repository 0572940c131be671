/** Updates or deletes items after their earlier values are on disk (`--keep-before`). */
import type { AttemptResult, Client, NotDone, RequestAttempts } from '../api/client.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type Item, type ListRef, ownField, strongTag } from '../core/item.ts';
import { objectFrom } from '../core/json.ts';
import type { EarlierFile } from './earlier-values.ts';
import { IdSet } from './keys.ts';
import type { Sender } from './outcome.ts';
import { createRowSender, doneIfMissing, isMissing, type SentResult, type SentRow, toOperation } from './plan.ts';

interface KeepOptions {
  readonly action: 'update' | 'delete';
  readonly list: ListRef;
  readonly client: Client;
  /** Counts a missing item as deleted. */
  readonly ignoreMissing: boolean;
  readonly earlier: EarlierFile;
  /** Picks the values of the named fields, in the form in which they can be written back. */
  readonly valuesOf?: ((fields: Fields, names: readonly string[]) => Fields) | undefined;
}

/** Makes the sender; each row takes two requests. */
export function createKeepingSender<R extends SentRow>(options: KeepOptions): Sender<R, SentResult> {
  const { action, list, client, ignoreMissing } = options;
  const plain = createRowSender<R>(action, list, client, {
    ...{ sendsKeys: false, keyOf: undefined, ignoreMissing, given: new IdSet() },
  });
  return { ...plain, begin: (row, _, sentMsAgo) => new KeptWrite(row, options, sentMsAgo) };
}

/** A write whose item is read first, unless an earlier process kept its values and may have sent it. */
class KeptWrite {
  readonly #row: SentRow;
  readonly #options: KeepOptions;
  readonly #sentMsAgo: number | undefined;
  #reading: RequestAttempts<Item> | undefined;
  #write: RequestAttempts<SentResult> | undefined;

  constructor(row: SentRow, options: KeepOptions, sentMsAgo: number | undefined) {
    this.#row = row;
    this.#options = options;
    const kept = sentMsAgo === undefined ? undefined : options.earlier.of(row.number);
    // Nothing is sent before the values are kept.
    this.#sentMsAgo = kept === undefined ? undefined : sentMsAgo;
    if (kept !== undefined) this.#write = this.#start(kept.etag);
  }

  async attempt(): Promise<AttemptResult<SentResult>> {
    const step = this.#write === undefined ? await this.#readAndWrite() : await this.#send(this.#write);
    return this.#options.ignoreMissing ? doneIfMissing(step, { id: this.#id }) : step;
  }

  get #id(): string {
    return this.#row.id ?? '';
  }

  async #readAndWrite(): Promise<AttemptResult<SentResult>> {
    const read = await this.#read();
    if (!read.isDone) return onlyRead(read);
    const { etag, fields } = read.value;
    const { earlier } = this.#options;
    try {
      await earlier.keep({ row: this.#row.number, id: this.#id, etag, fields: this.#changed(fields) });
    } catch (error) {
      const { service, tookMs } = read;
      const stopped = { isDone: false, outcome: 'refused', waitMs: undefined, isRetryAfter: false } as const;
      return { ...stopped, service, tookMs, scope: 'run', failure: () => error };
    }
    this.#write = this.#start(etag);
    return this.#send(this.#write);
  }

  /** The fields of the item that the write changes, as they are. */
  #changed(fields: Fields): Fields {
    if (this.#options.action === 'delete') return fields;
    const { valuesOf = namedValues } = this.#options;
    return valuesOf(fields, Object.keys(this.#row.fields ?? {}));
  }

  /** The write is refused if the item changed since it was read. */
  #start(etag: string | undefined): RequestAttempts<SentResult> {
    const { action, list, client } = this.#options;
    const row = { ...this.#row, etag: strongTag(etag) };
    const operation = toOperation(client.items, row, action, list, undefined, new IdSet());
    return client.startAttempts({ ...operation, sentMsAgo: this.#sentMsAgo });
  }

  #read(): Promise<AttemptResult<Item>> {
    const { client, list } = this.#options;
    this.#reading ??= client.startAttempts(client.items.get({ ...list, id: this.#id }));
    return this.#reading.attempt();
  }

  async #send(write: RequestAttempts<SentResult>): Promise<AttemptResult<SentResult>> {
    const step = await write.attempt();
    if (step.isDone || step.waitMs !== undefined || this.#options.action === 'update') return step;
    const failure = step.failure();
    if (!(failure instanceof Failure && failure.kind === 'in-doubt' && step.outcome === 'refused')) return step;
    // Of an item that is not there no tag matches either: a deletion in doubt was applied then.
    this.#reading = undefined;
    const read = await this.#read();
    if (read.isDone) return changedSince(step, this.#id);
    return isMissing(read) ? { ...step, isDone: true, value: { id: this.#id } } : step;
  }
}

function namedValues(fields: Fields, names: readonly string[]): Fields {
  return objectFrom(names.map((name) => [name, ownField(fields, name) ?? null]));
}

/** The result of a row whose item could not be read: whatever the read's outcome, the item was not changed. */
export function onlyRead(read: NotDone): NotDone {
  return { ...read, outcome: read.outcome === 'unknown' ? 'refused' : read.outcome };
}

function changedSince(step: NotDone, id: string): NotDone {
  const message = `item "${id}" changed since it was read; not deleted`;
  const failure = () => new Failure('conflict', message, { outcome: 'refused' });
  return { ...step, outcome: 'refused', scope: 'row', failure };
}
