/** The built-in service: paths, methods, statuses and idempotency keys (docs/decisions.md, service-1 and service-2). */
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, type ListRef, ownField } from '../core/item.ts';
import { isObject, type JsonValue, objectFrom, parseJson, printJson } from '../core/json.ts';
import {
  addItem,
  digestOf,
  errorResponse,
  findItem,
  jsonResponse,
  putItem,
  Refusal,
  removeItem,
  type ServiceRequest,
  type ServiceResponse,
  type StoredItem,
  toStoredList,
} from './message.ts';
import type { Store, Transaction } from './store.ts';

/** The largest body of a request or response (docs/decisions.md, responses-1). */
export const maxBodyBytes = 8 * 1024 * 1024;

const longestId = String(Number.MAX_SAFE_INTEGER);

/** JSON is UTF-8; a byte order mark may be ignored (RFC 8259, section 8.1). */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

function parseFields(request: ServiceRequest): Fields {
  if (request.body.byteLength > maxBodyBytes) throw new Refusal(413, 'the body is over 8 MiB');
  const mediaType = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new Refusal(415, 'the Content-Type must be application/json');
  const body = jsonFrom(request.body);
  const fields = isObject(body) && Object.hasOwn(body, 'fields') ? body['fields'] : undefined;
  if (!isObject(body) || !isObject(fields)) throw new Refusal(400, 'the body must be {"fields": {…}}');
  const stranger = Object.keys(body).find((name) => name !== 'fields');
  if (stranger === undefined) return fields;
  throw new Refusal(400, `unexpected member ${JSON.stringify(stranger.slice(0, 100))} in the body`);
}

/** Merges `changes` into the fields: existing ones keep their position, null removes one. */
function changedFields(fields: Fields, changes: Fields): Fields {
  const added = Object.entries(changes).filter(([name]) => !Object.hasOwn(fields, name));
  const changed = Object.entries(fields).map(([name, value]) => [name, ownField(changes, name) ?? value] as const);
  return objectFrom([...changed, ...added].filter(([name]) => ownField(changes, name) !== null));
}

function storedFields(fields: Fields): string {
  const text = printJson(fields);
  const body = itemBody(longestId, text);
  if (Buffer.byteLength(body) > maxBodyBytes) throw new Refusal(413, 'the item would be over 8 MiB');
  try {
    parseJson(body);
  } catch (error) {
    throw new Refusal(413, `the item would be too large: ${reasonOf(error)}`);
  }
  return text;
}

function itemBody(id: string, fields: string): string {
  return `{"id":${JSON.stringify(id)},"fields":${fields}}`;
}

