/** The views of items, and of requests that are not sent. */
import { Failure } from '../core/errors.ts';
import { type Item, isDeleted } from '../core/item.ts';
import type { JsonValue } from '../core/json.ts';
import { printable, printableLines, shellQuote, shellWord } from '../core/text.ts';
import { jsonText, jsonView } from './layout.ts';
import type { Row, View } from './view.ts';

/** A request that `--dry-run` shows and does not send. */
export interface PlannedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: JsonValue | undefined;
  /** The body is the text itself, which is not JSON. */
  readonly isText?: boolean | undefined;
}

/** One item as a list of its fields, several as a table; JSON has every member of the response. */
export const itemView: View<Item> = {
  pretty: async (items, screen) => {
    const { drawRows } = await import('./table.ts');
    return drawRows(items.map(itemRow), screen, undefined);
  },
  json: ({ members }) => members,
  id: ({ id }) => id,
  row: itemRow,
};

/**
 * Items that have changed. A deleted one has its id and `deleted`, which is a column in CSV and tables, and is not among
 * the ids, which the next command takes.
 */
export const changeView: View<Item> = {
  ...itemView,
  json: (item) => (isDeleted(item) ? { id: item.id, deleted: item.members['deleted'] ?? null } : item.members),
  id: (item) => (isDeleted(item) ? undefined : item.id),
  row: changeRow,
};

export const deletedView: View<{ readonly id: string }> = {
  pretty: (items) => items.map(({ id }) => `deleted ${printable(id)}`).join('\n'),
  json: ({ id }) => ({ id }),
  id: ({ id }) => id,
};

/** Requests of `--dry-run`, with headers in curl's form only. */
export const requestView: View<PlannedRequest> = {
  pretty: async (requests, screen) => {
    const texts = requests.map(async ({ method, url, body, isText }) => {
      const head = printable(`${method} ${url}`);
      if (body === undefined) return head;
      return `${head}\n${isText ? printableLines(String(body)).join('\n') : await jsonView.pretty([body], screen)}`;
    });
    return (await Promise.all(texts)).join('\n');
  },
  json: ({ method, url, body }) => ({ method, url, ...(body === undefined ? {} : { body }) }),
  id: () => undefined,
  curl: curlLine,
};

/** The id, then every field; a field `id` must not hide that of the item. */
function itemRow({ id, fields }: Item): Row {
  const row = new Map<string, JsonValue>([['id', id]]);
  for (const [name, value] of Object.entries(fields)) row.set(name === 'id' ? 'fields.id' : name, value);
  return row;
}

/** `deleted` comes second, so that a narrow terminal shows it. */
function changeRow(item: Item): Row {
  const row = new Map<string, JsonValue>([
    ['id', item.id],
    ['deleted', isDeleted(item)],
  ]);
  for (const [name, value] of itemRow(item)) {
    if (name !== 'id') row.set(name === 'deleted' ? 'fields.deleted' : name, value);
  }
  return row;
}

/**
 * Formats a request as a curl command, with `$LISTCTL_TOKEN` for the token. curl cannot reach the built-in service
 * (usage).
 */
export function curlLine({ method, url, headers = {}, body, isText }: PlannedRequest): string {
  if (!/^https?:\/\//i.test(url)) {
    throw new Failure('usage', `curl cannot reach the built-in service: ${url}`, {
      hint: 'pass --base-url with http or https, or leave out --output curl',
    });
  }
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization');
  const hasType = others.some(([name]) => name.toLowerCase() === 'content-type');
  return [
    'curl',
    // Otherwise curl expands [1-3] and {a,b}, and removes `..`.
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    ...(/\/\.{1,2}(\/|$)/.test(url.replace(/[?#].*$/, '')) ? ['--path-as-is'] : []),
    ...['-X', shellWord(method), shellQuote(url)],
    ...['-H', '"Authorization: Bearer $LISTCTL_TOKEN"'],
    ...others.flatMap(([name, value]) => ['-H', shellQuote(headerFor(name, value))]),
    ...(body === undefined || hasType ? [] : ['-H', shellQuote('Content-Type: application/json')]),
    ...(body === undefined ? [] : ['--data-raw', shellQuote(isText ? String(body) : jsonText(body))]),
  ].join(' ');
}

/** curl removes a header that it reads without a value; a semicolon sends it empty (curl's manual, --header). */
function headerFor(name: string, value: string): string {
  return value === '' ? `${name};` : `${name}: ${value}`;
}
