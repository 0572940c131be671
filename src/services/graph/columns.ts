/** The columns of a list (learn.microsoft.com, resource type columnDefinition). */

import type { Client } from '../../api/client.ts';
import { listName } from '../../api/failures.ts';
import type { ListRef } from '../../core/item.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { nearestName, quoted } from '../../core/text.ts';
import type { Column } from '../service.ts';
import { listPath } from './items.ts';
import { pagesOf } from './pages.ts';

/** The names of facets. */
const writableTypes = [
  'text',
  'number',
  'currency',
  'boolean',
  'dateTime',
  'choice',
  'lookup',
  'personOrGroup',
] as const;

const otherTypes = [
  'calculated',
  'hyperlinkOrPicture',
  'term',
  'thumbnail',
  'geolocation',
  'contentApprovalStatus',
  'unknown',
] as const;

/** By the path of the list. */
const known = new WeakMap<Client, Map<string, Promise<readonly Column[]>>>();

/**
 * Reads the columns of a list, once for a client.
 *
 * @throws {Failure} as `Client.send`
 */
export function readColumns(list: ListRef, client: Client): Promise<readonly Column[]> {
  const lists = known.get(client) ?? new Map<string, Promise<readonly Column[]>>();
  known.set(client, lists);
  const path = `${listPath(list)}/columns`;
  const columns = lists.get(path) ?? readAll(path, listName(list), client);
  lists.set(path, columns);
  return columns;
}

async function readAll(path: string, place: string, client: Client): Promise<readonly Column[]> {
  const options = { parse: toColumn, purpose: { task: `read the columns of ${place}`, target: place } };
  const columns: Column[] = [];
  for await (const page of pagesOf(path, options, client)) columns.push(...page);
  return columns;
}

function toColumn(definition: JsonObject): Column {
  const { name, displayName } = definition;
  if (typeof name !== 'string' || name === '') throw new SyntaxError('a column has no "name"');
  const is = (member: string) => definition[member] === true;
  const type = [...writableTypes, ...otherTypes].find((each) => isObject(definition[each])) ?? 'unknown';
  const facet = definition[type];
  const { displayAs, allowMultipleValues, allowMultipleSelection, primaryLookupColumnId } = isObject(facet)
    ? facet
    : {};
  // A secondary lookup shows another column of the item that its primary one refers to (resource type lookupColumn).
  const isReadOnly = is('readOnly') || isSystemField(name) || (primaryLookupColumnId ?? '') !== '';
  const isWritable = !isReadOnly && writableTypes.some((each) => each === type);
  const isIndexed = is('indexed') || is('enforceUniqueValues');
  const isReference = type === 'lookup' || type === 'personOrGroup';
  return {
    name,
    field: isReference ? `${name}LookupId` : name,
    displayName: typeof displayName === 'string' ? displayName : name,
    type,
    isReference,
    isMultiple: displayAs === 'checkBoxes' || allowMultipleValues === true || allowMultipleSelection === true,
    isRequired: is('required'),
    isUnique: is('enforceUniqueValues'),
    isIndexed,
    isReadOnly,
    isWritable,
    // A hidden one that is not indexed holds managed metadata; a hidden key is indexed.
    isWrittenBack: isWritable && !(is('hidden') && !isIndexed),
    isHidden: is('hidden'),
    hasDefault: isObject(definition['defaultValue']),
    choices: choicesOf(facet),
  };
}

function choicesOf(facet: JsonValue | undefined): readonly string[] | undefined {
  const { choices, allowTextEntry } = isObject(facet) ? facet : {};
  return Array.isArray(choices) && allowTextEntry !== true ? choices.map(String) : undefined;
}

/** Fields that only the service sets, whatever `readOnly` of their columns says; `*` is for the rest of a name. */
export const systemFields: readonly string[] = [
  ...['id', 'ContentType', 'Created', 'Modified', 'AuthorLookupId', 'EditorLookupId', 'LinkTitle', 'LinkTitleNoMenu'],
  ...['Edit', 'Attachments', 'ItemChildCount', 'FolderChildCount', 'AppAuthorLookupId', 'AppEditorLookupId'],
  ...['TaxCatchAll', 'TaxCatchAllLabel'],
  ...['_*', '@*'],
];

export function isSystemField(name: string): boolean {
  return /^[_@]/.test(name) || systemFields.includes(name);
}

/** The columns of a list by the fields that belong to them. */
const byField = new WeakMap<readonly Column[], ReadonlyMap<string, Column>>();

/** The column that a field belongs to: `Owner` for `Owner` and `OwnerLookupId`, unless a column has that very name. */
export function columnOfField(field: string, columns: readonly Column[]): Column | undefined {
  let index = byField.get(columns);
  if (index === undefined) {
    const named = (name: (column: Column) => string) => columns.map((column) => [name(column), column] as const);
    index = new Map([...named(({ field: own }) => own), ...named(({ name }) => name)]);
    byField.set(columns, index);
  }
  return index.get(field);
}

/** The column that has the very name by which another one would be written (microsoft-graph-docs#19901); or undefined. */
export function shadowedBy(column: Column, columns: readonly Column[]): Column | undefined {
  const other = columnOfField(column.field, columns);
  return other === column ? undefined : other;
}

/** The advice about a name that no column has, or no column that fits. */
export function columnHint(typed: string, columns: readonly Column[]): string {
  const displayed = columns.find(({ displayName }) => displayName === typed)?.name;
  const names = columns.map(({ name }) => name);
  const meant = displayed ?? nearestName(typed, names);
  return meant === undefined || meant === typed
    ? 'list the columns with: listctl columns list'
    : `did you mean ${quoted(meant)}?`;
}

/** Quotes a string for OData. */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The most lookup columns of a query: Graph leaves out those after them (resource type fieldValueSet). */
export const lookupsMax = 12;
