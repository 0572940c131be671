/** What the columns of a list of Microsoft Graph say of the fields of its items. */
import type { Client } from '../../api/client.ts';
import type { EncodeOptions, FieldEncoder } from '../../core/field-encoder.ts';
import { type Fields, isSameField, type ListRef } from '../../core/item.ts';
import type { JsonValue } from '../../core/json.ts';
import type { Column, KeyColumn, ListSchema } from '../service.ts';
import { columnHint, columnOfField, lookupsMax, readColumns } from './columns.ts';
import {
  annotated,
  decodeFields,
  earlierValues,
  mayBeSent,
  omittedFields,
  pickNamed,
  sameValue,
} from './decode-fields.ts';
import { ColumnEncoder } from './encode-fields.ts';
import { keyFieldOf } from './key-field.ts';
import { readPeople } from './pages.ts';

/** Reads the columns of a list, once for a client. */
export async function readSchema(list: ListRef, client: Client): Promise<ListSchema> {
  return new GraphSchema(await readColumns(list, client), list, client);
}

class GraphSchema implements ListSchema {
  readonly columns: readonly Column[];
  readonly maxReferences = lookupsMax;
  readonly #list: ListRef;
  readonly #client: Client;

  constructor(columns: readonly Column[], list: ListRef, client: Client) {
    this.columns = columns;
    this.#list = list;
    this.#client = client;
  }

  column(field: string): Column | undefined {
    return columnOfField(field, this.columns);
  }

  hint(typed: string): string {
    return columnHint(typed, this.columns);
  }

  /** A list of `serve` without a schema has no column that can be written. */
  encoder(options: EncodeOptions): FieldEncoder | undefined {
    if (!this.columns.some(({ isWritable }) => isWritable)) return undefined;
    return new ColumnEncoder(this.columns, options, () => readPeople(this.#list.site, this.#client));
  }

  decode(read: Fields): { readonly fields: Fields; readonly omitted: readonly string[] } {
    const fields = decodeFields(read, this.columns);
    return { fields, omitted: omittedFields(read, fields, this.columns) };
  }

  toSent(fields: Fields): Fields {
    return annotated(fields, this.columns);
  }

  pick(read: Fields, names: Iterable<string>): Fields {
    return pickNamed(read, names, this.columns);
  }

  earlierValues(read: Fields, names: readonly string[]): Fields {
    return earlierValues(read, names, this.columns);
  }

  isSame(field: string, one: JsonValue | undefined, other: JsonValue | undefined): boolean {
    const column = this.column(field);
    return column === undefined ? isSameField(one, other) : sameValue(column, one, other);
  }

  mayBeSent(read: Fields, sent: Fields): boolean {
    return mayBeSent(read, sent, this.columns);
  }

  keyColumn(name: string): KeyColumn | undefined {
    const column = this.column(name);
    return column?.name === name ? keyFieldOf(column) : undefined;
  }
}
