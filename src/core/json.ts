/** JSON with the digits of every number and every member name, `__proto__` included. Wraps lossless-json. */
import { parse } from 'lossless-json';

/** A number that a double would print with other digits: 12345678901234567890, 1.10, 1e400, -0. */
export class NumberToken {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }
}

/** Members by name. Own properties only: read with `Object.hasOwn` or `Object.entries`. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** A JSON value; a number is a token only where a plain one would lose digits. */
export type JsonValue = null | boolean | number | string | NumberToken | readonly JsonValue[] | JsonObject;

/** Limits of a text (docs/decisions.md, limits-3). */
const limits = { depth: 128, members: 10_000 } as const;

/** Parses JSON (RFC 8259). A member with two different values is a SyntaxError, too, and so are the limits. */
export function parseJson(text: string, membersMax: number = limits.members): JsonValue {
  refuseExcess(text, membersMax);
  const plain: unknown = JSON.parse(text);
  // What prints as it was read has lost nothing. True of most responses, and 10 times faster.
  if (JSON.stringify(plain) === text) return plain as JsonValue;
  return parse(text, undefined, (digits) => {
    const value = Number(digits);
    return String(value) === digits ? value : new NumberToken(digits);
  }) as JsonValue;
}

/** Prints a value as JSON, with the digits that its numbers had; `indent` is the number of spaces per level. */
export function printJson(value: JsonValue, indent = 0): string {
  // The usual case, several times faster.
  if (!holdsToken(value)) return JSON.stringify(value, null, indent);
  return print(value, indent, indent === 0 ? '' : '\n');
}

function holdsToken(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof NumberToken) return true;
  if (Array.isArray(value)) return value.some(holdsToken);
  const members = value as JsonObject;
  for (const name in members) if (holdsToken(members[name] as JsonValue)) return true;
  return false;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberToken);
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Makes an object; `__proto__` is a name like any other. */
export function objectFrom(members: Iterable<readonly [string, JsonValue]>): JsonObject {
  // Defines members, while an assignment to `__proto__` would not.
  return Object.fromEntries(members);
}

/** Makes an object of the members that are defined. */
export function withoutUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return objectFrom(Object.entries(members).filter((member): member is [string, JsonValue] => member[1] !== undefined));
}

function print(value: JsonValue, indent: number, newline: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof NumberToken) return value.digits;
  const inner = newline === '' ? '' : newline + ' '.repeat(indent);
  const [open, parts, close] = Array.isArray(value)
    ? ['[', printElements(value, indent, inner), ']']
    : ['{', printMembers(value as JsonObject, indent, inner), '}'];
  return parts === '' ? open + close : `${open}${parts}${newline}${close}`;
}

// Concatenated: to join arrays of parts takes three times as long.
function printElements(values: readonly JsonValue[], indent: number, newline: string): string {
  let text = '';
  for (const value of values) text += `${text === '' ? '' : ','}${newline}${print(value, indent, newline)}`;
  return text;
}

function printMembers(members: JsonObject, indent: number, newline: string): string {
  const colon = newline === '' ? ':' : ': ';
  let text = '';
  for (const name of Object.keys(members)) {
    const value = print(members[name] as JsonValue, indent, newline);
    text += `${text === '' ? '' : ','}${newline}${JSON.stringify(name)}${colon}${value}`;
  }
  return text;
}

function refuseExcess(text: string, membersMax: number): void {
  // A text this short can be neither too deep nor too wide.
  if (text.length <= limits.depth) return;
  let depth = 0;
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfQuotes(text, at);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > limits.depth) throw new SyntaxError(`nested deeper than ${limits.depth} levels`);
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      case 0x3a:
        members += 1;
        if (members > membersMax) throw new SyntaxError(`more than ${membersMax} members`);
    }
  }
}

/** The index of the quote that closes the string opened at `start`, or the text's length. */
export function endOfQuotes(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
