/** Checks and parses responses. */
import { isUtf8 } from 'node:buffer';
import { headerValue, type Item } from '../core/item.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom, parseJson } from '../core/json.ts';
import { type Attempt, errorBytesMax, responseBytesMax, type ServiceResponse } from './transport.ts';

/** The content of an error response; not yet cleaned for printing. */
export interface ServiceError {
  readonly text: string | undefined;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
}

/**
 * Reads the body as JSON.
 *
 * @throws {SyntaxError} with a reason for people, when it is not JSON in UTF-8
 */
export function parseResponseJson(response: ServiceResponse): JsonValue {
  if (response.unreadable !== undefined) throw new SyntaxError(response.unreadable);
  const text = textOf(response);
  try {
    return parseJson(text);
  } catch (error) {
    // Newer Nodes quote a piece of the text, which may be anything: a piece of the token too.
    const reason = (error instanceof SyntaxError ? error.message : String(error)).replace(/, (\.\.\.)?".*$/s, '');
    throw new SyntaxError(`the response is not valid JSON (${reason})`, { cause: error });
  }
}

export function isJson(response: ServiceResponse): boolean {
  try {
    parseResponseJson(response);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** The response is about another item than the requested one. */
export class ForeignResponse extends SyntaxError {}

/**
 * Reads the body as an item.
 *
 * @param ref the item that was requested
 * @throws {SyntaxError} with a reason for people, when there is no item in it
 * @throws {ForeignResponse} when its id is not that of `ref`
 */
export function parseItem(response: ServiceResponse, ref?: { readonly id: string }): Item {
  const members = readMembers(response);
  const id = idOf(members['id']);
  if (id === undefined) throw new SyntaxError('the response has no "id"');
  if (ref !== undefined && id !== ref.id) {
    throw new ForeignResponse(`the response is about item "${id.slice(0, 100)}", which was not requested`);
  }
  return itemFrom(members, id, response);
}

/**
 * Reads the response to an update: the item, of which the id may be missing.
 *
 * @throws {SyntaxError} as `itemOf`, and when it has neither id nor fields, or an error
 */
export function parseUpdatedItem(response: ServiceResponse, ref: { readonly id: string }): Item {
  const members = readMembers(response);
  refuseError(members);
  if (idOf(members['id']) !== undefined) return parseItem(response, ref);
  if (!isObject(members['fields'])) throw new SyntaxError('the response has neither "id" nor "fields"');
  return itemFrom(members, ref.id, response);
}

/**
 * Reads the response to a deletion: empty, or any JSON that names no error.
 *
 * @throws {SyntaxError} with a reason for people
 */
export function checkDeleted(response: ServiceResponse): void {
  if (response.body.length === 0) return;
  const value = parseResponseJson(response);
  if (isObject(value)) refuseError(value);
}

/** Some services report an error with status 200. */
function refuseError(members: JsonObject): void {
  const error = members['error'];
  if (error !== undefined && error !== null && error !== false) throw new SyntaxError('the response has an "error"');
}

function itemFrom(members: JsonObject, id: string, response: ServiceResponse): Item {
  const fields = members['fields'];
  return {
    id,
    fields: isObject(fields) ? fields : objectFrom([]),
    members: members['id'] === id ? members : withId(members, id),
    etag: headerValue(response.headers['etag']),
  };
}

/** An item of which only the id is known. */
export function bareItem(id: string, etag?: string): Item {
  return { id, fields: objectFrom([]), members: objectFrom([['id', id]]), etag };
}

/**
 * Reads the error of a response (responses-3); without JSON, the first line of the body.
 *
 * @param hide removes the token, before the text is truncated
 */
export function parseServiceError(
  response: ServiceResponse,
  hide: (text: string) => string = (text) => text,
): ServiceError {
  const requestId = response.headers['request-id'] ?? response.headers['x-request-id'];
  const body = membersOrNothing(response);
  if (body === undefined) return { text: firstLineOf(response, hide), code: undefined, requestId };
  const { error } = body;
  const nested = isObject(error) ? error : body;
  const text = [error, nested['message'], body['message'], body['detail'], body['title']].find(isText);
  const code = [nested['code'], body['code']].find(isText);
  return { text: text && hide(text).slice(0, 500), code, requestId };
}

function readMembers(response: ServiceResponse): JsonObject {
  const value = parseResponseJson(response);
  if (!isObject(value)) throw new SyntaxError('the response is not a JSON object');
  return value;
}

function membersOrNothing(response: ServiceResponse): JsonObject | undefined {
  try {
    return readMembers(response);
  } catch {
    // Not JSON: then its first line is all there is to show.
    return undefined;
  }
}

function textOf({ body }: ServiceResponse): string {
  // Strict: a replacement character must never be taken for what was stored.
  if (!isUtf8(body)) throw new SyntaxError('the response is not UTF-8');
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function firstLineOf(response: ServiceResponse, hide: (text: string) => string): string | undefined {
  if (isHtml(response)) return undefined;
  const [line = ''] = hide(Buffer.from(response.body).toString().trim()).split(/\r?\n/, 1);
  return line === '' ? undefined : line.slice(0, 500);
}

/** An HTML page: a login, a gateway's error, a captive portal. */
export function isHtml({ headers }: Pick<ServiceResponse, 'headers'>): boolean {
  return /html/i.test(headers['content-type'] ?? '');
}

/** The digits of a number are the id (responses-2). */
function idOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  if (value instanceof NumberToken) return value.digits;
  return isText(value) ? value : undefined;
}

function withId(members: JsonObject, id: string): JsonObject {
  if (!Object.hasOwn(members, 'id')) return objectFrom([['id', id], ...Object.entries(members)]);
  return objectFrom(Object.entries(members).map(([name, value]) => [name, name === 'id' ? id : value]));
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}

export function isUncompressed({ response }: Attempt): boolean {
  return response?.headers['content-encoding'] === undefined;
}

/**
 * Decodes the body: one gzip coding, up to 8 MiB, though none was requested (requests-2). Any other coding and damaged
 * data leave a response without a body.
 */
export async function decodeAttempt(attempt: Attempt): Promise<Attempt> {
  const { response } = attempt;
  const coding = response?.headers['content-encoding']?.trim().toLowerCase();
  if (!response || !coding || coding === 'identity' || response.body.length === 0) return attempt;
  const decoded = /^(x-)?gzip$/.test(coding) ? await gunzipped(response) : 'unsupported content encoding';
  if (decoded === 'too-large' && isGood(response)) {
    const head = { status: response.status, headers: response.headers };
    return { error: { kind: 'too-large', reason: 'the response is larger than 8 MiB' }, wasSent: true, head };
  }
  if (typeof decoded !== 'string') return { response: { ...response, headers: plain(response), body: decoded } };
  const unreadable = `cannot read the response: ${decoded}`;
  return { response: { ...response, headers: plain(response), body: new Uint8Array(), unreadable } };
}

function plain({ headers }: ServiceResponse): ServiceResponse['headers'] {
  const { 'content-encoding': _, ...rest } = headers;
  return rest;
}

async function gunzipped(response: ServiceResponse): Promise<Uint8Array | string> {
  // Only here: no request asks for a coding.
  const { gunzip } = await import('node:zlib');
  const maxOutputLength = isGood(response) ? responseBytesMax : errorBytesMax;
  return new Promise((resolve) => {
    gunzip(response.body, { maxOutputLength }, (error: NodeJS.ErrnoException | null, decoded) => {
      if (error === null) resolve(decoded);
      else resolve(error.code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : 'its compressed data is truncated or damaged');
    });
  });
}

function isGood({ status }: ServiceResponse): boolean {
  return status >= 200 && status < 300;
}
