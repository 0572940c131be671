import type { ColumnDefinition } from '@microsoft/microsoft-graph-types';
import { parseJson } from '../../../../src/core/json.ts';
import { parseSchema } from '../../../../src/server/graph/columns.ts';
import { type GraphOptions, graphService } from '../../../../src/server/graph/service.ts';
import type { Service, ServiceResponse } from '../../../../src/server/message.ts';
import { openStore, type Store } from '../../../../src/server/store.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** An entity of Microsoft's published types, with the annotations of OData and open fields. */
export type Annotated<Entity> = Entity & { readonly [name: `${string}@odata.${string}`]: unknown };

/** A column of each type that Graph has. */
export const everyColumn = [
  { name: 'Note', text: { allowMultipleLines: true } },
  { name: 'Key', text: {}, indexed: true, enforceUniqueValues: true },
  { name: 'Code', text: {}, indexed: true },
  { name: 'Count', number: {}, indexed: true },
  { name: 'Price', currency: { locale: 'en-us' } },
  { name: 'Done', boolean: {}, indexed: true },
  { name: 'Status', choice: { choices: ['New', 'Old'], displayAs: 'dropDownMenu' } },
  { name: 'Tags', choice: { choices: ['a', 'b'], displayAs: 'checkBoxes' } },
  { name: 'Due', dateTime: { format: 'dateTime' }, indexed: true },
  { name: 'Shelf', lookup: { columnName: 'Title' }, indexed: true },
  { name: 'Shelves', lookup: { columnName: 'Title', allowMultipleValues: true } },
  { name: 'Owner', personOrGroup: {} },
  { name: 'Owners', personOrGroup: { allowMultipleSelection: true } },
  { name: 'Link', hyperlinkOrPicture: {} },
  { name: 'Country', term: {} },
  { name: 'Sum', calculated: { formula: '=[Count]*2' }, readOnly: true },
  { name: 'Photo' },
] satisfies readonly ColumnDefinition[];

export const booksSchema = schemaOf({ Books: everyColumn });

export function schemaOf(lists: Readonly<Record<string, readonly ColumnDefinition[]>>) {
  const all = Object.entries(lists).map(([title, columns]) => ({ title, columns }));
  return parseSchema(parseJson(JSON.stringify({ lists: all })));
}

/** An answer with its body read. */
interface ReadAnswer extends ServiceResponse {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
  readonly json: any;
}

/** Graph over a real store in a directory of its own, and a clock that is set by hand. */
interface TestGraph extends AsyncDisposable {
  /** Milliseconds since 1970. */
  now: number;
  readonly store: Store;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ReadAnswer>;
  /** Creates an item in `books`, and returns its id. */
  create(fields: unknown): Promise<string>;
  /** Starts it anew, as the next process would. */
  restart(options: GraphOptions): Promise<void>;
}

export const books = '/sites/root/lists/Books/items';

export async function graphIn(options: GraphOptions = {}): Promise<TestGraph> {
  const directory = await temporaryDirectory();
  let store = openStore(directory.path);
  const start = (chosen: GraphOptions) => graphService(store, () => graph.now, chosen);
  let service: Service;
  const graph: TestGraph = {
    now: Date.UTC(2026, 10, 22, 12, 0, 51),
    get store() {
      return store;
    },
    async send(method, path, body, headers = {}) {
      const bytes = Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
      const given = body === undefined ? {} : { 'content-type': 'application/json' };
      const all = { host: '127.0.0.1:7070', ...given, ...headers };
      const answer = await service({ method, path, headers: all, body: bytes });
      return { ...answer, json: answer.body === '' ? undefined : JSON.parse(answer.body) };
    },
    async create(fields) {
      const { status, body, json } = await graph.send('POST', books, { fields });
      if (status !== 201) throw new Error(body);
      return json.id;
    },
    async restart(changed) {
      await store.close();
      store = openStore(directory.path);
      service = start(changed);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
  service = start(options);
  return graph;
}
