/**
 * Sites, lists, columns and items: found by their ids and names, and in the form of Microsoft Graph (learn.microsoft.com,
 * resource types site, list, listItem).
 */
import { type Fields, ownField } from '../../core/item.ts';
import { type JsonObject, type JsonValue, objectFrom } from '../../core/json.ts';
import { fieldsOf, type StoredItem, toStoredList } from '../items.ts';
import { Refusal } from '../message.ts';
import type { Key, Store } from '../store.ts';
import {
  type Column,
  type Columns,
  columnOf,
  formatInstant,
  guidOf,
  type ListSchema,
  lookupText,
  systemColumns,
} from './columns.ts';
import { invalidRequest } from './errors.ts';

export interface Site {
  /** `<host>,<guid>,<guid>` */
  readonly id: string;
  readonly host: string;
  /** Without slashes at its ends; empty for the root site of a host. */
  readonly path: string;
}

export interface List {
  readonly site: Site;
  readonly id: string;
  readonly title: string;
  /** Undefined if any field may have any value. */
  readonly columns: Columns | undefined;
  /** Its items, if it is only read. */
  readonly fixed?: ListSchema['fixed'];
  /** Its name in the store. */
  readonly stored: string;
}

/** The host of `/sites/root`. */
const rootHost = 'contoso.sharepoint.com';

const guid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const siteId = /^[^,]+,[\da-f-]{36},[\da-f-]{36}$/i;
const hostName = /^[a-z\d-]+(\.[a-z\d-]+)+$/i;

/**
 * Finds sites and lists in a store. Those named for the first time exist from then on, unless `schema` declares the lists
 * of every site.
 */
export function placesIn(store: Store, schema: readonly ListSchema[] | undefined) {
  /** Keeps the name of an id. */
  const remember = async (key: Key, name: string): Promise<void> => {
    if (store.get(key) === undefined) await store.write((transaction) => transaction.put(key, name));
  };

  const siteAt = async (host: string, path: string): Promise<Site> => {
    const place = `${host}/${path}`.toLowerCase();
    const id = `${host.toLowerCase()},${guidOf(`site ${place}`)},${guidOf(`web ${place}`)}`;
    await remember(['graph-site', id], `${host}/${path}`);
    return { id, host, path };
  };

  const listOf = (site: Site, known: Pick<List, 'title' | 'columns' | 'fixed'>): List => {
    const id = listId(site, known.title);
    return { ...known, site, id, stored: toStoredList({ site: site.id, list: id }) };
  };

  /** The titles of the lists that exist without a schema. */
  const namedLists = (site: Site) =>
    store.entries(['graph-list', site.id], ['graph-list', `${site.id}~`], Number.MAX_SAFE_INTEGER);

  return {
    /** @param name `root`, the name of a host, or an id; or, with a path, a host */
    site: async (name: string, path: string | undefined): Promise<Site> => {
      if (path !== undefined) return siteAt(name, path.replace(/^\/+|(?<!\/)\/+$/g, ''));
      if (name === 'root') return siteAt(rootHost, '');
      if (hostName.test(name)) return siteAt(name, '');
      if (!siteId.test(name)) {
        throw invalidRequest('Provided identifier is malformed - site collection id is not valid');
      }
      const place = store.get(['graph-site', name.toLowerCase()]);
      if (place === undefined) throw new Refusal(404, 'Requested site could not be found');
      const [host = '', ...rest] = place.split('/');
      return { id: name.toLowerCase(), host, path: rest.join('/') };
    },

    lists: (site: Site): readonly List[] =>
      schema?.filter(({ fixed }) => fixed === undefined).map((list) => listOf(site, list)) ??
      namedLists(site).map(([, title]) => listOf(site, { title, columns: undefined })),

    /** @param name id or title */
    list: async (site: Site, name: string): Promise<List> => {
      const isId = guid.test(name);
      const id = isId ? name.toLowerCase() : listId(site, name);
      const declared = schema?.find(({ title }) => listId(site, title) === id);
      if (declared !== undefined) return listOf(site, declared);
      const title = isId ? store.get(['graph-list', site.id, id]) : name;
      if (schema !== undefined || title === undefined) throw new Refusal(404, 'The specified list was not found');
      await remember(['graph-list', site.id, id], title);
      return listOf(site, { title, columns: undefined });
    },
  };
}

export type Places = ReturnType<typeof placesIn>;

/** Titles differ by more than case. */
function listId(site: Site, title: string): string {
  return guidOf(JSON.stringify([site.id, title.toLowerCase()]));
}

/** When sites and lists were created; items have times of their own. */
const longAgo = '2026-01-01T00:00:00Z';

/** The application that has the token. */
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

interface FieldsOptions {
  readonly select?: ReadonlySet<string> | undefined;
  /** Items are read together. */
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

/** Makes a test of names: of a collection, lookups after the twelfth are missing (msgraph-sdk-powershell#2711). */
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
