/** Reads that prove what became of a write that may have happened. */
import { checkId, type Fields, holdsFields, type Item, type ItemRef, type ListRef } from '../core/item.ts';
import { getRequest } from './requests.ts';
import { parseItem } from './response.ts';
import type { ApiRequest, ResponseHead, ServiceResponse } from './transport.ts';

/** How one read can prove that a write was applied. */
export interface WriteCheck<T> {
  /**
   * The read, where this head of an answer to the write leads to one.
   *
   * @param address where requests go: an address elsewhere proves nothing
   */
  readonly findRead: (head: ResponseHead, address: string) => VerifyingRead<T> | undefined;
  /** Whether an item that does not show it proves that the write was not applied. */
  readonly mayDisprove: boolean;
}

/** A read, and what its answer shows. */
export interface VerifyingRead<T> {
  readonly request: ApiRequest;
  /** What the write would have given, if this answer shows that it was applied. Throws a SyntaxError for what is no answer to the read. */
  readonly read: (response: ServiceResponse) => T | undefined;
}

/**
 * A create whose 2xx has no usable body: its `Location`, if that is one item of the same list, leads to the item; and
 * with the fields that were sent it is the one.
 *
 * @param given ids that belong to other items
 */
export function createCheck(list: ListRef, fields: Fields, given?: { add(id: string): boolean }): WriteCheck<Item> {
  return {
    findRead: ({ status, headers }, address) => {
      const id = status >= 200 && status < 300 ? idIn(headers['location'], address, list) : undefined;
      if (id === undefined) return undefined;
      const { request, read } = readBack({ ...list, id }, fields);
      return { request, read: (response) => unlessGiven(read(response), given) };
    },
    mayDisprove: false,
  };
}

/**
 * An update that only an unchanged item takes, and that was refused (412) after an attempt whose outcome is unknown:
 * where the item has the fields that were sent, that attempt was the change.
 */
export function updateCheck(ref: ItemRef, fields: Fields): WriteCheck<Item> {
  return {
    findRead: ({ status }) => (status === 412 ? readBack(ref, fields) : undefined),
    mayDisprove: true,
  };
}

/** The id in a `Location` (RFC 9110, section 10.2.2) that is exactly one segment below the list's items. */
function idIn(location: string | undefined, address: string, list: ListRef): string | undefined {
  if (location === undefined) return undefined;
  // The path of any item of the list, cut before its id.
  const items = address + getRequest({ ...list, id: 'x' }).path.slice(0, -1);
  try {
    // It counts from the address of the request, which ends before the slash.
    const { href } = new URL(location, items.slice(0, -1));
    const base = new URL(items).href;
    const segment = href.startsWith(base) ? href.slice(base.length) : '';
    return /^[^/?#]+$/.test(segment) ? checkId(decodeURIComponent(segment), 'item') : undefined;
  } catch {
    // Not a valid URL.
    return undefined;
  }
}

function unlessGiven(item: Item | undefined, given: { add(id: string): boolean } | undefined): Item | undefined {
  return item === undefined || given === undefined || given.add(item.id) ? item : undefined;
}

/** A read of an item, which shows a write if the item has these fields. */
function readBack(ref: ItemRef, fields: Fields): VerifyingRead<Item> {
  const read = (response: ServiceResponse) => {
    const item = parseItem(response, ref);
    return holdsFields(item.fields, fields) ? item : undefined;
  };
  return { request: getRequest(ref), read };
}
