/** The items of a seed out of its rows: each with its key, and what is wrong with those that have none. */
import { Failure } from '../errors.ts';
import type { Fields } from '../item.ts';
import { type JsonValue, NumberToken } from '../json.ts';
import { badRowFailure } from '../rows/check-rows.ts';
import { quoted } from '../rows/raw-row.ts';
import type { BadRow, Row } from '../rows/row.ts';
import { ownField } from './same-value.ts';
import type { SeedItem } from './seed.ts';

/** So many problems are named; of the others only how many. */
const namedMax = 1000;

/** Gathers the items of one seed. */
export class SeedItems {
  readonly items: SeedItem[] = [];
  readonly #key: string;
  readonly #columns: { readonly header: readonly string[] };
  readonly #lines = new Map<string, number>();
  readonly #problems: Failure[] = [];
  #problemCount = 0;
  #rows = 0;

  /**
   * @param key the name of the field that tells the items apart
   * @param columns of CSV and TSV: the header
   */
  constructor(key: string, columns: readonly string[] = []) {
    this.#key = key;
    this.#columns = { header: columns };
  }

  add(row: Row | BadRow): void {
    this.#rows += 1;
    if (row.problem !== undefined) {
      this.#refuse(row, row.problem);
      return;
    }
    const { fields, line } = row;
    const read = keyOf(fields, this.#key);
    if ('problem' in read) {
      this.#refuse(row, read.problem);
      return;
    }
    const problem = this.#take({ key: read.key, fields, line });
    if (problem !== undefined) this.#refuse(row, problem, read.key);
  }

  #take(item: SeedItem): string | undefined {
    const first = this.#lines.get(item.key);
    if (first !== undefined) return `the key ${quoted(item.key)} stands in line ${first} already`;
    this.#lines.set(item.key, item.line);
    this.items.push(item);
    return undefined;
  }

  #refuse(row: Row | BadRow, problem: string, key?: string): void {
    this.#problemCount += 1;
    if (this.#problems.length >= namedMax) return;
    const { number, line, source } = row;
    const column = row.problem === undefined ? undefined : row.column;
    const bad = { number, line, column, source, problem };
    this.#problems.push(badRowFailure(bad, this.#columns).about({ key }));
  }

  /** What is wrong with each of the first 1,000 bad items, and how many there are. */
  get problems(): { readonly failures: readonly Failure[]; readonly count: number } {
    return { failures: this.#problems, count: this.#problemCount };
  }

  /** The failure of a seed with problems; undefined for one without. */
  failure(name: string): Failure | undefined {
    const [first] = this.#problems;
    if (first === undefined) return undefined;
    const count = this.#problemCount === 1 ? '1 item' : `${this.#problemCount} items`;
    return new Failure('usage', `${name}: ${count} of ${this.#rows} can't be used: ${first.message}`, {
      outcome: 'not-sent',
      about: this.#problemCount === 1 ? first.details.about : undefined,
      hint: `nothing was sent; each item needs a value of its own in ${quoted(this.#key)}, which is its key`,
    });
  }
}

/** The key of an item: the text of one of its fields. */
function keyOf(fields: Fields, name: string): { readonly key: string } | { readonly problem: string } {
  const value = ownField(fields, name);
  if (value === undefined) return { problem: `it has no ${quoted(name)}, which is its key` };
  const key = keyText(value);
  if (key === '') return { problem: `its key ${quoted(name)} is empty` };
  return key === undefined ? { problem: `its key ${quoted(name)} is no text, number, true or false` } : { key };
}

/** The text that a key has as a field's value; undefined for a value that cannot be a key. */
export function keyText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof NumberToken) return value.digits;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
