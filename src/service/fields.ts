import type { Fields } from '../item.ts';
import { isObject, type JsonValue, objectFrom, parseJson, printJson } from '../json.ts';
import { Refusal, type ServiceRequest } from './message.ts';

/** The longest body that is taken, and given, in bytes (reliability, C3). */
export const maxBodyBytes = 8 * 1024 * 1024;

/** As long as an id can get. */
const longestId = String(Number.MAX_SAFE_INTEGER);

/** JSON is UTF-8 (RFC 8259, section 8.1, which lets a reader ignore a byte order mark): nothing else is guessed at. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The fields that a create or an update sends.
 *
 * @throws {Refusal} 413, 415, or 400 when the body is not `{"fields": {…}}` in UTF-8 with nothing beside
 */
export function fieldsOf(request: ServiceRequest): Fields {
  if (request.body.byteLength > maxBodyBytes) throw new Refusal(413, 'the body is over 8 MiB');
  const mediaType = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new Refusal(415, 'the Content-Type must be application/json');
  const body = jsonFrom(request.body);
  const fields = isObject(body) && Object.hasOwn(body, 'fields') ? body['fields'] : undefined;
  if (!isObject(body) || !isObject(fields)) throw new Refusal(400, 'the body must be {"fields": {…}}');
  const stranger = Object.keys(body).find((name) => name !== 'fields');
  if (stranger === undefined) return fields;
  throw new Refusal(400, `the body has a member ${JSON.stringify(stranger.slice(0, 100))} beside "fields"`);
}

/** The fields with `changes` made: those it names are set where they stand, new ones follow, null takes one away. */
export function changedFields(fields: Fields, changes: Fields): Fields {
  const added = Object.entries(changes).filter(([name]) => !Object.hasOwn(fields, name));
  const changed = Object.entries(fields).map(([name, value]) => [name, ownMember(changes, name) ?? value] as const);
  return objectFrom([...changed, ...added].filter(([name]) => ownMember(changes, name) !== null));
}

/**
 * The fields as the text that is stored.
 *
 * @throws {Refusal} 413, when an answer that holds them would be more than its reader takes
 */
export function storedFields(fields: Fields): string {
  const text = printJson(fields);
  const answer = itemBody(longestId, text);
  if (Buffer.byteLength(answer) > maxBodyBytes) throw new Refusal(413, 'the item would be over 8 MiB');
  try {
    parseJson(answer);
  } catch (error) {
    throw new Refusal(413, `the item would be too large: ${reasonOf(error)}`);
  }
  return text;
}

/** An item as the document shows it, from its fields as they are stored. */
export function itemBody(id: string, fields: string): string {
  return `{"id":${JSON.stringify(id)},"fields":${fields}}`;
}

function jsonFrom(bytes: Uint8Array): JsonValue {
  try {
    return parseJson(strictUtf8.decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal(400, `the body is not JSON: ${reasonOf(error)}`);
    if (error instanceof TypeError) throw new Refusal(400, 'the body is not UTF-8');
    throw error;
  }
}

/** A name that every object inherits, like `constructor`, is a field only where it was sent. */
function ownMember(members: Fields, name: string): JsonValue | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof SyntaxError ? error.message.slice(0, 200) : String(error);
}
