/** Collections of Microsoft Graph, a page at a time ("Paging Microsoft Graph data"), and queries for items. */

import type { Client } from '../../api/client.ts';
import { type ErrorWording, listName, type Purpose } from '../../api/failures.ts';
import type { Operation } from '../../api/operation.ts';
import { parseResponseJson, toItem } from '../../api/response.ts';
import { type ServiceResponse, tooLarge } from '../../api/transport.ts';
import { Failure } from '../../core/errors.ts';
import type { Item, ListRef } from '../../core/item.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { countText } from '../../core/text.ts';
import type { ListQuery } from '../service.ts';
import { graphErrors, listPath, toRequest, withTag } from './items.ts';

export interface PageOptions<T> {
  /** Parses an element; throws a SyntaxError, with the reason for the message. */
  readonly parse: (element: JsonObject) => T;
  readonly purpose: Purpose;
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: ErrorWording;
  /** The most items on a page, up to 5,000; it begins with fewer if one would be too large. Default: 1,000. */
  readonly pageMax?: number | undefined;
}

/**
 * Reads a collection page by page, following next links to the same service only: the token goes with them.
 *
 * @returns after the pages, the path of the delta link, if the last page has one
 * @throws {Failure} as `Client.send`
 */
export async function* pagesOf<T>(path: string, options: PageOptions<T>, client: Client): Pages<T> {
  // A service that repeats its pages would be read for ever.
  const seen = new Set([path]);
  for (let [next, empty] = [path, 0]; ; seen.add(next)) {
    const page = await client.send(pageOperation(next, options, client.address, seen));
    yield page.value;
    if (page.nextPath === undefined) return page.deltaPath;
    empty = page.value.length === 0 ? empty + 1 : 0;
    if (empty > emptyPagesMax) throw endless(options.purpose);
    next = page.nextPath;
  }
}

/** A filter without an index gives an empty page for each thousand items or so that it passes. */
const emptyPagesMax = 10_000;

function endless({ task }: Purpose): Failure {
  return new Failure('refused', `cannot ${task}: ${countText(emptyPagesMax)} pages in a row were empty`, {
    hint: 'the service may never end; pass a --filter on an indexed column that matches more of the list',
  });
}

export type Pages<T> = AsyncGenerator<readonly T[], string | undefined>;

function pageOperation<T>(
  path: string,
  { parse, purpose, headers = {}, errors = graphErrors, pageMax = pageItems }: PageOptions<T>,
  address: string,
  seen: ReadonlySet<string>,
): Operation<{
  readonly value: readonly T[];
  readonly nextPath: string | undefined;
  /** On the last page of changes. */
  readonly deltaPath: string | undefined;
}> {
  const request = toRequest('GET', path);
  return {
    request: { ...request, headers: { ...request.headers, ...headers } },
    purpose: () => purpose,
    read: (response) => {
      const { body, elements } = parsePage(response, itemMembersMax * pageMax);
      const nextPath = pathOf(body['@odata.nextLink'], address);
      const deltaPath = pathOf(body['@odata.deltaLink'], address);
      if (nextPath !== undefined && seen.has(nextPath)) throw new SyntaxError('the next page was read before');
      return { value: elements.map(parse), nextPath, deltaPath };
    },
    errors,
  };
}

/** Parses a page; throws a SyntaxError, with the reason for the message, if it is not one. */
export function parsePage(response: ServiceResponse, membersMax?: number) {
  const body = parseResponseJson(response, membersMax);
  const value = isObject(body) ? body['value'] : undefined;
  if (!isObject(body) || !Array.isArray(value)) throw new SyntaxError('the response has no "value"');
  return { body, elements: value.filter(isObject) };
}

/** The path of a link below the address of the service: the token goes to no other origin. */
function pathOf(link: JsonValue | undefined, address: string): string | undefined {
  if (link === undefined) return undefined;
  const url = typeof link === 'string' && URL.canParse(link) ? new URL(link).href : '';
  if (url.startsWith(`${address}/`)) return url.slice(address.length);
  throw new SyntaxError('the next page is at another address, which is not followed');
}

/** Items on a page: some 2 MiB of them, where a response may have 8 MiB. A page costs the same whatever its length. */
const pageItems = 1000;

/** Members of a page for each of its items; those of a single item are limited in core/json.ts. */
const itemMembersMax = 250;

export const pageMembersMax = itemMembersMax * pageItems;

/**
 * Pages of items, with as many items as a response may have.
 *
 * @param limit the most items on a page
 * @param pathOf makes the path of the first page, with a number of items
 */
