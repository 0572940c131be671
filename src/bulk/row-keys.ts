/** Idempotency keys of rows: drawn at random, or derived from what a row is. */
import { hash, randomFillSync } from 'node:crypto';
import type { ListRef } from '../item.ts';

/** Of base32 (RFC 4648, section 6), in lower case. */
const alphabet = Buffer.from('abcdefghijklmnopqrstuvwxyz234567');

const keyLength = 26;

/** Makes idempotency keys: 26 letters, 130 random bits. Many at once are drawn ahead. */
export function rowKeys(): () => string {
  const letters = Buffer.alloc(keyLength * 1024);
  let at = letters.length;
  return () => {
    if (at === letters.length) {
      randomFillSync(letters);
      toLetters(letters);
      at = 0;
    }
    at += keyLength;
    return letters.toString('latin1', at - keyLength, at);
  };
}

/** The list that derived keys are for. */
export interface KeyScope extends ListRef {
  /** The address of the service, as `runOrigin` gives it: each spelling of one address is the same. */
  readonly origin: string;
}

/**
 * Derives an idempotency key: the same parts in the same list give the same key, on every machine and without any
 * record. It has the shape of a random one, 26 letters that hold 130 bits of a SHA-256.
 *
 * A service that honors keys replays its first response for as long as it remembers the key, also when the item was
 * deleted since. Where an item may be created again on purpose, `parts` must say which time it is.
 *
 * @param parts what the key stands for; the first one says of which kind the others are
 */
export function derivedKey({ origin, site, list }: KeyScope, ...parts: readonly (string | number)[]): string {
  const digest = hash('sha256', JSON.stringify(['listctl key', origin, site, list, ...parts]), 'buffer');
  return toLetters(digest).toString('latin1', 0, keyLength);
}

/** Turns each byte into a letter, by its last five bits; in place. */
function toLetters(bytes: Buffer): Buffer {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = alphabet[(bytes[index] ?? 0) & 31] ?? 0;
  return bytes;
}
