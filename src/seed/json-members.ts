/** An object of a file of ours, member by member: each is what it should be, or the reading ends in a JsonFault. */
import { checkId, type Fields, headerValue } from '../item.ts';
import { isObject, type JsonValue } from '../json.ts';
import { type Extent, eachMember, JsonFault, parsePart, parseText } from './json-parts.ts';

/** The members of one object that was read. Every method throws a JsonFault where a member is missing or something else. */
export class JsonMembers {
  /** Behind the object. */
  readonly end: number;
  readonly #text: string;
  readonly #start: number;
  readonly #extents = new Map<string, Extent>();

  /**
   * @param known the names that it may have
   * @throws {JsonFault} when there is no object, or one with another name
   */
  constructor(text: string, start: number, known: readonly string[]) {
    this.#text = text;
    this.#start = start;
    this.end = eachMember(text, start, (name, value) => {
      if (!known.includes(name)) throw new JsonFault(`there is a member ${JSON.stringify(name.slice(0, 100))}`, start);
      this.#extents.set(name, value);
    });
  }

  has(name: string): boolean {
    return this.#extents.has(name);
  }

  /** Where a member's value stands, for what is read in parts. */
  extent(name: string): Extent {
    const extent = this.#extents.get(name);
    if (extent === undefined) throw new JsonFault(`${name} is missing`, this.#start);
    return extent;
  }

  value(name: string): JsonValue {
    return parsePart(this.#text, this.extent(name));
  }

  text(name: string): string {
    const extent = this.extent(name);
    return this.#text[extent.start] === '"' ? parseText(this.#text, extent) : this.#refuse(name, 'is no text');
  }

  textOrNull(name: string): string | null {
    const value = this.value(name);
    return value === null || typeof value === 'string' ? value : this.#refuse(name, 'is no text');
  }

  /** Undefined where there is no such member. */
  maybeText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  /** What a header can carry; undefined where there is no such member. */
  maybeHeader(name: string): string | undefined {
    const text = this.maybeText(name);
    return headerValue(text) === text ? text : this.#refuse(name, 'is not a valid header value');
  }

  /** A text that can be a part of a path. */
  id(name: string, of: string): string {
    const id = this.text(name);
    try {
      return checkId(id, of);
    } catch (error) {
      return this.#refuse(name, `can be no id: ${(error as Error).message}`);
    }
  }

  /** A whole number, not below 0. */
  count(name: string): number {
    const value = this.value(name);
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? (value as number)
      : this.#refuse(name, 'is no whole number');
  }

  fields(name: string): Fields {
    const value = this.value(name);
    return isObject(value) ? value : this.#refuse(name, 'is no object');
  }

  /** One of some texts. */
  word<T extends string>(name: string, words: readonly T[]): T {
    const value = this.value(name);
    return words.find((word) => word === value) ?? this.#refuse(name, `is not ${words.join(' or ')}`);
  }

  /** True or false. */
  flag(name: string): boolean {
    const value = this.value(name);
    return typeof value === 'boolean' ? value : this.#refuse(name, 'is not true or false');
  }

  #refuse(name: string, reason: string): never {
    throw new JsonFault(`${name} ${reason}`, this.extent(name).start);
  }
}

/** A place of a text as people count it: line and column, from 1. */
export function placeText(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return `line ${line}, column ${at - before.lastIndexOf('\n')}`;
}
