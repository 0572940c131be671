/** The words of `listctl api`, checked: nothing in them may lead the token elsewhere. */
import type { Method } from '../../api/transport.ts';
import { Failure } from '../../errors.ts';

const methods: readonly Method[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Reads an HTTP method, in capitals or not.
 *
 * @throws {Failure} usage
 */
export function readMethod(text: string): Method {
  const method = methods.find((each) => each === text.toUpperCase());
  if (method !== undefined) return method;
  throw new Failure('usage', `"${text}" is not a method`, { hint: `it is one of ${methods.join(', ')}` });
}

/**
 * Reads a path below the base address, with its query: what is in it stays as it is encoded.
 *
 * @returns the path, beginning with `/`, in ASCII
 * @throws {Failure} usage, when it names another origin, or has dot segments (encoded ones too: a URL parser removes
 *   them, and the request would reach something else), a fragment, a backslash or control characters
 */
export function readPath(text: string): string {
  const reason = reasonAgainst(text);
  if (reason !== undefined) {
    throw new Failure('usage', `the path ${reason}`, {
      hint: 'it is relative to the base address, such as sites/home/lists/tasks/items/17?expand=fields',
    });
  }
  const path = text.startsWith('/') ? text : `/${text}`;
  return path.replace(/[^\x21-\x7e]|["<>^`{|}]/gu, encodeURIComponent);
}

function reasonAgainst(text: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) || text.startsWith('//')) return 'names an origin of its own';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) return 'has control characters';
  if (/[\ud800-\udfff]/u.test(text)) return 'has half a character (a lone surrogate)';
  if (text.includes('\\')) return 'has a backslash';
  if (text.includes('#')) return 'has a fragment';
  const [path = ''] = text.split('?', 1);
  if (path === '' || path === '/') return 'is empty';
  // %25 is a percent sign as it was meant; any other that is no escape would be guessed at.
  if (/%(?![0-9a-f]{2})/i.test(text)) return 'has a % that is no escape';
  const isDots = (segment: string) => /^(\.|%2e){1,2}$/i.test(segment);
  return path.split('/').some(isDots) ? 'has a . or .. segment' : undefined;
}

/** Headers that are the transport's own: they decide where a message goes and where it ends. */
const reserved =
  /^(authorization|host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/;

/**
 * Reads headers that were typed as `Name: value`.
 *
 * @returns them by lower-case name
 * @throws {Failure} usage, when one is malformed, typed twice, or not for a user to set
 */
export function readHeaders(texts: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const text of texts) {
    const { name, value } =
      /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?<value>[\x20-\x7e]*)$/.exec(text)?.groups ?? {};
    if (name === undefined || value === undefined) {
      // It may hold a secret, so it is not repeated.
      throw new Failure('usage', '--header: expected Name: value, in printable ASCII');
    }
    const key = name.toLowerCase();
    if (reserved.test(key)) throw new Failure('usage', `--header: ${name} is listctl's own to set`);
    if (Object.hasOwn(headers, key)) throw new Failure('usage', `--header: ${name} is set twice`);
    headers[key] = value.trimEnd();
  }
  return headers;
}
