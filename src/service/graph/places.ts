/** Sites and lists by their ids and names. Those named for the first time exist from then on, unless a schema has all lists. */
import { toStoredList } from '../items.ts';
import { Refusal } from '../message.ts';
import type { Key, Store } from '../store.ts';
import { type Columns, guidOf, type ListSchema } from './columns.ts';
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

/** Finds sites and lists in a store; `schema` declares the lists of every site. */
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
      if (path !== undefined) return siteAt(name, path.replace(/^\/+|\/+$/g, ''));
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
