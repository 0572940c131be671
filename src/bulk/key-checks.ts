/** The keys of the rows of a file: derived ones, those of its own column, and the checks that no two rows have one key. */
import { keyColumnsOf } from '../cli/encode-fields.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type ListRef, ownField } from '../core/item.ts';
import { isObject, type JsonValue, printJson } from '../core/json.ts';
import { nameAndType, unknownName } from '../rows/columns.ts';
import type { RowsFile } from '../rows/read.ts';
import type { BadRow, Row, RowSource } from '../rows/types.ts';
import type { BulkOptions, KeySource } from './flags.ts';
import { derivedKey, IdSet, payloadDigest } from './keys.ts';
import { runOrigin } from './record.ts';

/** The keys of the rows of a file. */
export interface RowKeys {
  /** To read in the place of the file: read over every shard, it fails at the first row whose key is not right. */
  readonly file: RowsFile;
  /** Derives the key of a row; undefined for random keys, and for rows with their own keys. */
  readonly keyOf: ((row: KeyedRow) => string) | undefined;
  /** Whether the rows read so far have their keys in the column of `--key-field`. */
  isOwn(): boolean;
}

/** @throws {Failure} usage, if the service takes no keys that listctl derives */
export function refuseKeys(
  { keysFrom, keyField }: Pick<BulkOptions, 'keysFrom' | 'keyField'>,
  { settings, service: { facts } }: Session,
): void {
  if (keysFrom === undefined || settings.sendsKeys || keyField !== undefined) return;
  const why = facts.takesKeys ? '--idempotency none' : `${facts.title}, except with --key-field`;
  throw new Failure('usage', `--idempotency-key-from cannot be used with ${why}`);
}

/**
 * Checks the keys of a file while it is read.
 *
 * @throws {Failure} usage, if the column of `--idempotency-key-from` does not exist; later, as `RowKeys.file` says
 */
export async function watchKeys(
  file: RowsFile,
  { keyField, keysFrom, keepBefore }: Pick<BulkOptions, 'keyField' | 'keysFrom' | 'keepBefore'>,
  list: ListRef,
  session: Session,
): Promise<RowKeys> {
  const keyOf = keysFrom && keyDeriver(keysFrom, file, { origin: runOrigin(session), ...list });
  const distinct = keyOf && keysFrom ? refuseDuplicateKeys(file, keysFrom, keyOf) : file;
  // The second write of an item would keep what the first one wrote.
  const kept = keepBefore && file.options.action === 'update';
  const checked = kept ? refuseRepeated(file, ({ id }) => id, sameItem) : distinct;
  if (keyField === undefined) return { file: checked, keyOf, isOwn: () => false };
  const own = ownKeys(checked, keyField, (await keyColumnsOf(session)).problem);
  const isOwn = () => {
    if (!own.isFound() || keysFrom === undefined) return own.isFound();
    throw new Failure('usage', `--idempotency-key-from cannot be used with keys in "${keyField}"`, {
      hint: 'leave out one of the two',
    });
  };
  return { file: own.file, keyOf, isOwn };
}

function sameItem(earlier: KeyedRow, row: KeyedRow): Failure {
  return new Failure('usage', `${bothRows(earlier, row)} have the same id: --keep-before requires unique ids`, {
    hint: 'merge the rows, or leave out --keep-before',
  });
}

/** Names two rows in a message, with their lines. */
export function bothRows(earlier: Pick<Row, 'number' | 'line'>, row: Pick<Row, 'number' | 'line'>): string {
  return `rows ${earlier.number} and ${row.number} (lines ${earlier.line} and ${row.line})`;
}

/** The parts of a row that its key depends on. */
interface KeyedRow {
  readonly number: number;
  readonly line: number;
  readonly fields?: Fields;
  readonly source: RowSource;
}

const flag = '--idempotency-key-from';

/**
 * Makes the function that derives the key of a row, which throws a Failure (usage) for a row without a value.
 *
 * @throws {Failure} usage, if the column does not exist
 */
function keyDeriver(
  source: KeySource,
  file: RowsFile,
  scope: Parameters<typeof derivedKey>[0],
): (row: KeyedRow) => string {
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
      hint: `set a value in every row, or pass another ${flag}`,
    });
  };
}

function columnReader(name: string, { header }: RowsFile): (source: RowSource) => string | undefined {
  const names = header.map((cell) => nameAndType(cell).name);
  const at = names.indexOf(name);
  if (at === -1 && names.length > 0) throw unknownName(flag, 'column', name, names);
  return (source) => {
    if (source.kind === 'cells') return source.cells[at] || undefined;
    return source.kind === 'json' ? textOf(memberOf(source.value, name)) : undefined;
  };
}

function memberOf(value: JsonValue, name: string): JsonValue {
  if (!isObject(value)) return null;
  if (Object.hasOwn(value, name)) return value[name] ?? null;
  return Object.hasOwn(value, 'fields') ? memberOf(value['fields'] ?? null, name) : null;
}

