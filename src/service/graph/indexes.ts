/** Indexes of the columns that a schema declares as indexed or unique, in the store beside the items. */
import { type Fields, ownField } from '../../core/item.ts';
import { digestOf, fieldsOf, itemsAfter } from '../items.ts';
import type { Key, Reader, Transaction } from '../store.ts';
import type { Column } from './columns.ts';
import { invalidRequest } from './errors.ts';
import { type Condition, comparable } from './query.ts';
import type { List } from './resources.ts';

/** Refuses a value that another item has in a unique column. */
export function refuseDuplicates(reader: Reader, list: List, fields: Fields, id: string | undefined): void {
  for (const column of indexedIn(list)) {
    const key = column.isUnique ? keyIn(list, column, fields) : undefined;
    const others = key === undefined ? [] : idsAt(reader, key).filter((other) => String(other) !== id);
    if (others.length > 0) {
      throw invalidRequest('One or more fields with unique constraints already has the provided value.');
    }
  }
}

/** Moves an item in the indexes; `before` is undefined for a new item, `after` for a deleted one. */
export function updateIndexes(
  transaction: Transaction,
  list: List,
  id: string,
  { before, after }: { readonly before?: Fields; readonly after?: Fields },
): void {
  for (const column of indexedIn(list)) {
    const [old, current] = [before, after].map((fields) => fields && keyIn(list, column, fields));
    if (old?.join() === current?.join()) continue;
    if (old !== undefined) transaction.remove([...old, Number(id)]);
    if (current !== undefined) transaction.put([...current, Number(id)], '');
  }
}

/** The items whose column equals a value; undefined without an index. */
export function idsWith(
  reader: Reader,
  list: List,
  { field, operator, value }: Condition,
): readonly number[] | undefined {
  const column = indexedIn(list).find(({ name }) => name === field);
  if (column === undefined || operator !== 'eq' || value === null) return undefined;
  if (reader.get(['indexed', list.stored]) !== namesIn(list)) return undefined;
  return idsAt(reader, keyFor(list, column, comparable(value, column)));
}

/** Builds the indexes of a list again if the schema has changed. */
export function refreshIndexes(transaction: Transaction, list: List): void {
  const names = namesIn(list);
  if ((transaction.get(['indexed', list.stored]) ?? '') === names) return;
  for (const [key] of transaction.entries(
    ['index', list.stored],
    ['index', `${list.stored}~`],
    Number.MAX_SAFE_INTEGER,
  )) {
    transaction.remove(key);
  }
  for (const [id, item] of itemsAfter(0, list.stored, transaction)) {
    updateIndexes(transaction, list, String(id), { after: fieldsOf(item) });
  }
  transaction.put(['indexed', list.stored], names);
}

function indexedIn({ columns }: List): readonly Column[] {
  return [...(columns?.values() ?? [])].filter(({ isIndexed }) => isIndexed);
}

function namesIn(list: List): string {
  return indexedIn(list)
    .map(({ name }) => name)
    .join();
}

function keyIn(list: List, column: Column, fields: Fields): Key | undefined {
  const value = comparable(ownField(fields, storedName(column)) ?? null, column);
  return value === null ? undefined : keyFor(list, column, value);
}

function storedName({ name, type }: Column): string {
  return type === 'lookup' ? `${name}LookupId` : name;
}

function keyFor(list: List, column: Column, value: unknown): Key {
  return ['index', list.stored, column.name, digestOf(JSON.stringify(value))];
}

function idsAt(reader: Reader, key: Key): readonly number[] {
  const entries = reader.entries([...key, 0], [...key, Number.MAX_SAFE_INTEGER], Number.MAX_SAFE_INTEGER);
  return entries.map(([at]) => at.at(-1) as number);
}
