/** Requests, responses and stored items as plain values, without sockets. */
import { createHash } from 'node:crypto';
import type { ListRef } from '../core/item.ts';
import type { Store, Transaction } from './store.ts';

/** A request as it reached the service. */
export interface ServiceRequest {
  readonly method: string;
  /** Path and query, relative to the base address: `/sites/S/lists/L/items/7`, each segment percent-encoded. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** What the service says to it. */
export interface ServiceResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; empty for 204. */
  readonly body: string;
}

/** A request that the service will not carry out, and the status that says so. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** An answer with a body of JSON. */
export function jsonResponse(status: number, headers: Readonly<Record<string, string>>, body: string): ServiceResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** The document's error: `{"error": "<short message>"}`. */
export function errorResponse({ status, message, headers }: Refusal): ServiceResponse {
  return jsonResponse(status, headers, JSON.stringify({ error: message }));
}

/** An item as it is stored. */
export interface StoredItem {
  /** 1 for a new item, one more with each update. */
  readonly version: number;
  /** The fields as compact JSON. */
  readonly fields: string;
}

/**
 * A list's name inside the store: of one size, because ids may be longer than a key of LMDB; another for every list.
 */
export function toStoredList({ site, list }: ListRef): string {
  return digestOf(JSON.stringify([site, list]));
}

/** SHA-256 as 43 characters that are valid in URLs, headers and keys. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/**
 * Adds an item and returns its id: a decimal number, counted in each list from 1. The count is never turned back, so
 * an id is not given twice, however many processes share the store and whatever is deleted.
 */
export function addItem(transaction: Transaction, list: string, fields: string): string {
  const number = Number(transaction.get(['count', list]) ?? 0) + 1;
  transaction.put(['count', list], String(number));
  const id = String(number);
  putItem(transaction, list, id, { version: 1, fields });
  return id;
}

/** The item with this id, or undefined; also for an id that this service would never give. */
export function findItem(from: Pick<Store, 'get'>, list: string, id: string): StoredItem | undefined {
  // 007 and 7 are different ids; only the second is ever assigned.
  if (!/^[1-9]\d{0,15}$/.test(id)) return undefined;
  const record = from.get(keyOf(list, id));
  if (record === undefined) return undefined;
  const separator = record.indexOf(' ');
  return { version: Number(record.slice(0, separator)), fields: record.slice(separator + 1) };
}

/** Puts an item in the place of the one with this id. */
export function putItem(transaction: Transaction, list: string, id: string, { version, fields }: StoredItem): void {
  transaction.put(keyOf(list, id), `${version} ${fields}`);
}

/** Removes the item with this id. */
export function removeItem(transaction: Transaction, list: string, id: string): void {
  transaction.remove(keyOf(list, id));
}

function keyOf(list: string, id: string): readonly (string | number)[] {
  return ['item', list, Number(id)];
}
