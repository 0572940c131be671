/** Imports existing items into a state: `listctl state import`. All are checked before the state is changed. */
import type { RunLimits } from '../bulk/flags.ts';
import { failureOf } from '../bulk/outputs.ts';
import { reportBadRows } from '../bulk/progress.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, ownField } from '../core/item.ts';
import { type JsonValue, objectFrom } from '../core/json.ts';
import { jsonText } from '../output/layout.ts';
import { badRowFailure } from '../rows/check.ts';
import { nameOf, openInput } from '../rows/input.ts';
import { openRows, type RowsFile } from '../rows/read.ts';
import type { BadRow, Row } from '../rows/types.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { keyText } from './manifest.ts';
import type { OpenManifest } from './open.ts';
import type { CurrentItem } from './plan.ts';
import { refreshItems } from './refresh.ts';
import { checkImport, idOwners, type KnownItem, newState, type State, shorten, withItems } from './state.ts';

/** A key and the id of its item. */
export interface KeyedId {
  readonly key: string;
  readonly id: string;
  /** In a file. */
  readonly line?: number;
}

/** Parses `KEY=ID`; the last `=` divides, since keys may contain it. */
export function parseKeyedId(text: string): KeyedId {
  const at = text.lastIndexOf('=');
  if (at > 0 && at < text.length - 1) return { key: text.slice(0, at), id: checkId(text.slice(at + 1), 'item') };
  throw new Failure('usage', `invalid argument "${text}": expected KEY=ID`, {
    hint: 'pass a key and an id, such as "Buy milk=17"; nothing was changed',
  });
}

/** Reads a CSV, TSV, JSON or JSONL file with the columns `key` and `id`; other columns are ignored. */
export async function readKeyedIds(from: string, session: Session): Promise<readonly KeyedId[]> {
  const { host } = session;
  const input = await openInput(from, { host, spoolDirectory: findRunsDirectory(host) });
  try {
    // Not sent: with a common field, a row whose only other cell is empty lacks a key, not fields.
    const none = { rename: new Map(), types: new Map(), common: { '': null } } as const;
    const reading = { ...none, action: 'update', empty: 'omit', idColumn: 'id', rows: 'auto' } as const;
    const file = await openRows(input, reading);
    const found: KeyedId[] = [];
    const problems = new Problems(nameOf(from));
    for await (const block of file.blocks()) {
      for (const row of block) {
        const item = toKeyedId(row, file);
        if (item instanceof Failure) problems.add(item);
        else found.push(item);
      }
    }
    const total = found.length + problems.count;
    if (total === 0) throw new Failure('usage', `${nameOf(from)} has no rows`, { hint: 'nothing was changed' });
    await problems.end(total, session);
    return found;
  } finally {
    input.close();
  }
}

function toKeyedId(row: Row | BadRow, file: RowsFile): KeyedId | Failure {
  if (row.problem !== undefined) return badRowFailure(row, file);
  const { fields, id = '', line } = row;
  const key = keyText(ownField(fields, 'key') ?? null);
  return key ? { key, id, line } : badRowFailure({ ...row, problem: 'no key', column: undefined }, file);
}

class Problems {
  count = 0;
  readonly #name: string;
  readonly #failures: Failure[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  add(failure: Failure): void {
    this.count += 1;
    if (this.#failures.length < 1000) this.#failures.push(failure);
  }

