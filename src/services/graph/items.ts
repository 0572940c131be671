/**
 * The operations on items of Microsoft Graph's SharePoint lists (docs/graph.md): the requests of its reference pages
 * "Create listItem", "Get listItem", "Update listItem" and "Delete listItem", how to read the responses, and its errors.
 */
import { randomUUID } from 'node:crypto';
import { type ErrorWording, listName, purposeOf } from '../../api/failures.ts';
import type { Operation } from '../../api/operation.ts';
import { checkNew, updateCheck } from '../../api/proof.ts';
import {
  bareItem,
  checkDeleted,
  otherItem,
  parseItem,
  parseResponseJson,
  parseServiceError,
  readMembers,
  type ServiceError,
} from '../../api/response.ts';
import type { ApiRequest, Method, ServiceResponse } from '../../api/transport.ts';
import { attempt } from '../../core/files.ts';
import { type Fields, headerValue, type Item, type ItemRef, type ListRef, pathSegment } from '../../core/item.ts';
import { isObject, type JsonObject, type JsonValue, objectFrom, printJson } from '../../core/json.ts';
import type { CreateOptions, ItemOperations } from '../service.ts';

export const graphOperations: ItemOperations = {
  create: createOperation,
  get: getOperation,
  update: updateOperation,
  delete: deleteOperation,
};

function createOperation(list: ListRef, fields: Fields, { key, seenIds }: CreateOptions = {}): Operation<Item> {
  if (key !== undefined) throw new Error('Microsoft Graph would ignore the key, and store the item twice');
  const place = listName(list);
  return {
    request: toRequest('POST', `${listPath(list)}/items`, { body: { fields } }),
    purpose: () => ({ task: `create an item in ${place}`, target: place }),
    read: (response) => checkNew(withTag(parseItem(response)), seenIds, 'another item of this run has'),
    errors: graphErrors,
  };
}

function getOperation(ref: ItemRef): Operation<Item> {
  return {
    request: toRequest('GET', `${itemPath(ref)}?$expand=fields`),
    purpose: () => purposeOf('read', ref),
    read: (response) => withTag(parseItem(response, ref)),
    errors: graphErrors,
  };
}

