/** A row of numbers as bars one character wide. */

/** Bars, and under them the marks of those that are set apart. */
export interface Sparkline {
  /** As many characters as there are bars. */
  readonly bars: string;
  /** `x` under each bar that is marked, blanks under the others; no blanks at the end, '' where none is marked. */
  readonly marks: string;
  /** What the highest bar stands for; 0 where there is none. */
  readonly largest: number;
}

const levels = '▁▂▃▄▅▆▇█';

/**
 * Draws numbers from 0 to the largest of them. More numbers than there is room for are drawn in stretches of nearly
 * the same length: the mean of each, marked where any of it is.
 *
 * @param isMarked for each number; what is missing is not marked
 * @param widthMax columns of the terminal, at least 1
 */
export function sparkline(numbers: readonly number[], isMarked: readonly boolean[], widthMax: number): Sparkline {
  const width = Math.min(numbers.length, Math.max(1, widthMax));
  const stretches = Array.from({ length: width }, (_, at) => {
    const [start, end] = [at, at + 1].map((edge) => Math.floor((edge * numbers.length) / width));
    return { mean: meanOf(numbers.slice(start, end)), isMarked: isMarked.slice(start, end).includes(true) };
  });
  const largest = stretches.reduce((max, { mean }) => Math.max(max, mean), 0);
  return {
    bars: stretches.map(({ mean }) => barOf(mean, largest)).join(''),
    marks: stretches
      .map((stretch) => (stretch.isMarked ? 'x' : ' '))
      .join('')
      .trimEnd(),
    largest,
  };
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number / numbers.length, 0);
}

function barOf(value: number, largest: number): string {
  const level = largest > 0 ? Math.ceil((value / largest) * levels.length) - 1 : 0;
  return levels.charAt(Math.max(0, level));
}
