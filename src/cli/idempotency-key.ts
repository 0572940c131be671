import { closeSync, openSync, readSync } from 'node:fs';
import type { KeyField } from '../api/graph/key-field.ts';
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import type { Session } from './session.ts';

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

/** @throws {Failure} usage, if the service has keys of its own */
export function refuseKeyField({ settings }: Pick<Session, 'settings'>): void {
  if (settings.service === 'graph') return;
  throw new Failure('usage', '--key-field is only for Microsoft Graph', {
    hint: 'pass --service graph, or leave it out: the service gets an Idempotency-Key; nothing was sent',
  });
}

/**
 * Reads the column of `--key-field`, and says what it promises. The caller has called `refuseKeyField`, before anything else.
 *
 * @throws {Failure} usage, if no key can be written into it; as `Client.send`
 */
export async function openKeyField(name: string, list: ListRef, session: Session): Promise<KeyField> {
  const { promiseText, readKeyField } = await import('../api/graph/key-field.ts');
  const keyField = await readKeyField(name, list, await session.service.client());
  const { say, notice } = session.messages;
  await (keyField.promise === 'unique' ? notice : say)(`listctl: ${promiseText(keyField)}`);
  return keyField;
}
