/** What a kind of service can do. */
import type { GivenIds, Operation, SentEarlier } from '../api/operation.ts';
import type { Fields, Item, ItemRef, ListRef } from '../core/item.ts';

/** The operations on items as one kind of service has them: their requests, and the meaning of the responses. */
export interface ItemOperations {
  /**
   * @param given the ids that other creates of the run returned: a response with one of them belongs to another request
   * @param sent when an earlier process sent the same request
   */
  create(
    list: ListRef,
    fields: Fields,
    idempotencyKey: string | undefined,
    given?: GivenIds,
    sent?: SentEarlier,
  ): Operation<Item>;
  get(ref: ItemRef): Operation<Item>;
  /** Requires the entity tag `ifMatch`, if given. */
  update(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item>;
  delete(ref: ItemRef, ifMatch?: string): Operation<void>;
}
