/** Requests, responses and stored items. */
import { createHash } from 'node:crypto';
import type { ListRef } from '../core/item.ts';
import type { Store, Transaction } from './store.ts';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query without the version segment: `/sites/S/lists/L/items/7`, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; empty for 204. */
  readonly body: string;
}

/** Thrown for a request that is refused. */
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

export function jsonResponse(status: number, headers: Readonly<Record<string, string>>, body: string): ServiceResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** `{"error": "<message>"}` */
export function errorResponse({ status, message, headers }: Refusal): ServiceResponse {
  return jsonResponse(status, headers, JSON.stringify({ error: message }));
}

export interface StoredItem {
  /** 1 for a new item, one more with each update. */
  readonly version: number;
  /** The fields as compact JSON. */
  readonly fields: string;
}

/** The name of a list in the store: a digest, since ids may be longer than keys of LMDB. */
export function toStoredList({ site, list }: ListRef): string {
  return digestOf(JSON.stringify([site, list]));
}

/** SHA-256 as 43 characters of base64url. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** Adds an item, and returns its id: a number counted from 1 in each list, and never assigned twice. */
export function addItem(transaction: Transaction, list: string, fields: string): string {
  const number = Number(transaction.get(['count', list]) ?? 0) + 1;
  transaction.put(['count', list], String(number));
  const id = String(number);
  putItem(transaction, list, id, { version: 1, fields });
  return id;
}

export function findItem(from: Pick<Store, 'get'>, list: string, id: string): StoredItem | undefined {
  // 007 and 7 are different ids; only the second is ever assigned.
  if (!/^[1-9]\d{0,15}$/.test(id)) return undefined;
  const record = from.get(keyOf(list, id));
  if (record === undefined) return undefined;
  const separator = record.indexOf(' ');
  return { version: Number(record.slice(0, separator)), fields: record.slice(separator + 1) };
}

export function putItem(transaction: Transaction, list: string, id: string, { version, fields }: StoredItem): void {
  transaction.put(keyOf(list, id), `${version} ${fields}`);
}

export function removeItem(transaction: Transaction, list: string, id: string): void {
  transaction.remove(keyOf(list, id));
}

function keyOf(list: string, id: string): readonly (string | number)[] {
  return ['item', list, Number(id)];
}
