/** Blank columns between two columns of a table. */
export const gapWidth = 2;

/** A column that has to be cut keeps at least so many columns of the terminal, else it is left out. */
const leastWidth = 6;

/** What a column would take if there were room for everything. */
export interface ColumnNeed {
  /** Columns of the terminal, at least 1. */
  readonly width: number;
  /** A column that is worth more than those behind it: it is cut only where it is wider than the terminal itself. */
  readonly isWhole: boolean;
}

/**
 * The widths in which columns fit side by side, with a gap between two: narrow ones keep their width, the widest give
 * way first. There are fewer widths than needs where the last columns don't fit; there is always one.
 *
 * @param widthMax columns of the terminal, at least 1
 * @param countMin how many columns are never left out, however narrow they get
 */
export function columnWidths(needs: readonly ColumnNeed[], widthMax: number, countMin = 1): number[] {
  const isKept = ({ isWhole, width }: ColumnNeed) => isWhole && width <= widthMax;
  const count = Math.max(countMin, countThatFits(needs, widthMax, isKept));
  const shown = needs.slice(0, count);
  const kept = shown.filter(isKept).reduce((sum, { width }) => sum + width, 0);
  const flexible = shown.filter((need) => !isKept(need)).map(({ width }) => width);
  const limits = shareOut(flexible, widthMax - gapWidth * (shown.length - 1) - kept);
  return shown.map((need) => (isKept(need) ? need.width : (limits.shift() ?? 1)));
}

function countThatFits(needs: readonly ColumnNeed[], widthMax: number, isKept: (need: ColumnNeed) => boolean): number {
  let left = widthMax + gapWidth;
  const firstThatDoesNot = needs.findIndex((need) => {
    left -= gapWidth + (isKept(need) ? need.width : Math.min(need.width, leastWidth));
    return left < 0;
  });
  return firstThatDoesNot === -1 ? needs.length : firstThatDoesNot;
}

/** Cuts widths down to one limit, as high as the room allows; what division leaves over goes to the first ones cut. */
function shareOut(widths: readonly number[], room: number): number[] {
  let left = room;
  let limit = Number.POSITIVE_INFINITY;
  const ascending = widths.toSorted((a, b) => a - b);
  for (const [at, width] of ascending.entries()) {
    const share = Math.floor(left / (widths.length - at));
    if (width > share) {
      limit = Math.max(1, share);
      left -= limit * (widths.length - at);
      break;
    }
    left -= width;
  }
  return widths.map((width) => {
    if (width <= limit) return width;
    left -= 1;
    return left >= 0 ? limit + 1 : limit;
  });
}
