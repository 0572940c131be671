import type { Fields } from '../item.ts';
import { isObject, type JsonValue, NumberToken, printJson } from '../json.ts';

/** The longest record, line or element, in UTF-16 units (reliability, C3): no more than that is held of a file. */
export const rowLengthMax = 8 * 1024 * 1024;

export const tooLong = 'longer than 8 MiB';

/** What is kept of a row that is longer: enough to recognize it. */
export function keptOf(text: string): string {
  // A copy: a slice would keep all of it.
  return Buffer.from(text.slice(0, 1_000), 'utf16le').toString('utf16le');
}

/** What comes back of an item has its id and more around the fields, and can be read only within the limits of a response. */
const sentMax = { members: 9_990, levels: 126, bytes: rowLengthMax - 4096 } as const;

/** Why fields must not be sent: whether such an item was created or changed could never be confirmed. */
export function problemOfSize(fields: Fields): string | undefined {
  const size = { members: 0, length: 0 };
  if (!measure(fields, sentMax.levels, size)) {
    return `it has more than ${sentMax.members} members, or nests deeper than ${sentMax.levels}`;
  }
  // No character takes more than six bytes in JSON: few rows have to be printed to know.
  const mayBeLonger = 6 * size.length > sentMax.bytes;
  return mayBeLonger && Buffer.byteLength(printJson(fields)) > sentMax.bytes
    ? 'its JSON is longer than 8 MiB'
    : undefined;
}

/** Adds up members and characters, at least as many as JSON has; false where there are too many members or levels. */
function measure(value: JsonValue, levels: number, size: { members: number; length: number }): boolean {
  if (typeof value === 'string') size.length += value.length + 2;
  else if (value instanceof NumberToken) size.length += value.digits.length;
  else if (typeof value !== 'object' || value === null) size.length += 25;
  else if (levels === 0) return false;
  else if (isObject(value)) {
    for (const name in value) {
      size.members += 1;
      size.length += name.length + 4;
      if (size.members > sentMax.members || !measure(value[name] ?? null, levels - 1, size)) return false;
    }
  } else return value.every((each) => measure(each, levels - 1, size));
  return true;
}
