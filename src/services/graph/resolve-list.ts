/** Sites and lists of Microsoft Graph: their addresses in the browser, their names and their ids. */

import type { Client } from '../../api/client.ts';
import type { Operation } from '../../api/operation.ts';
import { parseResponseJson } from '../../api/response.ts';
import type { ApiRequest } from '../../api/transport.ts';
import { Failure } from '../../core/errors.ts';
import { attempt } from '../../core/files.ts';
import { isWebAddress, type ListRef } from '../../core/item.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import type { NamedList } from '../service.ts';
import { graphErrors, listPath, sitePath, toRequest } from './items.ts';
import { pagesOf } from './pages.ts';

/** Reads a list, or the site of an address in the browser: proof that it exists and that the token may read it. */
export function listRequest(list: ListRef): ApiRequest {
  const path = isWebAddress(list.list) ? siteOnly(parseListAddress(list.list).site) : listPath(list);
  return toRequest('GET', `${path}?$select=id`);
}

/** Without the colon that ends `host:/path` before more of a path. */
function siteOnly(site: string): string {
  return sitePath(site).replace(/:$/, '');
}

/**
 * Parses the address of a list as the browser shows it, view and query string included:
 * `https://contoso.sharepoint.com/sites/x/Lists/Books/AllItems.aspx?viewid=…`.
 *
 * @throws {Failure} usage
 */
export function parseListAddress(text: string): {
  /** `contoso.sharepoint.com` */
  readonly host: string;
  /** `host:/sites/x`, or the host for its root site. */
  readonly site: string;
  /** The path of the list, decoded: `/sites/x/Lists/Books`. */
  readonly path: string;
} {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const segments = url?.pathname.split('/').filter((name) => name !== '') ?? [];
  const names = segments.map(decodeOrKeep);
  // A site may be named so, too: /sites/lists/Lists/Books.
  const first = /^(sites|teams|personal)$/i.test(names[0] ?? '') ? 2 : 0;
  const at = names.findIndex((name, index) => index >= first && name.toLowerCase() === 'lists');
  if (url?.protocol !== 'https:' || at < 0 || names[at + 1] === undefined) {
    throw new Failure('usage', `"${text.slice(0, 200)}" is not the address of a list`, {
      hint: 'open the list in the browser and copy its address: https://contoso.sharepoint.com/sites/SITE/Lists/LIST/AllItems.aspx',
    });
  }
  const site = names.slice(0, at);
  return {
    host: url.host,
    site: site.length === 0 ? url.host : `${url.host}:/${site.join('/')}`,
    path: `/${names.slice(0, at + 2).join('/')}`,
  };
}

export const globalGraph = 'https://graph.microsoft.com/v1.0';

/** The address of Microsoft Graph for each domain of SharePoint ("National cloud deployments"). */
const clouds: Readonly<Record<string, string>> = {
  'sharepoint.com': globalGraph,
  'sharepoint.us': 'https://graph.microsoft.us/v1.0',
  'sharepoint-mil.us': 'https://dod-graph.microsoft.us/v1.0',
  'sharepoint.cn': 'https://microsoftgraph.chinacloudapi.cn/v1.0',
};

/** The address of Microsoft Graph for a host of SharePoint; undefined for another host. */
export function graphAddress(host: string): string | undefined {
  return clouds[host.slice(host.indexOf('.') + 1)];
}

export function isGraphHost(host: string): boolean {
  return Object.values(clouds).some((url) => new URL(url).host === host);
}

const guid = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const siteId = new RegExp(`^[^,/]+,${guid},${guid}$`, 'i');
const listId = new RegExp(`^${guid}$`, 'i');

/**
 * Resolves a site and a list, as the user gave them, to their ids: an id stays, an address in the browser takes two
 * requests, `host:/path` and a title one each.
 *
 * @throws {Failure} usage, if there is no such list; as `Client.send`
 */
export async function locate(named: NamedList, open: () => Promise<Client>): Promise<ListRef> {
  if ('url' in named) return findByAddress(parseListAddress(named.url), await open());
  const { site, list } = named;
  // Ids of any spelling are one list: runs and states are found by them.
  const known = { site: site.toLowerCase(), list: list.toLowerCase() };
  if (siteId.test(site) && listId.test(list)) return known;
  const client = await open();
  const id = siteId.test(site) ? known.site : await readId(siteOnly(site), `site "${site}"`, client);
  if (listId.test(list)) return { site: id, list: known.list };
  return { site: id, list: await readId(listPath({ site: id, list }), `list "${list}" of site "${site}"`, client) };
}

async function findByAddress(
  { host, site, path }: ReturnType<typeof parseListAddress>,
  client: Client,
): Promise<ListRef> {
  const id = await readId(siteOnly(site), `site "${site}"`, client);
  const what = `the lists of site "${site}"`;
  const query = `${sitePath(id)}/lists?$select=id,displayName,webUrl&$top=200`;
  const options = { parse: (found: JsonObject) => found, purpose: { task: `read ${what}`, target: what } };
  for await (const lists of pagesOf(query, options, client)) {
    const found = lists.find(({ webUrl }) => typeof webUrl === 'string' && isPath(webUrl, path));
    if (typeof found?.['id'] === 'string') return { site: id, list: found['id'].toLowerCase() };
  }
  throw new Failure('not-found', `site "${site}" on ${host} has no list at ${path}`, {
    hint: 'check the address, and that the account may read the list',
  });
}

function isPath(webUrl: string, path: string): boolean {
  if (!URL.canParse(webUrl)) return false;
  return decodeOrKeep(new URL(webUrl).pathname).toLowerCase() === path.toLowerCase();
}

function decodeOrKeep(text: string): string {
  return attempt(() => decodeURIComponent(text)) ?? text;
}

async function readId(path: string, what: string, client: Client): Promise<string> {
  const operation: Operation<string> = {
    request: toRequest('GET', `${path}?$select=id`),
    purpose: () => ({ task: `read ${what}`, target: what }),
    read: (response) => {
      const body = parseResponseJson(response);
      const id = isObject(body) ? body['id'] : undefined;
      if (typeof id !== 'string' || id === '') throw new SyntaxError('the response has no "id"');
      return id.toLowerCase();
    },
    errors: graphErrors,
  };
  return client.send(operation);
}
