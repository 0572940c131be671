import { checkId, type Fields, headerValue } from './item.ts';
import { isObject, type JsonValue, parseJson } from './json.ts';

/**
 * The offset at which a text stops being JSON (RFC 8259), that of its end where something is missing; undefined for
 * JSON. Node's own messages say where only at times, and each release in other words.
 */
export function jsonFaultAt(text: string): number | undefined {
  /** The closing brackets of what is open. */
  const open: string[] = [];
  let expected = 'value' as Expected;
  let at = 0;
  const close = () => {
    open.pop();
    expected = 'comma';
  };
  const steps: Readonly<Record<Expected, (token: string) => boolean>> = {
    value: (token) => {
      const isOpening = token === '[' || token === '{';
      if (isOpening) open.push(token === '[' ? ']' : '}');
      expected = token === '[' ? 'value or ]' : token === '{' ? 'name or }' : 'comma';
      return isOpening || !']},:'.includes(token);
    },
    'value or ]': (token) => {
      if (token !== ']') return steps.value(token);
      close();
      return true;
    },
    name: (token) => {
      expected = 'colon';
      return token === '"';
    },
    'name or }': (token) => {
      if (token !== '}') return steps.name(token);
      close();
      return true;
    },
    colon: (token) => {
      expected = 'value';
      return token === ':';
    },
    comma: (token) => {
      if (token === open.at(-1)) {
        close();
        return true;
      }
      expected = open.at(-1) === ']' ? 'value' : 'name';
      return token === ',' && open.length > 0;
    },
  };
  for (;;) {
    at += matchAt(blank, text, at)?.length ?? 0;
    if (at === text.length) return open.length === 0 && expected === 'comma' ? undefined : at;
    const { end, isWhole } = tokenAt(text, at);
    if (!isWhole) return end;
    // Of a string its quote is enough to go by.
    if (!steps[expected](text[at] === '"' ? '"' : text.slice(at, end))) return at;
    at = end;
  }
}

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma';

const blank = /[ \t\r\n]*/y;
const plainToken = /[[\]{},:]|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escaped = /["\\/bfnrt]|u[\da-fA-F]{4}/y;

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** The end of the token that begins here, and whether it is whole. */
function tokenAt(text: string, at: number): { readonly end: number; readonly isWhole: boolean } {
  if (text[at] === '"') return stringAt(text, at);
  const token = matchAt(plainToken, text, at);
  return { end: at + (token?.length ?? 0), isWhole: token !== undefined };
}

/** By hand: a regular expression for a string of 8 MiB takes more stack than there is. */
function stringAt(text: string, start: number): { readonly end: number; readonly isWhole: boolean } {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { end: at + 1, isWhole: true };
    if (code < 0x20) break;
    const escapee = code === 0x5c ? matchAt(escaped, text, at + 1) : '';
    if (escapee === undefined) break;
    at += 1 + escapee.length;
  }
  return { end: at, isWhole: false };
}

/** Why a text is no JSON, and where, in UTF-16 units from its start. */
export class JsonFault extends SyntaxError {
  override readonly name = 'JsonFault';
  readonly at: number;

  constructor(reason: string, at: number) {
    super(reason);
    this.at = at;
  }
}

/** A value of a text: where it begins, and where it ends. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** The first character that is no blank, or the text's length. */
export function skipBlanks(text: string, from: number): number {
  for (let at = from; ; at += 1) if (!isBlank(text.charCodeAt(at))) return at;
}

/**
 * Goes through the members of an object.
 *
 * @param start where it begins
 * @returns where it ends
 * @throws {JsonFault} when no object stands there, or a name does twice; a value is not looked into
 */
export function eachMember(text: string, start: number, take: (name: string, value: Extent) => void): number {
  const names = new Set<string>();
  return eachPart(text, start, '{}', (from) => {
    if (text[from] !== '"') throw unexpected(text, from);
    const nameEnd = endOfString(text, from);
    const name = parseText(text, { start: from, end: nameEnd });
    if (names.has(name)) throw new JsonFault(`duplicate member ${JSON.stringify(name.slice(0, 100))}`, from);
    names.add(name);
    const colon = skipBlanks(text, nameEnd);
    if (text[colon] !== ':') throw unexpected(text, colon);
    const value = extentAt(text, skipBlanks(text, colon + 1));
    take(name, value);
    return value.end;
  });
}

/**
 * Goes through the elements of an array; as `eachMember`.
 *
 * @throws {JsonFault}
 */
export function eachElement(text: string, start: number, take: (value: Extent) => void): number {
  return eachPart(text, start, '[]', (from) => {
    const value = extentAt(text, from);
    take(value);
    return value.end;
  });
}

/** @throws {JsonFault} when anything but blanks stands there */
export function refuseRest(text: string, from: number): void {
  const at = skipBlanks(text, from);
  if (at < text.length) throw unexpected(text, at);
}

/**
 * The value of a part, its digits kept.
 *
 * @throws {JsonFault} when it is no JSON, or has too many members or levels
 */
export function parsePart(text: string, { start, end }: Extent): JsonValue {
  const part = text.slice(start, end);
  try {
    return parseJson(part);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const at = jsonFaultAt(part);
    throw at === undefined ? new JsonFault(error.message, start) : unexpected(text, start + at);
  }
}

/**
 * The text that a part is.
 *
 * @param extent of a string, its quotes included
 * @throws {JsonFault} when it is no JSON
 */
function parseText(text: string, extent: Extent): string {
  try {
    // It has no digits to be kept: half the time.
    return JSON.parse(text.slice(extent.start, extent.end)) as string;
  } catch {
    return parsePart(text, extent) as string;
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

/** Where the value that begins there ends, as far as brackets and quotes tell. */
function extentAt(text: string, start: number): Extent {
  const code = text.charCodeAt(start);
  if (code === 0x22) return { start, end: endOfString(text, start) };
  if (code === 0x7b || code === 0x5b) return { start, end: endOfBrackets(text, start) };
  let end = start;
  while (end < text.length && !isBlank(text.charCodeAt(end)) && !',]}:"'.includes(text.charAt(end))) end += 1;
  if (end === start) throw unexpected(text, start);
  return { start, end };
}

function endOfBrackets(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at) - 1;
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

/** Behind the quote that closes it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  throw unexpected(text, text.length);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function unexpected(text: string, at: number): JsonFault {
  const rest = text.slice(at, at + 20);
  return new JsonFault(rest === '' ? 'invalid JSON: unexpected end' : `invalid JSON at ${JSON.stringify(rest)}`, at);
}

/** The members of one object that was read. Every method throws a JsonFault where a member is missing or something else. */
export class JsonMembers {
  /** Behind the object. */
  readonly end: number;
  readonly #text: string;
  readonly #start: number;
  readonly #extents = new Map<string, Extent>();

  /**
   * @param known the names that it may have
   * @throws {JsonFault} when there is not an object, or one with another name
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
    return this.#text[extent.start] === '"' ? parseText(this.#text, extent) : this.#refuse(name, 'is not a string');
  }

  textOrNull(name: string): string | null {
    const value = this.value(name);
    return value === null || typeof value === 'string' ? value : this.#refuse(name, 'is not a string');
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
      return this.#refuse(name, `is not a valid id: ${(error as Error).message}`);
    }
  }

  /** A whole number, not below 0. */
  count(name: string): number {
    const value = this.value(name);
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? (value as number)
      : this.#refuse(name, 'is not a whole number');
  }

  fields(name: string): Fields {
    const value = this.value(name);
    return isObject(value) ? value : this.#refuse(name, 'is not an object');
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
