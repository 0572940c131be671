/** Answers: bytes that a stranger sent, checked once and typed after. */
import { isUtf8 } from 'node:buffer';
import { headerValue, type Item } from '../item.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom, parseJson } from '../json.ts';
import type { Answer } from './transport.ts';

/** What an error answer says, cleaned by whoever prints it. */
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
export function jsonOf(answer: Answer): JsonValue {
  if (answer.unreadable !== undefined) throw new SyntaxError(answer.unreadable);
  const text = textOf(answer);
  try {
    return parseJson(text);
  } catch (error) {
    // Newer Nodes quote a piece of the text, which may be anything: a piece of the token too.
    const reason = (error instanceof SyntaxError ? error.message : String(error)).replace(/, (\.\.\.)?".*$/s, '');
    throw new SyntaxError(`the answer is not usable JSON (${reason})`, { cause: error });
  }
}

/** Whether the body is JSON, whatever it holds. */
export function isJson(answer: Answer): boolean {
  try {
    jsonOf(answer);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** The response is about another item than the one that was requested: it may belong to another request. */
export class ForeignResponse extends SyntaxError {}

/**
 * Reads the body as an item.
 *
 * @param ref the item that was requested
 * @throws {SyntaxError} with a reason for people, when there is no item in it
 * @throws {ForeignResponse} when its id is not that of `ref`
 */
export function itemOf(answer: Answer, ref?: { readonly id: string }): Item {
  const members = readMembers(answer);
  const id = idOf(members['id']);
  if (id === undefined) throw new SyntaxError('the answer has no "id"');
  if (ref !== undefined && id !== ref.id) {
    throw new ForeignResponse(`the response is about item "${id.slice(0, 100)}", which was not requested`);
  }
  return itemFrom(members, id, answer);
}

/**
 * Reads the response to an update: the item, of which the id may be missing.
 *
 * @throws {SyntaxError} as `itemOf`, and when it has neither id nor fields, or an error
 */
export function updatedItemOf(answer: Answer, ref: { readonly id: string }): Item {
  const members = readMembers(answer);
  refuseError(members);
  if (idOf(members['id']) !== undefined) return itemOf(answer, ref);
  if (!isObject(members['fields'])) throw new SyntaxError('the response has neither "id" nor "fields"');
  return itemFrom(members, ref.id, answer);
}

/**
 * Reads the response to a deletion: empty, or any JSON that names no error.
 *
 * @throws {SyntaxError} with a reason for people
 */
export function checkDeleted(answer: Answer): void {
  if (answer.body.length === 0) return;
  const value = jsonOf(answer);
  if (isObject(value)) refuseError(value);
}

/** Some services report an error with status 200. */
function refuseError(members: JsonObject): void {
  const error = members['error'];
  if (error !== undefined && error !== null && error !== false) throw new SyntaxError('the response has an "error"');
}

function itemFrom(members: JsonObject, id: string, answer: Answer): Item {
  const fields = members['fields'];
  return {
    id,
    fields: isObject(fields) ? fields : objectFrom([]),
    members: members['id'] === id ? members : withId(members, id),
    etag: headerValue(answer.headers['etag']),
  };
}

/** An item of which only the id is known. */
export function bareItem(id: string, etag?: string): Item {
  return { id, fields: objectFrom([]), members: objectFrom([['id', id]]), etag };
}

/**
 * What the service says of an error: its own text, in the order of the rulings, else the first line of the body.
 *
 * @param hide takes the token out of a text; before that is cut, because half a token is one too many
 */
export function errorOf(answer: Answer, hide: (text: string) => string = (text) => text): ServiceError {
  const requestId = answer.headers['request-id'] ?? answer.headers['x-request-id'];
  const body = membersOrNothing(answer);
  if (body === undefined) return { text: firstLineOf(answer, hide), code: undefined, requestId };
  const { error } = body;
  const nested = isObject(error) ? error : body;
  const text = [error, nested['message'], body['message'], body['detail'], body['title']].find(isText);
  const code = [nested['code'], body['code']].find(isText);
  return { text: text && hide(text).slice(0, 500), code, requestId };
}

function readMembers(answer: Answer): JsonObject {
  const value = jsonOf(answer);
  if (!isObject(value)) throw new SyntaxError('the answer is not a JSON object');
  return value;
}

function membersOrNothing(answer: Answer): JsonObject | undefined {
  try {
    return readMembers(answer);
  } catch {
    // Not JSON: then its first line is all there is to show.
    return undefined;
  }
}

function textOf({ body }: Answer): string {
  // Strict: a replacement character must never be taken for what was stored.
  if (!isUtf8(body)) throw new SyntaxError('the answer is not UTF-8');
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function firstLineOf(answer: Answer, hide: (text: string) => string): string | undefined {
  if (isHtml(answer)) return undefined;
  const [line = ''] = hide(Buffer.from(answer.body).toString().trim()).split(/\r?\n/, 1);
  return line === '' ? undefined : line.slice(0, 500);
}

/** Whether the answer is a page for people: a login, a gateway's error, a captive portal. */
export function isHtml({ headers }: Pick<Answer, 'headers'>): boolean {
  return /html/i.test(headers['content-type'] ?? '');
}

/** An id may come as a number; its digits are the id (rulings, "Responses"). */
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
