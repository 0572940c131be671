/** The state of apply: the items that it manages, by their keys. */
import { randomBytes } from 'node:crypto';
import { payloadHash } from '../bulk/keys.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, type ListRef } from '../core/item.ts';
import { nearestName } from '../core/text.ts';

/** One change of a plan. A plan has at most one for each key. */
export type Step = CreateStep | ItemStep;

interface AnyStep {
  /** From 1: creates and updates in the order of the manifest, then deletes. */
  readonly number: number;
  readonly key: string;
  /** The fields to send; none of a delete. */
  readonly fields: Fields;
  /** The fields in the state afterwards: all of the manifest; none of a delete. */
  readonly after: Fields;
}

export interface CreateStep extends AnyStep {
  readonly action: 'create';
  /** `gone`: the item was deleted by others. `in-doubt`: an uncertain create, sent again with its key. */
  readonly why?: 'gone' | 'in-doubt' | undefined;
  readonly inDoubt?: CreateInDoubt | undefined;
  readonly id?: undefined;
  readonly etag?: undefined;
  readonly before?: undefined;
  readonly drift?: undefined;
}

/** Updates the fields of an item that differ from the manifest, or deletes an item that it no longer has. */
export interface ItemStep extends AnyStep {
  readonly action: 'update' | 'delete';
  readonly id: string;
  readonly etag?: string | undefined;
  /** The values that are lost: of the updated fields, or of a deleted item as last read or applied. */
  readonly before: Fields;
  /** Whether others changed one of those fields since it was last applied. */
  readonly drift?: true | undefined;
  readonly why?: undefined;
  readonly inDoubt?: undefined;
}

/** A create whose outcome is unknown. */
export interface CreateInDoubt {
  readonly idempotencyKey: string | null;
  readonly hash: string;
  /** When it was first sent with that key: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** The same by the clock of the service, if known. */
  readonly serviceAt?: number | undefined;
}

/** The hash of a step in the journal. */
export function stepHash({ id, fields }: Pick<Step, 'id' | 'fields'>): string {
  return payloadHash(id, fields);
}

export const stateVersion = 1;

/** A list of a service. */
export interface Target extends ListRef {
  readonly origin: string;
}

/** A state; each edit makes a new one. */
export interface State extends Target {
  /** 32 hex digits, the same for all versions of a state. */
  readonly lineage: string;
  /** The version, from 1; 0 for a state that was not written yet. */
  readonly serial: number;
  readonly key: string;
  /** By key. No two have the same id. */
  readonly items: ReadonlyMap<string, StateItem>;
  /**
   * Keys whose item is gone since `at`: the next create with that key follows the item with that id, or the create in
   * doubt with that idempotency key.
   */
  readonly retired?: ReadonlyMap<string, { readonly follows: string; readonly at: number }> | undefined;
  /** The run in progress, or one that was interrupted; rows of its journal are numbers of steps. */
  readonly run?: { readonly id: string; readonly steps: readonly Step[] } | undefined;
}

/** A managed item, or one whose create is in doubt, with the fields that were sent. */
export type StateItem =
  | KnownItem
  | { readonly fields: Fields; readonly inDoubt: CreateInDoubt; readonly id?: undefined };

export interface KnownItem {
  readonly id: string;
  /** The fields of the manifest when it was last applied. */
  readonly fields: Fields;
  /** The entity tag at that time, if the service returned one. */
  readonly etag?: string | undefined;
  readonly inDoubt?: undefined;
}

/** No service is known to remember keys for longer. */
const retiredMs = 30 * 86_400_000;

/** Changes the items of a state: undefined removes one. Keys that lose their item are retired. */
export function withItems(state: State, changes: ReadonlyMap<string, StateItem | undefined>, nowMs: number): State {
  const items = new Map(state.items);
  const retired = new Map([...(state.retired ?? [])].filter(([, { at }]) => nowMs - at < retiredMs));
  for (const [key, item] of changes) {
    const known = items.get(key);
    if (item === undefined) {
      items.delete(key);
      if (known !== undefined) retired.set(key, { follows: followed(known), at: nowMs });
    } else {
      items.set(key, item);
      retired.delete(key);
    }
  }
  const { retired: _, ...others } = state;
  return { ...others, items, ...(retired.size === 0 ? {} : { retired }) };
}

function followed({ id, inDoubt }: StateItem): string {
  return id ?? inDoubt?.idempotencyKey ?? String(inDoubt?.sentAt);
}

export function newState({ origin, site, list }: Target, key: string): State {
  return { lineage: randomBytes(16).toString('hex'), serial: 0, origin, site, list, key, items: new Map() };
}

