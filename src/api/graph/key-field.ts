/**
 * The column with the key of each create, by which a create of unknown outcome is found (docs/decisions.md, keys-6). Graph
 * has no idempotency keys.
 */
import { Failure } from '../../core/errors.ts';
import { type Fields, type Item, type ListRef, ownField } from '../../core/item.ts';
import { type JsonValue, objectFrom } from '../../core/json.ts';
import { shellWord } from '../../core/text.ts';
import type { Client, Finding, GivenIds, ItemOperations, Operation, WriteCheck } from '../client.ts';
import { listName } from '../failures.ts';
import type { ServiceResponse } from '../transport.ts';
import { type Column, columnHint, readColumns, textLiteral } from './columns.ts';
import { graphErrors, graphOperations, toRequest } from './items.ts';
import { itemsPath, parsePage, toListedItem } from './pages.ts';
import { mayBeSent } from './read-form.ts';

export interface KeyField {
  /** The internal name. */
  readonly column: string;
  /**
   * With unique values a create may be sent again, with an index it can be looked up, and without one it
   * stays in doubt.
   */
  readonly promise: 'unique' | 'indexed' | 'none';
}

/**
 * Reads which promise a column allows.
 *
 * @throws {Failure} usage, if no key can be written into it; as `Client.send`
 */
export async function readKeyField(name: string, list: ListRef, client: Client): Promise<KeyField> {
  const columns = await readColumns(list, client);
  const column = columns.find((each) => each.name === name);
  if (column === undefined)
    throw unusable(name, 'no column has this internal name, which --names does not change', columnHint(name, columns));
  const keyField = keyFieldOf(column);
  if (keyField !== undefined) return keyField;
  throw unusable(name, column.type === 'text' ? 'it is read-only' : `its type is ${column.type}, not text`);
}

/** The key field that a column can be; undefined if no text can be written into it. */
export function keyFieldOf({ name, type, isUnique, isIndexed, isWritable }: Column): KeyField | undefined {
  if (type !== 'text' || !isWritable) return undefined;
  return { column: name, promise: isUnique ? 'unique' : isIndexed ? 'indexed' : 'none' };
}

function unusable(name: string, reason: string, hint = 'pass a text column'): Failure {
  return new Failure('usage', `invalid --key-field "${name}": ${reason}`, { hint: `${hint}; nothing was sent` });
}

/** The notice about a key field before the first request. */
export function promiseText({ column, promise }: KeyField): string {
  const what = 'a create of unknown outcome';
  switch (promise) {
    case 'unique':
      return `${column} is unique: ${what} is sent again, and makes no second item`;
    case 'indexed':
      return `${column} is indexed, but not unique: ${what} is looked up, and stays in doubt if it is not found`;
    case 'none':
      return `warning: ${column} is not indexed: ${what} stays in doubt (index it, and enforce unique values)`;
  }
}

/** The most characters of a single line of text. */
const keyLengthMax = 255;

/** The reason why a value cannot be a key; undefined if it can. SharePoint may not return blanks at its ends as they were sent. */
export function keyProblem(key: JsonValue): string | undefined {
  if (typeof key !== 'string') return 'is not a string';
  if (/\p{Cc}/u.test(key)) return 'has control characters';
  if (key.trim() === '') return 'is empty';
  if (key.trim() !== key) return 'begins or ends with a blank';
  return key.length > keyLengthMax ? `is longer than ${keyLengthMax} characters` : undefined;
}

interface KeyOptions extends Pick<Operation<Item>, 'mayExist'> {
  /**
   * Those of the list, if others may have written the key as well: an item counts as that of a create only if it has the
   * fields that were sent.
   */
  readonly columns?: readonly Column[] | undefined;
}

/**
 * The operations of Graph, with the key of each create in a column, unless it is among the fields.
 *
 * @param options with `mayExist`, an item with a key is that of an earlier, identical create
 */
export function keyedOperations(keyField: KeyField, options: KeyOptions = {}): ItemOperations {
  return { ...graphOperations, create: (...args) => createOperation({ ...keyField, ...options }, ...args) };
}

