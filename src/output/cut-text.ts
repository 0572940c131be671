let segmenter: Intl.Segmenter | undefined;

/**
 * The text in at most so many columns of a terminal, ending in `…` where it was cut; never cut inside what reads as
 * one character (UAX #29, grapheme clusters).
 *
 * @param widthOf how many columns a text takes; one for each character of ASCII
 */
export function cutText(text: string, widthMax: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= widthMax) return text;
  if (/^[ -~]*$/.test(text)) return `${text.slice(0, widthMax - 1)}…`;
  // Loading a locale's data takes longer than drawing a table.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let end = 0;
  let width = widthOf('…');
  for (const { segment } of segmenter.segment(text)) {
    width += widthOf(segment);
    if (width > widthMax) break;
    end += segment.length;
  }
  return `${text.slice(0, end)}…`;
}
