/** Settling an item that is in doubt. To be loaded late. */
import { Failure } from '../../errors.ts';
import { holdsFields } from '../../seed/same-value.ts';
import type { State } from '../../seed/state.ts';
import { resolveItem } from '../../seed/state-edits.ts';
import type { NamedSeed, SeedFlags } from '../apply/seed-file.ts';
import type { Session } from '../session.ts';
import { editState, type KeyWord, keyWord, readItem } from './edit-state.ts';

/** The flags as they were typed. */
export interface ResolveFlags extends SeedFlags {
  readonly force?: boolean;
}

/**
 * Says what became of a create in doubt.
 *
 * @param text `KEY=ID`, or `KEY=none`
 * @throws {Failure} usage, when it is not in doubt; conflict, when that item holds something else; as `editState`
 */
export function settle(seed: string, text: string, flags: ResolveFlags, session: Session): Promise<void> {
  const word = keyWord(text);
  const isForced = flags.force === true;
  return editState(seed, flags, { makes: false }, session, (state, named) =>
    resolved(state, named, word, isForced, session),
  );
}

async function resolved(
  state: State,
  { target }: NamedSeed,
  { key, id }: KeyWord,
  isForced: boolean,
  session: Session,
): Promise<State> {
  const known = state.items.get(key);
  const nowMs = session.host.clock.now();
  if (known?.inDoubt === undefined || id === 'none') {
    const settled = resolveItem(state, key, null, nowMs);
    await session.say(`"${key}" was not created: the next apply creates it`);
    return settled;
  }
  const item = await readItem(target, id, session);
  if (!isForced && !holdsFields(item.fields, known.fields)) {
    throw new Failure('conflict', `item ${item.id} does not hold what was sent for "${key}"`, {
      hint: 'nothing was changed; where you know that it is the one: --force',
    });
  }
  const settled = resolveItem(state, key, item, nowMs);
  await session.say(`"${key}" is item ${item.id}`);
  return settled;
}