function jsonFrom(bytes: Uint8Array): JsonValue {
  try {
    return parseJson(strictUtf8.decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal(400, `the body is not JSON: ${reasonOf(error)}`);
    if (error instanceof TypeError) throw new Refusal(400, 'the body is not UTF-8');
    throw error;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof SyntaxError ? error.message.slice(0, 200) : String(error);
}

/** An entity tag, weak or strong (RFC 9110, section 8.8.3). */
const entityTag = /(?:W\/)?"[!#-~\u0080-\u00ff]*"/g;

/**
 * Checks `If-Match` (RFC 9110, section 13.1.1).
 *
 * @param etag the strong tag of the item
 */
function checkIfMatch(request: ServiceRequest, etag: string): void {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return;
  const tags: readonly string[] = header.match(entityTag) ?? [];
  const isList = tags.length > 0 && /^[\t ,]*$/.test(header.replaceAll(entityTag, ''));
  if (!isList) throw new Refusal(400, 'If-Match is neither * nor a list of entity tags');
  if (!tags.includes(etag)) throw new Refusal(412, 'the item has changed: its ETag is not the one in If-Match');
}

/** How long keys are remembered. */
const keptMs = 24 * 60 * 60 * 1000;

interface KeyedCreate {
  readonly id: string;
  readonly digest: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Remembers a create, in the transaction that adds its item. */
function rememberCreate(transaction: Transaction, list: string, key: string, create: KeyedCreate): void {
  transaction.put(['replay', list, key], JSON.stringify(create));
  transaction.put(['expiry', create.at, list, key], '');
}

/** Forgets the oldest expired keys: a few, so that each create stays short, but more than it adds. */
function forgetOldKeys(transaction: Transaction, now: number): void {
  for (const expiry of transaction.keysBetween(['expiry'], ['expiry', now - keptMs], 4)) {
    const [, at, list, key] = expiry;
    transaction.remove(expiry);
    if (typeof list !== 'string' || typeof key !== 'string') continue;
    // A key that was used again has a later expiry as well.
    if (findCreate(transaction, list, key)?.at === at) transaction.remove(['replay', list, key]);
  }
}

function findCreate(transaction: Transaction, list: string, key: string): KeyedCreate | undefined {
  const record = transaction.get(['replay', list, key]);
  return record === undefined ? undefined : (JSON.parse(record) as KeyedCreate);
}

interface Target {
  readonly list: ListRef;
  readonly id: string | undefined;
  readonly path: string;
}

/**
 * Parses the path of a request (docs/decisions.md, paths-2).
 *
 * @param address path and query
 */
function parseTarget(address: string): Target {
  const [path = '', ...query] = address.split('?');
  const [root, sites, site, lists, list, items, id, ...more] = path.split('/');
  const isKnown = root === '' && sites === 'sites' && lists === 'lists' && items === 'items' && more.length === 0;
  if (!isKnown || site === undefined || list === undefined) throw new Refusal(404, 'no such path');
  const target = {
    list: { site: idFrom(site, 'site'), list: idFrom(list, 'list') },
    id: id === undefined ? undefined : idFrom(id, 'item'),
    path,
  };
  if (query.join('') !== '') throw new Refusal(400, 'query parameters are not supported');
  return target;
}

function idFrom(segment: string, name: string): string {
  try {
    return checkId(decodeURIComponent(segment), name);
  } catch (error) {
    if (error instanceof URIError) throw new Refusal(400, `the ${name} id is not percent-encoded UTF-8`);
    if (error instanceof Failure) throw new Refusal(400, error.message);
    throw error;
  }
}

interface Call {
  readonly request: ServiceRequest;
  readonly target: Target;
  readonly list: string;
  readonly store: Store;
  readonly now: () => number;
}

type Method = (call: Call) => ServiceResponse | Promise<ServiceResponse>;

const listMethods: ReadonlyMap<string, Method> = new Map([['POST', createItem]]);
const itemMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['GET', getItem],
  ['PATCH', updateItem],
  ['DELETE', deleteItem],
]);

/**
 * Makes the service over a store; the server in front of it checks the token. When it responds, what it accepted is on
 * disk; it throws a local-file failure if the store cannot be read.
 *
 * @param now milliseconds since 1970, for the age of idempotency keys
 */
export function listItemService(
  store: Store,
  now: () => number,
): (request: ServiceRequest) => Promise<ServiceResponse> {
  return async (request) => {
    try {
      const target = parseTarget(request.path);
      const method = methodFor(target, request.method);
      return await method({ request, target, list: toStoredList(target.list), store, now });
    } catch (error) {
      if (error instanceof Refusal) return errorResponse(error);
      throw error;
    }
  };
}

function methodFor(target: Target, name: string): Method {
  const methods = target.id === undefined ? listMethods : itemMethods;
  const method = methods.get(name);
  if (method !== undefined) return method;
  const allowed = [...methods.keys()].join(', ');
  throw new Refusal(405, `method not allowed: use ${allowed}`, { allow: allowed });
}

function createItem({ request, target, list, store, now }: Call): Promise<ServiceResponse> {
  const fields = storedFields(parseFields(request));
  const key = idempotencyKeyOf(request);
  const digest = digestOf(fields);
  const created = (id: string, headers = {}): ServiceResponse =>
    itemResponse(201, id, { version: 1, fields }, { location: `${target.path}/${id}`, ...headers });
  return respondFromWrite(store, (transaction) => {
    const at = now();
    forgetOldKeys(transaction, at);
    const earlier = key === undefined ? undefined : findCreate(transaction, list, key);
    if (earlier !== undefined && at - earlier.at < keptMs) {
      if (earlier.digest !== digest) throw new Refusal(422, 'this Idempotency-Key was used with a different body');
      // The first response again, whatever happened to the item since.
      return created(earlier.id, { 'idempotent-replayed': 'true' });
    }
    const id = addItem(transaction, list, fields);
    if (key !== undefined) rememberCreate(transaction, list, key, { id, digest, at });
    return created(id);
  });
}

function getItem({ request, target, list, store }: Call): ServiceResponse {
  refuseBody(request);
  const { id, item } = itemAt(store, list, target);
  return itemResponse(200, id, item);
}

function updateItem({ request, target, list, store }: Call): Promise<ServiceResponse> {
  const changes = parseFields(request);
  return respondFromWrite(store, (transaction) => {
    const { id, item } = itemAt(transaction, list, target);
    checkIfMatch(request, etagOf(item));
    const fields = parseJson(item.fields);
    if (!isObject(fields)) throw new Error(`the store holds an item without fields: ${list} ${id}`);
    const updated = { version: item.version + 1, fields: storedFields(changedFields(fields, changes)) };
    putItem(transaction, list, id, updated);
    return itemResponse(200, id, updated);
  });
}

function deleteItem({ request, target, list, store }: Call): Promise<ServiceResponse> {
  refuseBody(request);
  return respondFromWrite(store, (transaction) => {
    const { id, item } = itemAt(transaction, list, target);
    checkIfMatch(request, etagOf(item));
    removeItem(transaction, list, id);
    return { status: 204, headers: {}, body: '' };
  });
}

function itemAt(from: Pick<Store, 'get'>, list: string, { id = '' }: Target): { id: string; item: StoredItem } {
  const item = findItem(from, list, id);
  if (item === undefined) throw new Refusal(404, 'no such item in this list');
  return { id, item };
}

function itemResponse(status: number, id: string, item: StoredItem, headers = {}): ServiceResponse {
  return jsonResponse(status, { etag: etagOf(item), ...headers }, itemBody(id, item.fields));
}

/** A strong tag, which differs after each update, and in a new store with the same ids. */
function etagOf({ version, fields }: StoredItem): string {
  return `"${version}-${digestOf(fields).slice(0, 22)}"`;
}

function idempotencyKeyOf(request: ServiceRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || /^[ -~]{1,255}$/.test(key)) return key;
  throw new Refusal(400, 'the Idempotency-Key must be 1 to 255 printable ASCII characters');
}

function refuseBody({ method, body }: ServiceRequest): void {
  if (body.byteLength > 0) throw new Refusal(400, `${method} must not have a body`);
}

/** Runs `work` in a transaction, which a refusal does not abort for others. */
async function respondFromWrite(
  store: Store,
  work: (transaction: Transaction) => ServiceResponse,
): Promise<ServiceResponse> {
  const respond = (transaction: Transaction): ServiceResponse => {
    try {
      return work(transaction);
    } catch (error) {
      if (error instanceof Refusal) return errorResponse(error);
      throw error;
    }
  };
  try {
    return await store.write(respond);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'local-file') throw error;
    // Without the path of the store, which clients need not know.
    const reason = error.cause instanceof Error ? error.cause.message : 'the store cannot be written';
    throw new Refusal(507, `nothing was stored: ${reason}`);
  }
}
