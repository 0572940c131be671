import { cutText } from './cut-text.ts';
import { printable } from './printable.ts';
import { widthAtMost } from './width-at-most.ts';

/** Any text as one printable line of at most so many columns of a terminal, ending in `…` where it was cut. */
export function oneLine(text: string, widthMax: number): string {
  return cutText(printable(text), widthMax, widthAtMost);
}
