/** `state export --all`: every item of a list as a manifest, in the form in which Microsoft Graph takes its fields. */

import { keyText } from '../apply/manifest.ts';
import type { ManifestFlags } from '../apply/open.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type Item, type ListRef, ownField } from '../core/item.ts';
import { withoutUndefined } from '../core/json.ts';
import { countOf, listNames } from '../core/text.ts';
import { yamlDocument, yamlElement } from '../core/yaml.ts';
import { itemView } from '../output/item.ts';
import type { View } from '../output/view.ts';
import type { Column, ListSchema, Service } from '../services/service.ts';
import { printPages } from './items/list.ts';

/** Prints a manifest of all items, page by page; in formats for programs the items with their ids. */
export async function exportList(flags: ManifestFlags, session: Session): Promise<void> {
  const { messages, output, settings } = session;
  const { key } = flags;
  const { readSchema, listPages } = exporterOf(flags, await session.service.load());
  const { ids: list } = await session.service.resolve(settings.list());
  const client = await session.service.client();
  const schema = await readSchema(list, client);
  const written = schema.columns.filter(({ isWrittenBack }) => isWrittenBack);
  // A list of `serve` without a schema has no columns of its own, and any fields.
  const hasColumns = written.length > 0;
  if (key !== undefined && hasColumns) checkKey(key, schema);
  checkLookups(written, schema);
  const exported = new ExportedItems(key, schema);
  const pages = exported.writtenPages(listPages(list, {}, client));
  if (output.format(true) === 'pretty' && !output.hasQuery) await printManifest({ ...list, key }, pages, session);
  else {
    const shown = hasColumns ? { columns: ['id', ...written.map(({ field }) => field)] } : {};
    const view: View<Item> = { ...itemView, printsNone: true, inPages: true, ...shown };
    await output.printing(view, true, async (print) => {
      await printPages(pages, print, session);
    });
  }
  for (const notice of exported.notices()) await messages.say(notice);
}

/** @throws {Failure} usage, for the other service, and for flags for reading a manifest, which would do nothing */
function exporterOf(flags: ManifestFlags, { schema: readSchema, list: listPages }: Service) {
  if (readSchema === undefined || listPages === undefined) {
    throw new Failure('usage', 'cannot export all items: the service only returns items by id', {
      hint: 'export the items of a manifest with: listctl state export MANIFEST',
    });
  }
  const { state, inputFormat, delimiter, encoding, quotes, rename, only, type, decimal, empty, names, split } = flags;
  const noQuotes = quotes === false ? true : undefined;
  const others = { state, 'input-format': inputFormat, delimiter, encoding, 'no-quotes': noQuotes, rename, only, type };
  const flag = Object.entries({ ...others, decimal, empty, names, split }).find(([, value]) => value !== undefined);
  if (flag === undefined) return { readSchema, listPages };
  throw new Failure('usage', `--${flag[0]} cannot be used with --all`, {
    hint: 'pass it to apply, which reads the file',
  });
}

async function printManifest(
  head: ListRef & { readonly key: string | undefined },
  pages: AsyncIterable<readonly Item[]>,
  { host: { stdout } }: Session,
): Promise<void> {
  await stdout.write(`${yamlDocument(withoutUndefined({ ...head }))}items:`);
  let isEmpty = true;
  for await (const items of pages) {
    if (items.length === 0) continue;
    await stdout.write(`${isEmpty ? '\n' : ''}${items.map(({ fields }) => indented(yamlElement(fields))).join('')}`);
    isEmpty = false;
    if (stdout.isClosed) return;
  }
  if (isEmpty) await stdout.write(' []\n');
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

function checkKey(key: string, schema: ListSchema): void {
  const column = schema.column(key);
  if (column?.isWrittenBack && !column.isReference && !column.isMultiple) return;
  throw new Failure('usage', `invalid --key: the list has no column "${key}" that can be a key`, {
    hint: schema.hint(key),
  });
}

function checkLookups(columns: readonly Column[], { maxReferences }: ListSchema): void {
  const lookups = columns.filter(({ isReference }) => isReference).map(({ name }) => name);
  if (lookups.length <= maxReferences) return;
  throw new Failure(
    'usage',
    `cannot export the list: it has ${lookups.length} lookup columns, more than ${maxReferences}: ${listNames(lookups, 20)}`,
    {
      hint: 'Microsoft Graph would leave out the others; list the columns in several parts: listctl items list --select',
    },
  );
}

class ExportedItems {
  readonly #key: string | undefined;
  readonly #schema: ListSchema;
  readonly #keys = new Set<string>();
  readonly #left = new Set<string>();
  #withoutKey = 0;
  #repeated = 0;

  constructor(key: string | undefined, schema: ListSchema) {
    this.#key = key;
    this.#schema = schema;
  }

  async *writtenPages(pages: AsyncIterable<readonly Item[]>): AsyncGenerator<readonly Item[]> {
    for await (const items of pages) yield items.map((item) => this.#written(item));
  }

  notices(): readonly string[] {
    const left =
      this.#left.size === 0
        ? []
        : [`fields that Microsoft Graph cannot write are omitted: ${listNames([...this.#left], 20)}`];
    const without = this.#withoutKey === 0 ? [] : [`${countOf(this.#withoutKey, 'item')} without a value`];
    const repeated = this.#repeated === 0 ? [] : [`${countOf(this.#repeated, 'item')} with the value of another one`];
    const keys = [...without, ...repeated];
    return keys.length === 0 ? left : [...left, `apply refuses ${keys.join(' and ')} in the key field "${this.#key}"`];
  }

  #written({ id, fields: read }: Item): Item {
    const { fields, omitted } = this.#schema.decode(read);
    for (const name of omitted) this.#left.add(name);
    this.#addKey(fields);
    return { id, fields, members: { id, fields } };
  }

  #addKey(fields: Fields): void {
    if (this.#key === undefined) return;
    const key = keyText(ownField(fields, this.#key) ?? null) ?? '';
    if (key === '') this.#withoutKey += 1;
    else if (this.#keys.has(key)) this.#repeated += 1;
    else this.#keys.add(key);
  }
}
