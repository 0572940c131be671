/** What apply knows of a list: the items that it made or took over, by their keys. */
import { randomBytes } from 'node:crypto';
import { Failure } from '../errors.ts';
import type { Fields, ListRef } from '../item.ts';
import type { CreateInDoubt, Step } from './step.ts';

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
export type StateItem = KnownItem | DoubtfulItem;

/** An item that is this seed's. */
export interface KnownItem {
  /** Fit for a path. */
  readonly id: string;
  /** As the seed said them when they were last applied. */
  readonly fields: Fields;
  /** The entity tag that it had then, if the service gave one. */
  readonly etag?: string | undefined;
  readonly inDoubt?: undefined;
}

/** An item that may be there: whether its create was applied is unknown, or its id is. */
export interface DoubtfulItem {
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
    throw new Failure('local-file', `${path} is of ${targetText(state)}, not of ${targetText(target)}`, {
      hint: 'nothing was sent, and it was left as it is: each list has a state of its own, which --state names',
    });
  }
  if (state.key === key) return;
  throw new Failure('usage', `${path} knows its items by the field "${cut(state.key)}", not by "${cut(key)}"`, {
    hint: `nothing was sent: pass --key ${cut(state.key)}, or begin another state with --state and --init`,
  });
}

/** A list in a message. */
export function targetText({ origin, site, list }: Target): string {
  return `list "${cut(list)}" of site "${cut(site)}" at ${cut(origin)}`;
}

/** What stands in a file, short enough for a message. */
export function cut(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
