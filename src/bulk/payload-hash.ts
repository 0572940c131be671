import { hash } from 'node:crypto';
import type { Fields } from '../item.ts';
import { isObject, type JsonValue, objectFrom, printJson } from '../json.ts';

/** The first 16 hex digits of `payloadDigest`: enough to tell the payloads of one row from each other. */
export function payloadHash(id: string | undefined, fields: Fields): string {
  return payloadDigest(id, fields).slice(0, 16);
}

/**
 * 64 hex digits that tell one payload from any other one: of an item's id and fields, whatever the order of the members.
 * Digits of numbers count.
 */
export function payloadDigest(id: string | undefined, fields: Fields): string {
  const parts: (string | number | boolean | null)[] = [id ?? null];
  for (const name of orderOf(Object.keys(fields))) {
    const value = fields[name] ?? null;
    // Behind what no name is behind, so that a text of the same letters is another value.
    if (typeof value === 'object' && value !== null) parts.push(name, null, printJson(sorted(value)));
    else parts.push(name, value);
  }
  return hash('sha256', JSON.stringify(parts), 'hex');
}

/** Of the last names, and those in order: the rows of a file have mostly the same ones. */
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
