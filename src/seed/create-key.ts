/** The idempotency key of a create: the same wherever and whenever the same item is to be made. */
import { derivedKey } from '../bulk/row-keys.ts';
import { printJson } from '../json.ts';
import type { State } from './state.ts';
import type { CreateStep } from './step.ts';

/**
 * The key with which an item is created. It follows from the service, the list, the key field with its value, the fields
 * that are sent, and what had that key in this list before (the id of an item that is gone, was deleted or forgotten).
 *
 * - It needs no memory: where the state is lost, the same manifest leads to the same keys, and a service that honors keys
 *   gives back the items of the first run for as long as it remembers them.
 * - Another body has another key, since a service refuses one key with two bodies: an item whose create was refused may be
 *   fixed and sent at once.
 * - An item that was there and is no more has to be made once more, where the service would repeat its old response: so
 *   what it follows is part of the key. A lost state does not know that, and is given the old id; the next apply finds
 *   that item gone and follows it, and so on to the one that is there: never a second one.
 *
 * Two manifests that say the same item of the same list mean one item.
 */
export function createKey(state: State, { key, fields }: Pick<CreateStep, 'key' | 'fields'>): string {
  const follows = state.items.get(key)?.id ?? state.retired?.get(key)?.follows ?? '';
  return derivedKey(state, 'apply', state.key, key, printJson(fields), follows);
}
