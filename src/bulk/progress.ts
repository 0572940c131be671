/** The progress on stderr: a bar on a terminal, a line every 10 seconds in a log. */
import type { Session } from '../cli/session.ts';
import { countOf, timeText } from '../core/text.ts';
import type { ProgressDisplay } from '../output/progress-bar.ts';
import { canRedraw, type ProgressShown, plainProgressLine, type RunProgressShown } from '../output/progress-text.ts';
import type { Pace } from './pace.ts';
import type { SettledCounts } from './plan.ts';
import type { Run } from './runner.ts';

/** Shorter work draws nothing (clig.dev asks for a reaction within 100 ms). */
const firstDrawMs = 50;

const redrawMs = 200;

/** Draws a line periodically until `end`; undefined without a terminal, or with --quiet. */
function openDisplay(shown: () => ProgressShown | undefined, session: Session) {
  const { stderr, env, clock } = session.host;
  if (session.messages.isQuiet || session.messages.isJsonWanted || !canRedraw(stderr, env)) return undefined;
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
  let stop = clock.every(firstDrawMs, () => {
    stop();
    stop = clock.every(redrawMs, look);
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
  return openProgressBar(session.host.stderr, await session.messages.errorScreen());
}

/**
 * Shows progress while work is in progress.
 *
 * @param isDrawnFirst draws before the work, which may block timers
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

/** The progress of a run on stderr. */
export interface Progress {
  /** Clears the bar until the next redraw, so that something else can be written. */
  clear(): void;
  end(): void;
}

/** The sources of the progress of a run. */
export interface Watched {
  readonly running: Pick<Run<never, never>, 'inFlight' | 'isStopping' | 'elapsedMs'>;
  readonly pace: Pace;
  readonly report: SettledCounts;
  /** The rows of this session. */
  readonly toDo: number;
}

const lineMs = 10_000;
const estimateAfterMs = 1000;

/** Starts to show the progress of a run. */
export function openProgress(watched: Watched, session: Session): Progress {
  const { clock } = session.host;
  if (session.messages.isQuiet || session.messages.isJsonWanted) return nothingShown;
  const display = openDisplay(() => shownOf(watched, clock.monotonicMs()), session);
  if (display !== undefined) return display;
  // A write error will occur again at the next write.
  const say = () => session.messages.say(plainProgressLine(shownOf(watched, clock.monotonicMs()))).catch(() => {});
  return { clear: () => {}, end: clock.every(lineMs, () => void say()) };
}

const nothingShown: Progress = { clear: () => {}, end: () => {} };

function shownOf({ running, pace, report, toDo }: Watched, nowMs: number): RunProgressShown {
  const { settled, failed, inDoubt } = report;
  const { elapsedMs } = running;
  const ratePerSecond = settled / Math.max(0.001, elapsedMs / 1000);
  // The first rows wait for a connection, so an early estimate is far off.
  const hasEstimate = settled > 0 && elapsedMs >= estimateAfterMs && !running.isStopping;
  return {
    ...{ rows: toDo, settled, failed, inDoubt, ratePerSecond },
    leftMs: hasEstimate ? ((toDo - settled) / ratePerSecond) * 1000 : undefined,
    reason: running.isStopping ? stoppingText(running.inFlight) : reasonOf(pace, nowMs),
  };
}

function stoppingText(inFlight: number): string {
  return inFlight === 0 ? 'stopping' : `stopping: waiting for ${countOf(inFlight, 'response')}`;
}

function reasonOf(pace: Pace, nowMs: number): string | undefined {
  const { pausedUntilMs, outageSinceMs } = pace;
  if (pace.outage === 'probing' && outageSinceMs !== undefined)
    return `service unreachable for ${timeText(nowMs - outageSinceMs)}`;
  if (pausedUntilMs === undefined || pausedUntilMs <= nowMs) return undefined;
  return `throttled for ${timeText(pausedUntilMs - nowMs)}`;
}
