/** Apply with Microsoft Graph: values by the types of columns, and items by pages of the list. */

import { tooLarge } from '../api/transport.ts';
import type { RunLimits } from '../bulk/flags.ts';
import { whileShown } from '../bulk/progress.ts';
import { createListForm } from '../cli/list-form.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type Item, isSameField, type ListRef, ownField, strongTag } from '../core/item.ts';
import { type JsonValue, NumberToken, objectFrom } from '../core/json.ts';
import { countOf, listNames, quoted } from '../core/text.ts';
import { jsonText } from '../output/layout.ts';
import { missingText, type ListForm as RowsForm } from '../rows/types.ts';
import { type Column, columnOfField, isReference, lookupsMax, readColumns } from '../services/graph/columns.ts';
import { type KeyField, keyFieldOf } from '../services/graph/key-field.ts';
import { itemPages } from '../services/graph/pages.ts';
import { annotated, namedForm, sameValue } from '../services/graph/read-form.ts';
import type { FormOptions, ListForm } from '../services/graph/write-form.ts';
import { keyText, type Manifest, type ManifestColumns } from './manifest.ts';
import type { CurrentItem, Duplicate, Plan, SameField } from './plan.ts';
import { refreshItems } from './refresh.ts';
import { type KnownItem, type State, shorten } from './state.ts';

/** A list by its columns: what their values mean, and in which form they are read and written. */
export class GraphList implements ManifestColumns {
  readonly columns: readonly Column[];
  /** Undefined if the fields of the list may have any names and values. */
  readonly form: ListForm | undefined;

  constructor(columns: readonly Column[], form: ListForm | undefined) {
    this.columns = columns;
    this.form = form;
  }

  columnOf(field: string): Column | undefined {
    return columnOfField(field, this.columns);
  }

  /** The key of a manifest as the key field of its creates (docs/decisions.md, keys-6). */
  keyField(name: string): KeyField | undefined {
    const column = this.columnOf(name);
    return column?.name === name ? keyFieldOf(column) : undefined;
  }

  /** Compares values by the type of their column; those of a field without a column as JSON. */
  readonly isSame: SameField = (name, one, other) => {
    const column = this.columnOf(name);
    return column === undefined ? isSameField(one, other) : sameValue(column, one, other);
  };

  /**
   * The form of the fields of a manifest: as they are sent, without annotations. An item may lack a required column, if it
   * exists already.
   */
  get rowsForm(): RowsForm | undefined {
    const { form } = this;
    if (form === undefined) return undefined;
    return {
      field: (typed) => {
        const field = form.field(typed);
        if ('problem' in field) return field;
        const put = (fields: Record<string, JsonValue>, value: JsonValue) => {
          if (!isAnnotation(field.name)) fields[field.name] = value;
        };
        return { ...field, put };
      },
      fields: (members) => withoutAnnotations(form.fields(members)),
      fieldsOfItem: (read, isKept) => withoutAnnotations(form.fieldsOfItem(read, isKept)),
      missing: () => [],
      get isIncomplete() {
        return form.isIncomplete;
      },
      complete: () => form.complete(),
    };
  }

  /** @throws {Failure} usage, if there is no such column, or its values cannot be keys */
  keyNamed(typed: string): string {
    const field = this.form?.field(typed) ?? { name: typed };
    const column = 'name' in field ? this.columnOf(field.name) : undefined;
    // Two texts may be one instant.
    const isUnfit = column?.isMultiple === true || column?.type === 'dateTime';
    if ('name' in field && !isUnfit) return field.name;
    const problem = 'problem' in field ? field.problem : `${quoted(typed)} is a ${column?.type}`;
    throw new Failure('usage', `invalid key field: ${problem}`, {
      hint: 'pass --key with a column of text or numbers; nothing was sent',
    });
  }

  /** SharePoint refuses a second value of a unique column that differs in case alone. */
  comparedBy(keyField: string): ((key: string) => string) | undefined {
    const column = this.columnOf(keyField);
    return column?.type === 'text' && column.isUnique ? fold : undefined;
  }

  /** Adds the annotations that fields need in a request. */
  readonly toSent = (fields: Fields): Fields => annotated(fields, this.columns);

  /** Fields as they were read, in the form in which a manifest has them: those with these names. */
  written(read: Fields, names: Iterable<string>): Fields {
    return namedForm(read, names, this.columns);
  }
}

function isAnnotation(name: string): boolean {
  return name.includes('@');
}

function withoutAnnotations<T extends { readonly fields: Fields }>(formed: T): T {
  const members = Object.entries(formed.fields).filter(([name]) => !isAnnotation(name));
  return { ...formed, fields: objectFrom(members) };
}

/** The creates of a plan that lack a required column, each with the reason. */
export function incompleteCreates(
  { steps }: Pick<Plan, 'steps'>,
  { items }: Pick<Manifest, 'items'>,
  { form }: GraphList,
): readonly Failure[] {
  const lines = new Map(items.map(({ key, line }) => [key, line]));
  return steps.flatMap(({ action, key, fields }) => {
    const missing = action === 'create' ? (form?.missing(fields) ?? []) : [];
    if (missing.length === 0) return [];
    const line = lines.get(key);
    const reason = missing.map(({ typed }) => missingText(typed)).join('; ');
    return [
      new Failure('usage', `line ${line}: ${reason}`, { hint: 'nothing was sent', about: { line, key, reason } }),
    ];
  });
}

