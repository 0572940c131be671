/** Undoes a run, except for items that changed since: deletes created ones, restores earlier values. */
import type { AttemptResult, NotDone, RequestAttempts } from '../../api/attempts.ts';
import type { Client } from '../../api/client.ts';
import type { Operation } from '../../api/operation.ts';
import { payloadHash } from '../../bulk/keys.ts';
import { deleteById, isMissing, onlyRead, type SentResult } from '../../bulk/senders.ts';
import type { Sender } from '../../bulk/task.ts';
import { Failure } from '../../core/errors.ts';
import { type Fields, type Item, includesFields, type ListRef, ownField, strongTag } from '../../core/item.ts';
import { objectFrom } from '../../core/json.ts';
import type { ItemOperations } from '../../services/service.ts';

/** An item that a run created or changed: a row of its undo. */
export interface UndoRow {
  readonly number: number;
  readonly id: string;
  /** Its entity tag, and the hash of the fields that the run sent, when it was written. */
  readonly etag: string | undefined;
  readonly hash: string | undefined;
  /** Its earlier values, unless the run created it. */
  readonly fields?: Fields;
}

interface UndoOptions {
  readonly run: string;
  readonly list: ListRef;
  readonly client: Client;
  readonly items: ItemOperations;
  /** Whether items that changed since are undone too. */
  readonly isForced: boolean;
}

/** Makes the sender of creates and updates; a missing item counts as deleted. */
export function createUndoSender(options: UndoOptions): Sender<UndoRow, SentResult> {
  return {
    isRead: false,
    newKey: () => null,
    hashOf: ({ id, fields = objectFrom([]) }) => payloadHash(id, fields),
    begin: (row, _, sentMsAgo) => new Reversal(row, options, sentMsAgo),
    toRecord: (_, value) => ({ id: value.id, etag: 'etag' in value ? value.etag : undefined }),
  };
}

/** Whether the item must be read before it is written, which takes two requests. */
export function needsRead({ etag }: Pick<UndoRow, 'etag'>, isForced: boolean): boolean {
  return !isForced && strongTag(etag) === undefined;
}

/** The deletion or update of an item, which is read first if its tag cannot prove that it is unchanged. */
class Reversal {
  readonly #row: UndoRow;
  readonly #options: UndoOptions;
  readonly #sentMsAgo: number | undefined;
  #reading: RequestAttempts<Item> | undefined;
  #write: RequestAttempts<SentResult> | undefined;

  constructor(row: UndoRow, options: UndoOptions, sentMsAgo: number | undefined) {
    this.#row = row;
    this.#options = options;
    this.#sentMsAgo = sentMsAgo;
  }

  async attempt(): Promise<AttemptResult<SentResult>> {
    const { isForced } = this.#options;
    if (this.#write === undefined && needsRead(this.#row, isForced)) return this.#readAndWrite();
    this.#write ??= this.#start(isForced ? undefined : this.#row.etag);
    return this.#send(this.#write);
  }

  async #readAndWrite(): Promise<AttemptResult<SentResult>> {
    const read = await this.#read();
    if (!read.isDone) return this.#readFailed(read);
    const { fields } = this.#row;
    if (fields !== undefined && includesFields(read.value.fields, fields)) return read;
    if (!this.#isUnchanged(read.value)) return this.#changed(read);
    // A later change prevents the write as well.
    const { etag } = read.value;
    this.#write = this.#start(strongTag(etag));
    return this.#send(this.#write);
  }

  async #send(write: RequestAttempts<SentResult>): Promise<AttemptResult<SentResult>> {
    const step = await write.attempt();
    return step.isDone ? step : this.#refused(step);
  }

