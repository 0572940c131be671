import type { JsonValue } from '../json.ts';
import { printable } from './printable.ts';
import { plainText } from './row.ts';

/** How cells are written. */
export interface CsvStyle {
  readonly delimiter: ',' | '\t';
  /** For a spreadsheet: a text that it would run as a formula gets a leading `'`. */
  readonly isSafe: boolean;
  /** For a terminal: control characters and what hides text are visible escapes. Else every text is exact. */
  readonly isPrintable: boolean;
}

/** What a spreadsheet runs, and what it strips before it looks (reliability, O05; OWASP, "CSV Injection"). */
const formulaStart = /^[=+\-@\t\r\n\0＝＋－＠]/;

/**
 * What must stand in quotes (RFC 4180): also a byte order mark and `sep=`, which readers take for their own where a
 * file begins with them; blanks at either end, which some trim; and what a reader may take for the delimiter.
 */
const special = {
  ',': /[",;\t\r\n]|^[\ufeff\s]|\s$|^sep=/i,
  '\t': /["\t\r\n]|^[\ufeff\s]|\s$|^sep=/i,
};

/** A value in its cell: text, numbers by their digits, lists and objects as JSON; nothing for null. */
function csvCell(value: JsonValue | undefined, { delimiter, isSafe, isPrintable }: CsvStyle): string {
  const plain = plainText(value);
  const safe = isSafe && typeof value === 'string' && formulaStart.test(plain) ? `'${plain}` : plain;
  const text = isPrintable ? printable(safe) : safe;
  // Quotes tell a text without characters from no text at all.
  if (text === '') return typeof value === 'string' ? '""' : '';
  return special[delimiter].test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Cells as one line, without its newline. */
export function csvLine(values: readonly (JsonValue | undefined)[], style: CsvStyle): string {
  return values.map((value) => csvCell(value, style)).join(style.delimiter);
}