function updateOperation(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item> {
  return {
    request: toRequest('PATCH', `${itemPath(ref)}/fields`, { body: fields, ifMatch }),
    purpose: () => purposeOf('update', ref),
    read: (response) => updatedItem(response, ref),
    // Fields are read in another form than they are written in: different ones prove nothing.
    check: ifMatch === undefined ? undefined : () => updateCheck(getOperation(ref), fields, false),
    errors: graphErrors,
  };
}

function deleteOperation(ref: ItemRef, ifMatch?: string): Operation<void> {
  return {
    request: toRequest('DELETE', itemPath(ref), { ifMatch }),
    purpose: () => purposeOf('delete', ref),
    read: checkDeleted,
    errors: graphErrors,
  };
}

/** Makes a request; `client-request-id` comes back in errors, and in Microsoft's logs. */
export function toRequest(
  method: Method,
  path: string,
  { body, ifMatch }: { readonly body?: JsonObject; readonly ifMatch?: string | undefined } = {},
): ApiRequest {
  const headers: Record<string, string> = { accept: 'application/json', 'client-request-id': randomUUID() };
  if (ifMatch !== undefined) headers['if-match'] = ifMatch;
  if (body === undefined) return { method, path, headers };
  headers['content-type'] = 'application/json';
  return { method, path, headers, body: printJson(body) };
}

/** `/sites/{id}/lists/{id}`, or with `host:/path` and a title; each part exactly as given. */
export function listPath({ site, list }: ListRef): string {
  return `${sitePath(site)}/lists/${pathSegment(list, 'list')}`;
}

/** The path of a site by its id, or by `host:/path` ("Get a site by path"), which a colon ends. */
export function sitePath(site: string): string {
  const at = site.indexOf(':/');
  if (at < 0) return `/sites/${pathSegment(site, 'site')}`;
  const names = site
    .slice(at + 2)
    .split('/')
    .filter((name) => name !== '');
  const path = names.map((name) => pathSegment(name, 'site')).join('/');
  return `/sites/${pathSegment(site.slice(0, at), 'site')}:/${path}:`;
}

function itemPath(ref: ItemRef): string {
  return `${listPath(ref)}/items/${pathSegment(ref.id, 'item')}`;
}

/** The entity tag is in the body. */
export function withTag(item: Item): Item {
  return { ...item, etag: tagOf(item.members) ?? item.etag };
}

function tagOf(members: JsonObject): string | undefined {
  const tag = members['eTag'] ?? members['@odata.etag'];
  return typeof tag === 'string' ? headerValue(tag) : undefined;
}

/** The response to an update has the fields alone. */
function updatedItem(response: ServiceResponse, ref: ItemRef): Item {
  const header = headerValue(response.headers['etag']);
  if (response.body.length === 0) return bareItem(ref.id, header);
  const fields = readMembers(response);
  if (isObject(fields['error'])) throw new SyntaxError('the response has an "error"');
  const { id } = fields;
  if (typeof id === 'string' && id !== ref.id) throw otherItem(id);
  return {
    id: ref.id,
    fields,
    members: objectFrom([
      ['id', ref.id],
      ['fields', fields],
    ]),
    etag: tagOf(fields) ?? header,
  };
}

/** "Microsoft Graph error responses and resource types" */
export const graphErrors: ErrorWording = {
  // Another machine may answer ("Best practices for working with Microsoft Graph").
  freshAfter: [503],
  parse: parseError,
  kind: ({ status }) => (status === 509 ? 'unavailable' : undefined),
  hint: hintFor,
  meaning,
};

/**
 * The message and the code of the error, and the ids of the request: of `innerError`, which the reference also spells
 * `innererror`, else of the headers.
 */
function parseError(response: ServiceResponse, hide: (text: string) => string): ServiceError {
  const known = parseServiceError(response, hide);
  const error = errorOf(response);
  const inner = memberOf(error, 'innerError') ?? memberOf(error, 'innererror');
  const { headers } = response;
  return {
    ...known,
    requestId: textOf(inner?.['request-id']) ?? known.requestId,
    clientRequestId: textOf(inner?.['client-request-id']) ?? headers['client-request-id'],
  };
}

/**
 * A collision of two writers is not a conflict for an update without a condition, which may be sent again; 509 is
 * throttling. Nothing is decided by the text of a message, which Microsoft changes.
 */
function meaning(request: ApiRequest, response: ServiceResponse): ReturnType<ErrorWording['meaning']> {
  if (response.status === 509) return 'throttled';
  const isUnconditional = request.method === 'PATCH' && request.headers['if-match'] === undefined;
  return response.status === 409 && isUnconditional && codeOf(response) === 'resourceModified'
    ? 'retryable'
    : undefined;
}

function hintFor(response: ServiceResponse, method: Method): string | undefined {
  const { status } = response;
  if (status === 403) {
    return 'the token needs the scope Sites.ReadWrite.All, or Sites.Selected with write access to this site (docs/graph.md)';
  }
  if (status === 404)
    return "check the site, the list and the id; pass the list's URL (copy it from the browser) with --list";
  // Before a write the columns were read: the names are right.
  if (status === 400 && method === 'GET') {
    return "use internal column names; pass the list's URL (copy it from the browser) with --list (docs/graph.md)";
  }
  if (status === 500 && codeOf(response) === 'generalException') {
    return 'Microsoft Graph often returns this when a value has the wrong type for its column';
  }
  return undefined;
}

function codeOf(response: ServiceResponse): string | undefined {
  return textOf(errorOf(response)?.['code']);
}

function errorOf(response: ServiceResponse): JsonObject | undefined {
  // A gateway's response may not be JSON.
  return memberOf(
    attempt(() => parseResponseJson(response)),
    'error',
  );
}

function memberOf(parent: JsonValue | undefined, name: string): JsonObject | undefined {
  const value = isObject(parent) ? parent[name] : undefined;
  return isObject(value) ? value : undefined;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
