/** Deletes the items that a run created, except those that changed since. */
import type { AttemptResult, Client, NotDone, RequestAttempts } from '../../api/client.ts';
import { payloadHash } from '../../bulk/keys.ts';
import type { Sender } from '../../bulk/outcome.ts';
import { type DeletedItem, deleteById, isMissing } from '../../bulk/plan.ts';
import { Failure } from '../../core/errors.ts';
import { type Item, type ListRef, strongTag } from '../../core/item.ts';
import { objectFrom } from '../../core/json.ts';

/** An item that a run created: a row of its undo. */
export interface CreatedRow {
  readonly number: number;
  readonly id: string;
  /** Its entity tag and the hash of its fields when it was created. */
  readonly etag: string | undefined;
  readonly hash: string | undefined;
}

interface UndoOptions {
  /** The run to undo. */
  readonly run: string;
  readonly list: ListRef;
  readonly client: Client;
  /** Whether changed items are deleted too. */
  readonly isForced: boolean;
}

/** Makes the sender; a missing item counts as deleted. */
export function createUndoSender(options: UndoOptions): Sender<CreatedRow, DeletedItem> {
  return {
    isRead: false,
    newKey: () => null,
    hashOf: ({ id }) => payloadHash(id, objectFrom([])),
    begin: (row, _, sentMsAgo) => new Removal(row, options, sentMsAgo),
    toRecord: (_, { id }) => ({ id, etag: undefined }),
  };
}

/** Whether the item must be read before it is deleted, which takes two requests. */
export function needsRead({ etag }: Pick<CreatedRow, 'etag'>, isForced: boolean): boolean {
  return !isForced && strongTag(etag) === undefined;
}

/** The deletion of an item, which is read first if its tag cannot prove that it is unchanged. */
class Removal {
  readonly #row: CreatedRow;
  readonly #options: UndoOptions;
  readonly #sentMsAgo: number | undefined;
  #reading: RequestAttempts<Item> | undefined;
  #deletion: RequestAttempts<DeletedItem> | undefined;

  constructor(row: CreatedRow, options: UndoOptions, sentMsAgo: number | undefined) {
    this.#row = row;
    this.#options = options;
    this.#sentMsAgo = sentMsAgo;
  }

  async attempt(): Promise<AttemptResult<DeletedItem>> {
    const { isForced } = this.#options;
    if (this.#deletion === undefined && needsRead(this.#row, isForced)) return this.#readAndDelete();
    this.#deletion ??= this.#startDeletion(isForced ? undefined : this.#row.etag);
    return this.#delete(this.#deletion);
  }

  async #readAndDelete(): Promise<AttemptResult<DeletedItem>> {
    const read = await this.#read();
    if (!read.isDone) return this.#readFailed(read);
    if (!this.#isUnchanged(read.value)) return this.#changed(read);
    // A later change prevents the deletion as well.
    const { etag } = read.value;
    this.#deletion = this.#startDeletion(strongTag(etag));
    return this.#delete(this.#deletion);
  }

  async #delete(deletion: RequestAttempts<DeletedItem>): Promise<AttemptResult<DeletedItem>> {
    const step = await deletion.attempt();
    return step.isDone ? step : this.#refused(step);
  }

  #startDeletion(ifMatch: string | undefined): RequestAttempts<DeletedItem> {
    const { client, list } = this.#options;
    const operation = deleteById(client.items, { ...list, id: this.#row.id }, ifMatch);
    return client.startAttempts({ ...operation, sentMsAgo: this.#sentMsAgo });
  }

  #read(): Promise<AttemptResult<Item>> {
    const { client, list } = this.#options;
    this.#reading ??= client.startAttempts(client.items.get({ ...list, id: this.#row.id }));
    return this.#reading.attempt();
  }

  #isUnchanged({ etag, fields }: Item): boolean {
    const { hash, etag: before } = this.#row;
    if (before !== undefined && etag === before) return true;
    return hash !== undefined && payloadHash(undefined, fields) === hash;
  }

  /** Handles a failed read: the item is missing, or its state is unknown. */
  #readFailed(read: NotDone): AttemptResult<DeletedItem> {
    if (isMissing(read)) return { ...read, isDone: true, value: { id: this.#row.id } };
    // It was only read. But what an earlier process sent may have deleted it.
    const failure = () => {
      const found = read.failure();
      if (this.#sentMsAgo === undefined || read.scope !== 'row' || !(found instanceof Failure)) return found;
      const { details, message } = found;
      return new Failure('in-doubt', `in doubt whether item "${this.#row.id}" was deleted: ${message}`, {
        ...details,
        outcome: 'unknown',
      });
    };
    return { ...read, outcome: read.outcome === 'unknown' ? 'refused' : read.outcome, failure };
  }

  /** Handles a refused deletion: the item is missing, changed, or was refused for another reason. */
  async #refused(step: NotDone): Promise<AttemptResult<DeletedItem>> {
    if (isMissing(step)) return { ...step, isDone: true, value: { id: this.#row.id } };
    const failure = step.failure();
    const isMismatch = failure instanceof Failure && failure.details.status === 412;
    const mayBeMismatch = failure instanceof Failure && failure.kind === 'in-doubt' && step.outcome === 'refused';
    if (step.waitMs !== undefined || !(isMismatch || mayBeMismatch)) return step;
    // Of an item that is not there no tag matches either: some services say 412 then. And one that is there, changed,
    // was not deleted by an earlier attempt.
    this.#reading = undefined;
    const read = await this.#read();
    if (!read.isDone && isMissing(read)) return { ...step, isDone: true, value: { id: this.#row.id } };
    const isChanged = isMismatch || (read.isDone && !this.#isUnchanged(read.value));
    return isChanged ? this.#changed(step) : step;
  }

  #changed(step: AttemptResult<unknown>): AttemptResult<DeletedItem> {
    const { run } = this.#options;
    const failure = () => {
      const message = `${this.#difference(`run ${run} created it`)}; not deleted`;
      return new Failure('conflict', message, {
        hint: 'check the item; pass --force to delete it anyway',
        outcome: 'refused',
      });
    };
    const { service, tookMs } = step;
    return {
      isDone: false,
      outcome: 'refused',
      service,
      tookMs,
      waitMs: undefined,
      isRetryAfter: false,
      scope: 'row',
      failure,
    };
  }

  #difference(created: string): string {
    const { id, hash, etag } = this.#row;
    if (strongTag(etag) !== undefined) return `item "${id}" changed since ${created}`;
    if (hash === undefined) return `cannot tell whether item "${id}" changed since ${created}`;
    return `item "${id}" does not have the fields that it had when ${created}`;
  }
}
