import { closeSync, openSync, readSync } from 'node:fs';
import { Failure } from '../core/errors.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * The key of a POST: the one that was typed, else a new one, if keys are sent (docs/decisions.md, keys-1). An invalid
 * one is a usage failure.
 */
export function toIdempotencyKey(typed: string | undefined, sendsKeys: boolean): string | undefined {
  if (typed !== undefined) return checkIdempotencyKey(typed);
  if (!sendsKeys) return undefined;
  const bytes = readUrandom(26) ?? crypto.getRandomValues(new Uint8Array(26));
  return Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join('');
}

/** The source of `node:crypto`'s own random bytes (random(4)), without the time that loading it takes. */
function readUrandom(count: number): Uint8Array | undefined {
  try {
    const device = openSync('/dev/urandom', 'r');
    const bytes = new Uint8Array(count);
    const isWhole = readSync(device, bytes) === count;
    closeSync(device);
    return isWhole ? bytes : undefined;
  } catch {
    // Windows, or a container without it.
    return undefined;
  }
}

/** Allows what a string of RFC 9651 (section 3.3.3) contains without escapes. */
function checkIdempotencyKey(text: string): string {
  if (/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,255}$/.test(text)) return text;
  throw new Failure(
    'usage',
    'invalid --idempotency-key: expected 1 to 255 printable ASCII characters except " and \\',
    { hint: 'pass the key that the uncertain create printed; nothing was sent' },
  );
}
