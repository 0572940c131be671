/** What the commands on a state have in common: a seed, its state under a lock, and an item of the list. */
import { Failure } from '../../errors.ts';
import { checkId, type Item, type ListRef, strongTag } from '../../item.ts';
import { checkTarget, newState, type State } from '../../seed/state.ts';
import { writeState } from '../../seed/state-file.ts';
import { withState } from '../apply/held-state.ts';
import { type NamedSeed, openSeed, type SeedFlags } from '../apply/seed-file.ts';
import { readPaceFlags } from '../many/flags.ts';
import type { Session } from '../session.ts';

/** A key, and the id that is given for it. */
export interface KeyWord {
  readonly key: string;
  readonly id: string;
}

/**
 * Reads `KEY=ID`. A key may hold `=`, so the last one divides; an id that holds one is rare enough to be refused.
 *
 * @throws {Failure} usage
 */
export function keyWord(text: string): KeyWord {
  const at = text.lastIndexOf('=');
  if (at > 0 && at < text.length - 1) return { key: text.slice(0, at), id: text.slice(at + 1) };
  throw new Failure('usage', `expected KEY=ID, not "${text}"`, { hint: 'such as "Buy milk=17"; nothing was changed' });
}

/**
 * Changes a state.
 *
 * @param makes whether a state is made where there is none
 * @param edit gives the state as it is to be
 * @throws {Failure} usage, when there is no state; locked; local-file; and what the edit throws
 */
export async function editState(
  word: string,
  flags: SeedFlags,
  { makes }: { readonly makes: boolean },
  session: Session,
  edit: (state: State, named: NamedSeed) => Promise<State> | State,
): Promise<void> {
  const named = await openSeed(word, flags, session);
  await withState(named.statePath, readPaceFlags(flags), session, async (known) => {
    const state = known ?? (makes ? newState(named.target, named.seed.key) : undefined);
    if (state === undefined) throw noState(named);
    if (known !== undefined) checkTarget(known, named.statePath, named.target, named.seed.key);
    const edited = await edit(state, named);
    if (edited !== known) writeState(named.statePath, edited);
  });
}

/** The failure for a seed without a state. */
export function noState({ statePath }: NamedSeed): Failure {
  return new Failure('usage', `there is no state at ${statePath}`, {
    hint: 'nothing was changed; listctl apply SEED --init makes one, or listctl state import takes over what is there',
  });
}

/** Reads an item of the list; its tag is one that If-Match takes, or none. */
export async function readItem({ site, list }: ListRef, id: string, session: Session): Promise<Item> {
  const api = await session.api();
  const item = await api.get({ site, list, id: checkId(id, 'item') });
  return { ...item, etag: strongTag(item.etag) };
}
