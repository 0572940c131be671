/** `--idempotency-key-from`: keys that follow from the rows, so that no lost journal can make a second item of one. */
import { IdSet } from '../../bulk/id-set.ts';
import { payloadDigest } from '../../bulk/payload-hash.ts';
import { derivedKey, type KeyScope } from '../../bulk/row-keys.ts';
import { Failure } from '../../errors.ts';
import type { Fields } from '../../item.ts';
import { isObject, type JsonValue, printJson } from '../../json.ts';
import { columnName } from '../../rows/header.ts';
import { unknownName } from '../../rows/names.ts';
import type { RowsFile } from '../../rows/open-rows.ts';
import type { RowSource } from '../../rows/row.ts';

/** What the key of a row is derived from: its number and content, its content, or the value of one column. */
export type KeySource =
  | { readonly kind: 'row' }
  | { readonly kind: 'content' }
  | { readonly kind: 'column'; readonly name: string };

/** A row, as far as its key depends on it. */
export interface KeyedRow {
  readonly number: number;
  readonly line: number;
  readonly fields?: Fields;
  readonly source: RowSource;
}

const flag = '--idempotency-key-from';
const columnPrefix = 'column:';

/**
 * Parses `--idempotency-key-from`. `column:row` is the column that has the name of another value.
 *
 * @throws {Failure} usage
 */
export function parseKeySource(text: string): KeySource {
  if (text === 'row' || text === 'content') return { kind: text };
  const name = text.startsWith(columnPrefix) ? text.slice(columnPrefix.length) : text;
  if (name !== '') return { kind: 'column', name };
  throw new Failure('usage', `invalid ${flag} "${text}": expected row, content or the name of a column`);
}

/** The flag's value in one spelling, as a journal records it. */
export function formatKeySource(source: KeySource): string {
  return source.kind === 'column' ? columnPrefix + source.name : source.kind;
}

/**
 * Makes the function that derives the key of a row. That throws a Failure (usage) for a row without a value in the
 * column.
 *
 * @throws {Failure} usage, when there is no such column
 */
export function keyDeriver(source: KeySource, file: RowsFile, scope: KeyScope): (row: KeyedRow) => string {
  if (source.kind === 'row') {
    return ({ number, fields = {} }) => derivedKey(scope, 'row', number, payloadDigest(undefined, fields));
  }
  if (source.kind === 'content') {
    return ({ fields = {} }) => derivedKey(scope, 'content', payloadDigest(undefined, fields));
  }
  const { name } = source;
  const readColumn = columnReader(name, file);
  return (row) => {
    const value = readColumn(row.source);
    if (value !== undefined) return derivedKey(scope, 'column', name, value);
    throw new Failure('usage', `row ${row.number} (line ${row.line}) has no value in column "${name}"`, {
      hint: `nothing was sent; ${flag} needs one in every row`,
    });
  };
}

/** The text of a column's value; undefined where a row has none. */
function columnReader(name: string, { header }: RowsFile): (source: RowSource) => string | undefined {
  const names = header.map(columnName);
  const at = names.indexOf(name);
  if (at === -1 && names.length > 0) throw unknownName(flag, 'column', name, names);
  return (source) => {
    if (source.kind === 'cells') return source.cells[at] || undefined;
    return source.kind === 'json' ? textOf(memberOf(source.value, name)) : undefined;
  };
}

/** A member of the row itself, or of the fields of an item. */
function memberOf(value: JsonValue, name: string): JsonValue {
  if (!isObject(value)) return null;
  if (Object.hasOwn(value, name)) return value[name] ?? null;
  return Object.hasOwn(value, 'fields') ? memberOf(value['fields'] ?? null, name) : null;
}

function textOf(value: JsonValue): string | undefined {
  if (value === null || value === '') return undefined;
  return typeof value === 'string' ? value : printJson(value);
}

/**
 * The same file, of which the reading over every shard ends at the first row that has the key of an earlier one: a
 * service that honors keys would create one item of the two.
 */
export function refusingTwins(file: RowsFile, source: KeySource, keyOf: (row: KeyedRow) => string): RowsFile {
  return {
    ...file,
    async *blocks(pass = {}) {
      const seen = new IdSet();
      for await (const block of file.blocks(pass)) {
        if (pass.everyShard) await refuseTwins(block.filter(isGood), seen, file, source, keyOf);
        yield block;
      }
    },
  };
}

function isGood({ problem }: { readonly problem?: string | undefined }): boolean {
  return problem === undefined;
}

async function refuseTwins(
  block: readonly KeyedRow[],
  seen: IdSet,
  file: RowsFile,
  source: KeySource,
  keyOf: (row: KeyedRow) => string,
): Promise<void> {
  for (const row of block) {
    const key = keyOf(row);
    // Two rows differ by their numbers.
    if (source.kind === 'row' || seen.add(key)) continue;
    const twin = await firstWith(key, file, keyOf);
    // The set knows a part of each key: two different ones may look alike to it.
    if (twin === undefined || twin.number === row.number) continue;
    const what = source.kind === 'content' ? 'content' : `value in column "${source.name}"`;
    const places = `rows ${twin.number} and ${row.number} (lines ${twin.line} and ${row.line})`;
    throw new Failure('usage', `${places} have the same ${what}, and so the same key`, {
      hint: `nothing was sent: a service that honors keys would create one item of the two\nmake them different, or pass ${flag} row`,
    });
  }
}

async function firstWith(key: string, file: RowsFile, keyOf: (row: KeyedRow) => string): Promise<KeyedRow | undefined> {
  for await (const block of file.blocks({ everyShard: true })) {
    for (const row of block) if (row.problem === undefined && keyOf(row) === key) return row;
  }
  return undefined;
}
