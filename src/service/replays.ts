/** What was created under which `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header; rulings). */
import type { Transaction } from './store.ts';

/** How long a key is remembered, in milliseconds. */
const keptMs = 24 * 60 * 60 * 1000;

/** More than the one that a create adds, so that old keys go faster than new ones come, and a create stays short. */
const forgottenAtOnce = 4;

/** One create that was done. */
export interface Replay {
  /** The id that it gave. */
  readonly id: string;
  /** The digest of the fields that it was sent. */
  readonly digest: string;
}

/** The create that was done in this list under this key, in the 24 hours before `now` (milliseconds since 1970). */
export function findReplay(transaction: Transaction, list: string, key: string, now: number): Replay | undefined {
  const record = recordAt(transaction, list, key);
  return record === undefined || now - record.at >= keptMs ? undefined : record;
}

/** Remembers a create, in the very transaction that makes its item: neither can be there without the other. */
export function keepReplay(transaction: Transaction, list: string, key: string, replay: Replay, now: number): void {
  const record: Dated = { ...replay, at: now };
  transaction.put(['replay', list, key], JSON.stringify(record));
  transaction.put(['expiry', now, list, key], '');
}

/** Forgets the oldest of the keys that are out of date: a few, so that no create pays for a whole day's. */
export function forgetOldReplays(transaction: Transaction, now: number): void {
  for (const expiry of transaction.keysBetween(['expiry'], ['expiry', now - keptMs], forgottenAtOnce)) {
    const [, at, list, key] = expiry;
    transaction.remove(expiry);
    if (typeof list !== 'string' || typeof key !== 'string') continue;
    // Used again since, the key has a later record, with an expiry of its own.
    if (recordAt(transaction, list, key)?.at === at) transaction.remove(['replay', list, key]);
  }
}

interface Dated extends Replay {
  readonly at: number;
}

function recordAt(transaction: Transaction, list: string, key: string): Dated | undefined {
  const record = transaction.get(['replay', list, key]);
  return record === undefined ? undefined : (JSON.parse(record) as Dated);
}