export async function* pagesOfItems<T>(
  limit: number,
  pathOf: (top: number) => string,
  options: PageOptions<T>,
  client: Client,
): Pages<T> {
  for (let top = Math.min(limit, options.pageMax ?? pageItems); ; top = Math.ceil(top / (top > pageItems ? 2 : 10))) {
    let hasBegun = false;
    try {
      const pages = pagesOf(pathOf(top), options, client);
      for (let page = await pages.next(); ; page = await pages.next()) {
        if (page.done === true) return page.value;
        hasBegun = true;
        yield page.value;
      }
    } catch (error) {
      // A next link cannot be changed.
      throwUnlessTooLarge(error, top > 1 && !hasBegun);
    }
  }
}

/** A query whose conditions are all in its filter. */
type ItemQuery = Omit<ListQuery, 'where'>;

/**
 * The items of a list, page by page, at most `limit`.
 *
 * @throws {Failure} usage, if the filter is beyond the list view threshold; as `Client.send`
 */
export async function* itemPages(list: ListRef, query: ItemQuery, client: Client): AsyncGenerator<readonly Item[]> {
  const pathOf = (top: number) => itemsPath(list, query, top);
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  for await (const page of pagesOfItems(left, pathOf, itemOptions(list, query), client)) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

/** Returns if the page was too large, and a smaller one may be read. */
function throwUnlessTooLarge(error: unknown, mayBeSmaller: boolean): void {
  if (!(error instanceof Failure && error.cause === tooLarge)) throw error;
  if (mayBeSmaller) return;
  throw new Failure(error.kind, error.message, { ...error.details, hint: 'pass --select with fewer columns' });
}

function itemOptions(list: ListRef, { filter, nonIndexed = false, pageMax }: ItemQuery): PageOptions<Item> {
  return {
    pageMax,
    parse: toListedItem,
    purpose: { task: `list the items of ${listName(list)}`, target: listName(list) },
    headers: nonIndexed ? { prefer: 'HonorNonIndexedQueriesWarningMayFailRandomly' } : {},
    errors: filter === undefined ? graphErrors : filterErrors(nonIndexed),
  };
}

export function toListedItem(members: JsonObject): Item {
  return withTag(toItem(members, undefined));
}

/** The path of the items that a query finds, with at most `top` of them on a page. */
export function itemsPath(list: ListRef, { filter, select }: ItemQuery, top: number): string {
  const condition = filter === undefined ? '' : `&$filter=${encodeURIComponent(filter)}`;
  return `${listPath(list)}/items?$expand=${expandedFields(select)}${condition}&$top=${top}`;
}

/** The value of `$expand` for these fields, or for those that Graph chooses. */
export function expandedFields(select: readonly string[] | undefined): string {
  return select === undefined ? 'fields' : `fields($select=${select.map(encodeURIComponent).join(',')})`;
}

function filterErrors(nonIndexed: boolean): ErrorWording {
  return {
    ...graphErrors,
    kind: (response) => (isBeyondThreshold(response) ? 'usage' : graphErrors.kind(response)),
    hint: (response, method) => {
      if (isBeyondThreshold(response)) return thresholdHint;
      return response.status === 400 && !nonIndexed ? unindexedHint : graphErrors.hint(response, method);
    },
    meaning: (request, response) => (isBeyondThreshold(response) ? 'final' : graphErrors.meaning(request, response)),
  };
}

const thresholdHint =
  'without Retry-After this is the list view threshold: the first condition of the filter matches more than 5,000 items\n' +
  'begin with a condition on an indexed column that matches fewer, or list without a filter';

const unindexedHint =
  'filter on columns that "listctl columns list" shows as indexed, by their internal names, as in fields/NAME\n' +
  'for a column without an index, pass --non-indexed, which may fail on large lists';

/** Of a filter, and no throttling (microsoftgraph/msgraph-sdk-dotnet#827). */
function isBeyondThreshold({ status, headers }: ServiceResponse): boolean {
  return status === 429 && headers['retry-after'] === undefined && headers['ratelimit-reset'] === undefined;
}

/** The ids of the persons with a mail address in lower case. */
export type People = ReadonlyMap<string, readonly number[]>;

/**
 * Reads the persons of a site: items of a hidden list, whose ids are those of person columns.
 *
 * @throws {Failure} as `Client.send`
 */
export async function readPeople(site: string, client: Client): Promise<People> {
  const people = new Map<string, number[]>();
  for await (const page of itemPages({ site, list: 'User Information List' }, { select: ['EMail'] }, client)) {
    for (const { id, fields } of page) {
      const mail = String(fields['EMail'] ?? '').toLowerCase();
      if (mail === '' || !/^\d+$/.test(id)) continue;
      people.set(mail, [...(people.get(mail) ?? []), Number(id)]);
    }
  }
  return people;
}