export async function openGraphList(list: ListRef, options: FormOptions, session: Session): Promise<GraphList> {
  const client = await session.service.client();
  const columns = await readColumns(list, client);
  return new GraphList(columns, await createListForm(columns, options, list, client));
}

/** Up to so many items are read one by one, if nothing is to be created. */
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
  readonly strangers: number;
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
  { graph, pace, findsOthers }: { readonly graph: GraphList; readonly pace: RunLimits; readonly findsOthers: boolean },
  session: Session,
): Promise<ListRead> {
  const fields = new ManagedFields(manifest, state, graph);
  const readSingly = async (items: State['items']) => {
    const current = await refreshItems({ ...state, items }, pace, session);
    return new Map([...current].map(([key, item]) => [key, fields.written(item)] as const));
  };
  const known = new Map([...state.items].filter(([, { id }]) => id !== undefined));
  const mayCreate = manifest.items.some(({ key }) => !known.has(key)) || known.size < state.items.size;
  if (known.size <= fewItems && !(mayCreate && findsOthers)) {
    const current = await readSingly(known);
    const isGone = manifest.items.some(({ key }) => current.get(key)?.kind === 'gone');
    if (!isGone || !findsOthers) return { current, others: new Map(), duplicates: [], strangers: 0 };
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
      strangers += 1;
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
  let [count, strangers] = [0, 0];
  const read = async () => {
    for await (const page of itemPages({ site, list }, { select: fields.select(), pageMax }, client)) {
      for (const item of page) take(item);
      count += page.length;
    }
  };
  await whileShown(() => ({ doing: 'reading the list', rows: count === 0 ? undefined : count }), session, read);
  for (const [key, items] of alike) {
    if (others.has(key)) strangers += items.length;
    else others.set(key, items);
  }
  const several = [...duplicates].map(([key, ids]): Duplicate => ({ key, ids: [...ids] }));
  return { current, others, duplicates: several, strangers };
}

/** The fields that a manifest and its state have, and the keys. */
class ManagedFields {
  /** Whether there are more lookups than a page may have, so that items are read by themselves. */
  readonly isPartial: boolean;
  readonly #graph: GraphList;
  readonly #names: ReadonlySet<string>;
  readonly #selected: ReadonlySet<string>;
  readonly #keyField: string;
  /** The keys by the value of the key field in the list. */
  readonly #keys = new Map<string, string>();
  /** The same without case and outer blanks, in which SharePoint may not tell texts apart; undefined for several keys. */
  readonly #folded = new Map<string, string | undefined>();

  constructor({ items }: Pick<Manifest, 'items'>, state: State, graph: GraphList) {
    const given = new Set([state.key, ...namesOf(items)]);
    // A column may be deleted since it was applied.
    const applied = [...namesOf(state.items.values())].filter((name) => graph.columnOf(name) !== undefined);
    this.#graph = graph;
    this.#names = new Set([...given, ...applied]);
    this.#keyField = state.key;
    const columns = [...this.#names].map((name) => graph.columnOf(name));
    this.isPartial = columns.filter((column) => column !== undefined && isReference(column)).length > lookupsMax;
    this.#selected = this.isPartial ? new Set([state.key]) : this.#names;
    const wanted = [...state.items].filter(([, { inDoubt }]) => inDoubt !== undefined);
    for (const [key, { fields }] of wanted) this.#addKey(key, fields);
    for (const { key, fields } of items) this.#addKey(key, fields);
  }

  #addKey(key: string, fields: Fields): void {
    const value = normalKey(ownField(fields, this.#keyField));
    if (value === undefined) return;
    this.#keys.set(value, key);
    const folded = fold(value);
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
    return value === undefined ? undefined : this.#folded.get(fold(value));
  }

  /** The names for `$select`: several lookups are read by the name of their column. */
  select(): readonly string[] {
    return [...this.#selected].map((name) => {
      const column = this.#graph.columnOf(name);
      return column?.isMultiple ? column.name : name;
    });
  }

  of(read: Fields): Fields {
    return this.#graph.written(read, this.#names);
  }

  written(item: CurrentItem): CurrentItem {
    return item.kind === 'gone' ? item : { ...item, fields: this.of(item.fields) };
  }
}

function* namesOf(items: Iterable<{ readonly fields: Fields }>): Generator<string> {
  for (const { fields } of items) yield* Object.keys(fields);
}

function fold(value: string): string {
  return value.trim().toLowerCase();
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
    hint: `delete all but one of them, or change their ${keyField}; nothing was sent`,
  });
}

/** `2 keys of the manifest belong to several items of the list: "a" (1, 2), "b" (3, 4)` */
export function duplicatesText(duplicates: readonly Duplicate[]): string {
  const keys = duplicates.length === 1 ? 'a key' : countOf(duplicates.length, 'key');
  const belong = duplicates.length === 1 ? 'belongs' : 'belong';
  const named = listNames(duplicates.map(duplicateText), 10);
  return `${keys} of the manifest ${belong} to several items of the list: ${named}`;
}

function duplicateText({ key, ids }: Duplicate): string {
  return `${jsonText(shorten(key))} (${listNames(ids, 10)})`;
}
