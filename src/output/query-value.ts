/** JSON values as JMESPath works on them. */
import { isObject, type JsonValue, NumberToken, objectFrom } from '../json.ts';
import { compareNumbers } from './exact-number.ts';
import { isList } from './row.ts';

/**
 * What a query sees: numbers that fit a double as numbers, and a symbol that tells the digits where they do not. A
 * symbol is no object to look into, and fails loudly where someone computes with it. Objects have no prototype, so
 * that `constructor` is nothing unless it came.
 */
export type QueryValue = null | boolean | number | string | symbol | readonly QueryValue[] | QueryObject;

/** Members by name, without a prototype. */
export interface QueryObject {
  readonly [name: string]: QueryValue;
}

/** The value, for a query. */
export function queryValueOf(value: JsonValue): QueryValue {
  if (value instanceof NumberToken) return Symbol(value.digits);
  if (isList(value)) return value.map(queryValueOf);
  if (!isObject(value)) return value;
  return queryObject(Object.entries(value).map(([name, member]) => [name, queryValueOf(member)]));
}

/**
 * The value that a query gave.
 *
 * @throws {Error} when it is a number that JSON has no digits for
 */
export function jsonValueOf(value: QueryValue | undefined): JsonValue {
  if (typeof value === 'symbol') return tokenOf(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('the result is too large for a number');
  if (isQueryList(value)) return value.map(jsonValueOf);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return objectFrom(Object.entries(value).map(([name, member]) => [name, jsonValueOf(member)]));
}

/** Makes an object in which every name is an ordinary one. */
export function queryObject(members: Iterable<readonly [string, QueryValue]>): QueryObject {
  // fromEntries defines, it does not assign; the prototype goes last.
  return Object.setPrototypeOf(Object.fromEntries(members), null);
}

/** Whether the value is an array. */
export function isQueryList(value: unknown): value is readonly QueryValue[] {
  return Array.isArray(value);
}

/** Whether two values are the same; numbers are by what their digits say. */
export function isSame(a: QueryValue, b: QueryValue): boolean {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return compareNumbers(left, right) === 0;
  if (isQueryList(a) && isQueryList(b)) {
    return a.length === b.length && a.every((element, at) => isSame(element, b[at] ?? null));
  }
  if (!isQueryObject(a) || !isQueryObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name] ?? null, b[name] ?? null))
  );
}

/**
 * Which of two numbers, or of two texts, comes first: below 0, 0, or above 0; undefined where they have no order.
 * Texts go by code points (JMESPath, "sort").
 */
export function order(a: QueryValue, b: QueryValue): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') {
    // The order of code points is the order of their bytes in UTF-8.
    return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
  }
  const [left, right] = [numberOf(a), numberOf(b)];
  return left === undefined || right === undefined ? undefined : compareNumbers(left, right);
}

/** A number as a double, as near as it comes; anything else as it is. */
export function plainValueOf(value: QueryValue): QueryValue {
  return typeof value === 'symbol' ? Number(value.description) : value;
}

/** Whether the value has members. */
export function isQueryObject(value: QueryValue | undefined): value is QueryObject {
  return typeof value === 'object' && value !== null && !isQueryList(value);
}

function numberOf(value: QueryValue): number | NumberToken | undefined {
  if (typeof value === 'symbol') return tokenOf(value);
  return typeof value === 'number' ? value : undefined;
}

function tokenOf(value: symbol): NumberToken {
  return new NumberToken(value.description ?? '0');
}
