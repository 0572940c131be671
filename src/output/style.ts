/** Color and weight. The door to chalk, which loads only where there is color. */

type Paint = (text: string) => string;

/** How parts of a text are set off. The text itself must be printable already. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
}

const asItIs: Paint = (text) => text;

/** No color: every text as it is, not one escape byte. */
export const plainStyle: Style = { bold: asItIs, dim: asItIs, red: asItIs, yellow: asItIs, green: asItIs };

/**
 * The style for a stream. Nothing is detected here: how much color it takes is the caller's decision.
 *
 * @param level 0 for none, 1 for 16 colors, 2 for 256, 3 for 16 million
 */
export async function loadStyle(level: 0 | 1 | 2 | 3): Promise<Style> {
  if (level === 0) return plainStyle;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level });
  return {
    bold: (text) => chalk.bold(text),
    dim: (text) => chalk.dim(text),
    red: (text) => chalk.red(text),
    yellow: (text) => chalk.yellow(text),
    green: (text) => chalk.green(text),
  };
}
