/** Whether the service has what the seed says. */
import type { Fields } from '../item.ts';
import { isObject, type JsonValue, NumberToken } from '../json.ts';

/**
 * Whether two values are the same: members in any order; numbers by what their digits say, all of them, so that 1.0 is
 * 1 to a service that keeps no zeros, and 12345678901234567890 is no other number.
 */
export function isSameValue(one: JsonValue, other: JsonValue): boolean {
  if (one === other) return true;
  if (isNumber(one)) return isNumber(other) && decimalOf(one) === decimalOf(other);
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((value: JsonValue, at) => isSameValue(value, other[at]));
  }
  return isObject(one) && isObject(other) && isSameObject(one, other);
}

/** Whether a field holds what it should: one that is not there is null, since null clears. */
export function isSameField(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return isSameValue(one ?? null, other ?? null);
}

/** Whether every field that is named has its value among the others. */
export function holdsFields(fields: Fields, named: Fields): boolean {
  for (const name in named) if (!isSameField(ownField(fields, name), named[name])) return false;
  return true;
}

/** Whether two sets of fields are the same, names and all. */
export function isSameFields(one: Fields, other: Fields): boolean {
  return one === other || isSameObject(one, other);
}

/** A field's value; undefined where there is none of its own, whatever every object inherits. */
export function ownField(fields: Fields, name: string): JsonValue | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function isSameObject(one: Fields, other: Fields): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(other, name) || !isSameValue(one[name] ?? null, other[name] ?? null)) return false;
  }
  return true;
}

function isNumber(value: JsonValue): value is number | NumberToken {
  return typeof value === 'number' || value instanceof NumberToken;
}

/** The same text for the same number: sign, digits without zeros at either end, and where the point is. */
function decimalOf(value: number | NumberToken): string {
  const digits = typeof value === 'number' ? String(value) : value.digits;
  const [mantissa = '', exponent = '0'] = digits.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', part = ''] = mantissa.split('.');
  const all = whole + part;
  let start = 0;
  while (all.charCodeAt(start) === 0x30) start += 1;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === 0x30) end -= 1;
  if (start === end) return '0';
  // An exponent that a double can't count is compared as it stands.
  const shift = Number(exponent);
  const point = Number.isSafeInteger(shift)
    ? String(shift + whole.length - start)
    : `${exponent}+${whole.length - start}`;
  return `${digits.startsWith('-') ? '-' : ''}0.${all.slice(start, end)}e${point}`;
}
