/** Taking over an item that is already there. To be loaded late. */
import { Failure } from '../../errors.ts';
import type { Fields } from '../../item.ts';
import { type JsonValue, objectFrom } from '../../json.ts';
import { importItem } from '../../seed/state-edits.ts';
import type { SeedFlags } from '../apply/seed-file.ts';
import type { Session } from '../session.ts';
import { editState, keyWord, readItem } from './edit-state.ts';

/**
 * Takes over an item; where there is no state, one is made.
 *
 * @param text `KEY=ID`
 * @throws {Failure} usage, when the seed has no such key, or it is known already; as `editState` and a read
 */
export async function takeOver(seed: string, text: string, flags: SeedFlags, session: Session): Promise<void> {
  const { key, id } = keyWord(text);
  await editState(seed, flags, { makes: true }, session, async (state, { seed: { items, key: name }, target }) => {
    const named = items.find((item) => item.key === key);
    if (named === undefined) throw notInSeed(key, name);
    const item = await readItem(target, id, session);
    const imported = importItem(state, key, item, ofThose(item.fields, named.fields), session.host.clock.now());
    await session.say(`"${key}" is item ${item.id} from now on`);
    return imported;
  });
}

function notInSeed(key: string, name: string): Failure {
  return new Failure('usage', `the seed has no item whose ${name} is "${key}"`, {
    hint: 'write it into the seed first; nothing was changed',
  });
}

/** What an item has of the fields that the seed names. */
function ofThose(fields: Fields, named: Fields): Fields {
  const members: (readonly [string, JsonValue])[] = [];
  for (const name of Object.keys(named)) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value !== undefined) members.push([name, value]);
  }
  return objectFrom(members);
}
