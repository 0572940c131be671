/**
 * The columns that a printable text takes at most: to know them exactly takes the libraries of tables. At worst a
 * line is cut a little early. Never less than the text's length.
 */
export function widthAtMost(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  // Wide characters begin at U+1100, `…` is none, and those beyond U+FFFF have two units already.
  return text.length + (text.match(/[\u1100-\u1fff\u2070-\ud7ff\ue000-\uffff]/g)?.length ?? 0);
}

/** Whether a printable text takes at most so many columns; of a long one no more is looked at than its length. */
export function isAtMost(text: string, widthMax: number): boolean {
  return text.length <= widthMax && widthAtMost(text) <= widthMax;
}
