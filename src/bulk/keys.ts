/** Idempotency keys: random and derived ones, their age, and the hashes of payloads and ids. */
import { hash, randomFillSync } from 'node:crypto';
import { Failure } from '../core/errors.ts';
import { type Fields, type ListRef, ownField } from '../core/item.ts';
import { isObject, type JsonValue, objectFrom, printJson } from '../core/json.ts';
import { nameAndType, unknownName } from '../rows/columns.ts';
import type { RowsFile } from '../rows/read.ts';
import type { BadRow, Row, RowSource } from '../rows/types.ts';
import type { KeySource } from './flags.ts';
import type { SessionStart } from './journal-format.ts';

export interface SentAt {
  /** By the clock of the machine: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** By the clock of the service; undefined if unknown in that session. */
  readonly serviceAt?: number | undefined;
  readonly session?: Pick<SessionStart, 'boot' | 'at' | 'monotonicMs'> | undefined;
}

/** The current time, by the same clocks. */
export interface ClockReading {
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly boot: string;
  /** Undefined if unknown; then no age is known. */
  readonly serviceMs: number | undefined;
}

/**
 * The age of a key in milliseconds: the maximum by wall clock, service clock and, on the same boot, monotonic clock, since
 * a wrong clock must not make an expired key look young. Undefined if unknown, or negative by all of them.
 */
export function keyAgeMs({ sentAt, serviceAt, session }: SentAt, present: ClockReading): number | undefined {
  if (present.serviceMs === undefined) return undefined;
  const ages = [present.nowMs - sentAt, present.serviceMs - (serviceAt ?? sentAt)];
  if (session?.monotonicMs !== undefined && session.boot !== '' && session.boot === present.boot) {
    ages.push(present.monotonicMs - session.monotonicMs - (sentAt - session.at));
  }
  const ms = Math.max(...ages);
  return ms < 0 ? undefined : ms;
}

/** Base32 (RFC 4648, section 6) in lower case. */
const alphabet = Buffer.from('abcdefghijklmnopqrstuvwxyz234567');

const keyLength = 26;

/** Makes idempotency keys of 26 letters, 130 random bits (docs/decisions.md, keys-1); draws bytes for many at once. */
export function rowKeys(): () => string {
  const letters = Buffer.alloc(keyLength * 1024);
  let at = letters.length;
  return () => {
    if (at === letters.length) {
      randomFillSync(letters);
      toLetters(letters);
      at = 0;
    }
    at += keyLength;
    return letters.toString('latin1', at - keyLength, at);
  };
}

/**
 * Derives an idempotency key: the same parts in the same list give the same key on every machine. It looks like a random
 * key, 26 letters with 130 bits of a SHA-256.
 *
 * A service that honors keys replays its first response even if the item was deleted since. To create an item again on
 * purpose, `parts` must differ.
 *
 * @param scope.origin the normalized address, from `runOrigin`
 */
export function derivedKey(
  { origin, site, list }: ListRef & { readonly origin: string },
  ...parts: readonly (string | number)[]
): string {
  const digest = hash('sha256', JSON.stringify(['listctl key', origin, site, list, ...parts]), 'buffer');
  return toLetters(digest).toString('latin1', 0, keyLength);
}

/** Turns each byte into a letter by its last five bits, in place. */
function toLetters(bytes: Buffer): Buffer {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = alphabet[(bytes[index] ?? 0) & 31] ?? 0;
  return bytes;
}

/** The first 16 hex digits of `payloadDigest`, enough to distinguish payloads of one row. */
export function payloadHash(id: string | undefined, fields: Fields): string {
  return payloadDigest(id, fields).slice(0, 16);
}

/** The SHA-256 of an id and fields, regardless of the order of members; the digits of numbers count. */
function payloadDigest(id: string | undefined, fields: Fields): string {
  const parts: (string | number | boolean | null)[] = [id ?? null];
  for (const name of orderOf(Object.keys(fields))) {
    const value = fields[name] ?? null;
    // A null in between distinguishes an object from a string with the same characters.
    if (typeof value === 'object' && value !== null) parts.push(name, null, printJson(sorted(value)));
    else parts.push(name, value);
  }
  return hash('sha256', JSON.stringify(parts), 'hex');
}