  #start(ifMatch: string | undefined): RequestAttempts<SentResult> {
    const { client, items, list } = this.#options;
    const { id, fields } = this.#row;
    const ref = { ...list, id };
    const operation: Operation<SentResult> =
      fields === undefined ? deleteById(items, ref, ifMatch) : items.update(ref, fields, ifMatch);
    return client.startAttempts({ ...operation, sentMsAgo: this.#sentMsAgo });
  }

  #read(): Promise<AttemptResult<Item>> {
    const { client, items, list } = this.#options;
    this.#reading ??= client.startAttempts(items.get({ ...list, id: this.#row.id }));
    return this.#reading.attempt();
  }

  #isUnchanged({ etag, fields }: Item): boolean {
    const { hash, etag: before, id, fields: earlier } = this.#row;
    if (before !== undefined && etag === before) return true;
    if (hash === undefined) return false;
    if (earlier === undefined) return payloadHash(undefined, fields) === hash;
    const own = Object.keys(earlier).map((name) => [name, ownField(fields, name) ?? null] as const);
    return payloadHash(id, objectFrom(own)) === hash;
  }

  /** The result for an item that is not there: only a created one is as it was before the run. */
  #missing(step: NotDone): AttemptResult<SentResult> {
    return this.#row.fields === undefined ? { ...step, isDone: true, value: { id: this.#row.id } } : step;
  }

  /** Handles a failed read: the item is missing, or its state is unknown. */
  #readFailed(read: NotDone): AttemptResult<SentResult> {
    if (isMissing(read)) return this.#missing(read);
    // It was only read. But what an earlier process sent may have changed it.
    const failure = () => {
      const found = read.failure();
      if (this.#sentMsAgo === undefined || read.scope !== 'row' || !(found instanceof Failure)) return found;
      const { details, message } = found;
      const done = this.#row.fields === undefined ? 'deleted' : 'restored';
      return new Failure('in-doubt', `in doubt whether item "${this.#row.id}" was ${done}: ${message}`, {
        ...details,
        outcome: 'unknown',
      });
    };
    return { ...onlyRead(read), failure };
  }

  /** Handles a refused write: the item is missing, changed, or it was refused for another reason. */
  async #refused(step: NotDone): Promise<AttemptResult<SentResult>> {
    if (isMissing(step)) return this.#missing(step);
    const failure = step.failure();
    const isMismatch = failure instanceof Failure && failure.details.status === 412;
    const mayBeMismatch = failure instanceof Failure && failure.kind === 'in-doubt' && step.outcome === 'refused';
    if (step.waitMs !== undefined || !(isMismatch || mayBeMismatch)) return step;
    // Of an item that is not there no tag matches either: some services say 412 then. And one that is there, changed,
    // was not deleted by an earlier attempt.
    this.#reading = undefined;
    const read = await this.#read();
    if (!read.isDone && isMissing(read)) return this.#missing(this.#row.fields === undefined ? step : read);
    const isChanged = isMismatch || (read.isDone && !this.#isUnchanged(read.value));
    return isChanged ? this.#changed(step) : step;
  }

  #changed(step: AttemptResult<unknown>): AttemptResult<SentResult> {
    const { run } = this.#options;
    const failure = () => {
      const isCreated = this.#row.fields === undefined;
      const did = this.#difference(`run ${run} ${isCreated ? 'created' : 'updated'} it`);
      return new Failure('conflict', `${did}; not ${isCreated ? 'deleted' : 'restored'}`, {
        hint: `check the item; pass --force to ${isCreated ? 'delete it' : 'put it back'} anyway`,
        outcome: 'refused',
      });
    };
    const { service, tookMs } = step;
    const refused = {
      isDone: false,
      outcome: 'refused',
      scope: 'row',
      waitMs: undefined,
      isRetryAfter: false,
    } as const;
    return { ...refused, service, tookMs, failure };
  }

  #difference(created: string): string {
    const { id, hash, etag } = this.#row;
    if (strongTag(etag) !== undefined) return `item "${id}" changed since ${created}`;
    if (hash === undefined) return `cannot tell whether item "${id}" changed since ${created}`;
    return `item "${id}" does not have the fields that it had when ${created}`;
  }
}
