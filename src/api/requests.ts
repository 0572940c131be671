/** The four requests of the service, as plain data. */
import { Failure } from '../core/errors.ts';
import { type Fields, fieldsBytesMax, type ItemRef, type ListRef, pathSegment } from '../core/item.ts';
import { printJson } from '../core/json.ts';
import type { ApiRequest } from './transport.ts';

export function createRequest(list: ListRef, fields: Fields, idempotencyKey: string | undefined): ApiRequest {
  return {
    method: 'POST',
    path: listPath(list),
    headers: idempotencyKey === undefined ? jsonBody : withKey(idempotencyKey),
    body: printFields(fields),
  };
}

export function getRequest(ref: ItemRef): ApiRequest {
  return { method: 'GET', path: itemPath(ref), headers: acceptJson };
}

/** Sets the given fields only; `null` clears one (requests-1). Fails if the item's entity tag is not `ifMatch`. */
export function updateRequest(ref: ItemRef, fields: Fields, ifMatch?: string): ApiRequest {
  const headers = ifMatch === undefined ? jsonBody : { ...jsonBody, 'if-match': ifMatch };
  return { method: 'PATCH', path: itemPath(ref), headers, body: printFields(fields) };
}

export function deleteRequest(ref: ItemRef, ifMatch?: string): ApiRequest {
  const headers = ifMatch === undefined ? acceptJson : { ...acceptJson, 'if-match': ifMatch };
  return { method: 'DELETE', path: itemPath(ref), headers };
}

/** @throws {Failure} usage, for a single item; rows are checked before */
function printFields(fields: Fields): string {
  const body = printJson({ fields });
  const bytesMax = fieldsBytesMax + '{"fields":}'.length;
  // Counted only if it matters: no character takes more than three bytes.
  if (3 * body.length <= bytesMax || Buffer.byteLength(body) <= bytesMax) return body;
  throw new Failure('usage', 'the fields of an item cannot be longer than 8 MiB as JSON', { hint: 'nothing was sent' });
}

const acceptJson = { accept: 'application/json' } as const;
const jsonBody = { ...acceptJson, 'content-type': 'application/json' } as const;

/** As a string of RFC 9651, section 3.3.3 (keys-1). Without spread, which takes a microsecond for each row. */
function withKey(key: string): ApiRequest['headers'] {
  return { accept: 'application/json', 'content-type': 'application/json', 'idempotency-key': `"${key}"` };
}

/** The path of the last list: the rows of a run share it. */
let last = { site: '', list: '', path: '' };

function listPath({ site, list }: ListRef): string {
  if (site !== last.site || list !== last.list || last.path === '') {
    last = { site, list, path: `/sites/${pathSegment(site, 'site')}/lists/${pathSegment(list, 'list')}/items` };
  }
  return last.path;
}

function itemPath(ref: ItemRef): string {
  return `${listPath(ref)}/${pathSegment(ref.id, 'item')}`;
}
