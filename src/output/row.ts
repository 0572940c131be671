import { isObject, type JsonObject, type JsonValue, NumberToken } from '../json.ts';
import { jsonText } from './json-text.ts';
import type { Row, View } from './view.ts';

/** The row of a value: what its view says, else the members of its JSON. */
export function rowOf<T>(value: T, view: View<T>): Row {
  return view.row === undefined ? rowFrom(view.json(value)) : view.row(value);
}

/** The members of a JSON object; anything else is one column, `value`. */
export function rowFrom(value: JsonValue): Row {
  return new Map(isObject(value) ? Object.entries(value) : [['value', value]]);
}

/** The names of all the rows' columns, in the order first seen. */
export function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => [...row.keys()]))];
}

/** How a value that is no list is told from one that is: `objects` have names, `lists` have places, `scalars` neither. */
export type Shape =
  | { readonly kind: 'objects'; readonly rows: readonly JsonObject[] }
  | { readonly kind: 'lists'; readonly rows: readonly (readonly JsonValue[])[] }
  | { readonly kind: 'scalars'; readonly rows: readonly JsonValue[] };

/** What an array is a table of: objects alone, arrays alone, or anything else, one value a line. */
export function shapeOf(values: readonly JsonValue[]): Shape {
  if (values.every(isObject)) return { kind: 'objects', rows: values };
  if (values.every(isList)) return { kind: 'lists', rows: values };
  return { kind: 'scalars', rows: values };
}

/** Whether the value is an array. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** A value as text: a string as it is, null as nothing, anything else as JSON on one line. */
export function plainText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return value instanceof NumberToken ? value.digits : jsonText(value);
}
