/** The columns of a list: their definitions, and their values as they are written, stored and read. */
import { Failure } from '../../core/errors.ts';
import { type Fields, ownField } from '../../core/item.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom } from '../../core/json.ts';
import { nearestName } from '../../core/text.ts';
import { digestOf } from '../items.ts';
import { generalException, invalidRequest } from './errors.ts';

/** `other` is what Graph cannot write: hyperlinks, managed metadata, images, locations, and unknown facets. */
type ColumnType = 'text' | 'number' | 'boolean' | 'dateTime' | 'choice' | 'choices' | 'lookup' | 'lookups' | 'other';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** As `/columns` shows it. */
  readonly definition: JsonObject;
  readonly isReadOnly: boolean;
  /** A unique column is indexed as well. */
  readonly isIndexed: boolean;
  readonly isUnique: boolean;
  /** The mail addresses of the persons that it may refer to, by id. */
  readonly mails: Mails;
}

type Mails = ReadonlyMap<number, string>;

/** By name, without those of the system. */
export type Columns = ReadonlyMap<string, Column>;

export interface ListSchema {
  readonly title: string;
  readonly columns: Columns;
  /** The fields of the items of a list that is only read, by their ids. */
  readonly fixed?: ReadonlyMap<number, Fields>;
}

/**
 * Reads `{"lists": [{"title", "columns": [columnDefinition, …]}], "users": [{"id", "EMail", …}]}`. Each list has `Title`
 * as well; the users are those of the hidden list of persons that each site has.
 *
 * @throws {Failure} usage
 */
export function parseSchema(schema: JsonValue): readonly ListSchema[] {
  const lists = isObject(schema) ? schema['lists'] : undefined;
  if (!Array.isArray(lists)) throw invalidSchema('expected {"lists": […]}');
  const users = usersOf(isObject(schema) ? schema['users'] : undefined);
  const mails = new Map([...(users.fixed ?? [])].map(([id, { EMail }]) => [id, String(EMail ?? '')]));
  const parsed = lists.map((list: JsonValue, at) => {
    const { title, columns = [] } = isObject(list) ? list : {};
    if (typeof title !== 'string' || title === '') throw invalidSchema(`list ${at + 1} has no title`);
    if (!Array.isArray(columns)) throw invalidSchema(`the columns of "${title}" are not an array`);
    return { title, columns: columnsFrom(columns, title, mails) };
  });
  const titles = parsed.map(({ title }) => title.toLowerCase());
  const twice = titles.find((title, at) => titles.indexOf(title) !== at);
  if (twice !== undefined) throw invalidSchema(`more than one list "${twice}"`);
  return [...parsed, users];
}

function usersOf(users: JsonValue = []): ListSchema {
  if (!Array.isArray(users)) throw invalidSchema('"users" is not an array');
  const fixed = users.map((user: JsonValue, at) => {
    const { id, ...fields } = isObject(user) ? user : {};
    if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw invalidSchema(`user ${at + 1} has no id`);
    return [id, fields] as const;
  });
  return {
    title: 'User Information List',
    columns: columnsFrom([{ name: 'EMail', text: {}, readOnly: true }], 'User Information List'),
    fixed: new Map(fixed.sort(([one], [other]) => one - other)),
  };
}

function columnsFrom(definitions: readonly JsonValue[], title: string, mails?: Mails): Columns {
  const columns = new Map<string, Column>();
  for (const [at, definition] of definitions.entries()) {
    const column = isObject(definition) ? columnFrom(definition, mails) : undefined;
    if (column === undefined) throw invalidSchema(`column ${at + 1} of "${title}" has no name`);
    const problem = isObject(definition) ? problemOf(definition) : undefined;
    if (problem !== undefined) throw invalidSchema(`column "${column.name}" of "${title}" ${problem}`);
    const isTaken = columns.has(column.name) || isSystemName(column.name);
    if (isTaken) throw invalidSchema(`"${title}" already has a column "${column.name}"`);
    columns.set(column.name, column);
  }
  return columns.has('Title') ? columns : new Map([['Title', titleColumn], ...columns]);
}

/** The types of a column, and its other members (learn.microsoft.com, resource type columnDefinition). */
const facets: readonly string[] = [
  ...['boolean', 'calculated', 'choice', 'contentApprovalStatus', 'currency', 'dateTime', 'geolocation'],
  ...['hyperlinkOrPicture', 'lookup', 'number', 'personOrGroup', 'term', 'text', 'thumbnail'],
];
const otherMembers: readonly string[] = [
  ...['columnGroup', 'defaultValue', 'description', 'displayName', 'enforceUniqueValues', 'hidden', 'id', 'indexed'],
  ...['isDeletable', 'isReorderable', 'isSealed', 'name', 'propagateChanges', 'readOnly', 'required', 'sourceColumn'],
  ...['sourceContentType', 'type', 'validation'],
];

