import { cutText } from './cut-text.ts';
import { printable } from './printable.ts';

/** Any text as one printable line of at most so many columns of a terminal, ending in `…` where it was cut. */
export function oneLine(text: string, widthMax: number): string {
  return cutText(printable(text), widthMax, widthAtMost);
}

/**
 * The columns that a printable text takes at most. To know them exactly takes the libraries of tables, which a summary
 * is not worth: at worst a line is cut a little early.
 */
function widthAtMost(text: string): number {
  // Wide characters begin at U+1100, `…` is none, and those beyond U+FFFF have two units already.
  return text.length + (text.match(/[\u1100-\u1fff\u2070-\ud7ff\ue000-\uffff]/g)?.length ?? 0);
}
