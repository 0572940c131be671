/** Whether an item that has the key of a create was made by that create (docs/decisions.md, keys-7). */

import type { Client } from '../../api/client.ts';
import type { SentEarlier } from '../../api/operation.ts';
import { parseHttpDate } from '../../api/outcome.ts';
import type { ResponseHead } from '../../api/transport.ts';
import { Failure } from '../../core/errors.ts';
import type { Clock } from '../../core/host.ts';
import { type Item, type ItemRef, ownField } from '../../core/item.ts';
import { isObject, printJson } from '../../core/json.ts';
import type { Evidence } from '../service.ts';
import { graphOperations } from './items.ts';

/** `other` items are older, or of another account; with little evidence it is `unknown`. */
export type Ownership = 'own' | 'other' | 'unknown';

/** Times of items and the `Date` of responses have whole seconds. */
const resolutionMs = 2000;

export function ownershipOf(item: Item, { sinceMs, author }: Evidence): Ownership {
  const createdMs = Date.parse(String(ownField(item.members, 'createdDateTime')));
  if (sinceMs === undefined || Number.isNaN(createdMs)) return 'unknown';
  if (createdMs < sinceMs - resolutionMs) return 'other';
  const own = authorOf(item);
  if (author === undefined || own === undefined) return 'unknown';
  return own === author ? 'own' : 'other';
}

/** The account that created an item: its identities as JSON. */
export function authorOf(item: Item): string | undefined {
  const identities = ownField(item.members, 'createdBy');
  return identities !== undefined && isObject(identities) ? printJson(identities) : undefined;
}

/** Reads who created an item; undefined if it is not there. */
export async function readAuthor(ref: ItemRef, client: Client): Promise<string | undefined> {
  try {
    return authorOf(await client.send(graphOperations.get(ref)));
  } catch (error) {
    if (error instanceof Failure && error.kind === 'not-found') return undefined;
    throw error;
  }
}

type Clocks = Pick<Clock, 'now' | 'monotonicMs'>;

/**
 * Finds when a create was first sent, by the clock of the service.
 *
 * @param sent if an earlier process sent it; else it is sent now
 * @returns a function of a later response; its result is undefined without a `Date`, or if the age is unknown
 */
export function sentSince(clock: Clocks, sent?: SentEarlier): (head: ResponseTimes) => number | undefined {
  const [monotonicMs, wallMs] = [clock.monotonicMs(), clock.now()];
  // One of the clocks stops while the machine sleeps, the other one may be set.
  const elapsedMs = () => Math.max(clock.monotonicMs() - monotonicMs, clock.now() - wallMs);
  const ageMs = (nowMs: number) => (sent === undefined ? elapsedMs() : sent.ageMs(nowMs));
  return ({ headers: { date = '' } }) => {
    const nowMs = parseHttpDate(date);
    const ms = nowMs === undefined ? undefined : ageMs(nowMs);
    return nowMs === undefined || ms === undefined ? undefined : nowMs - ms;
  };
}

type ResponseTimes = Pick<ResponseHead, 'headers'>;
