import { widthAtMost } from './width-at-most.ts';

/** A printable text, and where it may be cut: never inside what reads as one character (UAX #29). */
export interface Ruler {
  readonly text: string;
  /** Where the character begins that holds the UTF-16 unit at an index; the text's length behind its end. */
  startAt(index: number): number;
  /** Where to end at the latest, so that from `start` on it is so many columns. */
  endWithin(start: number, columns: number): number;
  /** Where to start at the earliest, so that up to `end` it is so many columns. */
  startWithin(end: number, columns: number): number;
}

let segmenter: Intl.Segmenter | undefined;

/** Makes a ruler. What it does takes as long as the columns are many, however long the text. */
export function rulerOf(text: string): Ruler {
  return /^[ -~]*$/.test(text) ? unitRuler(text) : graphemeRuler(text);
}

function unitRuler(text: string): Ruler {
  return {
    text,
    startAt: (index) => Math.min(index, text.length),
    endWithin: (start, columns) => Math.min(start + columns, text.length),
    startWithin: (end, columns) => Math.max(0, end - columns),
  };
}

function graphemeRuler(text: string): Ruler {
  // Loading a locale's data takes longer than drawing a plan.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  const segments = segmenter.segment(text);
  return {
    text,
    startAt: (index) => segments.containing(index)?.index ?? text.length,
    endWithin: (start, columns) => {
      let end = start;
      for (let left = columns; end < text.length; ) {
        const { segment = '' } = segments.containing(end) ?? {};
        left -= widthAtMost(segment);
        if (left < 0) break;
        end += segment.length;
      }
      return end;
    },
    startWithin: (end, columns) => {
      let start = end;
      for (let left = columns; start > 0; ) {
        const { segment = '', index = 0 } = segments.containing(start - 1) ?? {};
        left -= widthAtMost(segment);
        if (left < 0) break;
        start = index;
      }
      return start;
    },
  };
}
