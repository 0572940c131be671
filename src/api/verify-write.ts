/** Reads that prove whether a write in doubt was applied. */
import { checkId, type Fields, holdsFields, type Item, type ItemRef, type ListRef } from '../core/item.ts';
import { getRequest } from './requests.ts';
import { parseItem } from './response.ts';
import { type ApiRequest, isSuccess, type ResponseHead, type ServiceResponse } from './transport.ts';

/** One read that can prove that a write was applied. */
export interface WriteCheck<T> {
  /** Returns the read, if this response to the write allows one. A `Location` outside of `address` proves nothing. */
  readonly findRead: (head: ResponseHead, address: string) => VerifyingRead<T> | undefined;
  /** Whether a different item proves that the write was not applied. */
  readonly mayDisprove: boolean;
}

export interface VerifyingRead<T> {
  readonly request: ApiRequest;
  /** Returns the result of the write if it was applied. Throws a SyntaxError for an unusable response. */
  readonly read: (response: ServiceResponse) => T | undefined;
}

/** The ids that the creates of one run returned. */
export interface GivenIds {
  /** Adds an id; returns false if it was there already. */
  add(id: string): boolean;
}

/** For a create whose 2xx has an unusable body: reads the item of its `Location` (responses-5). */
export function createCheck(list: ListRef, fields: Fields, given?: GivenIds): WriteCheck<Item> {
  return {
    findRead: (head, address) => {
      const id = isSuccess(head) ? parseLocation(head.headers['location'], address, list) : undefined;
      if (id === undefined) return undefined;
      const { request, read } = readBack({ ...list, id }, fields);
      const readNew = (response: ServiceResponse) => {
        const item = read(response);
        return item === undefined || given === undefined || given.add(item.id) ? item : undefined;
      };
      return { request, read: readNew };
    },
    mayDisprove: false,
  };
}

/** For a conditional update that was refused (412) after an attempt in doubt: that attempt may have changed the item. */
export function updateCheck(ref: ItemRef, fields: Fields): WriteCheck<Item> {
  return {
    findRead: ({ status }) => (status === 412 ? readBack(ref, fields) : undefined),
    mayDisprove: true,
  };
}

/** The id in a `Location` (RFC 9110, section 10.2.2) of exactly one item of the list. */
function parseLocation(location: string | undefined, address: string, list: ListRef): string | undefined {
  if (location === undefined) return undefined;
  const items = address + getRequest({ ...list, id: 'x' }).path.slice(0, -1);
  try {
    // Relative to the URL of the request, which has no slash at its end.
    const { href } = new URL(location, items.slice(0, -1));
    const base = new URL(items).href;
    const segment = href.startsWith(base) ? href.slice(base.length) : '';
    return /^[^/?#]+$/.test(segment) ? checkId(decodeURIComponent(segment), 'item') : undefined;
  } catch {
    // Not a valid URL.
    return undefined;
  }
}

/** Reads an item; a write of these fields was applied if the item has them. */
function readBack(ref: ItemRef, fields: Fields): VerifyingRead<Item> {
  const read = (response: ServiceResponse) => {
    const item = parseItem(response, ref);
    return holdsFields(item.fields, fields) ? item : undefined;
  };
  return { request: getRequest(ref), read };
}
