/** The four requests of the service, as plain data. */
import { checkId, type Fields, type ItemRef, type ListRef } from '../core/item.ts';
import { printJson } from '../core/json.ts';
import type { ApiRequest } from './transport.ts';

/** The key is the same on each attempt for the same item (keys-1). */
export function createRequest(list: ListRef, fields: Fields, idempotencyKey: string | undefined): ApiRequest {
  return {
    method: 'POST',
    path: listPath(list),
    headers: idempotencyKey === undefined ? sendsJson : keyed(idempotencyKey),
    body: bodyOf(fields),
  };
}

/** GET: reads an item. */
export function getRequest(ref: ItemRef): ApiRequest {
  return { method: 'GET', path: itemPath(ref), headers: takesJson };
}

/**
 * PATCH: sets the named fields and leaves the others; `null` clears one.
 *
 * @param ifMatch the entity tag that the item must still have (RFC 9110, section 13.1.1)
 */
export function updateRequest(ref: ItemRef, fields: Fields, ifMatch?: string): ApiRequest {
  const headers = ifMatch === undefined ? sendsJson : { ...sendsJson, 'if-match': ifMatch };
  return { method: 'PATCH', path: itemPath(ref), headers, body: bodyOf(fields) };
}

/**
 * DELETE: removes an item.
 *
 * @param ifMatch the entity tag that the item must still have
 */
export function deleteRequest(ref: ItemRef, ifMatch?: string): ApiRequest {
  const headers = ifMatch === undefined ? takesJson : { ...takesJson, 'if-match': ifMatch };
  return { method: 'DELETE', path: itemPath(ref), headers };
}

const takesJson = { accept: 'application/json' } as const;
const sendsJson = { ...takesJson, 'content-type': 'application/json' } as const;

/** An sf-string (RFC 9651, section 3.3.3). Written out, since spreading takes a microsecond, and there may be many. */
function keyed(key: string): ApiRequest['headers'] {
  return { accept: 'application/json', 'content-type': 'application/json', 'idempotency-key': `"${key}"` };
}

function bodyOf(fields: Fields): string {
  return printJson({ fields });
}

/** The last one: the rows of a run have it in common. */
let last = { site: '', list: '', path: '' };

function listPath({ site, list }: ListRef): string {
  if (site !== last.site || list !== last.list || last.path === '') {
    last = { site, list, path: `/sites/${segment(site, 'site')}/lists/${segment(list, 'list')}/items` };
  }
  return last.path;
}

function itemPath(ref: ItemRef): string {
  return `${listPath(ref)}/${segment(ref.id, 'item')}`;
}

/** An id as exactly one segment of a path. Commas stay readable: ids of sites are made of them. */
function segment(id: string, name: string): string {
  return encodeURIComponent(checkId(id, name)).replaceAll('%2C', ',');
}
