/** What a list has of the keys of a manifest: items by pages of the list, or one by one. */
import { tooLarge } from '../api/transport.ts';
import type { RunLimits } from '../bulk/flags.ts';
import { whileShown } from '../bulk/progress.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type Item, ownField, strongTag } from '../core/item.ts';
import { type JsonValue, NumberToken } from '../core/json.ts';
import { listNames } from '../core/text.ts';
import { jsonText } from '../output/layout.ts';
import { keyText, type Manifest } from './manifest.ts';
import { foldKey, type ManifestSchema } from './manifest-schema.ts';
import type { CurrentItem, Duplicate } from './plan.ts';
import { refreshItems } from './refresh.ts';
import { type KnownItem, type State, shorten } from './state.ts';

/** Maximum number of items that are read one by one, if nothing is to be created. */
const fewItems = 10;

/** A page costs the same whatever its length; this is the longest ("Get items of a list"). */
const itemsMax = 5000;

/** What the list has of the keys of a manifest and of those in doubt. */
interface ListRead {
  /** The managed items, by their keys. */
  readonly current: ReadonlyMap<string, CurrentItem>;
  /** Other items with such a key. */
  readonly others: ReadonlyMap<string, readonly KnownItem[]>;
  /** The keys that several items have, if all pages were read. */
  readonly duplicates: readonly Duplicate[];
  /** The number of items with no such key. */
  readonly unmanaged: number;
}

/**
 * Reads the managed items, and those that have a key of the manifest: page by page, or one by one if they are few. An item
 * that is on no page is read by itself before it counts as missing.
 *
 * @param options.findsOthers looks for items that are not managed
 * @throws {Failure} as `Client.send`
 * @throws {Stopped}
 */
export async function readList(
  manifest: Pick<Manifest, 'items'>,
  state: State,
  {
    schema,
    pace,
    findsOthers,
  }: { readonly schema: ManifestSchema; readonly pace: RunLimits; readonly findsOthers: boolean },
  session: Session,
): Promise<ListRead> {
  const fields = new ManagedFields(manifest, state, schema);
  const readSingly = async (items: State['items']) => {
    const current = await refreshItems({ ...state, items }, pace, session);
    return new Map([...current].map(([key, item]) => [key, fields.written(item)] as const));
  };
  const known = new Map([...state.items].filter(([, { id }]) => id !== undefined));
  const mayCreate = manifest.items.some(({ key }) => !known.has(key)) || known.size < state.items.size;
  if (known.size <= fewItems && !(mayCreate && findsOthers)) {
    const current = await readSingly(known);
    const isGone = manifest.items.some(({ key }) => current.get(key)?.kind === 'gone');
    if (!isGone || !findsOthers) return { current, others: new Map(), duplicates: [], unmanaged: 0 };
  }
  const read = await readWhole(fields, state, session);
  const rest = [...known].filter(([key]) => fields.isPartial || !read.current.has(key));
  for (const [key, item] of await readSingly(new Map(rest))) read.current.set(key, item);
  if (!fields.isPartial) return read;
  const partial = new Map([...read.others.values()].flat().map((item) => [item.id, item] as const));
  const whole = await readSingly(partial);
  const others = new Map([...read.others].map(([key, items]) => [key, items.flatMap(({ id }) => toKnown(id, whole))]));
  return { ...read, others };
}

function toKnown(id: string, read: ReadonlyMap<string, CurrentItem>): readonly KnownItem[] {
  const item = read.get(id);
  return item?.kind === 'there' ? [{ id, fields: item.fields, etag: item.etag }] : [];
}

/** Reads all pages; again with smaller ones if one of them is too large, since a next link cannot be changed. */
async function readWhole(fields: ManagedFields, state: State, session: Session) {
  for (let pageMax = itemsMax; ; pageMax = Math.ceil(pageMax / 4)) {
    try {
      return await readPages(fields, pageMax, state, session);
    } catch (error) {
      if (!(error instanceof Failure && error.cause === tooLarge) || pageMax === 1) throw error;
    }
  }
}

async function readPages(fields: ManagedFields, pageMax: number, state: State, session: Session) {
  const current = new Map<string, CurrentItem>();
  const [others, alike] = [new Map<string, KnownItem[]>(), new Map<string, KnownItem[]>()];
  const owners = new Map([...state.items].flatMap(([key, { id }]) => (id === undefined ? [] : [[id, key] as const])));
  const [firstIds, duplicates] = [new Map<string, string>(), new Map<string, Set<string>>()];
  const noteKey = (key: string, id: string) => {
    const first = firstIds.get(key);
    if (first === undefined) firstIds.set(key, id);
    else if (first !== id) duplicates.set(key, (duplicates.get(key) ?? new Set([first])).add(id));
  };
  const take = (item: Item) => {
    const written = { fields: fields.of(item.fields), etag: strongTag(item.etag) };
    const exact = fields.keyOf(written.fields);
    if (exact !== undefined) noteKey(exact, item.id);
    const owner = owners.get(item.id);
    if (owner !== undefined) {
      current.set(owner, { kind: 'there', ...written });
      return;
    }
    const key = exact ?? fields.keyLike(written.fields);
    if (key === undefined) {
      unmanaged += 1;
      return;
    }
    const byKey = exact === undefined ? alike : others;
    const found = byKey.get(key);
    const other = { id: item.id, ...written };
    if (found === undefined) byKey.set(key, [other]);
    // An item may be on two pages of a list that is changed meanwhile.
    else if (found.every(({ id }) => id !== item.id)) found.push(other);
  };
  const { site, list } = state;
  const client = await session.service.client();
  const { list: listPages } = await session.service.load();
  if (listPages === undefined) throw new Error('a service with columns lists items');
  let [count, unmanaged] = [0, 0];
  const read = async () => {
    for await (const page of listPages({ site, list }, { select: fields.select(), pageMax }, client)) {
      for (const item of page) take(item);
      count += page.length;
    }
  };
  await whileShown(() => ({ doing: 'reading the list', rows: count === 0 ? undefined : count }), session, read);
  for (const [key, items] of alike) {
    if (others.has(key)) unmanaged += items.length;
    else others.set(key, items);
  }
  const several = [...duplicates].map(([key, ids]): Duplicate => ({ key, ids: [...ids] }));
  return { current, others, duplicates: several, unmanaged };
}

