/**
 * Fields of an item in the form in which Microsoft Graph returns them, made into the form in which it takes them; and
 * when two values are the same. The forms differ by the type of the column (alcionai/corso#5108 has requests and
 * responses of each).
 */
import { type Fields, isSameField, ownField } from '../../core/item.ts';
import { isObject, type JsonValue, NumberToken, objectFrom } from '../../core/json.ts';
import type { Column } from '../service.ts';
import { columnOfField, isSystemField, shadowedBy } from './columns.ts';

export const typeSuffix = '@odata.type';

/**
 * The fields that can be written, by the names and with the values that are written, without annotations: what a person
 * edits, and a manifest has. An absent field stays absent; one without a column stays as it is.
 */
export function decodeFields(fields: Fields, columns: readonly Column[]): Fields {
  return objectFrom(Object.entries(fields).flatMap(([field, value]) => plainField(field, value, fields, columns)));
}

/**
 * The fields that `decodeFields` left out though the service does not set them itself: hyperlinks, managed metadata,
 * images, locations, and lookups that were read without their ids.
 */
export function omittedFields(fields: Fields, written: Fields, columns: readonly Column[]): readonly string[] {
  return Object.keys(fields).filter((field) => {
    const column = columnOfField(field, columns);
    if (column === undefined || column.isReadOnly || isHiddenNote(column)) return false;
    const isWritten = shadowedBy(column, columns) === undefined && Object.hasOwn(written, column.field);
    return (fields[field] ?? '') !== '' && !isWritten;
  });
}

/** The values of fields that a write names, as they can be written back; null for one that is absent. */
export function earlierValues(fields: Fields, names: readonly string[], columns: readonly Column[]): Fields {
  const read = pickNamed(fields, names, columns);
  const own = names.filter((name) => !name.includes('@'));
  return annotated(objectFrom(own.map((name) => [name, ownField(read, name) ?? null])), columns);
}

/**
 * The fields with these names, as a write has them: also those that `decodeFields` leaves out because only a user knows
 * their form, such as of an unknown type, as they were read.
 */
export function pickNamed(fields: Fields, names: Iterable<string>, columns: readonly Column[]): Fields {
  const plain = decodeFields(fields, columns);
  const members = [...names].map((name) => {
    const column = columnOfField(name, columns);
    const isTyped = column !== undefined && !column.isReadOnly && !column.isReference;
    return [name, ownField(plain, name) ?? (isTyped ? ownField(fields, name) : undefined)] as const;
  });
  return objectFrom(members.filter((member): member is readonly [string, JsonValue] => member[1] !== undefined));
}

/** Compares fields that were read with those that were sent: the service may have changed them in known ways. */
export function mayBeSent(read: Fields, sent: Fields, columns: readonly Column[]): boolean {
  const names = Object.keys(sent).filter((name) => !name.includes('@'));
  const found = pickNamed(read, names, columns);
  return names.every((name) => {
    const column = columnOfField(name, columns);
    return column !== undefined && mayBecome(column, ownField(found, name) ?? null, noEmptyText(ownField(sent, name)));
  });
}

/** The most by which the zone of a site moves a time that is sent without one. */
const zoneSecondsMax = 14 * 3600;

/** SharePoint may read a date in the zone of the site, trim a text, make it HTML, and fill in a default. */
function mayBecome(column: Column, read: JsonValue, sent: JsonValue): boolean {
  if (sent === null && column.hasDefault) return true;
  if (typeof read !== 'string' || typeof sent !== 'string') return sameValue(column, read, sent);
  if (column.type === 'text') return read.startsWith('<') || normalText(read) === normalText(sent);
  if (column.type !== 'dateTime' || hasZone(sent)) return sameValue(column, read, sent);
  return Math.abs((secondsOf(read) ?? 0) - (secondsOf(sent) ?? 0)) <= zoneSecondsMax;
}

function noEmptyText(value: JsonValue | undefined): JsonValue {
  return value === undefined || value === '' ? null : value;
}

function normalText(text: string): string {
  return text.replace(/\r\n?/g, '\n').trim();
}

/** Adds the annotations without which arrays are refused; an empty one clears a field of several ids. */
export function annotated(fields: Fields, columns: readonly Column[]): Fields {
  const members = Object.entries(fields).flatMap(([field, given]) => {
    const column = columnOfField(field, columns);
    const isId = column?.isReference === true;
    const value = given === null && isId && column.isMultiple ? [] : given;
    // The annotation of an unknown type is unknown.
    if (column === undefined || column.type === 'unknown' || !Array.isArray(value)) return [[field, given] as const];
    return [[field + typeSuffix, collectionType(column)] as const, [field, value] as const];
  });
  return objectFrom(members);
}

/** The annotation of several values of a column. */
export function collectionType(column: Column): string {
  return column.isReference ? 'Collection(Edm.Int32)' : 'Collection(Edm.String)';
}

/** One that holds managed metadata; a hidden key is indexed. */
function isHiddenNote({ isHidden, isIndexed }: Column): boolean {
  return isHidden && !isIndexed;
}

function plainField(
  field: string,
  value: JsonValue,
  fields: Fields,
  columns: readonly Column[],
): readonly (readonly [field: string, value: JsonValue])[] {
  const column = columnOfField(field, columns);
  if (column === undefined) return isSystemField(field) || field.includes('@') ? [] : [[field, value]];
  if (!column.isWrittenBack) return [];
  if (!column.isReference) return [[field, value]];
  const written = column.field;
  // Another column has the name by which it would be written, or its text is there too.
  const isTaken = shadowedBy(column, columns) !== undefined || (field !== written && Object.hasOwn(fields, written));
  const ids = isTaken ? undefined : idsOf(value);
  return ids === undefined ? [] : [[written, ids]];
}

/** The ids of a lookup or person; undefined for one without, such as its text. */
function idsOf(value: JsonValue): JsonValue | undefined {
  if (value === null) return null;
  if (!Array.isArray(value)) return idOf(value);
  const ids = value.map(idOf).filter((id) => id !== undefined);
  return ids.length === value.length ? ids : undefined;
}

/** The id in `10`, `"10"` or `{"LookupId": 10, "LookupValue": …}`. */
function idOf(value: JsonValue): number | undefined {
  const id = isObject(value) ? value['LookupId'] : value;
  const digits = id instanceof NumberToken ? id.digits : String(id);
  return typeof id !== 'boolean' && /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}

/**
 * Compares two values of a column, each in the form in which it is read or written; an absent one equals null.
 * Dates are compared as instants by the second, numbers as doubles, lookups by id, and several values as sets.
 */
export function sameValue(column: Column, one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return isSameField(normalForm(column, one), normalForm(column, other));
}

function normalForm(column: Column, value: JsonValue | undefined): JsonValue {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) return scalarForm(column, value);
  if (value.length === 0) return null;
  const elements = value.map((element: JsonValue) => JSON.stringify(scalarForm(column, element)));
  return [...new Set(elements)].sort();
}

function scalarForm(column: Column, value: JsonValue): JsonValue {
  if (column.isReference) return idOf(value) ?? value;
  if (column.type === 'dateTime' && typeof value === 'string') return secondsOf(value) ?? value;
  return value instanceof NumberToken ? Number(value.digits) : value;
}

/** Seconds since 1970; a time without a zone is taken for UTC. */
function secondsOf(text: string): number | undefined {
  const ms = Date.parse(!text.includes('T') || hasZone(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

function hasZone(text: string): boolean {
  return /T.*(Z|[+-]\d\d:?\d\d)$/i.test(text);
}