/** @throws {Failure} local-file, if a state belongs to another list; usage, for another key field */
export function checkTarget(state: State, path: string, target: Target, key: string): void {
  if (state.origin !== target.origin || state.site !== target.site || state.list !== target.list) {
    throw new Failure('local-file', `${path} belongs to ${targetText(state)}, not to ${targetText(target)}`, {
      hint: 'pass --state to use another state file, one for each list',
    });
  }
  if (state.key === key) return;
  throw new Failure('usage', `${path} uses the key field "${shorten(state.key)}", not "${shorten(key)}"`, {
    hint: `pass --key ${shorten(state.key)}, or create another state with --state and --init`,
  });
}

export function targetText({ origin, site, list }: Target): string {
  return `list "${shorten(list)}" of site "${shorten(site)}" at ${shorten(origin)}`;
}

/** Shortens a string from a file for messages. */
export function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** The keys of the items, by id. */
export function idOwners(state: State): Map<string, string> {
  const owners = new Map<string, string>();
  for (const [key, { id }] of settledItems(state)) if (id !== undefined) owners.set(id, key);
  return owners;
}

/** @throws {Failure} usage, if the key has another item, or another key has this item */
export function checkImport(state: State, owners: ReadonlyMap<string, string>, key: string, id: string): void {
  const known = settledItems(state).get(key);
  if (known?.inDoubt !== undefined) throw inDoubt(key);
  if (known !== undefined && known.id !== id) {
    throw refused(`"${shorten(key)}" is already item "${known.id}"`, 'run "listctl state forget" first');
  }
  checkOwner(owners, key, id);
}

/** Gives a managed item another key: its fields stay as they were last applied. */
export function moveItem(state: State, from: string, to: string, nowMs: number): State {
  const known = managedItem(state, from);
  const other = state.items.get(to);
  if (other?.inDoubt !== undefined) throw inDoubt(to);
  if (other !== undefined) throw refused(`"${shorten(to)}" is already item "${other.id}"`);
  const changes = new Map([
    [from, undefined],
    [to, known],
  ]);
  return withItems(state, changes, nowMs);
}

export function forgetItem(state: State, key: string, nowMs: number): State {
  managedItem(state, key);
  return withItems(state, new Map([[key, undefined]]), nowMs);
}

/** @throws {Failure} usage, if the key is unknown, or its create is in doubt */
function managedItem(state: State, key: string): KnownItem {
  const known = settledItems(state).get(key);
  if (known === undefined) throw unknownKey(key, state);
  if (known.inDoubt !== undefined) throw inDoubt(key);
  return known;
}

/** @param found the created item, which the caller has checked; null if none was created */
export function resolveItem(
  state: State,
  key: string,
  found: Pick<KnownItem, 'id' | 'etag'> | null,
  nowMs: number,
): State {
  const known = settledItems(state).get(key);
  if (known === undefined) throw unknownKey(key, state);
  if (known.inDoubt === undefined) throw refused(`"${shorten(key)}" is not in doubt: it is item "${known.id}"`);
  if (found !== null) checkOwner(idOwners(state), key, found.id);
  return withItems(state, new Map([[key, found === null ? undefined : { fields: known.fields, ...found }]]), nowMs);
}

function settledItems({ run, items }: State): State['items'] {
  if (run !== undefined) throw new Error('a state with a run cannot be edited before the run is recovered');
  return items;
}

/** Refuses an item of another key: two keys would overwrite it in turn. */
function checkOwner(owners: ReadonlyMap<string, string>, key: string, id: string): void {
  const other = owners.get(checkId(id, 'item'));
  if (other === undefined || other === key) return;
  const advice = 'run "listctl state forget" for that key first';
  throw refused(`item "${id}" already belongs to "${shorten(other)}"`, advice);
}

export function unknownKey(key: string, { items }: Pick<State, 'items'>): Failure {
  const nearest = nearestName(key, items.keys());
  const advice = nearest === undefined ? undefined : `did you mean ${JSON.stringify(shorten(nearest))}?`;
  return refused(`the state has no item with the key "${shorten(key)}"`, advice);
}

function inDoubt(key: string): Failure {
  const name = shorten(key);
  const advice = `check whether the item exists, then run: listctl state resolve MANIFEST ${name}=ID, or ${name}=none`;
  return refused(`the create of "${name}" is in doubt`, advice);
}

function refused(message: string, advice?: string): Failure {
  return new Failure('usage', message, {
    hint: advice === undefined ? 'nothing was changed' : `${advice}; nothing was changed`,
  });
}