function createOperation(
  { column, promise, mayExist, columns }: KeyField & KeyOptions,
  list: ListRef,
  fields: Fields,
  newKey: string | undefined,
  given?: GivenIds,
): Operation<Item> {
  const key = newKey ?? ownField(fields, column);
  if (typeof key !== 'string') return graphOperations.create(list, fields, undefined, given);
  const operation = graphOperations.create(list, withKey(fields, column, key), undefined, given);
  const doubtHint = lookUpHint({ column, promise }, key);
  const purpose = () => ({ ...operation.purpose(), idempotencyKey: key, doubtHint });
  if (promise === 'none') return { ...operation, purpose };
  const isOwn = columns && ((item: Item) => mayBeSent(item.fields, fields, columns));
  const lookUp = () => findByKey(list, { column, key, isOwn }, given);
  if (promise === 'indexed') return { ...operation, purpose, lookUp };
  return { ...operation, purpose, lookUp, isRepeatable: true, mayExist, check: () => faultCheck(lookUp()) };
}

function withKey(fields: Fields, column: string, key: string): Fields {
  return ownField(fields, column) === key ? fields : objectFrom([...Object.entries(fields), [column, key]]);
}

function lookUpHint({ column, promise }: KeyField, key: string): string {
  const where = `listctl items list --where ${shellWord(`${column}=${key}`)}`;
  return `look for it with: ${where}${promise === 'none' ? ' --non-indexed' : ''}`;
}

/** Looks once after a 500, which may be about a value as well as about the service. */
function faultCheck({ request, read }: Operation<Finding<Item>>): WriteCheck<Item> {
  const readFound = (response: ServiceResponse) => {
    const finding = read(response);
    return finding.reason === undefined ? finding.value : undefined;
  };
  return {
    findRead: ({ status }) => (status === 500 ? { request, read: readFound } : undefined),
    mayDisprove: false,
  };
}

/** The most items of a look-up: one, unless something else wrote the key. */
const foundMax = 5;

interface SoughtKey {
  readonly column: string;
  readonly key: string;
  /** Decides whether an item with the key can be that of the create. */
  readonly isOwn?: ((item: Item) => boolean) | undefined;
}

/** A read that finds the item with a key. */
export function findByKey(
  list: ListRef,
  { column, key, isOwn }: SoughtKey,
  given?: GivenIds,
): Operation<Finding<Item>> {
  const filter = `fields/${column} eq ${textLiteral(key)}`;
  return {
    request: toRequest('GET', itemsPath(list, { filter }, foundMax)),
    purpose: () => ({ task: `look up ${column} "${key}" in ${listName(list)}`, target: listName(list) }),
    read: (response) => {
      const { body, elements } = parsePage(response);
      const isWhole = body['@odata.nextLink'] === undefined;
      const finding = findingOf(elements.map(toListedItem), isWhole, { column, key, isOwn });
      // Another row of the run created it.
      if (finding.reason === undefined && given?.add(finding.value.id) === false)
        return {
          isMissing: false,
          reason: `item ${finding.value.id}, which another row created, has ${column} "${key}"`,
        };
      return finding;
    },
    errors: graphErrors,
  };
}

/** SharePoint compares texts without case. */
function findingOf(
  items: readonly Item[],
  isWhole: boolean,
  { column, key, isOwn = () => true }: SoughtKey,
): Finding<Item> {
  const [first, second] = items.filter(({ fields }) => ownField(fields, column) === key);
  if (first !== undefined && second === undefined) {
    if (isOwn(first)) return { value: first };
    return { isMissing: false, reason: `item ${first.id} has ${column} "${key}", but other values than were sent` };
  }
  if (items.length === 0 && isWhole) return { isMissing: true, reason: `no item has ${column} "${key}"` };
  const ids = items.map(({ id }) => id).join(', ');
  const reason =
    items.length === 0
      ? `the look-up of ${column} "${key}" is incomplete`
      : `these items have ${column} "${key}": ${ids}`;
  return { isMissing: false, reason };
}
