/** `--where` and `--select` of `items list`, checked by the columns of the list. */

import type { Client } from '../../api/client.ts';
import { Failure } from '../../core/errors.ts';
import type { ListRef } from '../../core/item.ts';
import type { Column } from '../service.ts';
import { columnHint, columnOfField, isSystemField, lookupsMax, shadowedBy, textLiteral } from './columns.ts';
import { ColumnEncoder } from './encode-fields.ts';
import { readPeople } from './pages.ts';

/**
 * The filter for items with all of these values, each in the form that the type of its column needs. Persons by mail
 * address are looked up.
 *
 * @throws {Failure} usage, for an unknown column, or a value that its column cannot have; as `Client.send`
 */
export async function equalityFilter(
  conditions: readonly { readonly column: string; readonly value: string }[],
  columns: readonly Column[],
  { site }: Pick<ListRef, 'site'>,
  client: Client,
): Promise<string> {
  // What only the service sets can be compared.
  const compared = columns.map((column) => ({ ...column, isReadOnly: false }));
  const form = new ColumnEncoder(compared, {}, () => readPeople(site, client));
  const make = () => conditions.map(({ column, value }) => comparison(column, value, form)).join(' and ');
  const filter = make();
  if (!form.isIncomplete) return filter;
  await form.complete();
  return make();
}

function comparison(typed: string, value: string, form: ColumnEncoder): string {
  const column = findColumn(typed === 'id' ? 'ID' : typed, '--where', form.columns);
  const taken = shadowedBy(column, form.columns);
  if (taken !== undefined) {
    throw invalid('--where', `"${typed}" is ambiguous: the list also has a column ${taken.name}`);
  }
  const field = column.isReference ? column.field : typed;
  const problem = (reason: string, hint?: string) => invalid(`--where "${typed}=${value}"`, reason, hint);
  if (column.isMultiple) {
    throw problem(
      'Microsoft Graph cannot compare a column of several values',
      `list the items and filter the output: listctl items list --select ${column.name} -o jsonl`,
    );
  }
  if (value === '') {
    // Microsoft documents no condition for empty values of list items.
    throw problem('expected a value', `for items without one, try --filter "fields/${field} eq null"`);
  }
  const made = toLiteral(value, column, form);
  if ('expected' in made) throw problem(made.expected);
  return `fields/${field} eq ${made.literal}`;
}

/** A literal of OData: quoted unless it is a number, and without the blanks and exponents that typed text may have. */
function toLiteral(
  value: string,
  { name, type }: Column,
  form: ColumnEncoder,
): { readonly literal: string } | { readonly expected: string } {
  switch (type) {
    case 'number':
    case 'currency':
      return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) ? { literal: value } : { expected: 'expected a number' };
    case 'boolean':
      // SharePoint finds the opposite of `true` (SharePoint/sp-dev-docs#5594).
      if (/^(true|false)$/i.test(value)) return { literal: value.toLowerCase() === 'true' ? '1' : '0' };
      return { expected: 'expected true or false' };
    case 'dateTime':
    case 'choice':
    case 'lookup':
    case 'personOrGroup': {
      const field = form.field(name);
      const parsed = 'problem' in field ? field : field.fromText(value);
      if (parsed.problem !== undefined) return { expected: parsed.problem };
      return { literal: textLiteral(String(parsed.value)) };
    }
    default:
      return { literal: textLiteral(value) };
  }
}

function findColumn(typed: string, flag: string, columns: readonly Column[]): Column {
  const column = columnOfField(typed, columns);
  if (column !== undefined) return column;
  throw invalid(flag, `the list has no column "${typed}"`, columnHint(typed, columns));
}

function invalid(what: string, reason: string, hint?: string): Failure {
  return new Failure('usage', `invalid ${what}: ${reason}`, { hint });
}

/** Fields that are not columns, and properties of an item, which come in JSON whatever is selected (resource listItem). */
const otherNames: ReadonlySet<string> = new Set([
  ...['FileRef', 'FileLeafRef', 'FileDirRef', 'FSObjType', 'UniqueId', 'GUID', 'DocIcon', 'FileSizeDisplay'],
  ...['createdBy', 'createdDateTime', 'lastModifiedBy', 'lastModifiedDateTime', 'webUrl', 'eTag', 'contentType'],
  ...['parentReference', 'sharepointIds', 'deleted', 'fields', 'name', 'description'],
]);

/**
 * Checks a selection. A list without its own columns, such as one of `serve` without a schema, has any fields.
 *
 * @throws {Failure} usage, for a name that is not a column, or more lookups than Graph returns
 */
export function checkSelect(select: readonly string[], columns: readonly Column[]): void {
  if (columns.some(({ isWritable }) => isWritable)) {
    for (const name of select) if (!isSystemField(name) && !otherNames.has(name)) findColumn(name, '--select', columns);
  }
  const names = select.filter((name) => {
    const column = columnOfField(name, columns);
    return column?.isReference;
  });
  if (names.length <= lookupsMax) return;
  throw new Failure(
    'usage',
    `--select has ${names.length} lookup columns, more than ${lookupsMax}: ${names.join(', ')}`,
    { hint: 'Microsoft Graph would leave out the others; list them with a second command' },
  );
}
