/** What a fault server knows: its items, and each attempt; in a test the only truth about what arrived and what was done. */
import { createHash } from 'node:crypto';

/** A request, read to its end. */
export interface WholeRequest {
  readonly method: string;
  /** Exactly as sent in the request line. */
  readonly path: string;
  /** By lower-case name; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface StoredItem {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Grows with each change. */
  readonly version: number;
}

/** What was done, and what there is to say of it. */
export interface Done {
  readonly status: number;
  readonly id?: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag?: string;
  /** Whether the items are others than before. */
  readonly applied: boolean;
  /** Ends the connection, so that the next attempt begins with one of its own. */
  readonly closes?: true;
}

/** The items, and whether the service keeps its word on `Idempotency-Key`. */
export interface FaultItems {
  readonly stored: Map<string, StoredItem>;
  apply(request: WholeRequest): Done;
}

/** A text column of Microsoft Graph with an index, and perhaps unique values; look-ups are by this one. */
export interface KeyColumn {
  readonly isUnique: boolean;
}

const keyColumn = 'Key';

/** Items of one list: `17` is there from the beginning, and the first one that is created gets the id `42`. */
export function faultItems({
  honorsKeys,
  keys,
}: {
  readonly honorsKeys: boolean;
  readonly keys?: KeyColumn | undefined;
}): FaultItems {
  const stored = new Map<string, StoredItem>([['17', { fields: { Title: 'Buy milk' }, version: 1 }]]);
  const replays = new Map<string, { readonly hash: string; readonly done: Done }>();
  let nextId = 42;
  const withKey = (key: unknown) => [...stored].filter(([, { fields }]) => fields[keyColumn] === key);
  const create = (request: WholeRequest): Done => {
    if (keys?.isUnique && withKey(fieldsOf(request)[keyColumn]).length > 0) return refusal(400, 'the key is taken');
    const id = String(nextId);
    nextId += 1;
    stored.set(id, { fields: fieldsOf(request), version: 1 });
    return itemAnswer(201, id, stored, true);
  };
  const createOnce = (request: WholeRequest): Done => {
    const key = request.headers['idempotency-key'];
    if (!honorsKeys || key === undefined) return create(request);
    const before = replays.get(key);
    const hash = hashOf(request.body);
    if (before === undefined) {
      const done = create(request);
      replays.set(key, { hash, done });
      return done;
    }
    if (before.hash !== hash) return refusal(422, 'the key was used for another body');
    return { ...before.done, applied: false };
  };
  return {
    stored,
    apply: (request) => {
      if (request.method === 'POST') return createOnce(request);
      const { path } = request;
      if (path.endsWith('/columns')) {
        return { ...collection(keys === undefined ? [] : [columnOf(keys), title]), closes: true };
      }
      const [, key] = /\$filter=fields%2FKey%20eq%20'([^']*)'/.exec(path) ?? [];
      if (key === undefined) return applyToItem(request, stored);
      return collection(withKey(decodeURIComponent(key)).map(([id, { fields }]) => ({ id, fields })));
    },
  };
}

const title = { name: 'Title', text: {} };

function columnOf({ isUnique }: KeyColumn) {
  return { name: keyColumn, text: {}, indexed: true, enforceUniqueValues: isUnique };
}

function collection(value: readonly object[]): Done {
  return { status: 200, body: { value }, applied: false };
}

function applyToItem(request: WholeRequest, stored: Map<string, StoredItem>): Done {
  const { method, path, headers } = request;
  // Microsoft Graph reads with ?$expand=fields, and updates the fields alone.
  const [, segment = '', ofFields] = /\/([^/?]*?)(\/fields)?(\?.*)?$/.exec(path) ?? [];
  const id = decodeURIComponent(segment);
  const item = stored.get(id);
  if (item === undefined) return refusal(404, 'no such item');
  const wanted = headers['if-match'];
  if (wanted !== undefined && wanted !== etagOf(item)) return refusal(412, 'the item is another one by now');
  if (method === 'DELETE') {
    stored.delete(id);
    return { status: 200, id, body: { id }, applied: true };
  }
  if (method !== 'PATCH') return itemAnswer(200, id, stored, false);
  const changes = ofFields === undefined ? fieldsOf(request) : JSON.parse(request.body.toString());
  stored.set(id, { fields: { ...item.fields, ...changes }, version: item.version + 1 });
  const answer = itemAnswer(200, id, stored, true);
  return ofFields === undefined ? answer : { ...answer, body: stored.get(id)?.fields ?? {} };
}

function itemAnswer(status: number, id: string, stored: ReadonlyMap<string, StoredItem>, applied: boolean): Done {
  const item = stored.get(id);
  const etag = item === undefined ? {} : { etag: etagOf(item) };
  return { status, id, body: { id, fields: item?.fields ?? {} }, ...etag, applied };
}

function refusal(status: number, error: string): Done {
  return { status, body: { error }, applied: false };
}

function etagOf({ version }: StoredItem): string {
  return `"${version}"`;
}

function fieldsOf({ body }: WholeRequest): Record<string, unknown> {
  return (JSON.parse(body.toString()) as { fields: Record<string, unknown> }).fields;
}

function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** One attempt: a request whose head arrived, or a connection that was cut before. */
export interface LoggedAttempt {
  /** From 1, over all connections. */
  readonly sequence: number;
  /** Which connection it came on, from 1. */
  readonly connection: number;
  /** Empty where the connection was dealt with before a request was read. */
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** The value of `Idempotency-Key`, without its quotes. */
  key: string | undefined;
  /** Of the whole body; undefined where it was not read to its end. */
  bodyHash: string | undefined;
  body: string | undefined;
  /** Whether the items are others since. */
  applied: boolean;
  /** Whether all of an answer was handed to the system. */
  answered: boolean;
}

/** The log of one server, as it is written. */
export interface FaultLog {
  readonly attempts: readonly LoggedAttempt[];
  begin(connection: number): LoggedAttempt;
}

export function faultLog(): FaultLog {
  const attempts: LoggedAttempt[] = [];
  return {
    attempts,
    begin: (connection) => {
      const entry: LoggedAttempt = {
        ...{ sequence: attempts.length + 1, connection, method: '', path: '', headers: {} },
        ...{ key: undefined, bodyHash: undefined, body: undefined, applied: false, answered: false },
      };
      attempts.push(entry);
      return entry;
    },
  };
}

export function logHead(entry: LoggedAttempt, { method, path, headers }: WholeRequest): void {
  Object.assign(entry, { method, path, headers, key: headers['idempotency-key']?.replace(/^"(.*)"$/, '$1') });
}

export function logBody(entry: LoggedAttempt, { body }: WholeRequest): void {
  Object.assign(entry, { bodyHash: hashOf(body), body: body.toString() });
}
