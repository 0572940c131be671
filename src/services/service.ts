/** What a kind of service can do. */
import type { Client } from '../api/client.ts';
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

/** A list as it was given: by ids or names, or by its URL in the browser, which has the site. */
export type NamedList = ListRef | { readonly url: string };

/** A list by the ids that runs, states and plans know it by, and as it was given. */
export interface ResolvedList {
  readonly ids: ListRef;
  readonly named: NamedList;
}

/** A kind of service. A member that is absent is what it cannot do. */
export interface Service {
  readonly items: ItemOperations;
  /**
   * Finds the ids of a list.
   *
   * @param open opens a client, if requests are needed
   * @throws {Failure} usage or not-found, if there is no such list; as `Client.send`
   */
  resolve?(list: NamedList, open: () => Promise<Client>): Promise<ListRef>;
}