function textOf(value: JsonValue): string | undefined {
  if (value === null || value === '') return undefined;
  return typeof value === 'string' ? value : printJson(value);
}

/** As `refuseRepeated`, for keys that are not to be the same. */
function refuseDuplicateKeys(file: RowsFile, source: KeySource, keyOf: (row: KeyedRow) => string): RowsFile {
  if (source.kind === 'row') return file;
  return refuseRepeated(file, keyOf, (earlier, row) => sameKey(earlier, row, source));
}

/** Wraps a file so that reading it over every shard fails at a row with the key of an earlier row. */
function refuseRepeated(
  file: RowsFile,
  keyOf: (row: Row) => string | undefined,
  failure: (earlier: KeyedRow, row: KeyedRow) => Failure,
): RowsFile {
  return onEveryRow(file, () => {
    const seen = new IdSet();
    const refuse = async (key: string, row: Row) => {
      const earlier = await firstWith(key, file, keyOf);
      // The set may take two different keys for the same.
      if (earlier !== undefined && earlier.number !== row.number) throw failure(earlier, row);
    };
    return (row) => {
      const key = keyOf(row);
      return key === undefined || seen.add(key) ? undefined : refuse(key, row);
    };
  });
}

/**
 * Wraps a file so that reading it over every shard calls a function with each good row.
 *
 * @param start called when such a reading starts; makes the function
 */
export function onEveryRow(file: RowsFile, start: () => (row: Row) => Promise<void> | undefined): RowsFile {
  return {
    ...file,
    async *blocks(pass = {}) {
      const take = start();
      for await (const block of file.blocks(pass)) {
        if (pass.everyShard) await takeEach(block, take);
        yield block;
      }
    },
  };
}

/** Waits only for rows that take time: a promise for each would double the time of a check. */
async function takeEach(rows: readonly (Row | BadRow)[], take: (row: Row) => Promise<void> | undefined): Promise<void> {
  for (const row of rows) {
    const taking = row.problem === undefined ? take(row) : undefined;
    if (taking !== undefined) await taking;
  }
}

function sameKey(earlier: KeyedRow, row: KeyedRow, source: Exclude<KeySource, { kind: 'row' }>): Failure {
  const what = source.kind === 'content' ? 'content' : `value in column "${source.name}"`;
  return new Failure('usage', `${bothRows(earlier, row)} have the same ${what} and would get the same key`, {
    hint: `make the rows different, or pass ${flag} row\na service that honors keys would create one item for both`,
  });
}

async function firstWith(
  key: string,
  file: RowsFile,
  keyOf: (row: Row) => string | undefined,
): Promise<KeyedRow | undefined> {
  for await (const block of file.blocks({ everyShard: true })) {
    for (const row of block) if (row.problem === undefined && keyOf(row) === key) return row;
  }
  return undefined;
}

/**
 * Finds keys in a column of the input itself, which becomes the field of a `--key-field`: every row has one, or none has.
 *
 * @param problemOf why a value cannot be a key; undefined if it can
 * @returns `file`, which checks, when it is read over every shard, that each row has a key, and no two the same (see
 *   `refuseRepeated`); and whether the rows read so far have keys
 */
function ownKeys(
  file: RowsFile,
  field: string,
  problemOf: (value: JsonValue) => string | undefined,
): { readonly file: RowsFile; isFound(): boolean } {
  const { header, options } = file;
  const fieldOf = (name: string) => {
    const typed = options.rename.get(name) ?? name;
    const form = options.form?.field(typed);
    return form !== undefined && 'name' in form ? form.name : typed;
  };
  const isColumn = header.some((cell) => {
    const { name } = nameAndType(cell);
    return fieldOf(name) === field && (options.only?.includes(name) ?? true);
  });
  let [isFound, without]: [boolean, KeyedRow | undefined] = [isColumn, undefined];
  const keyOf = (row: Row) => {
    const key = ownField(row.fields, field) ?? null;
    if (key === null) without ??= row;
    else isFound = true;
    if (!isFound) return undefined;
    if (without !== undefined) throw badKey(without, field, 'is missing');
    const problem = problemOf(key);
    if (problem !== undefined) throw badKey(row, field, problem);
    // Microsoft Graph compares texts without case.
    return String(key).toLowerCase();
  };
  const failure = (earlier: KeyedRow, row: KeyedRow) => {
    return new Failure('usage', `${bothRows(earlier, row)} have the same key in "${field}"`, {
      hint: 'upper and lower case count as the same; make the keys different',
    });
  };
  return { file: refuseRepeated(file, keyOf, failure), isFound: () => isFound };
}

function badKey({ number, line }: KeyedRow, field: string, problem: string): Failure {
  return new Failure('usage', `row ${number} (line ${line}): the key in "${field}" ${problem}`, {
    hint: 'set a key in every row, or leave out this column, and listctl generates them',
  });
}
