/** What stands in a plan, as one printable line that can't be read as anything else. */
import type { JsonValue } from '../json.ts';
import { jsonText } from './json-text.ts';
import { printable } from './printable.ts';

/** What stands where there is no value. */
export const absentWord = 'none';

/** What stands where a value will be null. */
export const clearedWord = 'cleared';

/** A text that reads as JSON, as a word of the plan, or as more than one value. */
const ambiguous = /^$|^\s|\s$|^["[{]|^(?:true|false|null|none|cleared)$|^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$|→/i;

/**
 * A value: a string as it is where that says all, anything else as JSON, numbers with the digits they came with.
 * Different values are different texts.
 */
export function valueText(value: JsonValue): string {
  // In quotes, too, where escapes are needed: outside of them a newline and a `⏎` would look the same.
  if (typeof value === 'string' && !ambiguous.test(value) && printable(value) === value) return value;
  return jsonText(value);
}

/** A value as JSON of nothing but ASCII: what looks the same and is not the same is seen. */
export function exactText(value: JsonValue): string {
  return jsonText(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Whether two texts can't be told apart by eye: the same, but for blanks of another kind and how accents are made. */
export function looksSame(one: string, other: string): boolean {
  return appearanceOf(one) === appearanceOf(other);
}

/** A field's name, in quotes where its end could be mistaken. */
export function nameText(name: string): string {
  return /^$|^\s|\s$|^"|:/.test(name) || printable(name) !== name ? jsonText(name) : name;
}

/** An id, in quotes unless it is made of what ids are made of. */
export function idText(id: string): string {
  return /^[\w.:~{}@/+=-]+$/.test(id) ? id : jsonText(id);
}

function appearanceOf(text: string): string {
  return text.normalize('NFC').replace(/\p{Zs}/gu, ' ');
}
