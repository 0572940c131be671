/** The four verbs of the service, as calls that give a whole item or fail. */
import type { Fields, Item, ItemRef, ListRef } from '../item.ts';
import { bareItem, itemOf, jsonOf } from './answers.ts';
import type { Purpose } from './failures.ts';
import { createProof, updateProof } from './proof.ts';
import { createRequest, deleteRequest, getRequest, updateRequest } from './requests.ts';
import type { Answer } from './transport.ts';
import type { Wire } from './wire.ts';

/** Items of any list, at one address. Every call is one request, sent again where that is safe; each may end in a `Failure` of the kind that its answer has. */
export interface ItemsApi {
  /**
   * Adds an item and gives it as it was stored.
   *
   * @throws {Failure} in-doubt, when it may or may not have been stored, or its id can't be known
   */
  create(list: ListRef, fields: Fields, idempotencyKey: string | undefined): Promise<Item>;
  get(ref: ItemRef): Promise<Item>;
  /**
   * Sets the named fields. Gives the item; without fields where the service answered with nothing.
   *
   * @param ifMatch the entity tag that the item must still have
   */
  update(ref: ItemRef, fields: Fields, ifMatch?: string): Promise<Item>;
  delete(ref: ItemRef): Promise<void>;
}

/** The verbs, asked over a wire. */
export function itemsApi(wire: Wire): ItemsApi {
  return {
    create: (list, fields, idempotencyKey) => {
      const purpose = { task: `create an item in ${nameOf(list)}`, target: nameOf(list), idempotencyKey };
      const request = createRequest(list, fields, idempotencyKey);
      return wire.ask(request, purpose, (answer) => itemOf(answer), createProof(list, fields));
    },
    get: (ref) => wire.ask(getRequest(ref), purposeOf('read', ref), (answer) => itemOf(answer)),
    update: (ref, fields, ifMatch) =>
      wire.ask(
        updateRequest(ref, fields, ifMatch),
        purposeOf('update', ref),
        (answer) => (isEmpty(answer) ? bareItem(ref.id) : itemOf(answer, ref)),
        ifMatch === undefined ? undefined : updateProof(ref, fields),
      ),
    delete: (ref) =>
      wire.ask(deleteRequest(ref), purposeOf('delete', ref), (answer) => {
        // Any JSON will do, but a page for people comes from something else than the service.
        if (!isEmpty(answer)) jsonOf(answer);
      }),
  };
}

function isEmpty({ body }: Answer): boolean {
  return body.length === 0;
}

function purposeOf(verb: string, ref: ItemRef): Purpose {
  const target = `item "${ref.id}" of ${nameOf(ref)}`;
  return { task: `${verb} ${target}`, target, place: nameOf(ref) };
}

function nameOf({ site, list }: ListRef): string {
  return `list "${list}" of site "${site}"`;
}
