/** Plans the changes that make a list match a manifest, without any input or output. */
import { payloadHash } from '../bulk/keys.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, isSameField, isSameValue, ownField } from '../core/item.ts';
import { type JsonValue, objectFrom } from '../core/json.ts';
import { nearestName } from '../core/text.ts';
import { jsonText } from '../output/layout.ts';
import { keyText, type Manifest, type ManifestItem } from './manifest.ts';
import {
  type CreateInDoubt,
  type CreateStep,
  type ItemStep,
  type KnownItem,
  type State,
  type StateItem,
  type Step,
  shorten,
} from './state.ts';

/** A managed item as it was read. */
export type CurrentItem =
  | { readonly kind: 'there'; readonly fields: Fields; readonly etag?: string | undefined }
  | { readonly kind: 'gone' };

/** Whether two values of a field are the same; an absent one equals null. */
export type SameField = (name: string, one: JsonValue | undefined, other: JsonValue | undefined) => boolean;

export interface PlanInput {
  readonly manifest: Pick<Manifest, 'items'>;
  /** Without a run. */
  readonly state: State;
  readonly current: ReadonlyMap<string, CurrentItem>;
  /** Items of the list that the state does not manage, by their keys, if the list was read. */
  readonly others?: ReadonlyMap<string, readonly KnownItem[]> | undefined;
  /** Default: values are the same if they are as JSON. */
  readonly isSame?: SameField | undefined;
  readonly prune: boolean;
  /**
   * Whether a create in doubt may be sent again: its idempotency key is known to be honored, and recent, or the service
   * refuses a second item with the key. Default: never.
   */
  readonly canResend?: ((doubt: CreateInDoubt) => boolean) | undefined;
}

/**
 * An item whose key field has another value than the state expects, so that it is another item; or one that has the key
 * of an item to create, and is not in the state.
 */
export interface Conflict {
  readonly key: string;
  readonly id: string;
  readonly action: Step['action'];
  readonly found: JsonValue | undefined;
}

/** A key that several items of the list have. */
export interface Duplicate {
  readonly key: string;
  readonly ids: readonly string[];
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly conflicts: readonly Conflict[];
  readonly counts: PlanCounts;
  readonly inDoubt: readonly string[];
  /** Keys in the state, but not in the manifest, whose items stay. */
  readonly orphaned: readonly string[];
  /** Keys whose items were found in the list, and are in the new state because of that; undefined with a state. */
  readonly imported?: readonly string[] | undefined;
  /** Keys that several items of the list have, if it was read; undefined for none. */
  readonly duplicates?: readonly Duplicate[] | undefined;
  /** Changes of the state that follow from reading items, by key; undefined for an item to forget. */
  readonly learned: ReadonlyMap<string, StateItem | undefined>;
}

/** The number of keys in each case. */
export interface PlanCounts {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  readonly unchanged: number;
  readonly inDoubt: number;
  readonly conflict: number;
  readonly orphaned: number;
  /** Updates and deletes of items that others changed since they were last applied. */
  readonly drifted: number;
  /** Creates of items that others deleted. */
  readonly gone: number;
  /** Items that are in neither the manifest nor the service. */
  readonly forgotten: number;
}

/**
 * Makes a plan. No key is in two steps; only items of the state are changed or deleted, if their key field still has
 * the expected value; and the plan of a list that matches is empty.
 */
export function createPlan(input: PlanInput): Plan {
  const { manifest, state, prune } = input;
  if (state.run !== undefined) throw new Error('a run is to be recovered before anything is planned');
  const planner = new Planner(input);
  const named = new Set<string>();
  for (const item of manifest.items) {
    named.add(item.key);
    planner.add(item, planner.settle(item.key, state.items.get(item.key)));
  }
  for (const [key, known] of state.items) {
    if (!named.has(key)) planner.addUnnamed(key, planner.settle(key, known), prune);
  }
  return planner.end();
}

/** Limits a manifest and its state to some keys, so that nothing is planned or read for others. */
export function limitTo(
  targets: readonly string[],
  manifest: Pick<Manifest, 'items'>,
  state: State,
): Pick<PlanInput, 'manifest' | 'state'> {
  const wanted = new Set(targets);
  const named = new Set(manifest.items.map(({ key }) => key));
  for (const key of wanted) {
    if (named.has(key) || state.items.has(key)) continue;
    const nearest = nearestName(key, [...named, ...state.items.keys()]);
    const hint = nearest && `did you mean ${jsonText(shorten(nearest))}?`;
    throw new Failure('usage', `--target ${jsonText(shorten(key))} is in neither the manifest nor the state`, {
      hint,
    });
  }
  const items = new Map([...state.items].filter(([key]) => wanted.has(key)));
  return {
    manifest: { items: manifest.items.filter(({ key }) => wanted.has(key)) },
    state: { ...state, items },
  };
}

