/**
 * Items of a list: pages of them, their changes, and one of them created, read, updated and deleted; and the indexes of
 * columns that a schema declares as indexed or unique, in the store beside the items.
 */
import { randomUUID } from 'node:crypto';
import { type Fields, ownField } from '../../core/item.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import {
  addItem,
  changedFields,
  digestOf,
  fieldsOf,
  findItem,
  itemsAfter,
  printFields,
  putItem,
  removeItem,
  type StoredItem,
  writeOrRefuse,
} from '../items.ts';
import { checkIfMatch, jsonBodyOf, Refusal, refuseBody, type ServiceRequest } from '../message.ts';
import type { Key, Reader, Store, Transaction } from '../store.ts';
import { type Column, columnOf, toStoredForm } from './columns.ts';
import { GraphRefusal, invalidRequest } from './errors.ts';
import { type Condition, comparable, isMet, type Query } from './query.ts';
import {
  deletedResource,
  fieldsResource,
  filteredValue,
  itemResource,
  type List,
  selected,
  tagOf,
} from './resources.ts';

/** A request about the items of a list. */
export interface ItemsCall {
  readonly request: ServiceRequest;
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly list: List;
  readonly query: Query;
  /** Of the item; empty for all of them. */
  readonly id: string;
  /** The most items that a filter may look at. */
  readonly viewThreshold: number;
  /** The items whose update is not on disk yet. */
  readonly updating: Set<string>;
}

/** An item with its id. */
type Found = readonly [id: number, item: StoredItem];

/** A page of items; `next` is the id after which the next one begins. */
export function listItems(call: ItemsCall) {
  const [first] = call.query.filter;
  return toPage(first === undefined ? firstOf(call) : filtered(first, call), call);
}

function toPage(found: readonly Found[], { list, query }: Pick<ItemsCall, 'list' | 'query'>) {
  const value = found.slice(0, query.top).map(([id, item]) => shownItem(list, String(id), item, query, true));
  return { value, next: found.length > query.top ? found[query.top - 1]?.[0] : undefined };
}

/**
 * A page of all items without a token, else of what changed since: an item that changed again comes again.
 *
 * @param fresh the address without a token
 * @returns with the `token` that continues with the next page or, after the last one, with later changes
 */
export function listChanges(call: ItemsCall, fresh: string) {
  const { store, list, query } = call;
  const current = changesCursor(store, list.stored);
  const place = query.token === undefined ? { ...current, after: 0 } : parseToken(query.token, current, fresh);
  if (place.after !== undefined) {
    const { value, next } = toPage(firstOf({ store, list, query: { ...query, after: place.after } }), call);
    return { value, token: printToken({ ...place, after: next }), isLast: next === undefined };
  }
  const changes = changedAfter(place.count, list.stored, store, query.top + 1);
  const page = changes.slice(0, query.top);
  const value = page.map(({ id }) => {
    const item = findItem(store, list.stored, id);
    return item === undefined ? deletedResource(list, id) : shownItem(list, id, item, query, true);
  });
  const count = page.at(-1)?.count ?? current.count;
  return { value, token: printToken({ ...current, count }), isLast: changes.length === page.length };
}

/** The items of a page, and one more if there is. */
function firstOf({ store, list, query }: Pick<ItemsCall, 'store' | 'list' | 'query'>): readonly Found[] {
  const found: Found[] = [];
  for (const entry of fixedAfter(query.after, list) ?? itemsAfter(query.after, list.stored, store)) {
    found.push(entry);
    if (found.length > query.top) break;
  }
  return found;
}

function fixedAfter(after: number, { fixed }: List): readonly Found[] | undefined {
  if (fixed === undefined) return undefined;
  return [...fixed].flatMap(([id, fields]) => (id > after ? [[id, { version: 1, fields: printFields(fields) }]] : []));
}

