/** The items of a seed out of its rows: each with its key, and what is wrong with those that have none. */
import { Failure } from '../errors.ts';
import type { Fields } from '../item.ts';
import { type JsonValue, NumberToken } from '../json.ts';
import { quoted } from '../rows/raw-row.ts';
import type { BadRow, Row } from '../rows/row.ts';
import { ownField } from './same-value.ts';
import type { SeedItem } from './seed.ts';

/** So many problems are named; of the others only how many. */
const namedMax = 20;

/** Gathers the items of one seed. */
export class SeedItems {
  readonly items: SeedItem[] = [];
  readonly #key: string;
  readonly #lines = new Map<string, number>();
  readonly #problems: string[] = [];
  #problemCount = 0;
  #rows = 0;

  /** @param key the name of the field that tells the items apart */
  constructor(key: string) {
    this.#key = key;
  }

  add(row: Row | BadRow): void {
    this.#rows += 1;
    const { line } = row;
    if (row.problem !== undefined) {
      this.#refuse(row.column === undefined ? `line ${line}` : `line ${line}, column ${row.column}`, row.problem);
      return;
    }
    const { fields } = row;
    const read = keyOf(fields, this.#key);
    if ('problem' in read) this.#refuse(`line ${line}`, read.problem);
    else this.#take({ key: read.key, fields, line });
  }

  #take(item: SeedItem): void {
    const first = this.#lines.get(item.key);
    if (first === undefined) {
      this.#lines.set(item.key, item.line);
      this.items.push(item);
    } else this.#refuse(`line ${item.line}`, `the key ${quoted(item.key)} stands in line ${first} already`);
  }

  #refuse(place: string, problem: string): void {
    this.#problemCount += 1;
    if (this.#problems.length < namedMax) this.#problems.push(`${place}: ${problem}`);
  }

  /** The problems, each in a line of its own, and how many more there are; none where there is one at most. */
  problemLines(): readonly string[] {
    const more = this.#problemCount - this.#problems.length;
    if (this.#problemCount < 2) return [];
    return more > 0 ? [...this.#problems, `and ${more} more`] : this.#problems;
  }

  /** The failure of a seed with problems; undefined for one without. */
  failure(name: string): Failure | undefined {
    const [first] = this.#problems;
    if (first === undefined) return undefined;
    const count = this.#problemCount === 1 ? '1 item' : `${this.#problemCount} items`;
    return new Failure('usage', `${name}: ${count} of ${this.#rows} can't be used: ${first}`, {
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
