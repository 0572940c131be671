/** Letting go of an item. To be loaded late. */
import { forgetItem } from '../../seed/state-edits.ts';
import type { SeedFlags } from '../apply/seed-file.ts';
import type { Session } from '../session.ts';
import { editState } from './edit-state.ts';

/**
 * Lets go of an item, without deleting it.
 *
 * @throws {Failure} usage, when the state does not know the key; as `editState`
 */
export function letGo(seed: string, key: string, flags: SeedFlags, session: Session): Promise<void> {
  return editState(seed, flags, { makes: false }, session, async (state) => {
    const forgotten = forgetItem(state, key, session.host.clock.now());
    await session.say(`"${key}" (item ${state.items.get(key)?.id}) is not this seed's any more`);
    return forgotten;
  });
}
