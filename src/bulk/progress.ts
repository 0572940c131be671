/** How far a run is, on stderr: a bar for a person, a line now and then for a log. */
import type { Session } from '../cli/session.ts';
import { countOf, timeText } from '../core/text.ts';
import type { ProgressDisplay } from '../output/progress-bar.ts';
import { canRedraw, type ProgressShown, plainProgressLine, type RunProgressShown } from '../output/progress-text.ts';
import type { Pace } from './pace.ts';
import type { SettledCounts } from './plan.ts';
import type { RunningRun } from './runner.ts';

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
function openDisplay(shown: () => ProgressShown | undefined, session: Session): Display | undefined {
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
  const { openProgressBar } = await import('../output/progress-bar.ts');
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

/** Shows how far a run is. */
export interface Progress {
  /** Takes the bar away, so that something else may be written; it comes back by itself. */
  clear(): void;
  end(): void;
}

/** What is looked at. */
export interface Watched {
  readonly running: RunningRun;
  readonly pace: Pace;
  readonly report: SettledCounts;
  /** How many rows this session has to do. */
  readonly toDo: number;
}

const lineMs = 10_000;
const foretellsAfterMs = 1000;

/** Begins to show it: to a person soon, to a log after a while. */
export function openProgress(watched: Watched, session: Session): Progress {
  const { clock } = session.host;
  if (session.isQuiet || session.isJsonWanted) return nothingShown;
  const display = openDisplay(() => shownOf(watched, clock.monotonicMs()), session);
  if (display !== undefined) return display;
  // What cannot be written now will be said by who writes next.
  const say = () => session.say(plainProgressLine(shownOf(watched, clock.monotonicMs()))).catch(() => {});
  return { clear: () => {}, end: clock.every(lineMs, () => void say()) };
}

const nothingShown: Progress = { clear: () => {}, end: () => {} };

function shownOf({ running, pace, report, toDo }: Watched, nowMs: number): RunProgressShown {
  const { settled, failed, inDoubt } = report;
  const { elapsedMs } = running;
  const ratePerSecond = settled / Math.max(0.001, elapsedMs / 1000);
  // The first rows wait for a connection: what they foretell is wrong many times over.
  const foretells = settled > 0 && elapsedMs >= foretellsAfterMs && !running.isStopping;
  return {
    ...{ rows: toDo, settled, failed, inDoubt, ratePerSecond },
    leftMs: foretells ? ((toDo - settled) / ratePerSecond) * 1000 : undefined,
    reason: running.isStopping ? stoppingText(running.inFlight) : reasonOf(pace, nowMs),
  };
}

/** What is done after the first Ctrl-C, so that nobody has to guess. */
function stoppingText(underWay: number): string {
  return underWay === 0 ? 'stopping' : `stopping: waiting for ${countOf(underWay, 'answer')}`;
}

/** Why it does not go on. */
function reasonOf(pace: Pace, nowMs: number): string | undefined {
  const { pausedUntilMs, outageSinceMs } = pace;
  if (pace.outage === 'probing' && outageSinceMs !== undefined)
    return `the service is gone for ${timeText(nowMs - outageSinceMs)}`;
  if (pausedUntilMs === undefined || pausedUntilMs <= nowMs) return undefined;
  return `throttled for ${timeText(pausedUntilMs - nowMs)}`;
}
