/** The service: list-item-service.md, and where that is silent the rulings, "The embedded service". */
import { Failure } from '../errors.ts';
import { isObject, parseJson } from '../json.ts';
import { changedFields, fieldsOf, itemBody, storedFields } from './fields.ts';
import { addItem, digestOf, findItem, putItem, removeItem, type StoredItem, storedListOf } from './items.ts';
import { errorAnswer, jsonAnswer, Refusal, type ServiceAnswer, type ServiceRequest } from './message.ts';
import { refuseMismatch } from './preconditions.ts';
import { findReplay, forgetOldReplays, keepReplay } from './replays.ts';
import { type Target, targetOf } from './routes.ts';
import type { Store, Transaction } from './store.ts';

export type { ServiceAnswer, ServiceRequest } from './message.ts';

/**
 * Answers one request. Every refusal is an answer; what it said yes to is on disk.
 *
 * @throws {Failure} local-file, when the store can't be read
 */
export type ListItemService = (request: ServiceRequest) => Promise<ServiceAnswer>;

/** What a method works with. */
interface Call {
  readonly request: ServiceRequest;
  readonly target: Target;
  /** The list's name inside the store. */
  readonly list: string;
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

type Method = (call: Call) => ServiceAnswer | Promise<ServiceAnswer>;

const listMethods: ReadonlyMap<string, Method> = new Map([['POST', createItem]]);
const itemMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['GET', getItem],
  ['PATCH', updateItem],
  ['DELETE', deleteItem],
]);

/**
 * The service over a store. Who may use it is the concern of the server in front of it.
 *
 * @param now milliseconds since 1970: by it an `Idempotency-Key` grows old
 */
export function listItemService(store: Store, now: () => number): ListItemService {
  return async (request) => {
    try {
      const target = targetOf(request.path);
      const method = methodFor(target, request.method);
      return await method({ request, target, list: storedListOf(target.list), store, now });
    } catch (error) {
      if (error instanceof Refusal) return errorAnswer(error);
      throw error;
    }
  };
}

function methodFor(target: Target, name: string): Method {
  const methods = target.id === undefined ? listMethods : itemMethods;
  const method = methods.get(name);
  if (method !== undefined) return method;
  const allowed = [...methods.keys()].join(', ');
  throw new Refusal(405, `only ${allowed} can be done here`, { allow: allowed });
}

function createItem({ request, target, list, store, now }: Call): Promise<ServiceAnswer> {
  const fields = storedFields(fieldsOf(request));
  const key = idempotencyKeyOf(request);
  const digest = digestOf(fields);
  const created = (id: string, headers = {}): ServiceAnswer =>
    itemAnswer(201, id, { version: 1, fields }, { location: `${target.path}/${id}`, ...headers });
  return answerFromWrite(store, (transaction) => {
    const at = now();
    forgetOldReplays(transaction, at);
    const earlier = key === undefined ? undefined : findReplay(transaction, list, key, at);
    if (earlier !== undefined && earlier.digest !== digest) {
      throw new Refusal(422, 'this Idempotency-Key was used for another body');
    }
    // The same fields, so what is made of them now is the answer as it was then, whatever became of the item.
    if (earlier !== undefined) return created(earlier.id, { 'idempotent-replayed': 'true' });
    const id = addItem(transaction, list, fields);
    if (key !== undefined) keepReplay(transaction, list, key, { id, digest }, at);
    return created(id);
  });
}

function getItem({ request, target, list, store }: Call): ServiceAnswer {
  refuseBody(request);
  const { id, item } = itemAt(store, list, target);
  return itemAnswer(200, id, item);
}

function updateItem({ request, target, list, store }: Call): Promise<ServiceAnswer> {
  const changes = fieldsOf(request);
  return answerFromWrite(store, (transaction) => {
    const { id, item } = itemAt(transaction, list, target);
    refuseMismatch(request, etagOf(item));
    const fields = parseJson(item.fields);
    if (!isObject(fields)) throw new Error(`the store holds an item without fields: ${list} ${id}`);
    const updated = { version: item.version + 1, fields: storedFields(changedFields(fields, changes)) };
    putItem(transaction, list, id, updated);
    return itemAnswer(200, id, updated);
  });
}

function deleteItem({ request, target, list, store }: Call): Promise<ServiceAnswer> {
  refuseBody(request);
  return answerFromWrite(store, (transaction) => {
    const { id, item } = itemAt(transaction, list, target);
    refuseMismatch(request, etagOf(item));
    removeItem(transaction, list, id);
    return { status: 204, headers: {}, body: '' };
  });
}

function itemAt(from: Pick<Store, 'get'>, list: string, { id = '' }: Target): { id: string; item: StoredItem } {
  const item = findItem(from, list, id);
  if (item === undefined) throw new Refusal(404, 'there is no such item in this list');
  return { id, item };
}

function itemAnswer(status: number, id: string, item: StoredItem, headers = {}): ServiceAnswer {
  return jsonAnswer(status, { etag: etagOf(item), ...headers }, itemBody(id, item.fields));
}

/** A strong tag: other with every update, and other in a store that was made anew, where ids begin at 1 again. */
function etagOf({ version, fields }: StoredItem): string {
  return `"${version}-${digestOf(fields).slice(0, 22)}"`;
}

function idempotencyKeyOf(request: ServiceRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || /^[ -~]{1,255}$/.test(key)) return key;
  throw new Refusal(400, 'the Idempotency-Key must be 1 to 255 printable ASCII characters');
}

function refuseBody({ method, body }: ServiceRequest): void {
  if (body.byteLength > 0) throw new Refusal(400, `a ${method} has no body`);
}

/** Runs `work` in a transaction. What it refuses is an answer too: others in the same transaction go on. */
async function answerFromWrite(
  store: Store,
  work: (transaction: Transaction) => ServiceAnswer,
): Promise<ServiceAnswer> {
  const answerFrom = (transaction: Transaction): ServiceAnswer => {
    try {
      return work(transaction);
    } catch (error) {
      if (error instanceof Refusal) return errorAnswer(error);
      throw error;
    }
  };
  try {
    return await store.write(answerFrom);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'local-file') throw error;
    // Without the path of the store, which is none of a client's business.
    const reason = error.cause instanceof Error ? error.cause.message : 'it cannot be written';
    throw new Refusal(507, `nothing was stored: ${reason}`);
  }
}
