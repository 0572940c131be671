/** Checks of what is read from files of listctl: states, plans and journals. */
import { headerValue } from './item.ts';

/** Whether a value is one of `T`. */
export type Check<T = unknown> = (value: unknown) => value is T;

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

/** Whether a value is a whole number, not below 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is a string that a header can carry. */
export function isHeaderValue(value: unknown): value is string {
  return isString(value) && headerValue(value) === value;
}

export function oneOf<const T>(...values: readonly T[]): Check<T> {
  return (value): value is T => values.includes(value as T);
}

export function orNull<T>(check: Check<T>): Check<T | null> {
  return (value): value is T | null => value === null || check(value);
}

export function maybe<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value);
}

/** Checks the members of an object, each with its check; others are accepted. */
export function shaped<T extends object>(members: { readonly [Name in keyof T]-?: Check<T[Name]> }): Check<T> {
  const checks = Object.entries<Check>(members);
  return (value): value is T => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    for (const [name, check] of checks) if (!check((value as Readonly<Record<string, unknown>>)[name])) return false;
    return true;
  };
}