  /** @throws {Failure} if there are any; several are reported one by one */
  async end(total: number, session: Session): Promise<void> {
    const [first] = this.#failures;
    if (first === undefined) return;
    if (total === 1) throw first;
    await reportBadRows(this.#name, this.#failures, this.count, session);
    const { hint = 'nothing was changed' } = first.details;
    const message = `${this.#name}: ${this.count} of ${total} items cannot be imported: ${first.message}`;
    throw new Failure(first.kind, message, { ...first.details, hint });
  }
}

/**
 * Reads existing items and takes them into a state.
 *
 * @param options with `name`, that of the file for messages; with `force`, items of a file whose key field is not their key
 *   are imported
 * @throws {Failure} usage, if the manifest lacks a key, or a key or an id is used twice; not-found; conflict
 */
export async function importItems(
  state: State,
  items: readonly KeyedId[],
  { opened, pace, name, force }: { opened: OpenManifest; pace: RunLimits; name: string; force: boolean },
  session: Session,
): Promise<State> {
  const { manifest, target } = opened;
  const wanted = new Map(manifest.items.map(({ key, fields }) => [key, fields]));
  const owners = idOwners(state);
  const asRead = new Map<string, KnownItem>();
  await checkEach(items, name, session, ({ key, id }) => {
    if (!wanted.has(key)) throw notInManifest(key, manifest.key);
    if (asRead.has(key)) throw new Failure('usage', `${jsonText(shorten(key))} is given twice`);
    checkImport(state, owners, key, id);
    owners.set(id, key);
    asRead.set(key, { id, fields: {} });
  });
  const current = await readManaged({ ...newState(target, manifest.key), items: asRead }, opened, pace, session);
  const found = new Map<string, KnownItem>();
  await checkEach(items, name, session, ({ key, id, line }) => {
    const item = current.get(key);
    if (item?.kind !== 'there') {
      const message = `list "${target.list}" of site "${target.site}" has no item "${id}"`;
      throw new Failure('not-found', message, { hint: 'check the id; nothing was changed' });
    }
    if (line !== undefined && !force) checkKeyField(item.fields, manifest.key, { key, id });
    const { fields, etag } = item;
    const known = { id, fields: pickFields(fields, wanted.get(key) ?? {}) };
    found.set(key, etag === undefined ? known : { ...known, etag });
  });
  return withItems(state, found, session.host.clock.now());
}

/** Reads managed items; of Microsoft Graph by pages, with values as they are written. */
export async function readManaged(
  state: State,
  { manifest, schema }: OpenManifest,
  pace: RunLimits,
  session: Session,
): Promise<ReadonlyMap<string, CurrentItem>> {
  if (schema === undefined) return refreshItems(state, pace, session);
  const { readList } = await import('./read-list.ts');
  return (await readList(manifest, state, { schema, pace, findsOthers: false }, session)).current;
}

/** Takes the items of the list that have keys of the manifest into a state; those in doubt are left to `apply`. */
export async function importList(
  state: State,
  { opened, pace }: { readonly opened: OpenManifest; readonly pace: RunLimits },
  session: Session,
): Promise<{ readonly state: State; readonly count: number; readonly unmanaged: number }> {
  const { manifest, schema } = opened;
  if (schema === undefined) {
    throw new Failure('usage', 'cannot import all items: the service only returns items by id', {
      hint: 'pass KEY=ID, or --from with a file of keys and ids; nothing was changed',
    });
  }
  const { readList, uniqueItems } = await import('./read-list.ts');
  const { others, unmanaged } = await readList(manifest, state, { schema, pace, findsOthers: true }, session);
  const settled = new Map([...others].filter(([key]) => state.items.get(key)?.inDoubt === undefined));
  const found = uniqueItems(settled, manifest.key);
  const owners = idOwners(state);
  const items = [...found].map(([key, { id }]) => ({ key, id }));
  await checkEach(items, 'the list', session, ({ key, id }) => checkImport(state, owners, key, id));
  const wanted = new Map(manifest.items.map(({ key, fields }) => [key, fields]));
  for (const [key, item] of found) found.set(key, { ...item, fields: pickFields(item.fields, wanted.get(key) ?? {}) });
  const changed = found.size === 0 ? state : withItems(state, found, session.host.clock.now());
  return { state: changed, count: found.size, unmanaged };
}

async function checkEach(
  items: readonly KeyedId[],
  name: string,
  session: Session,
  check: (item: KeyedId) => void,
): Promise<void> {
  const problems = new Problems(name);
  for (const item of items) {
    const failure = await failureOf(async () => check(item));
    if (failure === undefined) continue;
    const { message } = failure;
    problems.add(failure.about({ ...item }, item.line === undefined ? message : `line ${item.line}: ${message}`));
  }
  await problems.end(items.length, session);
}

export function notInManifest(key: string, keyField: string): Failure {
  return new Failure('usage', `the manifest has no item with ${keyField} "${shorten(key)}"`, {
    hint: 'add it to the manifest first; nothing was changed',
  });
}

/** A column of ids that is shifted by a row would make the next apply overwrite every item with another one. */
function checkKeyField(fields: Fields, name: string, { key, id }: KeyedId): void {
  const value = ownField(fields, name);
  if (value !== undefined && keyText(value) === key) return;
  const found = value === undefined || value === null ? `has no ${name}` : `has the ${name} ${jsonText(value)}`;
  throw new Failure('conflict', `item "${id}" ${found}, not ${jsonText(key)}`, {
    hint: 'pass --force if these are the right items; nothing was changed',
  });
}

/** The fields of an item that the manifest names, as far as it has them. */
function pickFields(fields: Fields, wanted: Fields): Fields {
  const members = Object.keys(wanted).map((name) => [name, ownField(fields, name)] as const);
  return objectFrom(members.filter((member): member is readonly [string, JsonValue] => member[1] !== undefined));
}
