import { Failure } from './errors.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken } from './json.ts';

export interface ListRef {
  readonly site: string;
  readonly list: string;
}

export interface ItemRef extends ListRef {
  readonly id: string;
}

/** Field names and values, in the order in which they were given. */
export type Fields = JsonObject;

/** The longest fields as JSON: an item whose response is longer than 8 MiB could never be confirmed. */
export const fieldsBytesMax = 8 * 1024 * 1024 - 4096;

/** An item in a response. */
export interface Item {
  /** Never empty. */
  readonly id: string;
  readonly fields: Fields;
  /** The whole response, in its order. */
  readonly members: JsonObject;
  readonly etag?: string | undefined;
  /** Set if it was found by the key of a create, and that create is not known to have made it. */
  readonly isFound?: true;
}

/** Whether it stands for an item that was deleted, in a list of changes (Microsoft Graph). */
export function isDeleted({ members }: Pick<Item, 'members'>): boolean {
  return isObject(ownField(members, 'deleted'));
}

/** The tag if it is strong: If-Match never matches a weak one (RFC 9110, section 13.1.1). */
export function strongTag(etag: string | undefined): string | undefined {
  return etag?.startsWith('W/') ? undefined : etag;
}

/** The text if a header can carry it: no control characters except tabs, nothing above U+00FF. */
export function headerValue(text: string | undefined): string | undefined {
  return text !== undefined && /^[\t -~\u0080-\u00ff]*$/.test(text) ? text : undefined;
}

/**
 * Checks that an id can be a segment of a path. A URL parser removes `.` and `..` even when they are percent-encoded
 * (WHATWG URL, "double-dot URL path segment"), so a request for such an item would reach another resource.
 *
 * @param name `site`, `list` or `item`, for the message
 * @throws {Failure} usage
 */
export function checkId(id: string, name: string): string {
  const problem = idProblem(id, name);
  if (problem === undefined) return id;
  throw new Failure('usage', problem);
}

/** An id as exactly one path segment (docs/decisions.md, paths-2). Commas stay readable: site ids contain them. */
export function pathSegment(id: string, name: string): string {
  return encodeURIComponent(checkId(id, name)).replaceAll('%2C', ',');
}

/** Whether a site or a list is given as an address in the browser: names of Microsoft Graph (docs/graph.md). */
export function isWebAddress(text: string | undefined): text is string {
  return text !== undefined && /^https:\/\//i.test(text);
}

/** Why `checkId` refuses an id; undefined for a valid one. */
export function idProblem(id: string, name: string): string | undefined {
  const reason = reasonAgainstId(id);
  return reason && `the ${name} id ${reason}`;
}

function reasonAgainstId(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id === '.' || id === '..') return `is "${id}", which is not a path segment`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused; \p{Cc} takes each start 0.2 ms.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(id)) return 'has control characters';
  // With the u flag only a surrogate without its partner is one character by itself.
  if (/[\ud800-\udfff]/u.test(id)) return 'has a lone surrogate';
  if (Buffer.byteLength(id) > 1024) return 'is longer than 1,024 bytes';
  return undefined;
}

/** Whether two values are equal: members in any order; numbers by all their digits, so that 1.0 equals 1. */
export function isSameValue(one: JsonValue, other: JsonValue): boolean {
  if (one === other) return true;
  if (isNumber(one)) return isNumber(other) && decimalOf(one) === decimalOf(other);
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((value: JsonValue, at) => isSameValue(value, other[at]));
  }
  return isObject(one) && isObject(other) && isSameObject(one, other);
}

/** Whether two values of a field are equal; a missing one equals null, since null clears a field. */
export function isSameField(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return isSameValue(one ?? null, other ?? null);
}

/** Whether fields include all that are named, with their values. */
export function includesFields(fields: Fields, named: Fields): boolean {
  for (const name in named) if (!isSameField(ownField(fields, name), named[name])) return false;
  return true;
}

/** A field's value; undefined without one. */
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

/** A normal form: sign, digits without zeros at either end, and the place of the point. */
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
  // An exponent beyond the range of a double is compared as text.
  const shift = Number(exponent);
  const point = Number.isSafeInteger(shift)
    ? String(shift + whole.length - start)
    : `${exponent}+${whole.length - start}`;
  return `${digits.startsWith('-') ? '-' : ''}0.${all.slice(start, end)}e${point}`;
}