/** The fields that a manifest and its state have, and the keys. */
class ManagedFields {
  /** Whether there are more lookups than a page may have, so that items are read by themselves. */
  readonly isPartial: boolean;
  readonly #schema: ManifestSchema;
  readonly #names: ReadonlySet<string>;
  readonly #selected: ReadonlySet<string>;
  readonly #keyField: string;
  /** The keys by the value of the key field in the list. */
  readonly #keys = new Map<string, string>();
  /** The same without case and outer blanks, in which SharePoint may not tell texts apart; undefined for several keys. */
  readonly #folded = new Map<string, string | undefined>();

  constructor({ items }: Pick<Manifest, 'items'>, state: State, schema: ManifestSchema) {
    const given = new Set([state.key, ...namesOf(items)]);
    // A column may be deleted since it was applied.
    const applied = [...namesOf(state.items.values())].filter((name) => schema.list.column(name) !== undefined);
    this.#schema = schema;
    this.#names = new Set([...given, ...applied]);
    this.#keyField = state.key;
    const columns = [...this.#names].map((name) => schema.list.column(name));
    this.isPartial = columns.filter((column) => column?.isReference === true).length > schema.list.maxReferences;
    this.#selected = this.isPartial ? new Set([state.key]) : this.#names;
    const wanted = [...state.items].filter(([, { inDoubt }]) => inDoubt !== undefined);
    for (const [key, { fields }] of wanted) this.#addKey(key, fields);
    for (const { key, fields } of items) this.#addKey(key, fields);
  }

  #addKey(key: string, fields: Fields): void {
    const value = normalKey(ownField(fields, this.#keyField));
    if (value === undefined) return;
    this.#keys.set(value, key);
    const folded = foldKey(value);
    const other = this.#folded.has(folded) ? this.#folded.get(folded) : key;
    this.#folded.set(folded, other === key ? key : undefined);
  }

  /** The key of the manifest or of an item in doubt that an item has. */
  keyOf(fields: Fields): string | undefined {
    const value = normalKey(ownField(fields, this.#keyField));
    return value === undefined ? undefined : this.#keys.get(value);
  }

  /** The only key that differs from that of an item at most in case and outer blanks. */
  keyLike(fields: Fields): string | undefined {
    const value = normalKey(ownField(fields, this.#keyField));
    return value === undefined ? undefined : this.#folded.get(foldKey(value));
  }

  /** The names for `$select`: several lookups are read by the name of their column. */
  select(): readonly string[] {
    return [...this.#selected].map((name) => {
      const column = this.#schema.list.column(name);
      return column?.isMultiple ? column.name : name;
    });
  }

  of(read: Fields): Fields {
    return this.#schema.written(read, this.#names);
  }

  written(item: CurrentItem): CurrentItem {
    return item.kind === 'gone' ? item : { ...item, fields: this.of(item.fields) };
  }
}

function* namesOf(items: Iterable<{ readonly fields: Fields }>): Generator<string> {
  for (const { fields } of items) yield* Object.keys(fields);
}

/** Keys are the same if their digits are those of the same double. */
function normalKey(value: JsonValue | undefined): string | undefined {
  return value instanceof NumberToken ? String(Number(value.digits)) : keyText(value ?? null);
}

/** @throws {Failure} usage, if two items have the same key */
export function uniqueItems(
  found: ReadonlyMap<string, readonly KnownItem[]>,
  keyField: string,
): Map<string, KnownItem> {
  const items = new Map<string, KnownItem>();
  const twice: Duplicate[] = [];
  for (const [key, [item, ...more]] of found) {
    if (item === undefined) continue;
    if (more.length > 0) twice.push({ key, ids: [item, ...more].map(({ id }) => id) });
    items.set(key, item);
  }
  if (twice.length === 0) return items;
  throw new Failure('usage', duplicatesText(twice), {
    hint: `delete all but one of them, or change their ${keyField}`,
  });
}

/** `several items in the list have the same key: "a" (1, 2), "b" (3, 4)` */
export function duplicatesText(duplicates: readonly Duplicate[]): string {
  const named = listNames(duplicates.map(duplicateText), 10);
  return `several items in the list have the same key: ${named}`;
}

function duplicateText({ key, ids }: Duplicate): string {
  return `${jsonText(shorten(key))} (${listNames(ids, 10)})`;
}
