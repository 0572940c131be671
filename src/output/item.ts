/** How items look, and what commands on items print in their place. */
import type { Item } from '../core/item.ts';
import type { JsonValue } from '../core/json.ts';
import { printable } from '../core/text.ts';
import { jsonText } from './layout.ts';
import { curlLine } from './request.ts';
import type { Row, View } from './view.ts';

/** A request that `--dry-run` shows and does not send. */
export interface PlannedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: JsonValue | undefined;
}

/** Items: one as a list of its fields, several as a table; as JSON with every member that came. */
export const itemView: View<Item> = {
  pretty: async (items, screen) => {
    // Tables bring libraries that no other format needs.
    const { drawRows } = await import('./table.ts');
    return drawRows(items.map(itemRow), screen, undefined);
  },
  json: ({ members }) => members,
  id: ({ id }) => id,
  row: itemRow,
};

/** What is left of an item that was deleted: its id. */
export const deletedView: View<{ readonly id: string }> = {
  pretty: (items) => items.map(({ id }) => `deleted ${printable(id)}`).join('\n'),
  json: ({ id }) => ({ id }),
  id: ({ id }) => id,
};

/** Requests as `--dry-run` shows them: no headers but in curl's form, since they say nothing about what would change. */
export const requestView: View<PlannedRequest> = {
  pretty: (requests) =>
    requests
      .flatMap(({ method, url, body }) => [
        printable(`${method} ${url}`),
        ...(body === undefined ? [] : [jsonText(body, 2)]),
      ])
      .join('\n'),
  json: ({ method, url, body }) => ({ method, url, ...(body === undefined ? {} : { body }) }),
  id: () => undefined,
  curl: curlLine,
};

/** The id, then every field. A field that is called `id` itself must not hide the item's. */
function itemRow({ id, fields }: Item): Row {
  const row = new Map<string, JsonValue>([['id', id]]);
  for (const [name, value] of Object.entries(fields)) row.set(name === 'id' ? 'fields.id' : name, value);
  return row;
}