/** The names of the last row and their order: most rows of a file have the same. */
let last: { readonly names: readonly string[]; readonly ordered: readonly string[] } = { names: [], ordered: [] };

function orderOf(names: readonly string[]): readonly string[] {
  if (!isSame(names, last.names)) last = { names, ordered: [...names].sort() };
  return last.ordered;
}

function isSame(names: readonly string[], others: readonly string[]): boolean {
  if (names.length !== others.length) return false;
  for (let at = 0; at < names.length; at += 1) if (names[at] !== others[at]) return false;
  return true;
}

function sorted(value: JsonValue): JsonValue {
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return objectFrom(names.map((name) => [name, sorted(value[name] ?? null)]));
}

/**
 * A set of ids in 16 to 32 bytes each, by 63 bits of a hash: among a million ids, a collision occurs in one of eighteen
 * million runs.
 */
export class IdSet {
  #slots = new Uint32Array(2 * 1024);
  #size = 0;

  add(id: string): boolean {
    const [high, low] = hashOf(id);
    if (!this.#put(high, low)) return false;
    this.#size += 1;
    // At most half full.
    if (this.#size * 4 > this.#slots.length) this.#grow();
    return true;
  }

  #put(high: number, low: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (low - 1) & mask; ; at = (at + 2) & mask) {
      if (slots[at] === high && slots[at + 1] === low) return false;
      if (slots[at] !== 0 || slots[at + 1] !== 0) continue;
      slots[at] = high;
      slots[at + 1] = low;
      return true;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 2) {
      const [high = 0, low = 0] = [before[at], before[at + 1]];
      if (high !== 0 || low !== 0) this.#put(high, low);
    }
  }
}

/** Two multiplicative 32-bit hashes, never both zero. */
function hashOf(id: string): readonly [high: number, low: number] {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    one = Math.imul(one ^ code, 0x9e3779b1);
    two = Math.imul(two ^ code, 0x5f356495);
    one ^= one >>> 15;
    two ^= two >>> 13;
  }
  return [mixed(one ^ two) >>> 0, (mixed(two) | 1) >>> 0];
}

/** The finalizer of MurmurHash3. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/** The parts of a row that its key depends on. */
export interface KeyedRow {
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
export function keyDeriver(
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
      hint: `set a value in every row, or pass another ${flag}; nothing was sent`,
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
export function refuseDuplicateKeys(file: RowsFile, source: KeySource, keyOf: (row: KeyedRow) => string): RowsFile {
  if (source.kind === 'row') return file;
  return refuseRepeated(file, keyOf, (earlier, row) => sameKey(earlier, row, source));
}

/** Wraps a file so that reading it over every shard fails at a row with the key of an earlier row. */
export function refuseRepeated(
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
  const places = `rows ${earlier.number} and ${row.number} (lines ${earlier.line} and ${row.line})`;
  return new Failure('usage', `${places} have the same ${what} and would get the same key`, {
    hint: `make the rows different, or pass ${flag} row; nothing was sent\na service that honors keys would create one item for both`,
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
export function ownKeys(
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
    const places = `rows ${earlier.number} and ${row.number} (lines ${earlier.line} and ${row.line})`;
    return new Failure('usage', `${places} have the same key in "${field}"`, {
      hint: 'upper and lower case count as the same; make the keys different; nothing was sent',
    });
  };
  return { file: refuseRepeated(file, keyOf, failure), isFound: () => isFound };
}

function badKey({ number, line }: KeyedRow, field: string, problem: string): Failure {
  return new Failure('usage', `row ${number} (line ${line}): the key in "${field}" ${problem}`, {
    hint: 'set a key in every row, or leave out this column: listctl makes the keys then; nothing was sent',
  });
}
