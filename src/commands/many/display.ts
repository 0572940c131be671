/** A line on a terminal about work that takes its time. */

import type { ProgressDisplay } from '../../output/progress-bar.ts';
import { canRedraw, type ProgressShown } from '../../output/progress-text.ts';
import type { Session } from '../session.ts';

/** A line that is drawn by itself. */
export interface Display {
  /** Draws it now. */
  draw(): Promise<void>;
  /** Takes it away, so that something else may be written; it comes back by itself. */
  clear(): void;
  /** Takes it away for good. */
  end(): void;
}

/** Soon enough that nobody wonders (clig.dev: 100 ms), and what takes no longer draws nothing. */
const soonMs = 50;

/** As often as a bar is drawn over. */
const thenMs = 200;

/**
 * Draws a line once the work has taken a moment, and again and again until its end; undefined where no line can be drawn
 * over another, or none is wanted.
 *
 * @param shown how far the work is; undefined while there is nothing to say
 */
export function openDisplay(shown: () => ProgressShown | undefined, session: Session): Display | undefined {
  const { stderr, env, clock } = session.host;
  if (session.isQuiet || session.isJsonWanted || !canRedraw(stderr, env)) return undefined;
  let opening: Promise<ProgressDisplay> | undefined;
  let bar: ProgressDisplay | undefined;
  let isEnded = false;
  const draw = async () => {
    opening ??= openBar(session);
    bar = await opening;
    const progress = shown();
    if (progress !== undefined && !isEnded) bar.show(progress);
  };
  const look = () => {
    if (shown() !== undefined) void draw();
  };
  let stop = clock.every(soonMs, () => {
    stop();
    stop = clock.every(thenMs, look);
    look();
  });
  return {
    draw,
    clear: () => bar?.clear(),
    end: () => {
      isEnded = true;
      stop();
      bar?.end();
    },
  };
}

async function openBar(session: Session): Promise<ProgressDisplay> {
  const { openProgressBar } = await import('../../output/progress-bar.ts');
  return openProgressBar(session.host.stderr, await session.errorScreen());
}

/**
 * Shows how far a reading is while the work goes on.
 *
 * @param isDrawnFirst before the work begins, which lets no timer through
 */
export async function whileShown<T>(
  shown: () => ProgressShown | undefined,
  session: Session,
  work: () => Promise<T>,
  isDrawnFirst = false,
): Promise<T> {
  const display = openDisplay(shown, session);
  try {
    if (isDrawnFirst) await display?.draw();
    return await work();
  } finally {
    display?.end();
  }
}
