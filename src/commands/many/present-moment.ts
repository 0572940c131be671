import { getQuestion } from '../../api/items.ts';
import type { PresentMoment } from '../../bulk/key-age.ts';
import { Failure } from '../../errors.ts';
import type { ListRef } from '../../item.ts';
import type { Session } from '../session.ts';
import { bootId } from './run-record.ts';

/**
 * The present by every clock, that of the service included: an item is read for the `Date` of the response, whether
 * there is such an item or not.
 *
 * @returns tells the present each time it is called
 * @throws {Failure} as a read, where there was no response at all
 * @throws {Stopped} when it was told to stop
 */
export async function presentMoment({ site, list }: ListRef, session: Session): Promise<() => PresentMoment> {
  const wire = await session.wire();
  try {
    await wire.ask(getQuestion({ site, list, id: '0' }));
  } catch (error) {
    // A response without a Date leaves the age of every key unknown.
    if (!(error instanceof Failure) || (wire.serviceMs() === undefined && error.details.status === undefined))
      throw error;
  }
  const { clock } = session.host;
  const boot = bootId();
  return () => ({ nowMs: clock.now(), monotonicMs: clock.monotonicMs(), boot, serviceMs: wire.serviceMs() });
}
