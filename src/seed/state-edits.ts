/** What a person says of a state: items taken over, let go of, or settled. The caller folds a run in before. */
import { Failure } from '../errors.ts';
import { checkId, type Fields } from '../item.ts';
import { cut, type KnownItem, type State, type StateItem, withItems } from './state.ts';

/** An item as the service gave it. */
export interface FoundItem {
  readonly id: string;
  readonly etag?: string | undefined;
}

/**
 * Takes over an item that is already there.
 *
 * @param fields what it has of the fields that the seed names: what the plan compares with
 * @throws {Failure} usage, when the key is known already, or another key has that item
 */
export function importItem(state: State, key: string, { id, etag }: FoundItem, fields: Fields, nowMs: number): State {
  const known = itemsOf(state).get(key);
  if (known?.inDoubt !== undefined) throw refused(`the create of "${cut(key)}" is in doubt`, resolveHint(key));
  if (known !== undefined && known.id !== id) {
    throw refused(`"${cut(key)}" is item "${known.id}" already`, 'let go of that one first: listctl state forget');
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
  if (known.inDoubt !== undefined) throw refused(`the create of "${cut(key)}" is in doubt`, resolveHint(key));
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
  if (known.inDoubt === undefined) throw refused(`"${cut(key)}" is not in doubt: it is item "${known.id}"`, undefined);
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
        `item "${id}" is that of "${cut(other)}" already`,
        'let go of it there first: listctl state forget',
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
  return refused(`the state knows no item by the key "${cut(key)}"`, undefined);
}

function refused(message: string, next: string | undefined): Failure {
  return new Failure('usage', message, {
    hint: next === undefined ? 'nothing was changed' : `nothing was changed; ${next}`,
  });
}

function resolveHint(key: string): string {
  return `look whether it is there, then: listctl state resolve SEED ${cut(key)}=ID, or ${cut(key)}=none`;
}
