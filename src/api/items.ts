/** The operations on items of the list item service (docs/decisions.md): their requests, and how to read the responses. */
import { type Fields, headerValue, type Item, type ItemRef, type ListRef } from '../core/item.ts';
import type { ItemOperations, Operation } from './client.ts';
import { listName, purposeOf } from './failures.ts';
import { createRequest, deleteRequest, getRequest, updateRequest } from './requests.ts';
import { bareItem, checkDeleted, ForeignResponse, parseItem, parseUpdatedItem } from './response.ts';
import type { ServiceResponse } from './transport.ts';
import { createCheck, type GivenIds, updateCheck } from './verify-write.ts';

function createOperation(
  list: ListRef,
  fields: Fields,
  idempotencyKey: string | undefined,
  given?: GivenIds,
): Operation<Item> {
  return {
    request: createRequest(list, fields, idempotencyKey),
    purpose: () => ({ task: `create an item in ${listName(list)}`, target: listName(list), idempotencyKey }),
    read: (response) => parseNewItem(response, given),
    check: () => createCheck(list, fields, given),
  };
}

function getOperation(ref: ItemRef): Operation<Item> {
  return {
    request: getRequest(ref),
    purpose: () => purposeOf('read', ref),
    read: (response) => parseItem(response, ref),
  };
}

/** Its result has no fields if the response was empty. */
function updateOperation(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item> {
  return {
    request: updateRequest(ref, fields, ifMatch),
    purpose: () => purposeOf('update', ref),
    read: (response) =>
      response.body.length === 0
        ? bareItem(ref.id, headerValue(response.headers['etag']))
        : parseUpdatedItem(response, ref),
    check: ifMatch === undefined ? undefined : () => updateCheck(ref, fields),
  };
}

function deleteOperation(ref: ItemRef, ifMatch?: string): Operation<void> {
  return { request: deleteRequest(ref, ifMatch), purpose: () => purposeOf('delete', ref), read: checkDeleted };
}

/** The service of docs/decisions.md. */
export const listItemOperations: ItemOperations = {
  create: createOperation,
  get: getOperation,
  update: updateOperation,
  delete: deleteOperation,
};

function parseNewItem(response: ServiceResponse, given: GivenIds | undefined): Item {
  const item = parseItem(response);
  if (given === undefined || given.add(item.id)) return item;
  throw new ForeignResponse(`the response has the id "${item.id.slice(0, 100)}", which belongs to another item`);
}
