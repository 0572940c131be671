/** What apply knows of a list: the items that it made or took over, by their keys. */
import { randomBytes } from 'node:crypto';
import { payloadHash } from '../bulk/keys.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, type ListRef } from '../core/item.ts';

/** What is to be done about one key. A plan names none twice. */
export type Step = CreateStep | UpdateStep | DeleteStep;

interface AnyStep {
  /** From 1: creates and updates in the order of the manifest, then deletes. */
  readonly number: number;
  readonly key: string;
  /** What is sent; nothing of a delete. */
  readonly fields: Fields;
  /** What the state holds once it is done: all that the manifest says; nothing of a delete. */
  readonly after: Fields;
}

/** An item is made. */
export interface CreateStep extends AnyStep {
  readonly action: 'create';
  /** `gone`: it was there, and is no more. `in-doubt`: it may have been made, and is sent again with its key. */
  readonly why?: 'gone' | 'in-doubt' | undefined;
  /** Of one that is sent again. */
  readonly inDoubt?: CreateInDoubt | undefined;
  readonly id?: undefined;
  readonly etag?: undefined;
  readonly before?: undefined;
  readonly drift?: undefined;
}

/** About an item that is known. */
interface KnownItemStep extends AnyStep {
  readonly id: string;
  /** What the item must still have, to be sent as If-Match. */
  readonly etag?: string | undefined;
  /**
   * What is lost. Of an update: what its fields are now, without those that are not there. Of a delete: all that the
   * item has, or what was last applied where it was not read.
   */
  readonly before: Fields;
  /** Somebody changed one of those fields since it was last applied. */
  readonly drift?: true | undefined;
  readonly why?: undefined;
  readonly inDoubt?: undefined;
}

/** Fields of an item are set: those alone that are not what the manifest says. */
export interface UpdateStep extends KnownItemStep {
  readonly action: 'update';
}

/** An item that the manifest no longer names is removed. */
export interface DeleteStep extends KnownItemStep {
  readonly action: 'delete';
}

/** A create whose outcome is unknown. */
export interface CreateInDoubt {
  readonly idempotencyKey: string | null;
  /** Of the payload that may have been applied (`payloadHash`). */
  readonly hash: string;
  /** When it was first sent with that key: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** The same by the clock of the service, where that is known. */
  readonly serviceAt?: number | undefined;
}

/** 16 hex digits that tell what a step sends: the journal's hash of its row. */
export function stepHash({ id, fields }: Pick<Step, 'id' | 'fields'>): string {
  return payloadHash(id, fields);
}

/** The newest layout that this listctl knows. */
export const stateVersion = 1;

/** The list that a state is of. */
export interface Target extends ListRef {
  /** The address of the service. */
  readonly origin: string;
}

/** What apply knows. It never changes: each edit gives another one. */
export interface State extends Target {
  /** 32 hex digits, of all versions of one state and of no other. */
  readonly lineage: string;
  /** Counts what was written, from 1; 0 for a state that never was. */
  readonly serial: number;
  /** The name of the field that the items are known by. */
  readonly key: string;
  /** By what stands in that field. No two have the same id. */
  readonly items: ReadonlyMap<string, StateItem>;
  /** Keys that had an item, and have none: what is made for them next follows that. None of them is in `items`. */
  readonly retired?: ReadonlyMap<string, Retired> | undefined;
  /** Only while a run is at work, and where one was killed. */
  readonly run?: AppliedRun | undefined;
}

/** What had a key. */
export interface Retired {
  /** The id of the item; of a create in doubt that made none, the idempotency key that it was sent with. */
  readonly follows: string;
  /** When it was retired: milliseconds since the Unix epoch. */
  readonly at: number;
}

/** No service is known to remember a key for longer. */
const retiredMs = 30 * 86_400_000;

/**
 * The state with other items: keys that lose their item are retired, and those that get one are no more.
 *
 * @param changes by key; undefined for one that loses its item
 */
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

/** What is known under one key. */
export type StateItem = KnownItem | ItemInDoubt;

/** An item that is this manifest's. */
export interface KnownItem {
  /** Fit for a path. */
  readonly id: string;
  /** As the manifest said them when they were last applied. */
  readonly fields: Fields;
  /** The entity tag that it had then, if the service gave one. */
  readonly etag?: string | undefined;
  readonly inDoubt?: undefined;
}

/** An item that may be there: whether its create was applied is unknown, or its id is. */
export interface ItemInDoubt {
  /** As they were sent. */
  readonly fields: Fields;
  readonly inDoubt: CreateInDoubt;
  readonly id?: undefined;
}

/** A run over the steps of a plan; their numbers are those of the journal's rows. */
export interface AppliedRun {
  /** As `newRunId` gives it. */
  readonly id: string;
  readonly steps: readonly Step[];
}

