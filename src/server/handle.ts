/** The built-in service: paths, methods, statuses and idempotency keys (docs/decisions.md, service-1 and service-2). */
import { Failure } from '../core/errors.ts';
import { checkId, type Fields } from '../core/item.ts';
import { isObject } from '../core/json.ts';
import {
  addItem,
  changedFields,
  digestOf,
  fieldsOf,
  findItem,
  printFields,
  putItem,
  removeItem,
  type StoredItem,
  toStoredList,
  writeOrRefuse,
} from './items.ts';
import {
  checkIfMatch,
  errorResponse,
  jsonBodyOf,
  jsonResponse,
  Refusal,
  refuseBody,
  type Service,
  type ServiceRequest,
  type ServiceResponse,
} from './message.ts';
import type { Store, Transaction } from './store.ts';

function parseFields(request: ServiceRequest): Fields {
  const body = jsonBodyOf(request);
  const fields = isObject(body) && Object.hasOwn(body, 'fields') ? body['fields'] : undefined;
  if (!isObject(body) || !isObject(fields)) throw new Refusal(400, 'the body must be {"fields": {…}}');
  const stranger = Object.keys(body).find((name) => name !== 'fields');
  if (stranger === undefined) return fields;
  throw new Refusal(400, `unexpected member ${JSON.stringify(stranger.slice(0, 100))} in the body`);
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
  for (const [expiry] of transaction.entries(['expiry'], ['expiry', now - keptMs], 4)) {
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

/** Parses the path and query of a request (docs/decisions.md, paths-2); the list is returned as the store names it. */
function parseTarget(address: string) {
  const [path = '', ...query] = address.split('?');
  const [root, sites, site, lists, list, items, id, ...more] = path.split('/');
  const isKnown = root === '' && sites === 'sites' && lists === 'lists' && items === 'items' && more.length === 0;
  if (!isKnown || site === undefined || list === undefined) throw new Refusal(404, 'no such path');
  const target = {
    list: toStoredList({ site: idFrom(site, 'site'), list: idFrom(list, 'list') }),
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

interface Call extends Readonly<ReturnType<typeof parseTarget>> {
  readonly request: ServiceRequest;
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

/** @param now milliseconds since 1970, for the age of idempotency keys */
export function listItemService(store: Store, now: () => number): Service {
  return async (request) => {
    try {
      const target = parseTarget(request.path);
      const method = findMethod(request.method, target.id === undefined ? listMethods : itemMethods);
      return await method({ ...target, request, store, now });
    } catch (error) {
      if (error instanceof Refusal) return errorResponse(error);
      throw error;
    }
  };
}

function findMethod(name: string, methods: ReadonlyMap<string, Method>): Method {
  const method = methods.get(name);
  if (method !== undefined) return method;
  const allowed = [...methods.keys()].join(', ');
  throw new Refusal(405, `method not allowed: use ${allowed}`, { allow: allowed });
}

function createItem({ request, list, path, store, now }: Call): Promise<ServiceResponse> {
  const fields = printFields(parseFields(request));
  const key = idempotencyKeyOf(request);
  const digest = digestOf(fields);
  const created = (id: string, headers = {}): ServiceResponse =>
    itemResponse(201, id, { version: 1, fields }, { location: `${path}/${id}`, ...headers });
  return writeOrRefuse(store, (transaction) => {
    const at = now();
    forgetOldKeys(transaction, at);
    const earlier = key === undefined ? undefined : findCreate(transaction, list, key);
    if (earlier !== undefined && at - earlier.at < keptMs) {
      if (earlier.digest !== digest) throw new Refusal(422, 'this Idempotency-Key was used with a different body');
      // The first response again, whatever happened to the item since.
      return created(earlier.id, { 'idempotent-replayed': 'true' });
    }
    const id = addItem(transaction, list, { fields });
    if (key !== undefined) rememberCreate(transaction, list, key, { id, digest, at });
    return created(id);
  });
}

function getItem({ request, list, id = '', store }: Call): ServiceResponse {
  refuseBody(request);
  return itemResponse(200, id, itemAt(store, list, id));
}

function updateItem({ request, list, id = '', store }: Call): Promise<ServiceResponse> {
  const changes = parseFields(request);
  return writeOrRefuse(store, (transaction) => {
    const item = itemAt(transaction, list, id);
    checkIfMatch(request, etagOf(item));
    const fields = printFields(changedFields(fieldsOf(item), changes));
    const updated = { ...item, version: item.version + 1, fields };
    putItem(transaction, list, id, updated);
    return itemResponse(200, id, updated);
  });
}

function deleteItem({ request, list, id = '', store }: Call): Promise<ServiceResponse> {
  refuseBody(request);
  return writeOrRefuse(store, (transaction) => {
    checkIfMatch(request, etagOf(itemAt(transaction, list, id)));
    removeItem(transaction, list, id);
    return { status: 204, headers: {}, body: '' };
  });
}

function itemAt(from: Pick<Store, 'get'>, list: string, id: string): StoredItem {
  const item = findItem(from, list, id);
  if (item === undefined) throw new Refusal(404, 'no such item in this list');
  return item;
}

function itemResponse(status: number, id: string, item: StoredItem, headers = {}): ServiceResponse {
  const body = `{"id":${JSON.stringify(id)},"fields":${item.fields}}`;
  return jsonResponse(status, { etag: etagOf(item), ...headers }, body);
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