function filtered(first: Condition, { request, store, list, query, viewThreshold }: ItemsCall): readonly Found[] {
  refuseUnindexed(query.filter, list, request);
  const found: Found[] = [];
  let lookedAt = 0;
  for (const [id, item] of candidatesFor(first, list, store)) {
    lookedAt += 1;
    if (lookedAt > viewThreshold) {
      throw new GraphRefusal(429, 'activityLimitReached', 'The request has been throttled');
    }
    const isOnPage = id > query.after && found.length <= query.top;
    if (isOnPage && query.filter.every((condition) => meets(condition, list, id, item))) found.push([id, item]);
  }
  return found;
}

/** The items that a query reads: those that meet its first condition, or all of them without an index. */
function* candidatesFor(first: Condition, list: List, reader: Reader): Generator<Found> {
  const ids = idsWith(reader, list, first);
  for (const id of ids ?? []) {
    const item = findItem(reader, list.stored, String(id));
    if (item !== undefined) yield [id, item];
  }
  if (ids !== undefined) return;
  const isIndexed = columnOf(first.field, list.columns)?.isIndexed === true;
  for (const [id, item] of itemsAfter(0, list.stored, reader)) {
    if (!isIndexed || meets(first, list, id, item)) yield [id, item];
  }
}

function meets(condition: Condition, list: List, id: number, item: StoredItem): boolean {
  const { field } = condition;
  return isMet(condition, filteredValue(String(id), item, field), columnOf(field, list.columns));
}

const isPermitted = /\bHonorNonIndexedQueriesWarningMayFailRandomly\b/i;

function refuseUnindexed(filter: readonly Condition[], list: List, { headers }: ServiceRequest): void {
  for (const { field } of filter) {
    const column = columnOf(field, list.columns);
    if (column === undefined && list.columns !== undefined) throw invalidRequest(`Field '${field}' is not recognized`);
    if (column?.isIndexed === true || isPermitted.test(headers['prefer'] ?? '')) continue;
    throw invalidRequest(
      `Field '${field}' cannot be referenced in filter or orderby as it is not indexed. Provide the ` +
        "'Prefer: HonorNonIndexedQueriesWarningMayFailRandomly' header to allow this, but be warned that such queries " +
        'may fail on large lists.',
    );
  }
}

export function createItem({ request, store, now, list }: ItemsCall): Promise<JsonObject> {
  const fields = toStoredForm(fieldsIn(request), list.columns);
  return writeOrRefuse(store, (transaction) => {
    refreshIndexes(transaction, list);
    const after = changedFields({}, fields);
    refuseDuplicates(transaction, list, after, undefined);
    const item = { fields: printFields(after), times: [now(), now()] as const };
    const id = addItem(transaction, list.stored, item);
    updateIndexes(transaction, list, id, { after });
    recordChange(transaction, list.stored, id);
    return withFields(list, id, { version: 1, ...item });
  });
}

export function getItem(call: ItemsCall): JsonObject {
  refuseBody(call.request);
  const { list, id, query, store } = call;
  return shownItem(list, id, itemAt(store, call), query, false);
}

export function getFields(call: ItemsCall): JsonObject {
  refuseBody(call.request);
  const { list, id, query, store } = call;
  return fieldsResource(list, id, itemAt(store, call), { select: query.select });
}

/** `PATCH …/items/{id}/fields` */
export async function updateFields(call: ItemsCall): Promise<JsonObject> {
  const body = jsonBodyOf(call.request);
  if (!isObject(body)) throw invalidRequest('The body must be an object of fields');
  return fieldsResource(call.list, call.id, await updateItem(call, body));
}

/** `PATCH …/items/{id}` */
export async function updateWhole(call: ItemsCall): Promise<JsonObject> {
  return withFields(call.list, call.id, await updateItem(call, fieldsIn(call.request)));
}

async function updateItem(call: ItemsCall, fields: Fields): Promise<StoredItem> {
  const { request, list, id, updating } = call;
  const changes = toStoredForm(fields, list.columns);
  const name = `${list.stored}/${id}`;
  const isUnconditional = request.headers['if-match'] === undefined;
  if (isUnconditional && updating.has(name)) {
    throw new GraphRefusal(409, 'resourceModified', 'The resource has changed since the caller last read it');
  }
  updating.add(name);
  try {
    return await storeChanges(call, changes);
  } finally {
    updating.delete(name);
  }
}

