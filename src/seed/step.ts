/** One request of a plan, and what it leaves behind. */
import { payloadHash } from '../bulk/payload-hash.ts';
import type { Fields } from '../item.ts';

/** What is to be done about one key. A plan names none twice. */
export type Step = CreateStep | UpdateStep | DeleteStep;

interface AnyStep {
  /** From 1: creates and updates in the order of the seed, then deletes. */
  readonly number: number;
  readonly key: string;
  /** What is sent; nothing of a delete. */
  readonly fields: Fields;
  /** What the state holds once it is done: all that the seed says; nothing of a delete. */
  readonly after: Fields;
}

/** An item is made. */
export interface CreateStep extends AnyStep {
  readonly action: 'create';
  /** `gone`: it was there, and is no more. `in-doubt`: it may have been made, and is sent again with its key. */
  readonly why?: 'gone' | 'in-doubt' | undefined;
  /** Of one that is sent again. */
  readonly inDoubt?: CreateInDoubt | undefined;
  readonly id?: undefined;
  readonly etag?: undefined;
  readonly before?: undefined;
  readonly drift?: undefined;
}

/** About an item that is known. */
interface KnownItemStep extends AnyStep {
  readonly id: string;
  /** What the item must still have, to be sent as If-Match. */
  readonly etag?: string | undefined;
  /**
   * What is lost. Of an update: what its fields are now, without those that are not there. Of a delete: all that the
   * item has, or what was last applied where it was not read.
   */
  readonly before: Fields;
  /** Somebody changed one of those fields since it was last applied. */
  readonly drift?: true | undefined;
  readonly why?: undefined;
  readonly inDoubt?: undefined;
}

/** Fields of an item are set: those alone that are not what the seed says. */
export interface UpdateStep extends KnownItemStep {
  readonly action: 'update';
}

/** An item that the seed no longer names is removed. */
export interface DeleteStep extends KnownItemStep {
  readonly action: 'delete';
}

/** A create whose outcome is unknown. */
export interface CreateInDoubt {
  readonly idempotencyKey: string | null;
  /** Of the payload that may have been applied (`payloadHash`). */
  readonly hash: string;
  /** When it was first sent with that key: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** The same by the clock of the service, where that is known. */
  readonly serviceAt?: number | undefined;
}

/** 16 hex digits that tell what a step sends: the journal's hash of its row. */
export function stepHash({ id, fields }: Pick<Step, 'id' | 'fields'>): string {
  return payloadHash(id, fields);
}