/** A state that knows nothing yet. */
export function newState({ origin, site, list }: Target, key: string): State {
  return { lineage: randomBytes(16).toString('hex'), serial: 0, origin, site, list, key, items: new Map() };
}

/**
 * Checks that a state is of this list, and of this key.
 *
 * @param path the state's file
 * @throws {Failure} local-file, when it is of another list; usage, when its items are known by another field
 */
export function checkTarget(state: State, path: string, target: Target, key: string): void {
  if (state.origin !== target.origin || state.site !== target.site || state.list !== target.list) {
    throw new Failure('local-file', `${path} belongs to ${targetText(state)}, not to ${targetText(target)}`, {
      hint: 'pass --state to use another state file, one for each list; nothing was sent',
    });
  }
  if (state.key === key) return;
  throw new Failure('usage', `${path} uses the key field "${shorten(state.key)}", not "${shorten(key)}"`, {
    hint: `pass --key ${shorten(state.key)}, or create another state with --state and --init; nothing was sent`,
  });
}

/** A list in a message. */
export function targetText({ origin, site, list }: Target): string {
  return `list "${shorten(list)}" of site "${shorten(site)}" at ${shorten(origin)}`;
}

/** What stands in a file, short enough for a message. */
export function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** An item as the service gave it. */
export interface FoundItem {
  readonly id: string;
  readonly etag?: string | undefined;
}

/**
 * Takes over an item that is already there.
 *
 * @param fields what it has of the fields that the manifest names: what the plan compares with
 * @throws {Failure} usage, when the key is known already, or another key has that item
 */
export function importItem(state: State, key: string, { id, etag }: FoundItem, fields: Fields, nowMs: number): State {
  const known = itemsOf(state).get(key);
  if (known?.inDoubt !== undefined) throw refused(`the create of "${shorten(key)}" is in doubt`, resolveHint(key));
  if (known !== undefined && known.id !== id) {
    throw refused(`"${shorten(key)}" is already item "${known.id}"`, 'run "listctl state forget" first');
  }
  checkOwner(state, key, id);
  return withItem(state, key, knownItem({ id, etag }, fields), nowMs);
}

/**
 * Lets go of an item, without deleting it.
 *
 * @throws {Failure} usage, when the key is not known, or its create is in doubt
 */
export function forgetItem(state: State, key: string, nowMs: number): State {
  const known = itemsOf(state).get(key);
  if (known === undefined) throw unknownKey(key);
  if (known.inDoubt !== undefined) throw refused(`the create of "${shorten(key)}" is in doubt`, resolveHint(key));
  return withItem(state, key, undefined, nowMs);
}

/**
 * Settles a create in doubt.
 *
 * @param found the item that it made, which the caller has looked at (`holdsFields` of what was sent); null where it
 *   made none: the next plan creates it
 * @throws {Failure} usage, when the key is not in doubt, or another key has that item
 */
export function resolveItem(state: State, key: string, found: FoundItem | null, nowMs: number): State {
  const known = itemsOf(state).get(key);
  if (known === undefined) throw unknownKey(key);
  if (known.inDoubt === undefined)
    throw refused(`"${shorten(key)}" is not in doubt: it is item "${known.id}"`, undefined);
  if (found === null) return withItem(state, key, undefined, nowMs);
  checkOwner(state, key, found.id);
  return withItem(state, key, knownItem(found, known.fields), nowMs);
}

function itemsOf({ run, items }: State): State['items'] {
  if (run !== undefined) throw new Error('a run is to be folded into its state before anybody edits that');
  return items;
}

/** An item that two keys own would be set to and fro, or deleted for one of them. */
function checkOwner({ items }: State, key: string, id: string): void {
  checkId(id, 'item');
  for (const [other, item] of items) {
    if (other !== key && item.id === id) {
      throw refused(
        `item "${id}" already belongs to "${shorten(other)}"`,
        'run "listctl state forget" for that key first',
      );
    }
  }
}

function withItem(state: State, key: string, item: StateItem | undefined, nowMs: number): State {
  return withItems(state, new Map([[key, item]]), nowMs);
}

function knownItem({ id, etag }: FoundItem, fields: Fields): KnownItem {
  return etag === undefined ? { id, fields } : { id, fields, etag };
}

function unknownKey(key: string): Failure {
  return refused(`the state has no item with the key "${shorten(key)}"`, undefined);
}

function refused(message: string, next: string | undefined): Failure {
  return new Failure('usage', message, {
    hint: next === undefined ? 'nothing was changed' : `${next}; nothing was changed`,
  });
}

function resolveHint(key: string): string {
  return `check whether the item exists, then run: listctl state resolve MANIFEST ${shorten(key)}=ID, or ${shorten(key)}=none`;
}
