/** A seed written back from what the service has. To be loaded late. */
import type { Fields } from '../../item.ts';
import { type JsonObject, type JsonValue, objectFrom } from '../../json.ts';
import type { View } from '../../output/view.ts';
import { yamlDocument } from '../../output/yaml-text.ts';
import type { Observed } from '../../seed/plan.ts';
import { checkTarget, type State } from '../../seed/state.ts';
import { withState } from '../apply/held-state.ts';
import { observe } from '../apply/observe.ts';
import { openSeed, type SeedFlags } from '../apply/seed-file.ts';
import { readPaceFlags } from '../many/flags.ts';
import type { Session } from '../session.ts';
import { noState } from './edit-state.ts';

/** Items by their fields alone: what a seed is made of. */
const fieldsView: View<Fields> = {
  pretty: (items) => items.map((fields) => yamlDocument(fields)).join('\n'),
  json: (fields) => fields,
  id: () => undefined,
  printsNone: true,
};

/**
 * Prints the seed as it would be if the service were right.
 *
 * @throws {Failure} usage, when there is no state; locked; as the reads
 */
export async function exportSeed(word: string, flags: SeedFlags, session: Session): Promise<void> {
  const named = await openSeed(word, flags, session);
  const pace = readPaceFlags(flags);
  await withState(named.statePath, pace, session, async (state) => {
    if (state === undefined) throw noState(named);
    checkTarget(state, named.statePath, named.target, named.seed.key);
    const items = itemsOf(state, await observe(state, pace, session));
    const missing = state.items.size - items.length;
    if (missing > 0) await session.say(`${missing} of ${state.items.size} items are left out: gone, or in doubt`);
    if (session.format(true) !== 'pretty') {
      await session.printing(fieldsView, true, async (print) => {
        for (const fields of items) await print(fields);
      });
      return;
    }
    const { site, list } = named.target;
    await session.host.stdout.write(`${yamlDocument(seedOf({ site, list, key: state.key }, items))}`);
  });
}

function seedOf(top: JsonObject, items: readonly Fields[]): JsonObject {
  return objectFrom([...Object.entries(top), ['items', items]]);
}

/** The fields that the seed names, as the service has them; items that are gone are left out. */
function itemsOf(state: State, observed: ReadonlyMap<string, Observed>): readonly Fields[] {
  const items: Fields[] = [];
  for (const [key, { fields }] of state.items) {
    const now = observed.get(key);
    if (now === undefined || now.kind !== 'there') continue;
    const members: (readonly [string, JsonValue])[] = Object.keys(fields).map((name) => [
      name,
      (Object.hasOwn(now.fields, name) ? now.fields[name] : undefined) ?? null,
    ]);
    items.push(objectFrom(members));
  }
  return items;
}
