/** The four verbs of the service, as calls that give a whole item or fail. */
import { type Fields, headerValue, type Item, type ItemRef, type ListRef } from '../core/item.ts';
import type { Client, Operation } from './client.ts';
import type { Purpose } from './failures.ts';
import { createRequest, deleteRequest, getRequest, updateRequest } from './requests.ts';
import { bareItem, checkDeleted, ForeignResponse, parseItem, parseUpdatedItem } from './response.ts';
import type { ServiceResponse } from './transport.ts';
import { createCheck, updateCheck } from './verify-write.ts';

/** Items of any list, at one address. Every call is one request, sent again where that is safe; each may end in a `Failure` of the kind that its answer has. */
export interface ItemsApi {
  /**
   * Adds an item and gives it as it was stored.
   *
   * @throws {Failure} in-doubt, when it may or may not have been stored, or its id cannot be known
   */
  create(list: ListRef, fields: Fields, idempotencyKey: string | undefined): Promise<Item>;
  get(ref: ItemRef): Promise<Item>;
  /**
   * Sets the named fields. Gives the item; without fields where the service answered with nothing.
   *
   * @param ifMatch the entity tag that the item must still have
   */
  update(ref: ItemRef, fields: Fields, ifMatch?: string): Promise<Item>;
  /** @param ifMatch the entity tag that the item must still have */
  delete(ref: ItemRef, ifMatch?: string): Promise<void>;
}

/** The ids that the creates of one run were given. */
export interface GivenIds {
  /** Adds an id; returns false if it was there already. */
  add(id: string): boolean;
}

export function itemsApi(client: Client): ItemsApi {
  return {
    create: (list, fields, idempotencyKey) => client.send(createOperation(list, fields, idempotencyKey)),
    get: (ref) => client.send(getOperation(ref)),
    update: (ref, fields, ifMatch) => client.send(updateOperation(ref, fields, ifMatch)),
    delete: (ref, ifMatch) => client.send(deleteOperation(ref, ifMatch)),
  };
}

/**
 * Asks for an item to be added.
 *
 * @param given of the run that the create belongs to: a response with one of these ids belongs to another request
 */
export function createOperation(
  list: ListRef,
  fields: Fields,
  idempotencyKey: string | undefined,
  given?: GivenIds,
): Operation<Item> {
  return {
    request: createRequest(list, fields, idempotencyKey),
    purpose: () => ({ task: `create an item in ${nameOf(list)}`, target: nameOf(list), idempotencyKey }),
    read: (response) => newItemOf(response, given),
    check: () => createCheck(list, fields, given),
  };
}

/** Asks for an item. */
export function getOperation(ref: ItemRef): Operation<Item> {
  return {
    request: getRequest(ref),
    purpose: () => purposeOf('read', ref),
    read: (response) => parseItem(response, ref),
  };
}

/** Asks for fields to be set; the answer is the item, without fields where the service answers with nothing. */
export function updateOperation(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item> {
  return {
    request: updateRequest(ref, fields, ifMatch),
    purpose: () => purposeOf('update', ref),
    read: (response) =>
      isEmpty(response) ? bareItem(ref.id, headerValue(response.headers['etag'])) : parseUpdatedItem(response, ref),
    check: ifMatch === undefined ? undefined : () => updateCheck(ref, fields),
  };
}

/** Asks for an item to be removed. */
export function deleteOperation(ref: ItemRef, ifMatch?: string): Operation<void> {
  return { request: deleteRequest(ref, ifMatch), purpose: () => purposeOf('delete', ref), read: checkDeleted };
}

function newItemOf(response: ServiceResponse, given: GivenIds | undefined): Item {
  const item = parseItem(response);
  if (given === undefined || given.add(item.id)) return item;
  throw new ForeignResponse(`the response has the id "${item.id.slice(0, 100)}", which another item of this run has`);
}

function isEmpty({ body }: ServiceResponse): boolean {
  return body.length === 0;
}

function purposeOf(verb: string, ref: ItemRef): Purpose {
  const target = `item "${ref.id}" of ${nameOf(ref)}`;
  return { task: `${verb} ${target}`, target, place: nameOf(ref), id: ref.id };
}

function nameOf({ site, list }: ListRef): string {
  return `list "${list}" of site "${site}"`;
}
