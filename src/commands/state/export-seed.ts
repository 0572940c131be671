/** A seed written back from what the service has. To be loaded late. */
import type { Fields, Item } from '../../item.ts';
import { type JsonObject, objectFrom } from '../../json.ts';
import { itemView } from '../../output/item-view.ts';
import type { View } from '../../output/view.ts';
import { yamlDocument } from '../../output/yaml-text.ts';
import { isOfKey, type Observed } from '../../seed/plan.ts';
import { ownField } from '../../seed/same-value.ts';
import { checkTarget, type State } from '../../seed/state.ts';
import { readSettled } from '../apply/held-state.ts';
import { observe } from '../apply/observe.ts';
import { openSeed, type SeedFlags } from '../apply/seed-file.ts';
import { readPaceFlags } from '../many/flags.ts';
import type { Session } from '../session.ts';
import { noState } from './edit-state.ts';

/** Items as `items get` prints them: what reads rows takes them for items, and apply sends no ids. */
const exportView: View<Item> = { ...itemView, printsNone: true };

/**
 * Prints the manifest as it would be if the service were right; in formats for programs the items with their ids. Nothing
 * is written, and no lock is taken.
 *
 * @throws {Failure} usage, when there is no state; local-file, when it is damaged; as the reads
 */
export async function exportSeed(word: string, flags: SeedFlags, session: Session): Promise<void> {
  const named = await openSeed(word, flags, session);
  const pace = readPaceFlags(flags);
  const state = await readSettled(named.statePath, session);
  if (state === undefined) throw noState(named);
  checkTarget(state, named.statePath, named.target, named.seed.key);
  const items = itemsOf(state, await observe(state, pace, session));
  const missing = state.items.size - items.length;
  if (missing > 0) {
    await session.say(`${missing} of ${state.items.size} items are left out: gone, in doubt, or others by now`);
  }
  if (session.format(true) !== 'pretty' || session.hasQuery) {
    await session.printing(exportView, true, async (print) => {
      for (const item of items) await print(item);
    });
    return;
  }
  const { site, list } = named.target;
  const fields = items.map((item) => item.fields);
  await session.host.stdout.write(`${yamlDocument(seedOf({ site, list, key: state.key }, fields))}`);
}

function seedOf(top: JsonObject, items: readonly Fields[]): JsonObject {
  return objectFrom([...Object.entries(top), ['items', items]]);
}

/** The fields that the seed names, as the service has them; items that are gone, or others by now, are left out. */
function itemsOf(state: State, observed: ReadonlyMap<string, Observed>): readonly Item[] {
  const items: Item[] = [];
  for (const [key, known] of state.items) {
    const now = observed.get(key);
    if (known.id === undefined || now?.kind !== 'there' || !isOfKey(now.fields, known, key, state.key)) continue;
    const named = Object.keys(known.fields).map((name) => [name, ownField(now.fields, name) ?? null] as const);
    const fields = objectFrom(named);
    items.push({ id: known.id, fields, members: { id: known.id, fields } });
  }
  return items;
}
