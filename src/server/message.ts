/** Requests and responses of the built-in services. */
import { type JsonValue, parseJson } from '../core/json.ts';

/** The version segment, which is a part of the base URL. */
export const versionPath = '/v1.0';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query without the version segment: `/sites/S/lists/L/items/7`, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; empty for 204. */
  readonly body: string;
}

/**
 * A service over a store; the server in front of it checks the token. When it responds, what it accepted is on disk; it
 * throws a local-file failure if the store cannot be read.
 */
export type Service = (request: ServiceRequest) => Promise<ServiceResponse>;

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export function jsonResponse(status: number, headers: Readonly<Record<string, string>>, body: string): ServiceResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** Words an error as a service does. */
export type ErrorResponder = (refusal: Refusal, request: Pick<ServiceRequest, 'headers'>) => ServiceResponse;

/** `{"error": "<message>"}` */
export function errorResponse({ status, message, headers }: Refusal): ServiceResponse {
  return jsonResponse(status, headers, JSON.stringify({ error: message }));
}

/** The largest body of a request or response (docs/decisions.md, responses-1). */
export const maxBodyBytes = 8 * 1024 * 1024;

export function tooLong(): Refusal {
  return new Refusal(413, 'the body is over 8 MiB');
}

/** JSON is UTF-8; a byte order mark may be ignored (RFC 8259, section 8.1). */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON of a request's body. Refused without `application/json`, over 8 MiB, and if it is not JSON in UTF-8. */
export function jsonBodyOf({ headers, body }: Pick<ServiceRequest, 'headers' | 'body'>): JsonValue {
  if (body.byteLength > maxBodyBytes) throw tooLong();
  const mediaType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new Refusal(415, 'the Content-Type must be application/json');
  try {
    return parseJson(strictUtf8.decode(body));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal(400, `the body is not JSON: ${reasonOf(error)}`);
    if (error instanceof TypeError) throw new Refusal(400, 'the body is not UTF-8');
    throw error;
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof SyntaxError ? error.message.slice(0, 200) : String(error);
}

export function refuseBody({ method, body }: ServiceRequest): void {
  if (body.byteLength > 0) throw new Refusal(400, `${method} must not have a body`);
}

/** An entity tag, weak or strong (RFC 9110, section 8.8.3). */
const entityTag = /(?:W\/)?"[!#-~\u0080-\u00ff]*"/g;

/** Checks `If-Match` (RFC 9110, section 13.1.1) against the strong tag of the item. */
export function checkIfMatch(request: ServiceRequest, etag: string): void {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return;
  const tags: readonly string[] = header.match(entityTag) ?? [];
  const isList = tags.length > 0 && /^[\t ,]*$/.test(header.replaceAll(entityTag, ''));
  if (!isList) throw new Refusal(400, 'If-Match is neither * nor a list of entity tags');
  if (!tags.includes(etag)) throw new Refusal(412, 'the item has changed: its ETag is not the one in If-Match');
}
