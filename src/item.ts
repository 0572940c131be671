import { Failure } from './errors.ts';
import type { JsonObject } from './json.ts';

/** A list: the site that holds it, and its own id. */
export interface ListRef {
  readonly site: string;
  readonly list: string;
}

/** One item of a list. */
export interface ItemRef extends ListRef {
  readonly id: string;
}

/** Field names and values, in the order in which they were given. */
export type Fields = JsonObject;

/** An item as the service gave it. */
export interface Item {
  /** Assigned by the service; never empty. */
  readonly id: string;
  readonly fields: Fields;
  /** Everything that came, in its order; `id` and `fields` included. */
  readonly members: JsonObject;
  /** The entity tag of this state of the item, if the service gave one. */
  readonly etag?: string | undefined;
}

/** The tag, where If-Match takes it: it compares strongly, so a weak one matches nothing (RFC 9110, section 13.1.1). */
export function strongTag(etag: string | undefined): string | undefined {
  return etag?.startsWith('W/') ? undefined : etag;
}

/** A tag or a key, where a header can carry it: no control characters but the tab, nothing above U+00FF. */
export function headerValue(text: string | undefined): string | undefined {
  return text !== undefined && /^[\t -~\u0080-\u00ff]*$/.test(text) ? text : undefined;
}

/**
 * Checks that an id can be one segment of a path, and nothing else.
 *
 * Any non-empty string is an id (rulings, "Paths and ids"), but for those that no encoding can carry: a URL
 * parser removes `.` and `..` even when they are percent-encoded (WHATWG URL, "double-dot URL path segment"),
 * so a request for such an item would reach another resource.
 *
 * @param name what the id is of, for the message: `site`, `list`, `item`
 * @throws {Failure} usage, when it is empty, a dot segment, longer than 1,024 bytes, or has control characters or
 *   lone surrogates
 */
export function checkId(id: string, name: string): string {
  const reason = reasonAgainstId(id);
  if (reason === undefined) return id;
  throw new Failure('usage', `the ${name} id ${reason}`, { hint: 'nothing was sent' });
}

function reasonAgainstId(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id === '.' || id === '..') return `is "${id}", which would address something else`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused; \p{Cc} takes each start 0.2 ms.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(id)) return 'has control characters';
  if (!isWellFormed(id)) return 'has half a character (a lone surrogate)';
  if (Buffer.byteLength(id) > 1024) return 'is longer than 1,024 bytes';
  return undefined;
}

function isWellFormed(text: string): boolean {
  // With the u flag only a surrogate without its partner is one character by itself.
  return !/[\ud800-\udfff]/u.test(text);
}