/** The problem with a definition, if there is one. Annotations are left alone. */
function problemOf(definition: JsonObject): string | undefined {
  const isFacet = (name: string) => facets.includes(name);
  if (/\s/.test(String(definition['name']))) return 'has a blank in its name: write _x0020_, and a "displayName"';
  for (const [name, value] of Object.entries(definition)) {
    if (isFacet(name) && !isObject(value)) return `needs an object as "${name}", such as {}`;
    if (isFacet(name) || otherMembers.includes(name) || name.includes('@')) continue;
    const nearest = nearestName(name, [...facets, ...otherMembers]);
    return `has the unknown member "${name}"${nearest === undefined ? '' : ` (did you mean "${nearest}"?)`}`;
  }
  const { type: named, choice } = definition;
  if (typeof named === 'string' && !Object.keys(definition).some(isFacet)) return `needs its type as "${named}": {}`;
  return isObject(choice) && !Array.isArray(choice['choices']) ? 'needs "choices", an array' : undefined;
}

function invalidSchema(reason: string): Failure {
  return new Failure('usage', `invalid --schema: ${reason}`);
}

function columnFrom(given: JsonObject, mails: Mails = new Map()): Column | undefined {
  const { name } = given;
  if (typeof name !== 'string' || name === '') return undefined;
  const definition: JsonObject = {
    columnGroup: 'Custom Columns',
    description: '',
    displayName: name,
    enforceUniqueValues: false,
    hidden: false,
    id: guidOf(name),
    indexed: false,
    readOnly: false,
    required: false,
    ...given,
  };
  const isUnique = definition['enforceUniqueValues'] === true;
  return {
    name,
    type: typeOf(definition),
    definition,
    isReadOnly: definition['readOnly'] === true,
    isIndexed: isUnique || definition['indexed'] === true,
    isUnique,
    mails,
  };
}

const simpleTypes = ['text', 'number', 'boolean', 'dateTime'] as const;

/** The type by the facet of a columnDefinition. */
function typeOf(definition: JsonObject): ColumnType {
  const facet = (name: string) => (isObject(definition[name]) ? definition[name] : undefined);
  if (facet('currency') !== undefined) return 'number';
  const choice = facet('choice');
  if (choice !== undefined) return choice['displayAs'] === 'checkBoxes' ? 'choices' : 'choice';
  const reference = facet('lookup') ?? facet('personOrGroup');
  if (reference === undefined) return simpleTypes.find((name) => facet(name) !== undefined) ?? 'other';
  const isMultiple = reference['allowMultipleValues'] === true || reference['allowMultipleSelection'] === true;
  return isMultiple ? 'lookups' : 'lookup';
}

const titleColumn = columnFrom({ name: 'Title', required: true, text: { maxLength: 255 } }) as Column;

/** Name, display name and facet of the columns that each list has. */
const systemRows = [
  ['ID', 'ID', 'number'],
  ['ContentType', 'Content Type', 'text'],
  ['Modified', 'Modified', 'dateTime'],
  ['Created', 'Created', 'dateTime'],
  ['Author', 'Created By', 'personOrGroup'],
  ['Editor', 'Modified By', 'personOrGroup'],
  ['_UIVersionString', 'Version', 'text'],
  ['Attachments', 'Attachments', undefined],
  ['Edit', 'Edit', undefined],
  ['LinkTitleNoMenu', 'Title', undefined],
  ['LinkTitle', 'Title', undefined],
  ['ItemChildCount', 'Item Child Count', 'lookup'],
  ['FolderChildCount', 'Folder Child Count', 'lookup'],
  ['AppAuthor', 'App Created By', 'lookup'],
  ['AppEditor', 'App Modified By', 'lookup'],
] as const;

/** Only the API refuses to write them. */
const saysWritable: readonly string[] = ['ContentType', 'Attachments'];

export const systemColumns: Columns = new Map(
  systemRows.map(([name, displayName, facet]) => {
    const isHidden = /Count$|^App/.test(name);
    const column = columnFrom({
      name,
      displayName,
      columnGroup: isHidden ? '_Hidden' : 'Base Columns',
      hidden: isHidden,
      indexed: name === 'ID',
      readOnly: !saysWritable.includes(name),
      ...(facet === undefined ? {} : { [facet]: {} }),
    });
    return [name, { ...(column as Column), isReadOnly: true }];
  }),
);

function isSystemName(name: string): boolean {
  return name === 'id' || name.startsWith('_') || systemColumns.has(name);
}

const lookupId = 'LookupId';
const type = '@odata.type';

/**
 * Translates the fields of a request to what is stored, the form in which they are read; null clears one.
 *
 * @param columns undefined if any field may have any value
 * @throws {GraphRefusal} 400 for names, 500 for values of the wrong shape
 */
