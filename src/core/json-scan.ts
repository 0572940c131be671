/** JSON that is read in parts: where a value begins and ends, and where a text stops being JSON. */
import { type Fields, idProblem } from './item.ts';
import { endOfQuotes, isObject, type JsonValue, parseJson } from './json.ts';
import { isBoolean, isCount, isHeaderValue, isString, oneOf } from './shape.ts';

/** Why a text is not JSON, and where, in UTF-16 units from its start. */
export class JsonFault extends SyntaxError {
  override readonly name = 'JsonFault';
  readonly at: number;

  constructor(reason: string, at: number) {
    super(reason);
    this.at = at;
  }
}

/** The place of a value in a text. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** The first character from there on that is not a blank, or the text's length. */
export function skipBlanks(text: string, from: number): number {
  for (let at = from; ; at += 1) if (!isBlank(text.charCodeAt(at))) return at;
}

/**
 * Finds the first character that JSON (RFC 8259) does not have there; undefined for JSON. Node's own messages name it
 * only at times, and each release in other words.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  try {
    refuseRest(text, endOfValue(text, skipBlanks(text, 0)));
    return undefined;
  } catch (error) {
    if (error instanceof JsonFault) return error;
    throw error;
  }
}

/** The end of a value that is checked to its last character; not recursive, since a text may nest without bounds. */
function endOfValue(text: string, start: number): number {
  const open: string[] = [];
  for (let at = start; ; ) {
    const close = closingOf(text[at]);
    if (close === undefined) at = endOfScalar(text, at);
    else {
      open.push(close);
      at = skipBlanks(text, at + 1);
    }
    if (close === undefined || text[at] === close) {
      at = endOfClosed(text, at, open);
      if (open.length === 0) return at;
      if (text[at] !== ',') throw unexpected(text, at);
      at = skipBlanks(text, at + 1);
    }
    if (open.at(-1) === '}') at = memberValue(text, endOfString(text, at));
  }
}

function closingOf(opening: string | undefined): '}' | ']' | undefined {
  if (opening === '{') return '}';
  return opening === '[' ? ']' : undefined;
}

/** Skips the brackets that close here, which are taken off the open ones. */
function endOfClosed(text: string, start: number, open: string[]): number {
  let at = start;
  while (open.length > 0) {
    at = skipBlanks(text, at);
    if (text[at] !== open.at(-1)) return at;
    open.pop();
    at += 1;
  }
  return at;
}

function endOfScalar(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  const length = matchAt(plainScalar, text, start)?.length;
  if (length === undefined) throw unexpected(text, start);
  return start + length;
}

/** By hand: a regular expression for a string of 8 MiB takes more stack than there is. */
function endOfString(text: string, start: number): number {
  if (text[start] !== '"') throw unexpected(text, start);
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    const escapee = code === 0x5c ? matchAt(escaped, text, at + 1) : '';
    // NaN at the end of the text.
    if (!(code >= 0x20) || escapee === undefined) throw unexpected(text, at);
    at += escapee.length;
  }
}

/** Where the value of a member begins, of which the name ends there. */
function memberValue(text: string, nameEnd: number): number {
  const colon = skipBlanks(text, nameEnd);
  if (text[colon] !== ':') throw unexpected(text, colon);
  return skipBlanks(text, colon + 1);
}

const plainScalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escaped = /["\\/bfnrt]|u[\da-fA-F]{4}/y;

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/**
 * Visits the members of the object that begins at `start`, and returns its end; values are not checked. Throws a
 * JsonFault if it is not an object, or a name appears twice.
 */
export function eachMember(text: string, start: number, take: (name: string, value: Extent) => void): number {
  const names = new Set<string>();
  return eachPart(text, start, '{}', (from) => {
    const nameEnd = endOfString(text, from);
    const name = JSON.parse(text.slice(from, nameEnd)) as string;
    if (names.has(name)) throw new JsonFault(`duplicate member ${JSON.stringify(name.slice(0, 100))}`, from);
    names.add(name);
    const value = extentAt(text, memberValue(text, nameEnd));
    take(name, value);
    return value.end;
  });
}

/** Visits the elements of an array, as `eachMember`. */
export function eachElement(text: string, start: number, take: (value: Extent) => void): number {
  return eachPart(text, start, '[]', (from) => {
    const value = extentAt(text, from);
    take(value);
    return value.end;
  });
}

/** @throws {JsonFault} when anything but blanks follows */
export function refuseRest(text: string, from: number): void {
  const at = skipBlanks(text, from);
  if (at < text.length) throw unexpected(text, at);
}

/** Parses a part, with the digits of its numbers; throws a JsonFault if it is not JSON, too wide or too deep. */
export function parsePart(text: string, { start, end }: Extent): JsonValue {
  const part = text.slice(start, end);
  try {
    return parseJson(part);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const fault = findJsonFault(part);
    throw fault === undefined ? new JsonFault(error.message, start) : unexpected(text, start + fault.at);
  }
}

function eachPart(text: string, start: number, brackets: '{}' | '[]', take: (from: number) => number): number {
  if (text[start] !== brackets[0]) throw unexpected(text, start);
  let at = skipBlanks(text, start + 1);
  if (text[at] === brackets[1]) return at + 1;
  for (;;) {
    at = skipBlanks(text, take(at));
    if (text[at] === brackets[1]) return at + 1;
    if (text[at] !== ',') throw unexpected(text, at);
    at = skipBlanks(text, at + 1);
  }
}

/** The extent of the value that begins there by its brackets and quotes alone: a fault in it spoils no other value. */
function extentAt(text: string, start: number): Extent {
  const code = text.charCodeAt(start);
  let end = start;
  if (code === 0x22) end = endOfQuotes(text, start) + 1;
  else if (code === 0x7b || code === 0x5b) end = endOfBrackets(text, start);
  else while (end < text.length && !isBlank(text.charCodeAt(end)) && !',]}:"'.includes(text.charAt(end))) end += 1;
  if (end > text.length || end === start) throw unexpected(text, Math.min(end, text.length));
  return { start, end };
}

function endOfBrackets(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfQuotes(text, at);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        if (depth === 0) return at + 1;
    }
  }
  throw unexpected(text, text.length);
}

/** Whether a character is one of JSON's blanks. */
export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function unexpected(text: string, at: number): JsonFault {
  const rest = text.slice(at, at + 20);
  return new JsonFault(rest === '' ? 'invalid JSON: unexpected end' : `invalid JSON at ${JSON.stringify(rest)}`, at);
}

/** The members of an object that was read. Every method throws a JsonFault for a member that is missing or not valid. */
export class JsonMembers {
  readonly end: number;
  readonly #text: string;
  readonly #start: number;
  readonly #extents = new Map<string, Extent>();

  /**
   * @param known the names that it may have
   * @throws {JsonFault} when it is not an object, or has another member
   */
  constructor(text: string, start: number, known: readonly string[]) {
    this.#text = text;
    this.#start = start;
    this.end = eachMember(text, start, (name, value) => {
      if (!known.includes(name)) throw new JsonFault(`unexpected member ${JSON.stringify(name.slice(0, 100))}`, start);
      this.#extents.set(name, value);
    });
  }

  has(name: string): boolean {
    return this.#extents.has(name);
  }

  /** The place of a member's value, for what is read in parts. */
  extent(name: string): Extent {
    const extent = this.#extents.get(name);
    if (extent === undefined) throw new JsonFault(`${name} is missing`, this.#start);
    return extent;
  }

  value(name: string): JsonValue {
    return parsePart(this.#text, this.extent(name));
  }

  text(name: string): string {
    return this.#checked(name, isString, 'is not a string');
  }

  /** Undefined where there is no such member. */
  maybeText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  /** A string that a header can carry; undefined where there is no such member. */
  maybeHeader(name: string): string | undefined {
    return this.has(name) ? this.#checked(name, isHeaderValue, 'is not a valid header value') : undefined;
  }

  /** A string that can be a segment of a path. */
  id(name: string, of: string): string {
    const id = this.text(name);
    const problem = idProblem(id, of);
    return problem === undefined ? id : this.#refuse(name, `is not a valid id: ${problem}`);
  }

  /** A whole number, not below 0. */
  count(name: string): number {
    return this.#checked(name, isCount, 'is not a whole number');
  }

  fields(name: string): Fields {
    const value = this.value(name);
    return isObject(value) ? value : this.#refuse(name, 'is not an object');
  }

  word<T extends string>(name: string, words: readonly T[]): T {
    return this.#checked(name, oneOf(...words), `is not ${words.join(' or ')}`);
  }

  flag(name: string): boolean {
    return this.#checked(name, isBoolean, 'is not true or false');
  }

  #checked<T>(name: string, check: (value: unknown) => value is T, reason: string): T {
    const value: unknown = this.value(name);
    return check(value) ? value : this.#refuse(name, reason);
  }

  #refuse(name: string, reason: string): never {
    throw new JsonFault(`${name} ${reason}`, this.extent(name).start);
  }
}

/** Formats a place of a text: `line 3, column 7`. */
export function formatPosition(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return `line ${line}, column ${at - before.lastIndexOf('\n')}`;
}
