/** The changes of a list, counted, and the opaque tokens of delta queries ("listItem: delta"). */
import { randomUUID } from 'node:crypto';
import type { Reader, Transaction } from '../store.ts';
import { GraphRefusal, invalidRequest } from './errors.ts';

/** A place in the changes of a list. */
export interface Place {
  /** Differs in another store with the same list; empty before the first change. */
  readonly epoch: string;
  /** The changes before it. */
  readonly count: number;
  /** While all items are listed: the id of the last one. */
  readonly after?: number | undefined;
}

/** The place after the last change. */
export function changesPlace(from: Pick<Reader, 'get'>, list: string): Place {
  const [count = '0', epoch = ''] = (from.get(['changes', list]) ?? '').split(' ');
  return { epoch, count: Number(count) };
}

/** Counts a change of an item, which was created, updated or deleted. */
export function recordChange(transaction: Transaction, list: string, id: string): void {
  const { epoch, count } = changesPlace(transaction, list);
  transaction.put(['changes', list], `${count + 1} ${epoch || randomUUID()}`);
  transaction.put(['change', list, count + 1], id);
}

/** The ids of items that changed, with the number of each change. */
export function changedAfter(count: number, list: string, from: Reader, limit: number) {
  const entries = from.entries(['change', list, count + 1], ['change', list, Number.MAX_SAFE_INTEGER], limit);
  return entries.map(([key, id]) => ({ count: key[2] as number, id }));
}

export function printToken({ epoch, count, after }: Place): string {
  return Buffer.from(`${after ?? ''};${count};${epoch}`).toString('base64url');
}

const form = /^(?<after>\d{0,15});(?<count>\d{1,15});(?<epoch>[\da-f-]{0,36})$/;

/**
 * The place of a token; `latest` is the current one.
 *
 * @param fresh the address that lists everything, for a token that the store does not know
 */
export function parseToken(token: string, current: Place, fresh: string): Place {
  if (token === 'latest') return current;
  const { after, count, epoch } = form.exec(Buffer.from(token, 'base64url').toString())?.groups ?? {};
  if (epoch === undefined) throw invalidRequest('The token is invalid');
  const place = { epoch, count: Number(count), after: after === '' ? undefined : Number(after) };
  const isKnown = epoch === current.epoch || (epoch === '' && place.count === 0);
  if (isKnown && place.count <= current.count) return place;
  const message = 'Resync required. Replace any local items with the versions of the server (including deletes).';
  throw new GraphRefusal(410, 'resyncChangesApplyDifferences', message, { location: fresh });
}
