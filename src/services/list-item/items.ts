/** The operations on items of the list item service (docs/decisions.md): their requests, and how to read the responses. */

import { listName, purposeOf } from '../../api/failures.ts';
import type { Operation, SeenIds, WriteCheck } from '../../api/operation.ts';
import { checkNew, readBack, updateCheck } from '../../api/proof.ts';
import { bareItem, checkDeleted, parseItem, parseUpdatedItem } from '../../api/response.ts';
import { type ApiRequest, isSuccess, type ServiceResponse } from '../../api/transport.ts';
import { Failure } from '../../core/errors.ts';
import { attempt } from '../../core/files.ts';
import {
  checkId,
  type Fields,
  fieldsBytesMax,
  headerValue,
  type Item,
  type ItemRef,
  type ListRef,
  pathSegment,
} from '../../core/item.ts';
import { printJson } from '../../core/json.ts';
import type { CreateOptions, ItemOperations } from '../service.ts';

/** The service of docs/decisions.md. */
export const listItemOperations: ItemOperations = {
  create: createOperation,
  get: getOperation,
  update: updateOperation,
  delete: deleteOperation,
};

const acceptJson = { accept: 'application/json' } as const;
const jsonBody = { ...acceptJson, 'content-type': 'application/json' } as const;

function createOperation(
  list: ListRef,
  fields: Fields,
  { key: idempotencyKey, seenIds }: CreateOptions = {},
): Operation<Item> {
  const headers = idempotencyKey === undefined ? jsonBody : withKey(idempotencyKey);
  return {
    request: { method: 'POST', path: listPath(list), headers, body: printFields(fields) },
    purpose: () => ({ task: `create an item in ${listName(list)}`, target: listName(list), idempotencyKey }),
    read: (response) => checkNew(parseItem(response), seenIds, 'belongs to another item'),
    check: () => createCheck(list, fields, seenIds),
  };
}

function getOperation(ref: ItemRef): Operation<Item> {
  return {
    request: getRequest(ref),
    purpose: () => purposeOf('read', ref),
    read: (response) => parseItem(response, ref),
  };
}

function getRequest(ref: ItemRef): ApiRequest {
  return { method: 'GET', path: itemPath(ref), headers: acceptJson };
}

/**
 * Sets the given fields only; `null` clears one (requests-1). Fails if the item's entity tag is not `ifMatch`. The result
 * has no fields if the response was empty.
 */
function updateOperation(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item> {
  const headers = ifMatch === undefined ? jsonBody : { ...jsonBody, 'if-match': ifMatch };
  return {
    request: { method: 'PATCH', path: itemPath(ref), headers, body: printFields(fields) },
    purpose: () => purposeOf('update', ref),
    read: (response) =>
      response.body.length === 0
        ? bareItem(ref.id, headerValue(response.headers['etag']))
        : parseUpdatedItem(response, ref),
    check: ifMatch === undefined ? undefined : () => updateCheck(getOperation(ref), fields, true),
  };
}

function deleteOperation(ref: ItemRef, ifMatch?: string): Operation<void> {
  const headers = ifMatch === undefined ? acceptJson : { ...acceptJson, 'if-match': ifMatch };
  return {
    request: { method: 'DELETE', path: itemPath(ref), headers },
    purpose: () => purposeOf('delete', ref),
    read: checkDeleted,
  };
}

/** @throws {Failure} usage, for a single item; rows are checked before */
function printFields(fields: Fields): string {
  const body = printJson({ fields });
  const bytesMax = fieldsBytesMax + '{"fields":}'.length;
  // Counted only if it matters: no character takes more than three bytes.
  if (3 * body.length <= bytesMax || Buffer.byteLength(body) <= bytesMax) return body;
  throw new Failure('usage', 'the fields of an item cannot be longer than 8 MiB as JSON');
}

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

/** For a create whose 2xx has an unusable body: reads the item of its `Location` (responses-5). */
function createCheck(list: ListRef, fields: Fields, seenIds?: SeenIds): WriteCheck<Item> {
  return {
    findRead: (head, address) => {
      const id = isSuccess(head) ? parseLocation(head.headers['location'], address, list) : undefined;
      if (id === undefined) return undefined;
      const { request, read } = readBack(getOperation({ ...list, id }), fields);
      const readNew = (response: ServiceResponse) => {
        const item = read(response);
        return item === undefined || seenIds === undefined || seenIds.add(item.id) ? item : undefined;
      };
      return { request, read: readNew };
    },
    mayDisprove: false,
  };
}

/** The id in a `Location` (RFC 9110, section 10.2.2) of exactly one item of the list. */
function parseLocation(location: string | undefined, address: string, list: ListRef): string | undefined {
  if (location === undefined) return undefined;
  const items = `${address}${listPath(list)}`;
  return attempt(() => {
    // Relative to the URL of the request, which has no slash at its end.
    const { href } = new URL(location, items);
    const base = new URL(`${items}/`).href;
    const segment = href.startsWith(base) ? href.slice(base.length) : '';
    return /^[^/?#]+$/.test(segment) ? checkId(decodeURIComponent(segment), 'item') : undefined;
  });
}
