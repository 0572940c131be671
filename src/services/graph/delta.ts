/** The changes of a list since an earlier listing ("listItem: delta"). */

import type { Client } from '../../api/client.ts';
import { listName } from '../../api/failures.ts';
import { toItem } from '../../api/response.ts';
import { Failure } from '../../core/errors.ts';
import { type Item, isDeleted, type ListRef } from '../../core/item.ts';
import { isObject, type JsonObject, parseJson, printJson } from '../../core/json.ts';
import { openSpool } from '../../core/spool.ts';
import type { Changes } from '../service.ts';
import { graphErrors, listPath } from './items.ts';
import { expandedFields, type PageOptions, type Pages, pageMembersMax, pagesOfItems } from './pages.ts';

/**
 * Reads all changes. They wait in a temporary file, since an item may come on several pages, and the last one counts.
 *
 * @param query.select internal names; undefined for the fields that Graph chooses
 * @param query.mark that of an earlier listing; undefined for all items
 * @throws {Failure} local-file; as `Client.send`
 */
export async function readChanges(
  list: ListRef,
  { select, mark }: { readonly select: readonly string[] | undefined; readonly mark: string | undefined },
  client: Client,
): Promise<Changes> {
  const options: PageOptions<Item> = {
    parse: toChange,
    purpose: { task: `list the changes of ${listName(list)}`, target: listName(list) },
    errors: graphErrors,
  };
  const fresh = `${listPath(list)}/items/delta`;
  const read = async (path: string) => {
    const pathOf = (top: number) =>
      withOption(withOption(path, '$expand', expandedFields(select)), '$top', String(top));
    return collect(pagesOfItems(Number.POSITIVE_INFINITY, pathOf, options, client));
  };
  try {
    return { ...(await read(mark ?? fresh)), isResynced: false };
  } catch (error) {
    if (!isResync(error)) throw error;
    // What the `Location` of the response would begin, too.
    return { ...(await read(fresh)), isResynced: mark !== undefined };
  }
}

function toChange(members: JsonObject): Item {
  const item = toItem(members, undefined);
  // Without fields it would seem that all of them were cleared.
  if (!isDeleted(item) && !isObject(members['fields'])) throw new SyntaxError('an item has no "fields"');
  return item;
}

async function collect(pages: Pages<Item>) {
  const spool = openSpool();
  const lastAt = new Map<string | number, number>();
  let count = 0;
  for (;;) {
    const page = await pages.next();
    if (page.done === true) {
      if (page.value === undefined) {
        const reason = 'the last page has neither "@odata.nextLink" nor "@odata.deltaLink"';
        throw new Failure('refused', `cannot list changes: ${reason}`);
      }
      return { items: () => lastOnes(spool.lines(), lastAt), mark: page.value };
    }
    for (const { id, members } of page.value) {
      spool.add(printJson(members));
      lastAt.set(keyOf(id), count);
      count += 1;
    }
  }
}

function* lastOnes(lines: Iterable<string>, lastAt: ReadonlyMap<string | number, number>): Generator<Item> {
  let at = 0;
  for (const line of lines) {
    const item = toItem(parseJson(line, pageMembersMax) as JsonObject, undefined);
    if (lastAt.get(keyOf(item.id)) === at) yield item;
    at += 1;
  }
}

/** A number takes half the memory of its digits. */
function keyOf(id: string): string | number {
  return /^[1-9]\d{0,8}$/.test(id) ? Number(id) : id;
}

/** The token of the mark is too old, or the list is another one than it was. */
function isResync(error: unknown): boolean {
  if (!(error instanceof Failure) || error.details.isPage === true) return false;
  return error.details.status === 410 || resyncCodes.includes(error.details.serviceCode ?? '');
}

const resyncCodes: readonly string[] = ['resyncRequired', 'syncStateNotFound'];

/** Sets an option of the query; the rest of a link stays as the service made it. */
function withOption(path: string, name: string, value: string): string {
  const [start = '', query = ''] = path.split('?');
  const options = query.split('&').filter((option) => option !== '' && !isNamed(option, name));
  return `${start}?${[...options, `${name}=${value}`].join('&')}`;
}

function isNamed(option: string, name: string): boolean {
  return option.replace(/^%24/, '$').startsWith(`${name}=`);
}
