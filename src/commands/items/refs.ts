import { checkId, type ItemRef } from '../../item.ts';
import type { Session } from '../session.ts';

/**
 * The items that were typed, of the session's list.
 *
 * @throws {Failure} usage, for the first id that can't be one, before anything is sent
 */
export function itemRefs(ids: readonly string[], session: Session): readonly ItemRef[] {
  const list = session.list();
  return ids.map((id) => ({ ...list, id: checkId(id, 'item') }));
}
