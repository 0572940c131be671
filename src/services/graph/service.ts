/** Microsoft Graph as a kind of service. */
import type { Client } from '../../api/client.ts';
import type { Item, ListRef } from '../../core/item.ts';
import type { ListQuery, Service } from '../service.ts';
import { readColumns, systemFields } from './columns.ts';
import { readChanges } from './delta.ts';
import { graphErrors, graphOperations } from './items.ts';
import { findByKey, guaranteeText, keyedOperations, keyProblem, readKeyField } from './key-field.ts';
import { checkSelect, equalityFilter } from './list-query.ts';
import { readAuthor, sentSince } from './ownership.ts';
import { itemPages } from './pages.ts';
import { globalGraph, graphAddress, isGraphHost, listRequest, locate, parseListAddress } from './resolve-list.ts';
import { readSchema } from './schema.ts';

export const graphService: Service = {
  items: graphOperations,
  errors: graphErrors,
  systemFields,
  probe: listRequest,
  resolve: locate,
  schema: readSchema,
  list: listItems,
  changes: async (list, query, client) => {
    if (query.select !== undefined) checkSelect(query.select, await readColumns(list, client));
    return readChanges(list, query, client);
  },
  keyColumns: {
    problem: keyProblem,
    open: readKeyField,
    describe: guaranteeText,
    operations: keyedOperations,
    lookUp: findByKey,
    readAuthor,
    sentSince,
  },
  setup: {
    parseListUrl: parseListAddress,
    baseUrlFor: graphAddress,
    commonBaseUrl: globalGraph,
    ownsHost: isGraphHost,
  },
};

async function* listItems(
  list: ListRef,
  { where = [], ...query }: ListQuery,
  client: Client,
): AsyncGenerator<readonly Item[]> {
  yield* itemPages(list, { ...query, filter: await filterOf(list, { ...query, where }, client) }, client);
}

/** The filter of all conditions; reads the columns of the list only where names have to be checked. */
async function filterOf(
  list: ListRef,
  { where = [], filter, select = [] }: ListQuery,
  client: Client,
): Promise<string | undefined> {
  if (where.length + select.length === 0) return filter;
  const columns = await readColumns(list, client);
  checkSelect(select, columns);
  if (where.length === 0) return filter;
  const equal = await equalityFilter(where, columns, list, client);
  if (filter === undefined) return equal;
  // `and` binds more tightly than `or`.
  return `${/\bor\b/i.test(filter) ? `(${filter})` : filter} and ${equal}`;
}
