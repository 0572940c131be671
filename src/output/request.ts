import { Failure } from '../core/errors.ts';
import type { JsonValue } from '../core/json.ts';
import { jsonText } from './layout.ts';

/** A request, as far as curl is told of it. */
interface CurlRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: JsonValue | undefined;
}

/**
 * The request as one curl command for a POSIX shell. Whatever token it carries is left to the shell, as
 * `$LISTCTL_TOKEN`, so that the line can be shown to others.
 *
 * @throws {Failure} usage, when the address is not one that curl can reach
 */
export function curlLine({ method, url, headers = {}, body }: CurlRequest): string {
  if (!/^https?:\/\//i.test(url)) {
    throw new Failure('usage', `curl cannot reach the built-in service: ${url}`, {
      hint: 'pass --base-url with http or https, or leave out --output curl',
    });
  }
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization');
  const hasType = others.some(([name]) => name.toLowerCase() === 'content-type');
  return [
    'curl',
    // Without these curl reads [1-3] and {a,b} as many addresses, and resolves `..` away.
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    ...(/\/\.{1,2}(\/|$)/.test(url.replace(/[?#].*$/, '')) ? ['--path-as-is'] : []),
    ...['-X', shellWord(method), quoted(url)],
    ...['-H', '"Authorization: Bearer $LISTCTL_TOKEN"'],
    ...others.flatMap(([name, value]) => ['-H', quoted(headerFor(name, value))]),
    ...(body === undefined || hasType ? [] : ['-H', quoted('Content-Type: application/json')]),
    ...(body === undefined ? [] : ['--data-raw', quoted(jsonText(body))]),
  ].join(' ');
}

/** curl removes a header that it reads without a value; a semicolon sends it empty (curl's manual, --header). */
function headerFor(name: string, value: string): string {
  return value === '' ? `${name};` : `${name}: ${value}`;
}

/** One word for a POSIX shell, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : quoted(text);
}

/** One word for a POSIX shell: in single quotes nothing is special but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
