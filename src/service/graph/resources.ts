/** Sites, lists, columns and items in the form of Microsoft Graph (learn.microsoft.com, resource types site, list, listItem). */
import { type Fields, ownField } from '../../core/item.ts';
import { type JsonObject, type JsonValue, objectFrom } from '../../core/json.ts';
import { fieldsOf, type StoredItem } from '../items.ts';
import { type Column, columnOf, formatInstant, guidOf, lookupText, systemColumns } from './columns.ts';
import type { List, Site } from './places.ts';

/** When sites and lists were created; items have times of their own. */
const longAgo = '2026-01-01T00:00:00Z';

/** Whoever has the token. */
const author = { application: { id: guidOf('application'), displayName: 'listctl serve' } };
const authorId = '6';

/** Lookup columns of a query (fieldValueSet). */
const lookupMax = 12;

export function siteResource({ id, host, path }: Site): JsonObject {
  const name = path.split('/').at(-1) ?? '';
  return {
    createdDateTime: longAgo,
    description: '',
    id,
    lastModifiedDateTime: longAgo,
    name,
    webUrl: `https://${host}${path === '' ? '' : `/${encodePath(path)}`}`,
    displayName: name === '' ? host : name,
    root: {},
    siteCollection: { hostname: host },
  };
}

export function listResource({ site, id, title }: List): JsonObject {
  const eTag = `"${id},0"`;
  return {
    '@odata.etag': eTag,
    createdDateTime: longAgo,
    description: '',
    eTag,
    id,
    lastModifiedDateTime: longAgo,
    name: title,
    webUrl: webUrlOf(site, title),
    displayName: title,
    createdBy: author,
    parentReference: { siteId: site.id },
    list: { contentTypesEnabled: false, hidden: false, template: 'genericList' },
  };
}

/** Only those of the system, if any field may have any value. */
export function columnResources({ columns }: List): readonly JsonObject[] {
  return [...(columns?.values() ?? []), ...systemColumns.values()].map(({ definition }) => definition);
}

export function itemResource(list: List, id: string, item: StoredItem): JsonObject {
  const { site, title } = list;
  const eTag = tagOf(list, id, item);
  const [created, modified] = timesOf(item);
  return {
    '@odata.etag': eTag,
    createdDateTime: created,
    eTag,
    id,
    lastModifiedDateTime: modified,
    webUrl: `${webUrlOf(site, title)}/${id}_.000`,
    createdBy: author,
    lastModifiedBy: author,
    parentReference: { id: list.id, siteId: site.id },
    contentType: { id: '0x0100', name: 'Item' },
  };
}

/** An item in a list of changes that does not exist any more. */
export function deletedResource({ site }: List, id: string): JsonObject {
  return {
    id,
    parentReference: { siteId: site.id },
    contentType: { id: '0x0100', name: 'Item' },
    deleted: { state: 'deleted' },
  };
}

/** A strong tag, which differs after each update, and in a new store with the same ids. */
export function tagOf(list: List, id: string, { version, times }: StoredItem): string {
  return `"${guidOf(JSON.stringify([list.stored, id, times?.[0]]))},${version}"`;
}

export interface FieldsOptions {
  readonly select?: ReadonlySet<string> | undefined;
  /** Whether items are read together. */
  readonly inCollection?: boolean;
}

/** The fieldValueSet of an item. */
export function fieldsResource(list: List, id: string, item: StoredItem, options: FieldsOptions = {}): JsonObject {
  const own = fieldsOf(item);
  const all: readonly (readonly [string, JsonValue])[] = [
    ...Object.entries(own),
    ...Object.entries(systemFields(own, id, item)),
  ];
  const tag = ['@odata.etag', tagOf(list, id, item)] as const;
  const { select } = options;
  if (select === undefined) return objectFrom([tag, ...all]);
  const isSelected = selection(list, select, options.inCollection === true);
  const texts = [...(list.columns?.values() ?? [])].filter(({ type, name }) => type === 'lookup' && select.has(name));
  const members = [...all, ...texts.flatMap((column) => textMember(own, column))];
  return objectFrom([tag, ...members.filter(([name]) => isSelected(name))]);
}

function textMember(own: Fields, column: Column): readonly (readonly [string, JsonValue])[] {
  const text = lookupText(own, column);
  return text === undefined ? [] : [[column.name, text]];
}

/** Whether a field is selected; of a collection, lookups after the twelfth are missing (msgraph-sdk-powershell#2711). */
function selection(list: List, select: ReadonlySet<string>, inCollection: boolean): (name: string) => boolean {
  const isLookup = (name: string) => /^(lookups?)$/.test(columnOf(name, list.columns)?.type ?? '');
  const lookups = inCollection ? [...select].filter(isLookup).slice(lookupMax) : [];
  const dropped = new Set(lookups);
  return (name) => (select.has(name) || (name === 'id' && select.has('ID'))) && !dropped.has(name);
}

function systemFields(own: Fields, id: string, item: StoredItem): JsonObject {
  const [created, modified] = timesOf(item);
  const title = ownField(own, 'Title');
  return {
    id,
    ContentType: 'Item',
    Modified: modified,
    Created: created,
    AuthorLookupId: authorId,
    EditorLookupId: authorId,
    _UIVersionString: `${item.version}.0`,
    Attachments: false,
    Edit: '',
    ...(title === undefined ? {} : { LinkTitleNoMenu: title, LinkTitle: title }),
    ItemChildCount: '0',
    FolderChildCount: '0',
    _ComplianceFlags: '',
    _ComplianceTag: '',
    _ComplianceTagWrittenTime: '',
    _ComplianceTagUserId: '',
    AppAuthorLookupId: authorId,
    AppEditorLookupId: authorId,
  };
}

/** The value of a field in a filter. */
export function filteredValue(id: string, item: StoredItem, field: string): JsonValue | undefined {
  if (field === 'id' || field === 'ID') return Number(id);
  const own = fieldsOf(item);
  return ownField(own, field) ?? ownField(systemFields(own, id, item), field);
}

/** Items of the ordinary service have no times. */
function timesOf({ times: [created, modified] = [0, 0] }: StoredItem): readonly [string, string] {
  return [formatInstant(created), formatInstant(modified)];
}

function webUrlOf({ host, path }: Site, title: string): string {
  return `https://${host}/${encodePath([path, 'Lists', title].filter((part) => part !== '').join('/'))}`;
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Keeps the members of a resource that `$select` names, and its annotations. */
export function selected(resource: JsonObject, select: ReadonlySet<string> | undefined): JsonObject {
  if (select === undefined) return resource;
  return objectFrom(Object.entries(resource).filter(([name]) => name.startsWith('@') || select.has(name)));
}
