/** What a prune must not do by itself: delete most of a list because its manifest was cut short. */
import { Failure } from '../../errors.ts';
import { countOf, countText } from '../../output/quantity-text.ts';
import { checkMaxDelete } from '../many/max-delete.ts';

/** How many items a plan deletes, and how many the state knows. */
export interface Deletes {
  readonly count: number;
  readonly managed: number;
}

/** A few items may go, and so may fewer than half of a list. */
const unguardedMax = 10;

/**
 * Checks the deletes of a plan.
 *
 * @param max what `--max-delete` allows
 * @returns whether somebody must confirm them by typing how many they are: more than 10, more than half of those
 *   managed, and no `--max-delete`
 * @throws {Failure} usage, when they are more than `max`
 */
export function needsTypedConfirmation({ count, managed }: Deletes, max: number | undefined): boolean {
  checkMaxDelete(count, max);
  return max === undefined && count > unguardedMax && count * 2 > managed;
}

/** What is deleted of how many: `12 of 20 managed items`. */
export function deletesText({ count, managed }: Deletes): string {
  return `${countText(count)} of ${countOf(managed, 'managed item')}`;
}

/** The failure for deletes that nobody confirmed. */
export function unconfirmedDeletes(deletes: Deletes): Failure {
  return new Failure('usage', `cannot delete ${deletesText(deletes)}: --max-delete is required`, {
    hint: `check that the manifest is whole, then pass --max-delete ${deletes.count}; nothing was sent`,
  });
}
