import { type JsonValue, printJson } from '../json.ts';
import { hiddenCharacters } from './printable.ts';

/**
 * A value as JSON that is safe to show on a terminal: equal after parsing, numbers with the digits they came with, and
 * every control character and every character that hides or reorders text as `\uXXXX` (RFC 8259, section 7;
 * reliability, O03).
 *
 * @param indent spaces for each level; 0 is one line
 */
export function jsonText(value: JsonValue, indent = 0): string {
  const text = printJson(value, indent);
  if (/^[ -~\n]*$/.test(text)) return text;
  // Only strings and names hold anything but ASCII, so an escape is valid wherever it falls.
  return text.replace(hiddenCharacters(), (found) => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at).toString(16).padStart(4, '0'));
    return units.map((digits) => `\\u${digits}`).join('');
  });
}
