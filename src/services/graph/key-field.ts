/**
 * The column with the key of each create, by which a create of unknown outcome is found (docs/decisions.md, keys-6). Graph
 * has no idempotency keys.
 */

import type { Client } from '../../api/client.ts';
import { listName } from '../../api/failures.ts';
import type { Finding, Operation, SeenIds, WriteCheck } from '../../api/operation.ts';
import type { ResponseHead, ServiceResponse } from '../../api/transport.ts';
import { Failure } from '../../core/errors.ts';
import { type Fields, type Item, type ListRef, ownField } from '../../core/item.ts';
import { type JsonValue, objectFrom } from '../../core/json.ts';
import { shellWord } from '../../core/text.ts';
import type { Column, CreateOptions, ItemOperations, KeyColumn, KeyOptions, SoughtKey } from '../service.ts';
import { columnHint, readColumns, textLiteral } from './columns.ts';
import { graphErrors, graphOperations, toRequest } from './items.ts';
import { authorOf, ownershipOf, sentSince } from './ownership.ts';
import { itemsPath, parsePage, toListedItem } from './pages.ts';

/**
 * Reads which guarantee a column allows.
 *
 * @throws {Failure} usage, if no key can be written into it; as `Client.send`
 */
export async function readKeyField(name: string, list: ListRef, client: Client): Promise<KeyColumn> {
  const columns = await readColumns(list, client);
  const column = columns.find((each) => each.name === name);
  if (column === undefined)
    throw unusable(name, 'no column has this internal name, which --names does not change', columnHint(name, columns));
  const keyField = keyFieldOf(column);
  if (keyField !== undefined) return keyField;
  throw unusable(name, column.type === 'text' ? 'it is read-only' : `its type is ${column.type}, not text`);
}

/** The key field that a column can be; undefined if no text can be written into it. */
export function keyFieldOf({ name, type, isUnique, isIndexed, isWritable }: Column): KeyColumn | undefined {
  if (type !== 'text' || !isWritable) return undefined;
  return { column: name, guarantee: isUnique ? 'unique' : isIndexed ? 'indexed' : 'none' };
}

function unusable(name: string, reason: string, hint = 'pass a text column'): Failure {
  return new Failure('usage', `invalid --key-field "${name}": ${reason}`, { hint: `${hint}` });
}

/** The notice about a key field before the first request. */
export function guaranteeText({ column, guarantee }: KeyColumn): string {
  const what = 'an uncertain create';
  switch (guarantee) {
    case 'unique':
      return `${column} has unique values: ${what} is retried and cannot create a duplicate`;
    case 'indexed':
      return `${column} is indexed, but not unique: ${what} is looked up, and stays in doubt if not found`;
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

/**
 * The operations of Graph, with the key of each create in a column, unless it is among the fields.
 *
 * @param options with `mayExist`, an item with a key is that of an earlier, identical create
 */
export function keyedOperations(keyField: KeyColumn, options: KeyOptions = {}): ItemOperations {
  const run = { author: options.proof?.author };
  return {
    ...graphOperations,
    create: (list, fields, create) => createOperation({ ...keyField, ...options, ...create, run }, list, fields),
  };
}

type KeyedCreate = KeyColumn & KeyOptions & CreateOptions & { readonly run: { author: string | undefined } };

function createOperation(
  { column, guarantee, mayExist, schema, proof, key: newKey, seenIds, sent, run }: KeyedCreate,
  list: ListRef,
  fields: Fields,
): Operation<Item> {
  const key = newKey ?? ownField(fields, column);
  if (typeof key !== 'string') return graphOperations.create(list, fields, { seenIds });
  const plain = graphOperations.create(list, withKey(fields, column, key), { seenIds });
  const read: Operation<Item>['read'] = (response) => {
    const item = plain.read(response);
    run.author ??= authorOf(item);
    return item;
  };
  const doubtHint = lookUpHint({ column, guarantee }, key);
  const purpose = () => ({ ...plain.purpose(), idempotencyKey: key, doubtHint });
  const operation = { ...plain, read, purpose };
  if (guarantee === 'none') return operation;
  const hasValues = schema && ((item: Item) => schema.mayBeSent(item.fields, fields));
  const since = proof && sentSince(proof.clock, sent);
  const evidence = since && ((head: Pick<ResponseHead, 'headers'>) => ({ sinceMs: since(head), author: run.author }));
  const sought = { column, key, hasValues, evidence, isUnique: guarantee === 'unique', isAdopted: mayExist };
  const lookUp = () => findByKey(list, sought, seenIds);
  if (guarantee === 'indexed') return { ...operation, lookUp };
  return { ...operation, lookUp, isRepeatable: true, mayExist, check: () => faultCheck(lookUp()) };
}

function withKey(fields: Fields, column: string, key: string): Fields {
  return ownField(fields, column) === key ? fields : objectFrom([...Object.entries(fields), [column, key]]);
}

function lookUpHint({ column, guarantee }: KeyColumn, key: string): string {
  const where = `listctl items list --where ${shellWord(`${column}=${key}`)}`;
  return `look for it with: ${where}${guarantee === 'none' ? ' --non-indexed' : ''}`;
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

/** A read that finds the item with a key. */
export function findByKey(list: ListRef, sought: SoughtKey, seenIds?: SeenIds): Operation<Finding<Item>> {
  const { column, key } = sought;
  const filter = `fields/${column} eq ${textLiteral(key)}`;
  return {
    request: toRequest('GET', itemsPath(list, { filter }, foundMax)),
    purpose: () => ({ task: `look up ${column} "${key}" in ${listName(list)}`, target: listName(list) }),
    read: (response) => {
      const { body, elements } = parsePage(response);
      const isWhole = body['@odata.nextLink'] === undefined;
      const finding = findingOf(elements.map(toListedItem), isWhole, sought, response);
      // Another row of the run created it.
      if (finding.reason === undefined && seenIds?.add(finding.value.id) === false)
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
function findingOf(items: readonly Item[], isWhole: boolean, sought: SoughtKey, head: ResponseHead): Finding<Item> {
  const { column, key } = sought;
  const [first, second] = items.filter(({ fields }) => ownField(fields, column) === key);
  if (first !== undefined && second === undefined) return judge(first, sought, head);
  if (items.length === 0 && isWhole) return { isMissing: true, reason: `no item has ${column} "${key}"` };
  const ids = items.map(({ id }) => id).join(', ');
  const reason =
    items.length === 0
      ? `the look-up of ${column} "${key}" is incomplete`
      : `these items have ${column} "${key}": ${ids}`;
  return { isMissing: false, reason };
}

/** Decides whether the only item with a key is that of the create. */
function judge(
  item: Item,
  { column, key, hasValues = () => true, evidence, isUnique, isAdopted }: SoughtKey,
  head: ResponseHead,
): Finding<Item> {
  const has = `item ${item.id} has ${column} "${key}"`;
  const ownership = evidence === undefined ? 'own' : ownershipOf(item, evidence(head));
  if (ownership === 'other' && !isAdopted)
    return { isMissing: false, isTaken: isUnique === true, reason: `${has} already: another create made it` };
  if (!hasValues(item)) return { isMissing: false, reason: `${has}, but other values than were sent` };
  if (ownership === 'own') return { value: item };
  if (isAdopted) return { value: { ...item, isFound: true } };
  return { isMissing: false, reason: `${has}, and it is unclear whether this create made it` };
}