export function toStoredForm(fields: Fields, columns: Columns | undefined): Fields {
  const values = Object.entries(fields).filter(([name]) => !name.endsWith(type));
  return objectFrom(values.map(([name, value]) => toStoredField(name, value, ownField(fields, name + type), columns)));
}

function toStoredField(
  name: string,
  value: JsonValue,
  annotation: JsonValue | undefined,
  columns: Columns | undefined,
): readonly [string, JsonValue] {
  const base = name.endsWith(lookupId) ? name.slice(0, -lookupId.length) : name;
  if (name.startsWith('@') || isSystemName(name) || isSystemName(base)) throw readOnly(name);
  if (columns === undefined) return [name, value];
  const own = columns.get(name);
  const column = own ?? columns.get(base);
  const isReference = column?.type === 'lookup' || column?.type === 'lookups';
  if (column === undefined || (own === undefined && !isReference))
    throw invalidRequest(`Field '${name}' is not recognized`);
  if (column.isReadOnly) throw readOnly(name);
  // A lookup is written by id.
  if (isReference && own !== undefined) throw generalException();
  const storedName = column.type === 'lookups' ? base : name;
  if (value === null) return [storedName, null];
  const stored = toStoredValue(value, annotation, column);
  if (stored === undefined) throw generalException();
  return [storedName, stored];
}

function readOnly(name: string) {
  return invalidRequest(`Field '${name}' is read-only`);
}

/** A value as it is read; undefined for one of the wrong shape. */
function toStoredValue(value: JsonValue, annotation: JsonValue | undefined, column: Column): JsonValue | undefined {
  switch (column.type) {
    case 'text':
    case 'choice':
      return typeof value === 'string' ? value : undefined;
    case 'number':
      return toDouble(value);
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'dateTime':
      return typeof value === 'string' ? toInstant(value) : undefined;
    case 'choices':
      return annotation === 'Collection(Edm.String)' && isArrayOf('string', value) ? value : undefined;
    case 'lookup':
      return isId(value) ? String(value) : undefined;
    case 'lookups':
      return annotation === 'Collection(Edm.Int32)' && isArrayOf('number', value)
        ? value.map((id) => reference(Number(id), column))
        : undefined;
    case 'other':
      return undefined;
  }
}

/** SharePoint keeps doubles. */
function toDouble(value: JsonValue): number | undefined {
  const number = value instanceof NumberToken ? Number(value.digits) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Date, and perhaps time and zone. */
const dateForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,7})?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/;

/** The instant of a date in UTC, by the second; what has no zone is taken for UTC. */
export function toInstant(text: string): string | undefined {
  const match = dateForm.exec(text);
  if (match === null) return undefined;
  const instant = new Date(text.includes('T') && match.groups?.['zone'] === undefined ? `${text}Z` : text);
  return Number.isNaN(instant.getTime()) ? undefined : formatInstant(instant.getTime());
}

/** Formats milliseconds since 1970. */
export function formatInstant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

function isId(value: JsonValue): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

function isArrayOf(kind: 'string' | 'number', value: JsonValue): value is readonly JsonValue[] {
  return (
    Array.isArray(value) && value.every((element) => (kind === 'number' ? isId(element) : typeof element === kind))
  );
}

/** A lookup or person as it is read; its item need not exist. */
function reference(id: number, { definition, mails }: Column): JsonObject {
  const isPerson = definition['personOrGroup'] !== undefined;
  const value = { LookupId: id, LookupValue: referenceText(id, isPerson) };
  return isPerson ? { ...value, Email: mails.get(id) || `user${id}@contoso.com` } : value;
}

function referenceText(id: number, isPerson: boolean): string {
  return `${isPerson ? 'User' : 'Item'} ${id}`;
}

/** The text of a single lookup or person, which is read only if it is selected. */
export function lookupText(fields: Fields, { name, definition }: Column): JsonValue | undefined {
  const id = ownField(fields, name + lookupId);
  return id === undefined ? undefined : referenceText(Number(id), definition['personOrGroup'] !== undefined);
}

/** The column that a field of an item belongs to: `Owner` for `OwnerLookupId`. */
export function columnOf(field: string, columns: Columns | undefined): Column | undefined {
  const find = (name: string) => columns?.get(name) ?? systemColumns.get(name);
  const column = find(field === 'id' ? 'ID' : field);
  if (column !== undefined || !field.endsWith(lookupId)) return column;
  const referring = find(field.slice(0, -lookupId.length));
  return referring?.type === 'lookup' ? referring : undefined;
}

/** A UUID that depends only on the text. */
export function guidOf(text: string): string {
  const hex = Buffer.from(digestOf(text), 'base64url').toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}
