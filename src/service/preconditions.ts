import { Refusal, type ServiceRequest } from './message.ts';

/** An entity tag, weak or strong (RFC 9110, section 8.8.3). */
const entityTag = /(?:W\/)?"[!#-~\u0080-\u00ff]*"/g;

/**
 * Refuses a request that was made for another state of the item (RFC 9110, section 13.1.1).
 *
 * @param etag the item's own tag, a strong one
 * @throws {Refusal} 412, when `If-Match` names other tags; a weak one never matches. 400, when it is no list of tags.
 */
export function refuseMismatch(request: ServiceRequest, etag: string): void {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return;
  const tags: readonly string[] = header.match(entityTag) ?? [];
  const isList = tags.length > 0 && /^[\t ,]*$/.test(header.replaceAll(entityTag, ''));
  if (!isList) throw new Refusal(400, 'If-Match is neither * nor a list of entity tags');
  if (!tags.includes(etag)) throw new Refusal(412, 'the item has changed: its ETag is not the one in If-Match');
}