function storeChanges(call: ItemsCall, changes: Fields): Promise<StoredItem> {
  const { request, store, now, list, id } = call;
  return writeOrRefuse(store, (transaction) => {
    const item = itemAt(transaction, call);
    checkIfMatch(request, tagOf(list, id, item));
    refreshIndexes(transaction, list);
    const before = fieldsOf(item);
    const after = changedFields(before, changes);
    refuseDuplicates(transaction, list, after, id);
    const [created = 0] = item.times ?? [];
    const updated = { version: item.version + 1, fields: printFields(after), times: [created, now()] as const };
    putItem(transaction, list.stored, id, updated);
    updateIndexes(transaction, list, id, { before, after });
    recordChange(transaction, list.stored, id);
    return updated;
  });
}

export function deleteItem(call: ItemsCall): Promise<void> {
  const { request, store, list, id } = call;
  refuseBody(request);
  return writeOrRefuse(store, (transaction) => {
    const item = itemAt(transaction, call);
    checkIfMatch(request, tagOf(list, id, item));
    refreshIndexes(transaction, list);
    removeItem(transaction, list.stored, id);
    updateIndexes(transaction, list, id, { before: fieldsOf(item) });
    recordChange(transaction, list.stored, id);
  });
}

function itemAt(from: Reader, { list, id }: ItemsCall): StoredItem {
  const item = findItem(from, list.stored, id);
  if (item === undefined) throw new Refusal(404, 'The specified item was not found');
  return item;
}

/** The fields in the body of a create or update; the content type of an item is always the same. */
function fieldsIn(request: ServiceRequest): Fields {
  const body = jsonBodyOf(request);
  if (!isObject(body)) throw invalidRequest('The body must be an object');
  const stranger = Object.keys(body).find((name) => !['fields', 'contentType', '@odata.type'].includes(name));
  if (stranger !== undefined) throw invalidRequest(`Invalid property ${JSON.stringify(stranger.slice(0, 100))}`);
  const fields = ownField(body, 'fields') ?? {};
  if (!isObject(fields)) throw invalidRequest('The fields must be an object');
  return fields;
}

function shownItem(list: List, id: string, item: StoredItem, query: Query, inCollection: boolean): JsonObject {
  const shown = selected(itemResource(list, id, item), query.select);
  if (!query.expand.has('fields')) return shown;
  return { ...shown, fields: fieldsResource(list, id, item, { select: query.expand.get('fields'), inCollection }) };
}

function withFields(list: List, id: string, item: StoredItem): JsonObject {
  return { ...itemResource(list, id, item), fields: fieldsResource(list, id, item) };
}

/** A place in the changes of a list, which the opaque tokens of delta queries ("listItem: delta") name. */
interface Cursor {
  /** Differs in another store with the same list; empty before the first change. */
  readonly epoch: string;
  /** The changes before it. */
  readonly count: number;
  /** While all items are listed: the id of the last one. */
  readonly after?: number | undefined;
}

/** The place after the last change. */
function changesCursor(from: Pick<Reader, 'get'>, list: string): Cursor {
  const [count = '0', epoch = ''] = (from.get(['changes', list]) ?? '').split(' ');
  return { epoch, count: Number(count) };
}

/** Counts a change of an item, which was created, updated or deleted. */
function recordChange(transaction: Transaction, list: string, id: string): void {
  const { epoch, count } = changesCursor(transaction, list);
  transaction.put(['changes', list], `${count + 1} ${epoch || randomUUID()}`);
  transaction.put(['change', list, count + 1], id);
}

/** The ids of items that changed, with the number of each change. */
function changedAfter(count: number, list: string, from: Reader, limit: number) {
  const entries = from.entries(['change', list, count + 1], ['change', list, Number.MAX_SAFE_INTEGER], limit);
  return entries.map(([key, id]) => ({ count: key[2] as number, id }));
}

function printToken({ epoch, count, after }: Cursor): string {
  return Buffer.from(`${after ?? ''};${count};${epoch}`).toString('base64url');
}

