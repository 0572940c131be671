/** Checks and parses responses. */
import { isUtf8 } from 'node:buffer';
import type { FieldError } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import { headerValue, type Item } from '../core/item.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom, parseJson } from '../core/json.ts';
import {
  type Attempt,
  errorBytesMax,
  isSuccess,
  responseBytesMax,
  type ServiceResponse,
  tooLarge,
} from './transport.ts';

/** @throws {SyntaxError} with a reason for the message, as all functions here */
export function parseResponseJson(response: ServiceResponse, membersMax?: number): JsonValue {
  if (response.unreadable !== undefined) throw new SyntaxError(response.unreadable);
  const text = textOf(response);
  try {
    return parseJson(text, membersMax);
  } catch (error) {
    // Newer versions of Node quote the text, which may contain the token.
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

/** @throws {ForeignResponse} if its id is not that of `ref`, the requested item */
export function parseItem(response: ServiceResponse, ref?: { readonly id: string }): Item {
  const item = toItem(readMembers(response), headerValue(response.headers['etag']));
  if (ref === undefined || item.id === ref.id) return item;
  throw otherItem(item.id);
}

export function otherItem(id: string): ForeignResponse {
  return new ForeignResponse(`the response is about item "${id.slice(0, 100)}", which was not requested`);
}

/** The item with these members. */
export function toItem(members: JsonObject, etag: string | undefined): Item {
  const id = parseId(members['id']);
  if (id === undefined) throw new SyntaxError('the response has no "id"');
  return itemFrom(members, id, etag);
}

/** Parses the response to an update: the item, with or without its id. */
export function parseUpdatedItem(response: ServiceResponse, ref: { readonly id: string }): Item {
  const members = readMembers(response);
  checkNoError(members);
  if (parseId(members['id']) !== undefined) return parseItem(response, ref);
  if (!isObject(members['fields'])) throw new SyntaxError('the response has neither "id" nor "fields"');
  return itemFrom(members, ref.id, headerValue(response.headers['etag']));
}

/** Checks the response to a deletion: empty, or any JSON without an error. */
export function checkDeleted(response: ServiceResponse): void {
  if (response.body.length === 0) return;
  const value = parseResponseJson(response);
  if (isObject(value)) checkNoError(value);
}

/** Some services report an error with status 200. */
function checkNoError(members: JsonObject): void {
  const error = members['error'];
  if (error !== undefined && error !== null && error !== false) throw new SyntaxError('the response has an "error"');
}

function itemFrom(members: JsonObject, id: string, etag: string | undefined): Item {
  const fields = members['fields'];
  return {
    id,
    fields: isObject(fields) ? fields : objectFrom([]),
    members: members['id'] === id ? members : withId(members, id),
    etag,
  };
}

export function bareItem(id: string, etag?: string): Item {
  return { id, fields: objectFrom([]), members: objectFrom([['id', id]]), etag };
}

/** The content of an error response: without the token, but not safe to print yet. */
export interface ServiceError {
  readonly text: string | undefined;
  readonly code: string | undefined;
  readonly errors: readonly FieldError[];
  readonly requestId: string | undefined;
  /** The id that listctl gave the request. */
  readonly clientRequestId?: string | undefined;
}

/** Parses an error response (responses-3). */
export function parseServiceError(response: ServiceResponse, hide: (text: string) => string): ServiceError {
  const requestId = response.headers['request-id'] ?? response.headers['x-request-id'];
  const body = attempt(() => readMembers(response));
  if (body === undefined) return { text: firstLineOf(response, hide), code: undefined, errors: [], requestId };
  const { error } = body;
  const nested = isObject(error) ? error : body;
  const text = [error, nested['message'], body['message'], body['detail'], body['title']].find(isText);
  const code = [nested['code'], body['code']].find(isText);
  const errors = [400, 409, 422].includes(response.status) ? fieldErrors(body, nested, hide) : [];
  return { text: text && hide(text).slice(0, 500), code, errors, requestId };
}

/** The most errors of fields, and the UTF-16 units of a name and of a message. */
const fieldErrorMax = { count: 10, field: 100, message: 200 } as const;

/**
 * Parses the errors of single fields: arrays and objects called `errors` (ASP.NET, Laravel, JSON:API), and the arrays
 * `error.details` (OData 4.01 JSON, section 21.1; google.rpc.BadRequest) and `detail` (FastAPI).
 */
function fieldErrors(body: JsonObject, nested: JsonObject, hide: (text: string) => string): readonly FieldError[] {
  const candidates = [body['errors'], nested['errors'], nested['details'], body['details'], body['detail']];
  for (const value of candidates) {
    const errors = (isObject(value) ? Object.entries(value).map(namedErrors) : listOf(value).map(listedErrors)).flat();
    if (errors.length === 0) continue;
    return errors.slice(0, fieldErrorMax.count).map(({ field, message }) => ({
      ...(field !== undefined && { field: hide(field).slice(0, fieldErrorMax.field) }),
      message: hide(message).slice(0, fieldErrorMax.message),
    }));
  }
  return [];
}

/** `"Count": ["must be a number"]` */
function namedErrors([field, value]: readonly [string, JsonValue]): readonly FieldError[] {
  const messages = [value, ...listOf(value)].flatMap((each) => (isText(each) ? [each] : messageOf(each)));
  return messages.map((message) => ({ field, message }));
}

function listedErrors(value: JsonValue): readonly FieldError[] {
  if (isText(value)) return [{ message: value }];
  if (!isObject(value)) return [];
  const source = value['source'];
  const pointer = isObject(source) ? source['pointer'] : undefined;
  const named = [value['field'], value['path'], value['loc'], value['target'], pointer].map(fieldName).find(isText);
  const field = named === undefined ? {} : { field: named };
  const inner = listOf(value['fieldViolations']).flatMap(listedErrors);
  return inner.length > 0 ? inner : messageOf(value).map((message) => ({ ...field, message }));
}

function messageOf(value: JsonValue): readonly string[] {
  if (!isObject(value)) return [];
  const names = ['message', 'msg', 'detail', 'description', 'reason', 'title'];
  return names
    .map((name) => value[name])
    .filter(isText)
    .slice(0, 1);
}

/** The field at a path such as `/fields/Count`, `["body", "fields", "Count"]` or `fields.Count`. */
function fieldName(path: JsonValue | undefined): string | undefined {
  const parts = Array.isArray(path) ? path.map(String) : isText(path) ? [path] : [];
  const name = parts.join('.').replace(/^#?\/(.*)$/s, (_, pointer: string) => pointer.replaceAll('/', '.'));
  return name.replace(/^(body\.)?fields\.(?=.)/, '') || undefined;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function readMembers(response: ServiceResponse): JsonObject {
  const value = parseResponseJson(response);
  if (!isObject(value)) throw new SyntaxError('the response is not a JSON object');
  return value;
}

function textOf({ body }: ServiceResponse): string {
  // Decoding would replace invalid bytes, and change what is stored.
  if (!isUtf8(body)) throw new SyntaxError('the response is not UTF-8');
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function firstLineOf(response: ServiceResponse, hide: (text: string) => string): string | undefined {
  if (isHtml(response)) return undefined;
  const [line = ''] = hide(Buffer.from(response.body).toString().trim()).split(/\r?\n/, 1);
  return line === '' ? undefined : line.slice(0, 500);
}

/** An HTML page comes from a login, a gateway or a captive portal. */
export function isHtml({ headers }: Pick<ServiceResponse, 'headers'>): boolean {
  return /html/i.test(headers['content-type'] ?? '');
}

/** responses-2 */
function parseId(value: JsonValue | undefined): string | undefined {
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

/** Decodes a gzip body, up to 8 MiB (requests-2). Other codings and damaged data make it `unreadable`. */
export async function decodeAttempt(attempt: Attempt): Promise<Attempt> {
  const { response } = attempt;
  const coding = response?.headers['content-encoding']?.trim().toLowerCase();
  if (!response || !coding || coding === 'identity' || response.body.length === 0) return attempt;
  const decoded = /^(x-)?gzip$/.test(coding) ? await gunzipped(response) : 'unsupported content encoding';
  if (decoded === 'too-large' && isSuccess(response)) {
    const head = { status: response.status, headers: response.headers };
    return { error: tooLarge, wasSent: true, head };
  }
  const { 'content-encoding': _, ...headers } = response.headers;
  if (typeof decoded !== 'string') return { response: { ...response, headers, body: decoded } };
  const unreadable = `cannot read the response: ${decoded}`;
  return { response: { ...response, headers, body: new Uint8Array(), unreadable } };
}

async function gunzipped(response: ServiceResponse): Promise<Uint8Array | string> {
  const { gunzip } = await import('node:zlib');
  const maxOutputLength = isSuccess(response) ? responseBytesMax : errorBytesMax;
  return new Promise((resolve) => {
    gunzip(response.body, { maxOutputLength }, (error: NodeJS.ErrnoException | null, decoded) => {
      if (error === null) resolve(decoded);
      else resolve(error.code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : 'its compressed data is truncated or damaged');
    });
  });
}
