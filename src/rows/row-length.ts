/** The longest record, line or element, in UTF-16 units (reliability, C3): no more than that is held of a file. */
export const rowLengthMax = 8 * 1024 * 1024;

export const tooLong = 'longer than 8 MiB';

/** What is kept of a row that is longer: enough to recognize it. */
export function keptOf(text: string): string {
  // A copy: a slice would keep all of it.
  return Buffer.from(text.slice(0, 1_000), 'utf16le').toString('utf16le');
}
