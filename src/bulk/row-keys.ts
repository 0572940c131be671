import { randomFillSync } from 'node:crypto';

/** Of base32 (RFC 4648, section 6), in lower case. */
const alphabet = Buffer.from('abcdefghijklmnopqrstuvwxyz234567');

const keyLength = 26;

/** Makes idempotency keys: 26 letters, 130 random bits (reliability, C4). Many at once are drawn ahead. */
export function rowKeys(): () => string {
  const letters = Buffer.alloc(keyLength * 1024);
  let at = letters.length;
  return () => {
    if (at === letters.length) {
      randomFillSync(letters);
      for (let index = 0; index < letters.length; index += 1)
        letters[index] = alphabet[(letters[index] ?? 0) & 31] ?? 0;
      at = 0;
    }
    at += keyLength;
    return letters.toString('latin1', at - keyLength, at);
  };
}
