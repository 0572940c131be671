/** Items in the store, as all services keep them. */
import { createHash } from 'node:crypto';
import { Failure } from '../core/errors.ts';
import { type Fields, type ListRef, ownField } from '../core/item.ts';
import { isObject, objectFrom, parseJson, printJson } from '../core/json.ts';
import { maxBodyBytes, Refusal, reasonOf } from './message.ts';
import type { Reader, Store, Transaction } from './store.ts';

export interface StoredItem {
  /** 1 for a new item, one more with each update. */
  readonly version: number;
  /** The fields as compact JSON. */
  readonly fields: string;
  /** When it was created and last modified, in milliseconds since 1970; the ordinary service does not keep it. */
  readonly times?: readonly [createdMs: number, modifiedMs: number] | undefined;
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
export function addItem(transaction: Transaction, list: string, item: Omit<StoredItem, 'version'>): string {
  const number = Number(transaction.get(['count', list]) ?? 0) + 1;
  transaction.put(['count', list], String(number));
  const id = String(number);
  putItem(transaction, list, id, { version: 1, ...item });
  return id;
}

export function findItem(from: Pick<Reader, 'get'>, list: string, id: string): StoredItem | undefined {
  // 007 and 7 are different ids; only the second is ever assigned.
  if (!/^[1-9]\d{0,15}$/.test(id)) return undefined;
  const record = from.get(keyOf(list, id));
  return record === undefined ? undefined : parseRecord(record);
}

/** The items of a list with ids above `after`, in their order. */
export function* itemsAfter(after: number, list: string, from: Reader): Generator<readonly [number, StoredItem]> {
  for (let last = after; ; ) {
    const page = from.entries(['item', list, last + 1], ['item', list, Number.MAX_SAFE_INTEGER], pageSize);
    for (const [key, record] of page) {
      last = key[2] as number;
      yield [last, parseRecord(record)];
    }
    if (page.length < pageSize) return;
  }
}

const pageSize = 1000;

/** `<version> <fields>`, or `<version>,<created>,<modified> <fields>` */
function parseRecord(record: string): StoredItem {
  const separator = record.indexOf(' ');
  const [version = 0, createdMs, modifiedMs] = record.slice(0, separator).split(',').map(Number);
  const times = createdMs === undefined || modifiedMs === undefined ? undefined : ([createdMs, modifiedMs] as const);
  return { version, fields: record.slice(separator + 1), times };
}

export function putItem(transaction: Transaction, list: string, id: string, item: StoredItem): void {
  const { version, fields, times = [] } = item;
  transaction.put(keyOf(list, id), `${[version, ...times].join(',')} ${fields}`);
}

export function removeItem(transaction: Transaction, list: string, id: string): void {
  transaction.remove(keyOf(list, id));
}

function keyOf(list: string, id: string): readonly (string | number)[] {
  return ['item', list, Number(id)];
}

/** Merges `changes` into the fields: existing ones keep their position, null removes one. */
export function changedFields(fields: Fields, changes: Fields): Fields {
  const added = Object.entries(changes).filter(([name]) => !Object.hasOwn(fields, name));
  const changed = Object.entries(fields).map(([name, value]) => [name, ownField(changes, name) ?? value] as const);
  return objectFrom([...changed, ...added].filter(([name]) => ownField(changes, name) !== null));
}

/** Prints fields for the store; refused if their item could not be sent or read back. */
export function printFields(fields: Fields): string {
  const text = printJson(fields);
  const body = `{"id":"${Number.MAX_SAFE_INTEGER}","fields":${text}}`;
  if (Buffer.byteLength(body) > maxBodyBytes) throw new Refusal(413, 'the item would be over 8 MiB');
  try {
    parseJson(body);
  } catch (error) {
    throw new Refusal(413, `the item would be too large: ${reasonOf(error)}`);
  }
  return text;
}

export function fieldsOf({ fields }: StoredItem): Fields {
  const value = parseJson(fields);
  if (isObject(value)) return value;
  throw new Error('the store holds an item without fields');
}

/**
 * Runs `work` in a transaction, which a refusal does not abort for others. The refusal is 507 if nothing could be
 * stored.
 */
export async function writeOrRefuse<T>(store: Store, work: (transaction: Transaction) => T): Promise<T> {
  const result = await store.write(orRefusal(work)).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.kind !== 'local-file') throw error;
    // Without the path of the store, which clients need not know.
    const reason = error.cause instanceof Error ? error.cause.message : 'the store cannot be written';
    throw new Refusal(507, `nothing was stored: ${reason}`);
  });
  if (result instanceof Refusal) throw result;
  return result;
}

function orRefusal<T>(work: (transaction: Transaction) => T): (transaction: Transaction) => T | Refusal {
  return (transaction) => {
    try {
      return work(transaction);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  };
}