const tokenForm = /^(?<after>\d{0,15});(?<count>\d{1,15});(?<epoch>[\da-f-]{0,36})$/;

/**
 * The place of a token; `latest` is the current one.
 *
 * @param fresh the address that lists everything, for a token that the store does not know
 */
function parseToken(token: string, current: Cursor, fresh: string): Cursor {
  if (token === 'latest') return current;
  const { after, count, epoch } = tokenForm.exec(Buffer.from(token, 'base64url').toString())?.groups ?? {};
  if (epoch === undefined) throw invalidRequest('The token is invalid');
  const place = { epoch, count: Number(count), after: after === '' ? undefined : Number(after) };
  const isKnown = epoch === current.epoch || (epoch === '' && place.count === 0);
  if (isKnown && place.count <= current.count) return place;
  const message = 'Resync required. Replace any local items with the versions of the server (including deletes).';
  throw new GraphRefusal(410, 'resyncChangesApplyDifferences', message, { location: fresh });
}

/** Refuses a value that another item has in a unique column. */
function refuseDuplicates(reader: Reader, list: List, fields: Fields, id: string | undefined): void {
  for (const column of indexedIn(list)) {
    const key = column.isUnique ? keyIn(list, column, fields) : undefined;
    const others = key === undefined ? [] : idsAt(reader, key).filter((other) => String(other) !== id);
    if (others.length > 0) {
      throw invalidRequest('One or more fields with unique constraints already has the provided value.');
    }
  }
}

/** Moves an item in the indexes; `before` is undefined for a new item, `after` for a deleted one. */
function updateIndexes(
  transaction: Transaction,
  list: List,
  id: string,
  { before, after }: { readonly before?: Fields; readonly after?: Fields },
): void {
  for (const column of indexedIn(list)) {
    const [old, current] = [before, after].map((fields) => fields && keyIn(list, column, fields));
    if (old?.join() === current?.join()) continue;
    if (old !== undefined) transaction.remove([...old, Number(id)]);
    if (current !== undefined) transaction.put([...current, Number(id)], '');
  }
}

/** The items whose column equals a value; undefined without an index. */
function idsWith(reader: Reader, list: List, { field, operator, value }: Condition): readonly number[] | undefined {
  const column = indexedIn(list).find(({ name }) => name === field);
  if (column === undefined || operator !== 'eq' || value === null) return undefined;
  if (reader.get(['indexed', list.stored]) !== namesIn(list)) return undefined;
  return idsAt(reader, keyFor(list, column, comparable(value, column)));
}

/** Builds the indexes of a list again if the schema has changed. */
function refreshIndexes(transaction: Transaction, list: List): void {
  const names = namesIn(list);
  if ((transaction.get(['indexed', list.stored]) ?? '') === names) return;
  for (const [key] of transaction.entries(
    ['index', list.stored],
    ['index', `${list.stored}~`],
    Number.MAX_SAFE_INTEGER,
  )) {
    transaction.remove(key);
  }
  for (const [id, item] of itemsAfter(0, list.stored, transaction)) {
    updateIndexes(transaction, list, String(id), { after: fieldsOf(item) });
  }
  transaction.put(['indexed', list.stored], names);
}

function indexedIn({ columns }: List): readonly Column[] {
  return [...(columns?.values() ?? [])].filter(({ isIndexed }) => isIndexed);
}

function namesIn(list: List): string {
  return indexedIn(list)
    .map(({ name }) => name)
    .join();
}

function keyIn(list: List, column: Column, fields: Fields): Key | undefined {
  const field = column.type === 'lookup' ? `${column.name}LookupId` : column.name;
  const value = comparable(ownField(fields, field) ?? null, column);
  return value === null ? undefined : keyFor(list, column, value);
}

function keyFor(list: List, column: Column, value: unknown): Key {
  return ['index', list.stored, column.name, digestOf(JSON.stringify(value))];
}

function idsAt(reader: Reader, key: Key): readonly number[] {
  const entries = reader.entries([...key, 0], [...key, Number.MAX_SAFE_INTEGER], Number.MAX_SAFE_INTEGER);
  return entries.map(([at]) => at.at(-1) as number);
}