class Planner {
  readonly #input: PlanInput;
  readonly #isSame: SameField;
  readonly #steps: Step[] = [];
  readonly #conflicts: Conflict[] = [];
  readonly #inDoubt: string[] = [];
  readonly #orphaned: string[] = [];
  readonly #learned = new Map<string, StateItem | undefined>();
  readonly #counts = { unchanged: 0, drifted: 0, gone: 0, forgotten: 0 };

  constructor(input: PlanInput) {
    this.#input = input;
    this.#isSame = input.isSame ?? isSameJson;
  }

  /** What is known of a key: a create in doubt was applied if the list has one item with its key, and what was sent. */
  settle<K extends StateItem | undefined>(key: string, known: K): K | KnownItem {
    const found = this.#input.others?.get(key) ?? [];
    const [item] = found;
    if (known?.inDoubt === undefined || item === undefined || found.length > 1) return known;
    if (!includesFields(item.fields, known.fields, this.#isSame)) return known;
    const settled = { ...item, fields: known.fields };
    this.#learned.set(key, settled);
    return settled;
  }

  add(item: ManifestItem, known: StateItem | undefined): void {
    const { key, fields } = item;
    if (known === undefined) this.#create(item, {});
    else if (known.inDoubt !== undefined) this.#doubt(item, known.inDoubt);
    else {
      const current = this.#currentOf(key);
      if (current?.kind === 'gone') this.#create(item, { why: 'gone' });
      else if (!this.#refuses('update', key, known, current)) {
        const now = current?.kind === 'there' ? current : known;
        if (includesFields(now.fields, fields, this.#isSame))
          this.#leave(key, known, { id: known.id, fields, etag: now.etag });
        else this.#update(item, known, now);
      }
    }
  }

  addUnnamed(key: string, known: StateItem, prune: boolean): void {
    if (known.inDoubt !== undefined) {
      this.#inDoubt.push(key);
      return;
    }
    const current = this.#currentOf(key);
    if (current?.kind === 'gone') {
      this.#learned.set(key, undefined);
      this.#counts.forgotten += 1;
    } else if (!prune) this.#orphaned.push(key);
    else if (!this.#refuses('delete', key, known, current)) {
      this.#delete(key, known, current?.kind === 'there' ? current : known);
    }
  }

  /** An item that was settled is one of the others. */
  #currentOf(key: string): CurrentItem | undefined {
    const [item] = this.#learned.has(key) ? (this.#input.others?.get(key) ?? []) : [];
    return item === undefined ? this.#input.current.get(key) : { ...item, kind: 'there' };
  }

  /** Whether the id belongs to another item now, for example because the list was restored and counts from 1 again. */
  #refuses(action: Conflict['action'], key: string, known: KnownItem, current: CurrentItem | undefined): boolean {
    const name = this.#input.state.key;
    if (current?.kind !== 'there' || hasKey(current.fields, known, { key, name }, this.#isSame)) return false;
    this.#conflicts.push({ key, id: known.id, action, found: ownField(current.fields, name) });
    return true;
  }

  /** Adds a create, unless it would be the second item with its key. */
  #create({ key, fields }: ManifestItem, more: Pick<CreateStep, 'why' | 'inDoubt'>): void {
    const others = this.#input.others?.get(key) ?? [];
    const name = this.#input.state.key;
    for (const { id, fields: found } of others) {
      this.#conflicts.push({ key, id, action: 'create', found: ownField(found, name) });
    }
    if (others.length > 0) return;
    if (more.why === 'gone') this.#counts.gone += 1;
    this.#steps.push({ number: this.#next, action: 'create', key, fields, after: fields, ...more });
  }

  #doubt(item: ManifestItem, inDoubt: CreateInDoubt): void {
    const { canResend } = this.#input;
    const isSame = canResend !== undefined && payloadHash(undefined, item.fields) === inDoubt.hash;
    const isThere = (this.#input.others?.get(item.key) ?? []).length > 0;
    if (isSame && !isThere && canResend(inDoubt)) {
      this.#create(item, { why: 'in-doubt', inDoubt });
    } else this.#inDoubt.push(item.key);
  }

  /** The item matches, but the state may be outdated. */
  #leave(key: string, known: KnownItem, now: KnownItem): void {
    this.#counts.unchanged += 1;
    if (known.etag !== now.etag || !isSameValue(known.fields, now.fields)) this.#learned.set(key, now);
  }

  #update(
    { key, fields }: ManifestItem,
    { id, fields: applied }: KnownItem,
    now: Pick<KnownItem, 'fields' | 'etag'>,
  ): void {
    const changed: [string, JsonValue][] = [];
    const before: [string, JsonValue][] = [];
    let isDrift = false;
    for (const [name, value] of Object.entries(fields)) {
      const old = ownField(now.fields, name);
      if (this.#isSame(name, old, value)) continue;
      changed.push([name, value]);
      if (old !== undefined) before.push([name, old]);
      if (Object.hasOwn(applied, name) && !this.#isSame(name, old, applied[name])) isDrift = true;
    }
    const sent = { fields: objectFrom(changed), before: objectFrom(before), after: fields };
    const step: ItemStep = { number: this.#next, action: 'update', key, id, ...etagOf(now), ...sent };
    this.#push(step, isDrift);
  }

  #delete(key: string, { id, fields: applied }: KnownItem, now: Pick<KnownItem, 'fields' | 'etag'>): void {
    const sent = { fields: {}, before: now.fields, after: {} };
    const step = { number: this.#next, action: 'delete', key, id, ...etagOf(now), ...sent } as const;
    this.#push(step, !includesFields(now.fields, applied, this.#isSame));
  }

  #push(step: ItemStep, isDrift: boolean): void {
    if (isDrift) this.#counts.drifted += 1;
    this.#steps.push(isDrift ? { ...step, drift: true } : step);
  }

  get #next(): number {
    return this.#steps.length + 1;
  }

  end(): Plan {
    const actions = { create: 0, update: 0, delete: 0 };
    for (const { action } of this.#steps) actions[action] += 1;
    const [conflicts, inDoubt, orphaned] = [this.#conflicts, this.#inDoubt, this.#orphaned];
    const { unchanged, ...found } = this.#counts;
    const left = { inDoubt: inDoubt.length, conflict: conflicts.length, orphaned: orphaned.length };
    const counts = { ...actions, unchanged, ...left, ...found };
    return { steps: this.#steps, counts, conflicts, inDoubt, orphaned, learned: this.#learned };
  }
}

/** Whether an item is the one that a state has for a key: its key field is as last applied, or contains the key. */
export function hasKey(
  fields: Fields,
  known: Pick<KnownItem, 'fields'>,
  { key, name }: { readonly key: string; readonly name: string },
  isSame = isSameJson,
): boolean {
  const found = ownField(fields, name);
  return isSame(name, found, ownField(known.fields, name)) || (found !== undefined && keyText(found) === key);
}

const isSameJson: SameField = (_, one, other) => isSameField(one, other);

/** Whether fields include all that are named, with their values. */
export function includesFields(fields: Fields, named: Fields, isSame = isSameJson): boolean {
  for (const name in named) if (!isSame(name, ownField(fields, name), named[name])) return false;
  return true;
}

function etagOf({ etag }: Pick<KnownItem, 'etag'>): { readonly etag?: string } {
  return etag === undefined ? {} : { etag };
}

/** A key that may have been renamed in the manifest: an item without it, and one to create with the same other fields. */
export interface RenamedKey {
  readonly from: string;
  readonly to: string;
}

/** Finds keys that may have been renamed: with other fields, which are those of one such item and one such create alone. */
export function findRenamedKeys(
  { steps, orphaned }: Pick<Plan, 'steps' | 'orphaned'>,
  { items, key: keyField }: Pick<State, 'items' | 'key'>,
): readonly RenamedKey[] {
  const creates = steps.filter(({ action, why }) => action === 'create' && why === undefined);
  const deletes = steps.filter(({ action }) => action === 'delete').map(({ key }) => key);
  if (creates.length === 0 || orphaned.length + deletes.length === 0) return [];
  const others = (fields: Fields | undefined = {}) =>
    payloadHash(undefined, objectFrom(Object.entries(fields).filter(([name]) => name !== keyField)));
  const none = others();
  const from = keysBy([...orphaned, ...deletes].map((key) => [others(items.get(key)?.fields), key]));
  const to = keysBy(creates.map(({ key, fields }) => [others(fields), key]));
  return [...from].flatMap(([hash, [key, ...more]]) => {
    const [created, ...rest] = to.get(hash) ?? [];
    const isOnly = hash !== none && more.length + rest.length === 0;
    return isOnly && key !== undefined && created !== undefined ? [{ from: key, to: created }] : [];
  });
}

function keysBy(entries: readonly (readonly [hash: string, key: string])[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [hash, key] of entries) {
    const keys = found.get(hash);
    if (keys === undefined) found.set(hash, [key]);
    else keys.push(key);
  }
  return found;
}
