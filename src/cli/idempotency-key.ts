import { closeSync, openSync, readSync } from 'node:fs';
import { Failure } from '../core/errors.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** A new key for one item that a user asked for: 26 letters of base32, 130 random bits (reliability, C4). */
async function newIdempotencyKey(device = '/dev/urandom'): Promise<string> {
  const bytes = bytesFrom(device, 26) ?? (await import('./crypto-bytes.ts')).cryptoBytes(26);
  return Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join('');
}

/** Random bytes from where `node:crypto` gets its own (random(4)), without the 2 ms that loading it costs a create. */
function bytesFrom(file: string, count: number): Buffer | undefined {
  try {
    const device = openSync(file, 'r');
    const bytes = Buffer.alloc(count);
    const isWhole = readSync(device, bytes) === count;
    closeSync(device);
    return isWhole ? bytes : undefined;
  } catch {
    // There is no such device: Windows, or a bare container.
    return undefined;
  }
}

/**
 * The key of one POST: the one that was typed, else a new one; none where the service is said not to want it.
 *
 * @throws {Failure} usage, when the one that was typed cannot be sent
 */
export async function idempotencyKeyFor(typed: string | undefined, sendsKeys: boolean): Promise<string | undefined> {
  if (typed !== undefined) return checkIdempotencyKey(typed);
  return sendsKeys ? newIdempotencyKey() : undefined;
}

/** Checks a key that was typed: what a Structured Field string may hold without escapes (RFC 9651, section 3.3.3). */
function checkIdempotencyKey(text: string): string {
  if (/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,255}$/.test(text)) return text;
  throw new Failure(
    'usage',
    'invalid --idempotency-key: expected 1 to 255 printable ASCII characters except " and \\',
    {
      hint: 'pass the key that the uncertain create printed; nothing was sent',
    },
  );
}
