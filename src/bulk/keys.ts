/** Idempotency keys: random and derived ones, their age, and the hashes of payloads and ids. */
import { hash, randomFillSync } from 'node:crypto';
import type { Fields, ListRef } from '../core/item.ts';
import { isObject, type JsonValue, objectFrom, printJson } from '../core/json.ts';
import type { SessionStart } from './journal-format.ts';

export interface SentAt {
  /** By the clock of the machine: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** By the clock of the service; undefined if unknown in that session. */
  readonly serviceAt?: number | undefined;
  readonly session?: Pick<SessionStart, 'boot' | 'at' | 'monotonicMs'> | undefined;
}

/** The current time, by the same clocks. */
export interface ClockReading {
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly boot: string;
  /** Undefined if unknown; then no age is known. */
  readonly serviceMs: number | undefined;
}

/**
 * The age of a key in milliseconds: the maximum by wall clock, service clock and, on the same boot, monotonic clock, since
 * a wrong clock must not make an expired key look young. Undefined if unknown, or negative by all of them.
 */
export function keyAgeMs({ sentAt, serviceAt, session }: SentAt, present: ClockReading): number | undefined {
  if (present.serviceMs === undefined) return undefined;
  const ages = [present.nowMs - sentAt, present.serviceMs - (serviceAt ?? sentAt)];
  if (session?.monotonicMs !== undefined && session.boot !== '' && session.boot === present.boot) {
    ages.push(present.monotonicMs - session.monotonicMs - (sentAt - session.at));
  }
  const ms = Math.max(...ages);
  return ms < 0 ? undefined : ms;
}

/** Base32 (RFC 4648, section 6) in lower case. */
const alphabet = Buffer.from('abcdefghijklmnopqrstuvwxyz234567');

const keyLength = 26;

/** Makes idempotency keys of 26 letters, 130 random bits (docs/decisions.md, keys-1); draws bytes for many at once. */
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

/**
 * Derives an idempotency key: the same parts in the same list give the same key on every machine. It looks like a random
 * key, 26 letters with 130 bits of a SHA-256.
 *
 * A service that honors keys replays its first response even if the item was deleted since. To create an item again on
 * purpose, `parts` must differ.
 *
 * @param scope.origin the normalized address, from `runOrigin`
 */
export function derivedKey(
  { origin, site, list }: ListRef & { readonly origin: string },
  ...parts: readonly (string | number)[]
): string {
  const digest = hash('sha256', JSON.stringify(['listctl key', origin, site, list, ...parts]), 'buffer');
  return toLetters(digest).toString('latin1', 0, keyLength);
}

/** Turns each byte into a letter by its last five bits, in place. */
function toLetters(bytes: Buffer): Buffer {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = alphabet[(bytes[index] ?? 0) & 31] ?? 0;
  return bytes;
}

/** The first 16 hex digits of `payloadDigest`, enough to distinguish payloads of one row. */
export function payloadHash(id: string | undefined, fields: Fields): string {
  return payloadDigest(id, fields).slice(0, 16);
}

/** The SHA-256 of an id and fields, regardless of the order of members; the digits of numbers count. */
export function payloadDigest(id: string | undefined, fields: Fields): string {
  const parts: (string | number | boolean | null)[] = [id ?? null];
  for (const name of orderOf(Object.keys(fields))) {
    const value = fields[name] ?? null;
    // A null in between distinguishes an object from a string with the same characters.
    if (typeof value === 'object' && value !== null) parts.push(name, null, printJson(sorted(value)));
    else parts.push(name, value);
  }
  return hash('sha256', JSON.stringify(parts), 'hex');
}

/** The names of the last row and their order: most rows of a file have the same. */
let last: { readonly names: readonly string[]; readonly ordered: readonly string[] } = { names: [], ordered: [] };

function orderOf(names: readonly string[]): readonly string[] {
  if (!isSame(names, last.names)) last = { names, ordered: [...names].sort() };
  return last.ordered;
}

function isSame(names: readonly string[], others: readonly string[]): boolean {
  if (names.length !== others.length) return false;
  for (let at = 0; at < names.length; at += 1) if (names[at] !== others[at]) return false;
  return true;
}

function sorted(value: JsonValue): JsonValue {
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return objectFrom(names.map((name) => [name, sorted(value[name] ?? null)]));
}

/**
 * A set of ids in 16 to 32 bytes each, by 63 bits of a hash: among a million ids, a collision occurs in one of eighteen
 * million runs.
 */
export class IdSet {
  #slots = new Uint32Array(2 * 1024);
  #size = 0;

  add(id: string): boolean {
    const [high, low] = hashOf(id);
    if (!this.#put(high, low)) return false;
    this.#size += 1;
    // At most half full.
    if (this.#size * 4 > this.#slots.length) this.#grow();
    return true;
  }

  #put(high: number, low: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (low - 1) & mask; ; at = (at + 2) & mask) {
      if (slots[at] === high && slots[at + 1] === low) return false;
      if (slots[at] !== 0 || slots[at + 1] !== 0) continue;
      slots[at] = high;
      slots[at + 1] = low;
      return true;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 2) {
      const [high = 0, low = 0] = [before[at], before[at + 1]];
      if (high !== 0 || low !== 0) this.#put(high, low);
    }
  }
}

/** Two multiplicative 32-bit hashes, never both zero. */
function hashOf(id: string): readonly [high: number, low: number] {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    one = Math.imul(one ^ code, 0x9e3779b1);
    two = Math.imul(two ^ code, 0x5f356495);
    one ^= one >>> 15;
    two ^= two >>> 13;
  }
  return [mixed(one ^ two) >>> 0, (mixed(two) | 1) >>> 0];
}

/** The finalizer of MurmurHash3. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
