/**
 * JSON taken apart level by level: what is too long to be read as one value (`parseJson` takes 10,000 members) is read
 * in parts, each by itself. Only the borders of the parts are looked at here.
 */
import { type JsonValue, parseJson } from '../json.ts';
import { jsonFaultAt } from '../rows/json-fault.ts';

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
    if (names.has(name)) throw new JsonFault(`the name ${JSON.stringify(name.slice(0, 100))} stands there twice`, from);
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
export function parseText(text: string, extent: Extent): string {
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
  return new JsonFault(rest === '' ? 'no JSON: it ends too early' : `no JSON from ${JSON.stringify(rest)} on`, at);
}
